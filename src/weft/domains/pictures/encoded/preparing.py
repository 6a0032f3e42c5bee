"""Pictures prepared as the makers of a model prepared theirs: scaled and cut, pixel for pixel as Pillow does it.

Knows pixels; refuses to know models and the files that say how pictures are prepared.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from weft.domains.pictures.reading.album import Album
from weft.errors import DataError
from weft.files.pictures.colour import Backing
from weft.files.pictures.decoding import PIXELS, Decoded, resized
from weft.modalities.preparation import Preparation


def read_prepared(album: Album, row: int, how: Preparation) -> Decoded:
    """A picture of an album, read whole and prepared."""
    return prepared(album.read(row, backing=backing_for(how)), how, where=album.names[row])


def backing_for(how: Preparation | None) -> Backing:
    """What is behind transparent pixels of a picture that is prepared so."""
    return "grey" if how is None or how.grey else "white" if how.white else "none"


def prepared(picture: Decoded, how: Preparation, *, where: str) -> Decoded:
    """The picture in its new size."""
    height, width = picture.pixels.shape[:2]
    high, wide = how.scaled_shape(height, width)
    if high * wide > PIXELS:
        problem = f"{width:,} x {height:,} pixels, which the model reads as {wide:,} x {high:,}: more than {PIXELS:,}"
        raise DataError(problem, where=where, fix="cut it into parts that are closer to a square")
    picture = resized(picture, high, wide, how.resample)
    return picture if how.crop is None else _middle(picture, how.crop[0], how.crop[1])


def _middle(picture: Decoded, height: int, width: int) -> Decoded:
    """The middle of a picture in this size; black where the picture is smaller."""
    pixels = _cut(_cut(picture.pixels, height, 0), width, 1)
    missing = None if picture.missing is None else _cut(_cut(picture.missing, height, 0), width, 1)
    return replace(picture, pixels=np.ascontiguousarray(pixels), missing=missing)


def uncut(values: np.ndarray, height: int, width: int, **pad: Any) -> np.ndarray:
    """The whole of which `_middle` left these values; `pad` says, as in numpy.pad, what stands where it cut off."""
    for axis, size in enumerate((height, width)):
        spare = values.shape[axis] - size
        if spare > 0:  # black edges were added, the larger half in front
            values = values.take(range((spare + 1) // 2, (spare + 1) // 2 + size), axis)
        elif spare < 0:
            pads = [(0, 0)] * values.ndim
            pads[axis] = (-spare // 2, -spare - -spare // 2)
            values = np.pad(values, pads, **pad)
    return values


def _cut(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """The middle along one axis, with zeros on both sides where it is shorter than `size`."""
    spare = values.shape[axis] - size
    if spare >= 0:
        return values.take(range(spare // 2, spare // 2 + size), axis)
    before = -(spare // 2)  # the larger half
    pads = [(0, 0)] * values.ndim
    pads[axis] = (before, -spare - before)
    return np.pad(values, pads)
