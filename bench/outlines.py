"""Whether the class token of a model learned without labels reads objects: `distill-images` on weft's scenes.

    python bench/outlines.py --minutes 10
    python bench/outlines.py --run runs/scenes-1          # a run on scenes that is there
    python bench/outlines.py --run runs/photos-1 --photos photos.tar --sheet sheet.png [--maps]

The share of the class token's attention inside the objects' boxes over their share of the picture, for the head of the
last layer that is best on scenes to learn from, on held-out ones. Beside it: every other head, the same model before
training, and weights by brightness alone. Photographs have no boxes: a sheet of twelve shows what each head of the last
layer reads, to be looked at (`--maps` leaves the photographs themselves out).
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
from weft.domains.captions.sample.album import drawn_scenes
from weft.domains.captions.sample.drawing import pictures
from weft.domains.captions.views.inside import covered, inside_measures
from weft.domains.pictures.reading.trying import find_pictures
from weft.domains.pictures.views.vision import readings_in
from weft.inspect.figures import resized
from weft.inspect.maps import heat, lit
from weft.inspect.sheets import reconstructions
from weft.modalities.image import Picture
from weft.models.stream import Stream
from weft.tasks.measuring import spread

TRAINED_ON, MEASURED, SHOWN, SEED = 5000, 500, 12, 1907
Scenes = tuple[np.ndarray, list[list[tuple[float, float, float, float]]]]


def scenes(count: int, *, unseen: bool) -> Scenes:
    """Pictures, and the boxes of their objects."""
    drawn = [scene for scene, _ in drawn_scenes(count, SEED, unseen=unseen)]
    return pictures(drawn, SEED + unseen), [[thing.box for thing in scene.things] for scene in drawn]


def inside(weights: np.ndarray, boxes: list[Any], side: int) -> list[tuple[float, float]]:
    """For each picture the share of weights (pictures, patches) inside its boxes, and the boxes' share of it."""
    area = np.stack([covered(several, side, side) for several in boxes])
    return list(zip((weights * area).sum(1) / weights.sum(1), area.mean(1), strict=True))


def attention(model: Stream, pixels: np.ndarray) -> np.ndarray:
    """(heads, pictures, patches): what the class token reads in the last layer."""
    raw = Picture(torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255)
    with torch.inference_mode():
        return readings_in(model, raw)[-1][0].weights()[:, :, 0, 1:].transpose(0, 1).float().numpy()


def brightness(pixels: np.ndarray, side: int) -> np.ndarray:
    """(pictures, patches): the mean of each patch."""
    step = pixels.shape[1] // side
    return pixels.reshape(len(pixels), side, step, side, step, 3).mean((2, 4, 5)).reshape(len(pixels), -1)


def sheet(run: weft.Run, photos: str, *, maps: bool) -> bytes:
    """Twelve photographs, spread evenly over those given, with every head of the last layer and two to compare with."""
    model = run.model.teacher
    side, size = model.config.embed.grid[0], model.config.embed.grid[0] * model.config.embed.stride
    torch.manual_seed(0)
    album = find_pictures([photos])
    chosen = spread(range(len(album)), SHOWN)
    pixels = np.stack([resized(album.read(row).pixels, size, size) for row in chosen])
    heads, untrained = attention(model, pixels), attention(model.config.build(), pixels)
    found = [*heads, untrained.mean(0), brightness(pixels, side)]
    rows = []
    for n, picture in enumerate(pixels):
        grids = [one[n].reshape(side, side) for one in found]
        drawn = [
            np.round(255 * heat(one, 96, 96)).astype(np.uint8) if maps else lit(picture, one, 1.5) for one in grids
        ]
        rows.append((*(() if maps else (picture,)), *drawn))
    names = [f"head {n + 1}" for n in range(len(heads))]
    return reconstructions(rows, [*(() if maps else ("photograph",)), *names, "untrained", "brightness"])


def measured(name: str, found: list[tuple[float, float]]) -> list[Any]:
    """A row: the shares, and their ratio with its interval."""
    shares, more = inside_measures(found, len(found))
    low, high = more["attention"]["interval"]
    inside, area = shares["attention_inside"], shares["area_inside"]
    return [name, f"{inside:.3f}", f"{area:.3f}", f"{inside / area:.2f}", f"{low:.2f} to {high:.2f}"]


def rows_of(run: weft.Run) -> list[list[Any]]:
    """All heads of a run, an untrained model, and brightness."""
    model = run.model.teacher
    side = model.config.embed.grid[0]
    torch.manual_seed(0)
    rows, seen, held = [], scenes(MEASURED, unseen=False), scenes(MEASURED, unseen=True)
    for name, one in (("", model), ("untrained, ", model.config.build())):
        ratios = [np.divide(*np.mean(inside(head, seen[1], side), 0)) for head in attention(one, seen[0])]
        on_held = [inside(head, held[1], side) for head in attention(one, held[0])]
        best = int(np.argmax(ratios))
        rows.append(measured(f"{name}best head ({best + 1} of {len(ratios)})", on_held[best]))
        if not name:
            rows += [measured(f"head {n + 1}", found) for n, found in enumerate(on_held) if n != best]
    return [*rows, measured("brightness", inside(brightness(held[0], side), held[1], side))]


def measure(given: Any) -> list[Table]:
    """The run that is named, or a new one."""
    with tempfile.TemporaryDirectory() as scratch:
        place, told = given.run, f"{given.run}"
        if place is None:
            data, place = Path(scratch) / "scenes.npz", given.keep or str(Path(scratch) / "run")
            np.savez(data, x=scenes(TRAINED_ON, unseen=False)[0])
            command = [str(Path(sys.executable).with_name("weft")), "train", str(data), "--task", "distill-images",
                       "--minutes", str(given.minutes), "--out", place, *given.more.split(), "--json"]  # fmt: skip
            report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            told = f"{given.minutes:g} minutes, {report['steps']} steps"
        columns = ["what is read", "inside objects", "their area", "ratio", "95 % interval"]
        return [Table(f"The class token on {MEASURED} held-out scenes ({told})", columns, rows_of(weft.load(place)))]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--run", metavar="RUN", help="measure this run, and train none")
    parser.add_argument("--keep", metavar="RUN", help="keep the new run there")
    parser.add_argument("--more", default="", metavar="WORDS", help="further words for weft train, in one text")
    parser.add_argument("--photos", metavar="PICTURES", help="draw a sheet of photographs, and measure nothing")
    parser.add_argument("--sheet", type=Path, default=Path("outlines.png"))
    parser.add_argument("--maps", action="store_true", help="the maps without the photographs")
    if (found := parser.parse_args()).photos:
        found.sheet.write_bytes(sheet(weft.load(found.run), found.photos, maps=found.maps))
    else:
        hand_in(measure(found), found.json)
