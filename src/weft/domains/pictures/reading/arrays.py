"""Pictures in .npz and .npy files. Knows arrays' names, shapes and numbers; never unpickles.

One array holds all pictures of a side: (N, H, W), (N, H, W, C) or (N, C, H, W) with 1, 3 or 4 (alpha) channels. Numbers
follow the rule in `colour`; held-out pictures are scaled as those for training are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.domains.pictures.reading.album import Album, Listed
from weft.errors import DataError
from weft.files.arrays import Header, array, headers
from weft.files.decoding import shown
from weft.files.pictures.colour import BACKGROUND, Backing, Range, over_background, to_bytes
from weft.files.pictures.decoding import Decoded, shrunk
from weft.files.pictures.locations import ARRAYS, Gathered, PictureEntry, PictureLocation

STEMS = (("x", "y"), ("images", "labels"))
HELD = ("val", "valid", "validation", "dev", "test")
SCALES = ("metres_per_pixel", "meters_per_pixel", "gsd", "scale")
NAMES = "save pictures as x and labels as y, or as x_train, y_train, x_val and y_val"
CHANNELS = (1, 3, 4)
LEAST_SIDE, LONGER = 4, 4  # pixels of pictures that are no bytes, and how many times longer one side may be


@dataclass(frozen=True)
class Stack:
    """Pictures of one size in memory: (N, H, W, 1, 3 or 4) in uint8, and where they are missing."""

    name: str
    pixels: np.ndarray
    missing: np.ndarray | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowPlace(PictureLocation):
    """One picture of a stack."""

    stack: Stack
    row: int
    in_memory = True

    @property
    def where(self) -> str:
        return f"{self.stack.name}[{self.row}]"

    def content(self) -> bytes:
        known = b"" if self.stack.missing is None else np.packbits(self.stack.missing[self.row]).tobytes()
        pixels = self.stack.pixels[self.row]
        return repr(pixels.shape).encode() + pixels.tobytes() + known

    def decode(self, content: bytes, side: int | None, backing: Backing = "grey") -> Decoded:
        pixels, missing = self.stack.pixels[self.row], None
        if pixels.shape[2] == 4:
            pixels, missing = over_background(pixels[..., :3], pixels[..., 3], backing)
        if self.stack.missing is not None and (unknown := self.stack.missing[self.row]).any():
            missing = unknown if missing is None else np.logical_or(missing, unknown)
            pixels = np.where(missing[..., None], np.uint8(BACKGROUND), pixels)
        picture = Decoded(pixels, missing, self.stack.notes)
        return picture if side is None else shrunk(picture, side)


class _Names(NamedTuple):
    """The arrays of one side, by the names they have in the file."""

    pictures: str
    labels: str | None
    scales: str | None


def is_arrays(path: Path) -> bool:
    """Whether a file holds arrays, by its name."""
    return path.suffix.lower() in ARRAYS


def holds_pictures(path: Path) -> bool:
    """Whether a file has an array of a usual name that has the shape of pictures. Reads headers alone."""
    try:
        found = headers(path)
    except DataError:
        return False
    sides, _ = _sides(list(found))
    return bool(sides) and is_picture_like(found[sides[0][0].pictures])


def is_picture_like(known: Header) -> bool:
    """Whether an array may be pictures by its shape: neither side is much longer than the other, as in series.

    Bytes are nearly always pictures, so that they may be longer and smaller than other numbers.
    """
    shape, small = known.shape, known.dtype == np.uint8
    if len(shape) == 4:
        shape = shape[:3] if shape[3] in CHANNELS else (shape[0], *shape[2:])
    if len(shape) != 3 or known.dtype.kind not in "buif":
        return False
    low, high = min(shape[1:]), max(shape[1:])
    return low >= (2 if small else LEAST_SIDE) and high <= (32 if small else LONGER) * low


def refusal(path: Path) -> DataError | None:
    """The error for arrays under the names of pictures that are series or sets of vectors by their shape."""
    try:
        found = headers(path) if is_arrays(path) else {}
    except DataError:
        return None
    sides, _ = _sides(list(found))
    known = found[sides[0][0].pictures] if sides else None
    if known is None or len(known.shape) != 3 or known.dtype.kind != "f" or is_picture_like(known):
        return None
    count, steps, width = known.shape
    problem = f"{count:,} x {steps:,} x {width:,} numbers of {known.dtype} are no pictures: series, or sets of vectors"
    fix = (
        f"as sets, in which order means nothing: weft train {shown(path)} --task sets (arrays x and labels); weft has "
        "no task for the classes of time series: add the time to each vector, as one more number"
    )
    return DataError(problem, where=f"{shown(path)}: {sides[0][0].pictures}", fix=fix)


def in_arrays(path: Path, *, labels: bool) -> Gathered:
    """The pictures of a file of arrays, with their labels."""
    where, known_names = shown(path), list(headers(path))
    sides, unused = _sides(known_names)
    if not sides:
        found = ", ".join(map(repr, known_names[:8])) or "nothing"
        raise DataError(f"no array of pictures under a name that weft knows; it holds {found}", where=where, fix=NAMES)
    gathered, known = Gathered([], [(f"{path.name}: {shown(n)}", "an array of no use here") for n in unused]), None
    for names, held in sides:
        values = _channels_last(array(path, names.pictures), f"{where}: {shown(names.pictures)}")
        known = known or Range.of(values)
        stack = _stack(names.pictures, values, known)
        texts = _labels(path, names, len(values)) if labels else [None] * len(values)
        scales = _scales(path, names, len(values))
        gathered.entries.extend(
            PictureEntry(f"{shown(names.pictures)}[{i}]", RowPlace(stack, i), texts[i], scales[i], held)
            for i in range(len(values))
        )
    return gathered


def album_of(name: str, pixels: np.ndarray, labels: Sequence[object] | None = None) -> Album:
    """Pictures that are in memory, (N, H, W) or (N, H, W, C) in uint8, with a label each."""
    stack = Stack(name, pixels if pixels.ndim == 4 else pixels[..., None], None, ())
    return Album(
        tuple(
            Listed(f"{name}[{i}]", RowPlace(stack, i), None if labels is None else str(labels[i]))
            for i in range(len(pixels))
        )
    )


def _sides(names: list[str]) -> tuple[list[tuple[_Names, bool]], list[str]]:
    """The arrays to learn from, then those held out if any (the names, whether held out), and all other names."""
    lower = {name.lower(): name for name in names}

    def find(part: str) -> _Names | None:
        for x, y in STEMS:
            for form in ("{}_" + part, part + "_{}") if part else ("{}",):
                if form.format(x) in lower:
                    scales = next((lower[form.format(s)] for s in SCALES if form.format(s) in lower), None)
                    return _Names(lower[form.format(x)], lower.get(form.format(y)), scales)
        return None

    train = find("train") or find("")
    if train is None:
        return [], names
    held = next(filter(None, map(find, HELD)), None)
    sides = [(train, False)] + ([(held, True)] if held else [])
    used = {name for side, _ in sides for name in side}
    return sides, [name for name in names if name not in used]


def _channels_last(values: np.ndarray, where: str) -> np.ndarray:
    """The array as (N, H, W, C)."""
    form = " x ".join(map(str, values.shape)) or "a single number"
    fix = "save them as (N, H, W), (N, H, W, C) or (N, C, H, W) with 1, 3 or 4 channels"
    if values.dtype.kind not in "buif":
        raise DataError(f"expected numbers, found {values.dtype}", where=where, fix="save them as uint8")
    if values.ndim == 2 and (side := math.isqrt(values.shape[1])) ** 2 == values.shape[1]:
        fix = f"if they are {side} x {side} pixels, save x.reshape(-1, {side}, {side})"
    if values.ndim == 3 and 1 in values.shape[1:]:
        fix = "series and sets of vectors are no pictures: --task sets learns from sets"
    elif values.ndim == 3 and values.shape[2] not in (3, 4):
        values = values[..., None]
    elif values.ndim == 3:
        fix = "if this is one picture, save x[None]"
    if values.ndim != 4 or not (values.shape[3] in CHANNELS or values.shape[1] in CHANNELS):
        raise DataError(f"{form} is not a shape of pictures", where=where, fix=fix)
    if not values.size:
        raise DataError(f"{form}: no pictures in it", where=where, fix=NAMES)
    return values if values.shape[3] in CHANNELS else values.transpose(0, 2, 3, 1)


def _stack(name: str, values: np.ndarray, known: Range) -> Stack:
    pixels, missing = to_bytes(np.ascontiguousarray(values), known)
    missing = None if missing is None else np.logical_or.reduce(missing, axis=3)
    return Stack(shown(name), pixels, missing, (known.note,) if known.note else ())


def _labels(path: Path, names: _Names, count: int) -> list[str]:
    where = f"{shown(path)}: {names.labels or names.pictures}"
    if names.labels is None:
        raise DataError("no array of labels beside it", where=where, fix=NAMES)
    values = array(path, names.labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (count,):
        fix = "save one label for each picture (of one-hot rows, y.argmax(1))"
        raise DataError(f"{count} pictures, but labels of shape {values.shape}", where=where, fix=fix)
    whole = values.dtype.kind in "biu" or (values.dtype.kind == "f" and bool((values == np.rint(values)).all()))
    if not whole and values.dtype.kind not in "US":
        raise DataError(f"expected whole numbers or texts, found {values.dtype}", where=where, fix=NAMES)
    if values.dtype.kind == "S":
        return [shown(value.decode("utf-8", "backslashreplace")) for value in values]
    return [shown(str(value)) if values.dtype.kind == "U" else str(int(value)) for value in values]


def _scales(path: Path, names: _Names, count: int) -> list[float]:
    if names.scales is None:
        return [math.nan] * count
    values = array(path, names.scales)
    if values.dtype.kind not in "uif" or values.shape not in ((), (count,)):
        problem = f"expected a number for each of {count} pictures, found {values.dtype} of shape {values.shape}"
        raise DataError(problem, where=f"{shown(path)}: {names.scales}", fix="save metres per pixel")
    return [float(value) if 0 < value < math.inf else math.nan for value in np.broadcast_to(values, count)]
