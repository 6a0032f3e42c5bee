"""A convolution knows that neighbours belong together; a ViT has to learn it, and needs more pictures for that.

Both learn the same pictures, from few to many. To catch up, the ViT has to be behind by more than two points of
accuracy with the fewest pictures, and by less than two with the most.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from weft.config import Config
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.runs import train

LEAD = 0.02  # a difference of accuracy that counts


class DataExperiment(Experiment):
    """ViTs need more data than convolutional networks, and catch up."""

    claim = Claim(
        id="D8",
        name="data",
        says="ViTs need more data than convolutional networks, and catch up.",
        source="lectures 0 to 2",
        compared="a small ViT and a small ResNet on the same pictures, by their number",
        effect="the smaller of two: lead of the ResNet in accuracy with the fewest pictures, less 0.02; and 0.02, less "
        "its lead with the most",
        above=0.0,
        x="pictures to train on",
        y="accuracy on others",
        seconds=40,
        log=True,
        note="The digits are small and easy. On MNIST the ViT comes closer and does not arrive: it is 0.074 behind "
        "with 500 pictures and 0.030 with 10,000 (one seed, `--data mnist.npz --set amounts=500,10000 --set patch=4 "
        "--set steps=2500`). Pre-training helps where data is little: D9.",
    )

    class Settings(Config):
        """Numbers of pictures; `data` is an .npz with x and y (MNIST, say), by default scikit-learn's digits."""

        data: str = ""
        amounts: tuple[int, ...] = (50, 200, 1200)
        steps: int = 200
        others: int = 500
        patch: int = 2
        precision: str = "fp32"  # what `auto` takes depends on the machine, and the numbers with it

    def measure(self, how: Settings, seed: int) -> SeedOutcome:
        """Accuracy of both by the number of pictures."""
        x, y = _pictures(how.data)
        mixed = np.random.default_rng(seed).permutation(len(y))
        test, rest = mixed[: how.others], _in_turn(mixed[how.others :], y)
        lines: dict[str, list[tuple[float, float]]] = {"vit": [], "resnet": []}
        with tempfile.TemporaryDirectory() as folder:
            for amount in how.amounts:
                some, file = rest[:amount], Path(folder, f"{amount}.npz")
                np.savez(file, x_train=x[some], y_train=y[some], x_val=x[test], y_val=y[test])
                for name, points in lines.items():
                    more: dict[str, Any] = {"patch": how.patch, "drop": 0.0} if name == "vit" else {}
                    run = train(
                        file, task="classify-images", model=name, steps=how.steps, seed=seed, quiet=True, preset="tiny",
                        out=Path(folder, f"{name}-{amount}"), baselines=False, precision=how.precision, **more,
                    )  # fmt: skip
                    points.append((amount, run.report["metrics"]["accuracy"]))
        leads = [right[1] - left[1] for left, right in zip(lines["vit"], lines["resnet"], strict=True)]
        return SeedOutcome(
            effect=min(leads[0] - LEAD, LEAD - leads[-1]),
            lines=lines,
            facts={"lead with the fewest": leads[0], "lead with the most": leads[-1]},
        )


def _pictures(data: str) -> tuple[np.ndarray, np.ndarray]:
    if data:
        with np.load(data) as found:
            return tuple(np.concatenate([found[k] for k in sorted(found) if k[0] == a]) for a in "xy")  # type: ignore[return-value]
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.images * (255 / 16)).round().astype("uint8"), found.target


def _in_turn(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The rows in an order in which classes take turns, so that every beginning has them all."""
    turn = [int((labels[rows[:n]] == labels[row]).sum()) for n, row in enumerate(rows)]
    return rows[np.argsort(turn, kind="stable")]
