"""Pictures prepared as the makers of a model prepared theirs: scaled and cut, pixel for pixel as Pillow does it.

Knows pixels; refuses to know models and the files that say how pictures are prepared.
"""

from dataclasses import replace

import numpy as np

from weft.domains.pictures.reading.album import Album
from weft.errors import DataError
from weft.files.pictures.decoding import PIXELS, Decoded, resized
from weft.modalities.preparation import Preparation


def read_prepared(album: Album, row: int, how: Preparation) -> Decoded:
    """A picture of an album, read whole and prepared."""
    picture = album.read(row, backing="white" if how.white else "grey" if how.grey else "none")
    return prepared(picture, how, where=album.names[row])


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


def _cut(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """The middle along one axis, with zeros on both sides where it is shorter than `size`."""
    spare = values.shape[axis] - size
    if spare >= 0:
        return values.take(range(spare // 2, spare // 2 + size), axis)
    before = -(spare // 2)  # the larger half
    pads = [(0, 0)] * values.ndim
    pads[axis] = (before, -spare - before)
    return np.pad(values, pads)
