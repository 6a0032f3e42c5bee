"""Masked autoencoders at a scale that training never saw: `mae`, `scale-mae`, and what each part of it brings.

    python bench/scales.py --data train.zip --test val.zip --minutes 4

Every training picture is a random window of a labelled picture, 0.44 to 0.69 of its side, enlarged to the picture's own
size: pixels of 0.44 to 0.69 metres, if one of the original is a metre. The test pictures are windows of the same sizes
(a seen scale), smaller ones and whole pictures (unseen scales, finer and coarser). Measured on each: the error where
three quarters are hidden, and how often the nearest training windows, by the mean of the encoder's tokens, name the
class. Gains are over `mae`, on the same test pictures, with intervals over resamples of these.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import Table, arguments, hand_in

import weft
from weft.domains.pictures import given as pictures
from weft.domains.pictures.encoded.frames import scaled
from weft.domains.pictures.filling import fill, squared_errors
from weft.domains.pictures.reading.trying import read_images
from weft.inspect.figures import png_of
from weft.models.autoencoder import Autoencoder
from weft.objectives.measures.tallies import Tally, interval, middle, resampled, root

WINDOWS = (0.44, 0.69)  # shares of a picture's side
TESTS = {"unseen, finer": (0.25, 0.38), "unseen, coarser": (1.0, 1.0), "seen": WINDOWS}
NEAREST = 10  # neighbours that vote
MODELS = {
    "mae": ("--model", "mae"),
    "mae with two bands": ("--model", "mae", "--set", "model.bands=TwoBands"),
    "places on the ground": ("--model", "scale-mae", "--set", "model.bands=null"),
    "scale-mae": ("--model", "scale-mae"),
}


def windows(album: Any, folder: Path, seed: int, shares: tuple[float, float]) -> tuple[str, np.ndarray]:
    """A table of windows of pictures with their scale, and the class of each."""
    draw, lines = np.random.default_rng(seed), ["path,metres_per_pixel"]
    folder.mkdir(parents=True, exist_ok=True)
    for row in range(len(album)):
        pixels = album.read(row).pixels
        side = pixels.shape[0]
        own = round(side * draw.uniform(*shares))
        top, left = draw.integers(0, side - own + 1, 2)
        part = scaled(pixels[top : top + own, left : left + own], side, side).permute(1, 2, 0).numpy()
        (folder / f"{row}.png").write_bytes(png_of(part))
        lines.append(f"{row}.png,{own / side:.4f}")
    (folder / "pictures.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "pictures.csv"), np.array(album.labels)


@torch.inference_mode()
def measured(run: weft.Run, table: str) -> tuple[np.ndarray, np.ndarray]:
    """For each picture its vector, and its mean square error with three quarters hidden."""
    loaded, album = run._loaded, read_images(table, labels=False).train
    model = loaded.model.eval()
    assert isinstance(model, Autoencoder)
    frames = pictures.frames_for(loaded, album)
    vectors, errors = {}, {}
    for rows, picture in pictures.in_batches(loaded, frames):
        tokens = model.encoder.encode(picture).x[:, 1:].mean(1).float()
        wrong = squared_errors(picture, *fill(model, picture, 0.75, alike=True))
        for row, vector, error in zip(rows, tokens.numpy(), wrong, strict=True):
            number = int(Path(album.names[row]).stem)
            vectors[number], errors[number] = vector, error
    order = sorted(vectors)
    return np.stack([vectors[n] for n in order]), np.array([errors[n] for n in order])


def named(bank: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The class that the nearest vectors of a bank vote for, by cosine."""
    mean = bank.mean(0)
    bank, queries = ((one - mean) / np.linalg.norm(one - mean, axis=1, keepdims=True) for one in (bank, queries))
    classes, index = np.unique(labels, return_inverse=True)
    alike = queries @ bank.T
    near = np.argsort(-alike, 1)[:, :NEAREST]
    votes = np.zeros((len(queries), len(classes)))
    rows = np.arange(len(queries))
    for place in near.T:
        votes[rows, index[place]] += np.exp(5 * alike[rows, place])
    return classes[votes.argmax(1)]


def measure(given: Any) -> list[Table]:
    """Every model, trained on the same windows, at both scales."""
    tables = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given.keep or scratch)
        train, labels = windows(read_images(given.data).train, folder / "train", 0, WINDOWS)
        album = read_images(given.test).train
        tests = {name: windows(album, folder / name, 1, shares) for name, shares in TESTS.items()}
        budget = ("--steps", str(given.steps)) if given.steps else ("--minutes", str(given.minutes))
        found: dict[str, dict[str, tuple[Tally, Tally]]] = {name: {} for name in tests}
        for name in given.models.split(","):
            words, out = MODELS[name], folder / name.replace(" ", "-")
            command = [str(Path(sys.executable).with_name("weft")), "train", train, "--task", "reconstruct-images",
                       *budget, "--out", str(out), *words, *given.more.split(), "--json"]  # fmt: skip
            if not (out / "README.md").exists():  # else it is a run that was kept
                report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                print(f"{name}: {report['steps']} steps", file=sys.stderr)
            run = weft.load(out)
            bank = measured(run, train)[0]
            for scale, (table, true) in tests.items():
                vectors, errors = measured(run, table)
                right = named(bank, labels, vectors) == true
                error = Tally("rmse", np.stack([errors, np.ones(len(errors))], 1), root, lower=True)
                found[scale][name] = error, Tally.shares("accuracy", right)
        for scale, by_model in found.items():
            tables.append(Table(scale, COLUMNS, [row(name, by_model) for name in by_model]))
    return tables


COLUMNS = ["model", "rmse", "95 % interval", "gain over mae", "nearest neighbours", "95 % interval", "gain over mae"]


def row(name: str, by_model: dict[str, tuple[Tally, Tally]]) -> list[str]:
    """Error and accuracy of a model, and its gain over the first."""
    first, cells = next(iter(by_model)), [name]
    for own, plain in zip(by_model[name], by_model[first], strict=True):
        ours, theirs = resampled([own, plain])
        sign = -1 if own.lower else 1
        low, high = interval(own, ours)
        places = 2 if own.lower else 3
        cells += [f"{own.value:.{places}f}", f"{low:.{places}f} to {high:.{places}f}"]
        if name == first:
            cells.append("")
            continue
        least, most = middle(sign * (ours - theirs))
        cells.append(f"{sign * (own.value - plain.value):+.{places}f} ({least:+.{places}f} to {most:+.{places}f})")
    return cells


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", required=True, metavar="DATA")
    parser.add_argument("--test", required=True, metavar="DATA")
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--steps", type=int, help="instead of minutes: the same steps for every model")
    parser.add_argument("--more", default="", metavar="WORDS", help="further words for weft train, in one text")
    parser.add_argument("--models", default=",".join(MODELS), metavar="NAME,NAME,…")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs there, and measure those that are there")
    hand_in(measure(found := parser.parse_args()), found.json)
