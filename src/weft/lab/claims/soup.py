"""Fine-tuned from one base, models lie in one valley: the average of their weights is a model, often a better one.

A base learns digits; several models go on from it with other learning rates and seeds. Their average answers at the
cost of one. Which of them enter is chosen on some digits, and all are measured on others.
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
        seconds=60,
        seeds=5,
    )

    class Settings(Config):
        """Learning rates of the fine-tunings, and numbers of pictures and steps."""

        rates: tuple[float, ...] = (1e-3, 2e-3, 4e-3)
        draws: int = 2
        first: int = 500
        more: int = 300
        chosen_on: int = 300
        steps: int = 60

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Train a base, fine-tune, average, measure."""
        digits = load_digits()
        x, y = (digits.images * (255 / 16)).round().astype("uint8"), digits.target
        mixed = np.random.default_rng(seed).permutation(len(y))
        first, more, chosen, test = np.split(mixed, np.cumsum([how.first, how.more, how.chosen_on]))
        common: dict[str, Any] = {"task": "classify-images", "quiet": True, "baselines": False}
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder, "base")
            for name, some in (("first", first), ("more", more)):
                np.savez(
                    Path(folder, f"{name}.npz"), x_train=x[some], y_train=y[some], x_val=x[chosen], y_val=y[chosen]
                )
            np.savez(Path(folder, "chosen.npz"), x=x[chosen], y=y[chosen])
            np.savez(Path(folder, "test.npz"), x=x[test], y=y[test])
            train(
                Path(folder, "first.npz"),
                model="vit",
                preset="tiny",
                steps=2 * how.steps,
                seed=seed,
                out=base,
                **common,
            )
            runs = [
                train(
                    Path(folder, "more.npz"), from_=base, steps=how.steps, lr=rate, seed=draw,
                    out=Path(folder, f"{rate}-{draw}"), **common,
                )
                for rate in how.rates
                for draw in range(how.draws)
            ]  # fmt: skip
            joined = soup([run.folder for run in runs], Path(folder, "soup"), data=[str(Path(folder, "chosen.npz"))])
            right = [run.evaluate(str(Path(folder, "test.npz")))["metrics"]["accuracy"] for run in [*runs, joined]]
        *single, together = right
        points = [(n + 1, value) for n, value in enumerate(single)]
        facts = {
            "best single model": max(single),
            "mean of the single models": sum(single) / len(single),
            "soup": together,
        }
        return SeedOutcome(
            effect=together - sum(single) / len(single),
            lines={"single models": points, "soup": [(len(points) + 1, together)]},
            facts=facts,
        )
