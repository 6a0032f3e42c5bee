"""Frames: pictures at the size that a model works with, ready to be batched.

Small pictures of one shape are taken as they are. Others are read whole, scaled to about `size` times `size` pixels
with their aspect kept; in training a random part of each is drawn as a square, which is an augmentation and says so. A
model from elsewhere may say how its pictures are prepared instead.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor
from torch.nn import functional as F

from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.encoded.augment import Augment, augment, augment_with_mask, draws, zoomed
from weft.domains.pictures.encoded.preparing import read_prepared
from weft.domains.pictures.reading.album import Album
from weft.files.pictures.decoding import Decoded
from weft.modalities.image import Picture
from weft.modalities.preparation import Preparation

SMALL = 96  # pixels: pictures of one shape up to this size are used as they are
ROOM = 1.25  # how much larger than the model's size pictures are kept, for random parts to be drawn from
KEPT = 2 * 2**30  # bytes of pictures kept in memory; of more, each is read from its file when it is needed
READERS = 4  # threads that read files
LUMINANCE = np.array([0.299, 0.587, 0.114])  # of red, green and blue (ITU-R BT.601)


@dataclass(frozen=True)
class Frames:
    """Pictures in `channels` for a model that reads about `size` times `size` pixels."""

    pictures: Sequence[Decoded]
    size: int
    channels: int
    metres: np.ndarray | None = None  # of a pixel of each file on the ground; NaN where it is not known

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def kept(self) -> bool:
        """Whether all pictures are in memory."""
        return isinstance(self.pictures, list)

    @cached_property
    def shape(self) -> tuple[int, int] | None:
        """Height and width where all pictures have one shape, small enough to be used as it is."""
        if not self.kept:
            return None
        shapes = {picture.pixels.shape[:2] for picture in self.pictures}
        shape = next(iter(shapes))
        return shape if len(shapes) == 1 and max(shape) <= min(SMALL, self.size) else None

    @cached_property
    def stacked(self) -> UInt8[Tensor, "B C Y X"]:
        """All pictures of one shape as one tensor."""
        return torch.from_numpy(np.stack([p.pixels for p in self.pictures])).permute(0, 3, 1, 2).contiguous()

    @cached_property
    def masks(self) -> Bool[Tensor, "B 1 Y X"] | None:
        """Where the pictures of `stacked` have no known values; None where all are known."""
        if all(p.missing is None for p in self.pictures):
            return None
        return torch.stack([_mask(p.missing, torch.from_numpy(p.pixels).permute(2, 0, 1)) for p in self.pictures])

    def take(self, rows: Sequence[int]) -> "Frames":
        """Some of the pictures, in memory."""
        metres = None if self.metres is None else self.metres[list(rows)]
        return Frames(self.read(rows), self.size, self.channels, metres)

    def read(self, rows: Sequence[int] | np.ndarray) -> list[Decoded]:
        """Some of the pictures; from files several at a time."""
        if self.kept:
            return [self.pictures[row] for row in rows]
        with ThreadPoolExecutor(READERS) as pool:
            return list(pool.map(self.pictures.__getitem__, map(int, rows)))

    def changed(
        self, rows: np.ndarray, indices: np.ndarray, how: Augment, *, key: str, size: tuple[int, int] | None = None
    ) -> Picture:
        """Pictures for training in one shape, each changed as its index alone decides."""
        if self.shape is None:  # of mixed shapes, square parts are drawn
            chance, zoom = draws(f"{key} part", indices, 4), how.zoom or how.shift
            found = [part(one, self.size, zoom, c) for one, c in zip(self.read(rows), chance, strict=True)]
            pixels, how = torch.stack([p for p, _, _ in found]), how.replace(zoom=0.0, shift=0.0)
            masks = None if all(m is None for _, m, _ in found) else torch.stack([_mask(m, p) for p, m, _ in found])
            spans = np.array([span for _, _, span in found])
        else:
            chosen = torch.from_numpy(rows)
            pixels, masks = self.stacked[chosen], None if self.masks is None else self.masks[chosen]
            spans = np.array([self.pictures[row].span for row in rows])
        metres = None
        if self.metres is not None:
            sides = (pixels.shape[2], pixels.shape[3])
            metres = _ground(self.metres[rows], spans * zoomed(indices, how, sides, size or sides, key=key))
        if masks is None:
            return Picture(augment(pixels, indices, how, key=key, size=size), None, metres)
        return Picture(*augment_with_mask(pixels, masks, indices, how, key=key, size=size), metres)


class FromFiles(Sequence[Decoded]):
    """Pictures that are read from their files each time."""

    def __init__(self, album: Album, side: int, channels: int, preparation: Preparation | None = None):
        self.album, self.side, self.channels, self.preparation = album, side, channels, preparation

    def __len__(self) -> int:
        return len(self.album)

    def __getitem__(self, row: int) -> Decoded:  # type: ignore[override]
        if self.preparation is None:
            return in_channels(self.album.read(row, side=self.side), self.channels)
        return in_channels(read_prepared(self.album, row, self.preparation), self.channels)


def frames_of(
    album: Album,
    size: int,
    channels: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    preparation: Preparation | None = None,
) -> Frames:
    """The pictures of an album as a model of this size reads them, in memory where they fit."""
    files = FromFiles(album, round(ROOM * size), channels, preparation)
    if not fit_in_memory(album, size, channels):
        return Frames(files, size, channels, album.scales)
    pictures = []
    for row in range(len(album)):
        pictures.append(files[row])
        if progress is not None:
            progress(row + 1, len(album))
    return Frames(pictures, size, channels, album.scales)


def fit_in_memory(album: Album, size: int, channels: int) -> bool:
    """Whether all pictures of an album are kept in memory for a model of this size."""
    return len(album) * channels * (1.2 * round(ROOM * size)) ** 2 <= KEPT


def in_channels(picture: Decoded, channels: int) -> Decoded:
    """In this many channels: grey is repeated, colour is weighed to grey."""
    pixels = picture.pixels
    if pixels.shape[2] == channels:
        return picture
    if channels == 1:
        pixels = (pixels @ LUMINANCE).round().astype(np.uint8)[..., None]
    else:
        pixels = np.repeat(pixels, channels, 2)
    return replace(picture, pixels=pixels)


def by_shape(
    frames: Frames, codec: PictureCodec, stride: int, batch: int, *, most: int | None = None
) -> Iterator[tuple[np.ndarray, Picture]]:
    """All pictures, or about `most` spread over them, whole, in batches of one shape: rows, and pixels from 0 to 1.

    The codec and the picture alone decide at which shape it is read.
    """
    count = len(frames)
    chosen = np.arange(count) if most is None or most >= count else np.linspace(0, count - 1, most).round().astype(int)
    for start in range(0, len(chosen), 8 * batch):  # the pictures in memory at once
        rows = chosen[start : start + 8 * batch]
        groups: dict[tuple[int, int], list[tuple[int, Decoded]]] = {}
        for row, picture in zip(rows, frames.read(rows), strict=True):
            shape = codec.read_shape(picture.pixels.shape, stride)
            groups.setdefault(shape, []).append((int(row), picture))
        for shape, members in groups.items():
            for first in range(0, len(members), batch):
                some = members[first : first + batch]
                found = np.array([row for row, _ in some])
                metres = None if frames.metres is None else frames.metres[found]
                yield found, picture_of([picture for _, picture in some], shape, metres)


def picture_of(pictures: Sequence[Decoded], shape: tuple[int, int], metres: np.ndarray | None = None) -> Picture:
    """Pictures scaled to one shape, as a model reads them; `metres` is of a pixel of each file."""
    pixels = torch.stack([scaled(picture.pixels, *shape) for picture in pictures]).float() / 255
    if metres is not None:
        spans = [p.span * math.sqrt(math.prod(p.pixels.shape[:2]) / math.prod(shape)) for p in pictures]
    ground = None if metres is None else _ground(metres, np.array(spans))
    if all(picture.missing is None for picture in pictures):
        return Picture(pixels, None, ground)
    masks = [np.zeros(p.pixels.shape[:2], bool) if p.missing is None else p.missing for p in pictures]
    gone = torch.stack([scaled(np.uint8(255) * mask[..., None], *shape) for mask in masks])
    return Picture(pixels, gone > 127, ground)


def scaled(picture: np.ndarray, height: int, width: int) -> UInt8[Tensor, "C Y X"]:
    """A picture of another shape; where it shrinks, the pixels that fall together are averaged."""
    pixels = torch.from_numpy(np.ascontiguousarray(picture)).permute(2, 0, 1)
    if pixels.shape[1:] == (height, width):
        return pixels
    return F.interpolate(pixels[None], (height, width), mode="bilinear", antialias=True, align_corners=False)[0]


def part(
    picture: Decoded, size: int, zoom: float, chance: np.ndarray
) -> tuple[UInt8[Tensor, "C Y X"], np.ndarray | None, float]:
    """A random part of a picture as a square, and its span: 1 - zoom to all of its area, aspect changed a little."""
    height, width = picture.pixels.shape[:2]
    area = height * width * (1 - zoom * chance[0])
    aspect = math.exp((2 * chance[1] - 1) * math.log(4 / 3))
    high = min(height, max(1, round(math.sqrt(area / aspect))))
    wide = min(width, max(1, round(math.sqrt(area * aspect))))
    top, left = int(chance[2] * (height - high + 1)), int(chance[3] * (width - wide + 1))
    box = slice(top, top + high), slice(left, left + wide)
    missing = None if picture.missing is None else picture.missing[box]
    if missing is not None:
        missing = scaled(np.uint8(255) * missing[..., None], size, size)[0].numpy() > 127
    return scaled(picture.pixels[box], size, size), missing, picture.span * math.sqrt(high * wide) / size


def _ground(metres: np.ndarray, spans: np.ndarray) -> Float[Tensor, "B"]:
    """The size on the ground of pixels that stand for several."""
    return torch.from_numpy(metres * spans).float()


def _mask(missing: np.ndarray | None, pixels: Tensor) -> Bool[Tensor, "1 Y X"]:
    shape = pixels.shape[1:]
    return torch.zeros(1, *shape, dtype=torch.bool) if missing is None else torch.from_numpy(missing)[None]
