"""The models of weft beside each other: held-out loss by minutes of training on one text, as a picture.

python bench/models.py [--minutes 2] [--data book.txt] [--out docs/pictures/models.png]

Every model gets the same size, text and minutes, one after the other on an otherwise idle machine.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot as plt

import weft

MODELS = {"swift": "#1f5fa8", "llama": "#d1495b", "gpt": "#edae49", "lstm": "#66a182"}
SIZE = {"dim": 128, "depth": 4, "heads": 4, "context": 128, "batch": 16}


def curve(model: str, data: list[str], minutes: float, folder: Path) -> tuple[list[float], list[float], float]:
    """Minutes and held-out losses during a run, and the loss at its end."""
    run = weft.train(
        data, task="language-model", model=model, minutes=minutes, out=folder / model, evaluate_every=60, **SIZE
    )
    looks = [line for line in run.metrics if "held_out" in line]
    return [line["seconds"] / 60 for line in looks], [line["held_out"] for line in looks], run.report["metrics"]["loss"]


def main() -> None:
    """Train all models and draw their curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--data", nargs="*", default=[])
    parser.add_argument("--out", default="docs/pictures/models.png")
    args = parser.parse_args()
    figure, axis = plt.subplots(figsize=(7.5, 4), dpi=130, layout="constrained")
    with tempfile.TemporaryDirectory() as folder:
        for model, colour in MODELS.items():
            minutes, losses, final = curve(model, args.data, args.minutes, Path(folder))
            axis.plot(minutes, losses, color=colour, linewidth=1.8)
            axis.plot(args.minutes, final, "o", color=colour, label=f"{model}  {final:.2f}")
            print(f"{model}: {final:.4f}", flush=True)
    axis.set(xlabel="minutes of training", ylabel="held-out loss, nats per character")
    axis.set_ylim(top=3.2)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, title="at the end")
    figure.savefig(args.out)


if __name__ == "__main__":
    main()
