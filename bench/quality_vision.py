"""How well models tell pictures apart after some minutes of `weft train`, by model and amount of data.

    python bench/quality_vision.py --data train.zip --test val.zip --minutes 10 --models vit,vit-hybrid,resnet
    python bench/quality_vision.py --data … --test … --minutes 1.5 --longer 10 --amounts 500,2000,7000 --picture x.png
    python bench/quality_vision.py --data … --test … --minutes 4 --fill 500 --seeds 5

weft decides everything but the model and the time. `--amounts` trains on parts of the data, classes even, the same for
all models, and draws accuracy against the number of pictures; with `--longer`, of runs on the most pictures for so many
minutes more, also against the cost of naming one. `--fill` learns without labels first (`reconstruct-images`, on all
pictures), then fine-tunes on so many labelled ones, beside training on these from scratch.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from report import Table, arguments, hand_in

from weft.config import from_json
from weft.domains.pictures.reading.trying import read_images
from weft.domains.pictures.recipe import operations
from weft.inspect.curves import chart
from weft.inspect.figures import png_of, sheet
from weft.models.stream import Stream


def weft_train(*words: str) -> dict[str, Any]:
    """Train by the command line; returns its report."""
    command = [str(Path(sys.executable).with_name("weft")), "train", *words, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def weft_evaluate(run: str, test: str) -> dict[str, Any]:
    """Measure on pictures that training never saw."""
    command = [str(Path(sys.executable).with_name("weft")), "evaluate", run, test, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def part(album: Any, amount: int, seed: int, folder: Path) -> str:
    """So many pictures, classes even, as a folder of classes."""
    draw, chosen = np.random.default_rng(seed), []
    labels = np.array(album.labels)
    for name in album.classes:
        own = np.flatnonzero(labels == name)
        chosen += draw.permutation(own)[: amount // len(album.classes)].tolist()
    root = folder / f"part-{amount}-{seed}"
    for i in chosen:
        place = root / str(labels[i]) / f"{i}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png_of(album.read(i).pixels))
    return str(root)


def one(data: str, test: str, model: str, minutes: float, out: str, *more: str) -> dict[str, Any]:
    """A run of a model: its report, its score on the test pictures, and what naming one picture costs."""
    report = weft_train(
        data, "--task", "classify-images", "--model", model, "--minutes", str(minutes), "--out", out, *more
    )
    scored = weft_evaluate(out, test)
    config = json.loads((Path(out) / "config.json").read_text())
    cost = operations(from_json(config["model"], Stream.Config), training=False)
    return {**report, "test": scored["metrics"]["accuracy"], "interval": scored["intervals"]["accuracy"], "cost": cost}


def models(given: Any, folder: Path) -> Table:
    """Each model on all of the data."""
    rows = []
    for model in given.models.split(","):
        found = one(given.data, given.test, model, given.minutes, str(folder / f"all-{model}"), *given.more)
        low, high = found["interval"]
        rows.append([model, f"{found['parameters'] / 1e6:.2f} M", found["steps"], f"{found['cost'] / 1e6:.0f} M",
                     f"{found['test']:.4f}", f"{low:.3f} to {high:.3f}"])  # fmt: skip
    columns = ["model", "parameters", "steps", "operations a picture", "accuracy", "95 % interval"]
    return Table(f"{Path(given.data).name}, {given.minutes:g} minutes", columns, rows)


def amounts(given: Any, album: Any, folder: Path) -> Table:
    """Each model on parts of the data; accuracy by amount and by cost as a picture."""
    rows, curves, costs = [], {}, {}
    for model in given.models.split(","):
        scores = []
        for amount in map(int, given.amounts.split(",")):
            data = part(album, amount, 0, folder)
            found = one(data, given.test, model, given.minutes, str(folder / f"{amount}-{model}"), *given.more)
            scores.append((amount, found["test"]))
            cost = found["cost"]
            rows.append(
                [
                    model,
                    amount,
                    f"{found['parameters'] / 1e6:.2f} M",
                    f"{found['cost'] / 1e6:.0f} M",
                    f"{found['test']:.3f}",
                ]
            )
        curves[model] = scores
        if given.longer:
            found = one(data, given.test, model, given.longer, str(folder / f"longer-{model}"), *given.more)
            rows.append([model, amount, f"{found['parameters'] / 1e6:.2f} M", f"{found['cost'] / 1e6:.0f} M",
                         f"{found['test']:.3f} ({given.longer:g} min)"])  # fmt: skip
            costs[model] = [(cost, scores[-1][1]), (found["cost"], found["test"])]
    if given.picture:
        given.picture.write_bytes(drawn(curves, costs, given.minutes, given.longer))
    return Table(
        f"By the number of pictures, {given.minutes:g} minutes each",
        ["model", "pictures", "parameters", "operations a picture", "accuracy"],
        rows,
    )


def drawn(curves: Any, costs: Any, minutes: float, longer: float | None) -> bytes:
    """Accuracy by the number of pictures, and beside it by the cost of naming one."""
    with sheet("png") as on:
        on.text(0, -0.12, f"{minutes:g} minutes of training each", size=12, va="bottom")
        chart(on.axis(0, 0, 4.6, 3.2), curves, x="pictures to train on", y="accuracy", log=True)
        if costs:
            title = f"on all pictures, {minutes:g} and {longer:g} minutes"
            millions = {name: [(cost / 1e6, score) for cost, score in points] for name, points in costs.items()}
            on.text(6.8, -0.12, title, size=12, va="bottom")
            chart(on.axis(6.8, 0, 4.6, 3.2), millions, x="million operations to name a picture", y="accuracy")
        return on.bytes()


def filled(given: Any, album: Any, folder: Path) -> Table:
    """Accuracy on few labels: after learning to fill in all pictures, and from scratch with the same model."""
    first = folder / "filling"
    weft_train(given.data, "--task", "reconstruct-images", "--minutes", str(given.fill_minutes), "--out", str(first))
    sizes = json.loads((first / "config.json").read_text())["training"]
    shape = [w for n in ("dim", "depth", "heads", "patch") for w in ("--set", f"{n}={sizes[n]}")]
    gains, rows = [], []
    for seed in range(given.seeds):
        data = part(album, given.fill, seed, folder)
        common = ("--seed", str(seed), *given.more)
        fine = one(data, given.test, "vit", given.minutes, str(folder / f"fine-{seed}"), "--from", str(first), *common)
        plain = one(data, given.test, "vit", given.minutes, str(folder / f"plain-{seed}"), *shape, *common)
        gains.append(fine["test"] - plain["test"])
        rows.append([seed, f"{fine['test']:.3f}", f"{plain['test']:.3f}", f"{gains[-1]:+.3f}"])
    mean, error = (
        float(np.mean(gains)),
        float(np.std(gains, ddof=1) / len(gains) ** 0.5) if len(gains) > 1 else float("nan"),
    )
    note = f"Mean gain {mean:+.3f}, standard error {error:.3f}, over {len(gains)} draws of the labelled pictures."
    return Table(f"{given.fill} labelled pictures", ["draw", "after filling in", "from scratch", "gain"], rows, note)


def measure(given: Any) -> list[Table]:
    """What was asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        album = read_images(given.data).train
        if given.amounts:
            return [amounts(given, album, folder)]
        if given.fill:
            return [filled(given, album, folder)]
        return [models(given, folder)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", required=True, metavar="DATA")
    parser.add_argument("--test", required=True, metavar="DATA")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--models", default="vit,vit-hybrid,resnet")
    parser.add_argument("--amounts", metavar="N,N,…")
    parser.add_argument(
        "--longer", type=float, metavar="MINUTES", help="with --amounts: also train so long on the most"
    )
    parser.add_argument("--fill", type=int, metavar="N")
    parser.add_argument("--fill-minutes", type=float, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--more", nargs="*", default=[], metavar="WORD", help="further words for weft train")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs there")
    hand_in(measure(found := parser.parse_args()), found.json)
