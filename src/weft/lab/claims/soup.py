"""Fine-tuned from one base, models lie in one valley: the average of their weights is a model, often a better one.

Several models go on from one base with other learning rates and seeds. Their average answers at the cost of one. Which
of them enter is chosen on some rows, and all are measured on others. The base learns digits, or is one of your own.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.runs import train
from weft.runs.soup import soup


class SoupExperiment(Experiment):
    """The average of fine-tuned models is at least as good as the single ones, at no extra cost in use."""

    claim = Claim(
        id="D15",
        name="soup",
        says="The average of fine-tuned models is at least as good as the single ones, at no extra cost in use.",
        source="lecture 4",
        compared="models that were fine-tuned from one base, and their average (a model soup)",
        effect="accuracy of the soup minus the mean accuracy of the single models",
        above=0.0,
        x="model (the last is the soup)",
        y="accuracy on others",
        seconds=25,
        note="With a base and texts of one's own: `weft lab soup --data labels.tsv --set base=runs/minilm --set "
        "rates=1e-4,3e-4` (rows of label, tab and text, without a header). Of MiniLM on 300 sentences of SST-2, 40 "
        "steps each (`rates=5e-5,1e-4`), three seeds: 0.071 [-0.085, 0.227], not decided.",
    )

    class Settings(Config):
        """Data and base; learning rates, seeds and steps of fine-tuning; rows to learn from, choose on, measure on."""

        data: str = ""
        base: str = ""
        rates: tuple[float, ...] = (1e-3, 3e-3)
        draws: int = 2
        first: int = 500
        more: int = 300
        chosen_on: int = 300
        others: int = 700
        steps: int = 40
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train a base where none is given; fine-tune, average, measure."""
        task = "classify-text" if how.data else "classify-images"
        common: dict[str, Any] = {"task": task, "quiet": True, "baselines": False, "steps": how.steps}
        common["precision"] = how.precision
        small: dict[str, Any] = {} if how.data else {"model": "vit", "patch": 2}
        with tempfile.TemporaryDirectory() as folder:
            first, more, chosen, test = _files(how, seed, Path(folder))
            base = how.base or train(
                first, valid=chosen, preset="tiny", seed=seed, out=Path(folder, "base"),
                **{**common, **small, "steps": 4 * how.steps},
            ).folder  # fmt: skip
            runs = [
                train(more, valid=chosen, from_=base, lr=rate, seed=draw, out=Path(folder, f"{rate}-{draw}"), **common)
                for rate in how.rates
                for draw in range(how.draws)
            ]
            joined = soup([run.folder for run in runs], Path(folder, "soup"), data=[str(chosen)])
            right = [run.evaluate(str(test), baselines=False)["metrics"]["accuracy"] for run in [*runs, joined]]
        *single, together = right
        mean = sum(single) / len(single)
        points = [(n + 1, value) for n, value in enumerate(single)]
        return SeedOutcome(
            effect=together - mean,
            lines={"single models": points, "soup": [(len(points) + 1, together)]},
            facts={"best single model": max(single), "mean of the single models": mean, "soup": together},
        )


def _files(how: SoupExperiment.Settings, seed: int, folder: Path) -> list[Path]:
    """Rows for the base, for the fine-tunings, to choose on and to measure on, as files; others with another seed."""
    digits = None if how.data else load_digits()
    rows = Path(how.data).read_text(encoding="utf-8").splitlines() if digits is None else digits.target
    mixed = np.random.default_rng(seed).permutation(len(rows))
    files = []
    for n, some in enumerate(np.split(mixed, np.cumsum([how.first, how.more, how.chosen_on, how.others]))[:4]):
        files.append(folder / f"{n}{'.npz' if digits else Path(how.data).suffix}")
        if digits is None:
            files[-1].write_text("".join(f"{rows[row]}\n" for row in some), encoding="utf-8")
        else:
            np.savez(files[-1], x=(digits.images[some] * (255 / 16)).round().astype("uint8"), y=digits.target[some])
    return files
