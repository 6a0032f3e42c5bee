"""Whether what a caption's word reads is what it depends on: attention in its region beside the region hidden.

    python bench/regions.py --models show-attend-tell swift --steps 600
    python bench/regions.py --runs runs/scenes-1              # runs on scenes that are there

Scenes know the part of the picture that each word is about. On held-out scenes, with true captions, for each word with
a region: the share of its attention inside (mean of all layers and heads) beside the region's share of the picture; and
how far the word's probability falls when the region is painted over with the picture's mean colour, beside the same
with a place of the same size on the other side of the picture. `agree` is the rank correlation over words of the share
inside over the area and the fall. A model that reads the picture as one vector has no shares.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import Table, arguments, hand_in

import weft
from weft.domains.captions.sample.album import sample_scenes
from weft.domains.captions.views.inside import Box, text_spans, words_inside
from weft.domains.captions.views.occlusion import target_score
from weft.domains.captions.views.reading import patch_grid, picture_weights
from weft.domains.captions.writing import PictureWriter
from weft.domains.pictures.given import frames_for, in_batches
from weft.files.pictures.regions import Region
from weft.inspect.views import NoAttention
from weft.modalities.image import Picture
from weft.objectives.measures.resampling import bootstrap
from weft.training.progress import Progress

MODELS = ("show-attend-tell", "swift", "transformer", "cnn-transformer", "one-stream", "coca", "cnn-lstm")
SEED = 1907  # of the scenes that ship
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Word:
    """A word with a region: shares (None without attention), its probability, and with each place painted over.

    `elsewhere` is None where the place on the other side overlaps the region.
    """

    inside: float | None
    area: float
    chance: float
    hidden: float
    elsewhere: float | None


def painted(picture: Picture, boxes: Sequence[Box]) -> Picture:
    """The picture with boxes in its mean colour."""
    pixels = picture.pixels.clone()
    high, wide = pixels.shape[2:]
    for top, left, bottom, right in boxes:
        down, along = (
            slice(int(top * high), -int(-bottom * high // 1)),
            slice(int(left * wide), -int(-right * wide // 1)),
        )
        pixels[:, :, down, along] = picture.pixels.mean((2, 3), keepdim=True)
    return Picture(pixels, picture.missing, picture.metres)


def across(box: Box) -> Box:
    """The place of the same size on the other side of the picture's middle."""
    top, left, bottom, right = box
    return 1 - bottom, 1 - right, 1 - top, 1 - left


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share a part of the picture."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@torch.inference_mode()
def words_of(writer: PictureWriter, picture: Picture, text: str, regions: Sequence[Region]) -> list[Word]:
    """The words with regions in a true caption of a picture."""
    tokenizer, opening = writer.caption.tokenizer, writer.marks.written_from
    ids = tokenizer.encode(text).tolist()
    score, spans = target_score(writer.model, (*opening, *ids), len(opening)), text_spans(tokenizer, ids, text)
    by_span: dict[tuple[int, int], list[Region]] = {}
    for region in regions:
        by_span.setdefault((region.start, region.stop), []).append(region)
    try:
        weights = picture_weights(writer.model, picture, [*opening, *ids][:-1]).mean((0, 1))
        weights = weights[len(opening) - 1 :][: len(ids)]
    except NoAttention:
        weights = None
    whole, found = score(picture)[0], []
    for (start, stop), some in by_span.items():
        tokens = [n for n, span in enumerate(spans) if span is not None and span[0] < stop and start < span[1]]
        boxes = [one.box for one in some]
        if not tokens:
            continue
        others = [across(box) for box in boxes]
        hidden, other = (score(painted(picture, places))[0] for places in (boxes, others))
        clear = not any(overlap(one, two) for one in boxes for two in others)
        shares = words_inside(weights, spans, some, patch_grid(writer.model, picture)) if weights is not None else []
        area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in boxes)
        chances = [float(one[tokens].sum().exp()) for one in (whole, hidden, other)]
        found.append(
            Word(shares[0][0] if shares else None, area, chances[0], chances[1], chances[2] if clear else None)
        )
    return found


def measured(folder: Path, pictures: int) -> list[Word]:
    """All words with regions of held-out scenes, each with its first caption that has any."""
    writer, album = PictureWriter(weft.load(folder, device="cpu").loaded), sample_scenes(pictures, SEED, unseen=True)
    found = list[Word]()
    for (row,), picture in in_batches(writer.run, frames_for(writer.run, album), Progress(quiet=True), at_once=1):
        text, regions = next(pair for pair in zip(album.captions[row], album.regions[row], strict=True) if pair[1])
        found += words_of(writer, picture, text, regions)
    return found


def ranked(values: np.ndarray) -> np.ndarray:
    """Ranks; equal values have their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def row_of(name: str, report: dict[str, Any], words: Sequence[Word]) -> list[Any]:
    """A model as a row."""
    falls = np.array([one.chance - one.hidden for one in words])
    other = np.array([one.chance - one.elsewhere for one in words if one.elsewhere is not None])
    ends = bootstrap(len(falls), lambda drawn: {"fall": float(falls[drawn].mean())})["fall"]
    shares, ratio, agree = [None, float(np.mean([one.area for one in words]))], "", None
    if all(one.inside is not None for one in words):
        inside, area = np.array([[one.inside, one.area] for one in words], float).T
        between = bootstrap(len(words), lambda drawn: {"ratio": inside[drawn].mean() / area[drawn].mean()})["ratio"]
        shares[0], ratio = float(inside.mean()), _with_ends(float(inside.mean() / area.mean()), between)
        agree = round(float(np.corrcoef(ranked(inside / area), ranked(falls))[0, 1]), 2)
    metrics = report.get("metrics", {})
    chance = float(np.mean([one.chance for one in words]))
    fall = _with_ends(float(falls.mean()), ends)
    return [name, report.get("steps"), metrics.get("exact"), *shares, ratio, chance, fall, float(other.mean()), agree]


def _with_ends(value: float, ends: Sequence[float] | None) -> str:
    low, high = ends or (value, value)
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def trained(model: str, out: Path, steps: int) -> None:
    """A run on the scenes that ship, unless it is there."""
    if not (out / "model.safetensors").exists():
        words = ["train", "--task", "caption", "--model", model, "--steps", str(steps), "--out", str(out), "--json"]
        subprocess.run([sys.executable, "-m", "weft", *words], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, **ONE_THREAD})  # fmt: skip


def main(given: Any) -> list[Table]:
    """Trains what is missing and measures all."""
    folders = {Path(one).name: Path(one) for one in given.runs}
    if not folders:
        for model in given.models:
            folders[model] = given.runs_in / model
            trained(model, folders[model], given.steps)
    rows = []
    for name, folder in folders.items():
        config = json.loads((folder / "config.json").read_text())
        rows.append(
            row_of(config.get("model_name") or name, config.get("result", {}), measured(folder, given.pictures))
        )
    columns = ["model", "steps", "exact", "attention in region", "area", "ratio", "probability", "fall: region hidden",
               "fall: other side", "agree"]  # fmt: skip
    return [Table(f"Words of {given.pictures} scenes with combinations never seen together", columns, rows)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--runs", nargs="+", default=[], metavar="RUN", help="measure these instead of training")
    parser.add_argument("--runs-in", type=Path, default=Path("runs/regions"), metavar="FOLDER")
    parser.add_argument("--pictures", type=int, default=200)
    given = parser.parse_args()
    if given.quick:
        given.steps, given.pictures = 3, 4
    hand_in(main(given), given.json)
