"""Pictures as a model works with them: at a size, in channels, on a scale. Knows pixels; refuses to know models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.frames import SMALL, Frames, fit_in_memory, frames_of
from weft.domains.pictures.reading.album import Album
from weft.modalities.image import Sight

LOOKED_AT = 1000  # pictures that tell channels and the scale of the numbers
FIRST_LOOK = 50  # pictures that tell whether all may have one shape


@dataclass(frozen=True)
class SeenPictures:
    """Pictures to train on and held out, and what a model has to know of them."""

    data: PictureData
    codec: PictureCodec
    train: Frames
    held_out: Frames
    sight: Sight

    @staticmethod
    def of(
        data: PictureData,
        codec: PictureCodec,
        channels: int | None,
        count: Callable[[int, int], None] | None = None,
    ) -> "SeenPictures":
        """The pictures at the codec's size, in the channels that are given or that the most colourful of them have."""
        channels = channels_of(data.train) if channels is None else channels
        size = codec.config.size
        train, held = (frames_of(album, size, channels, count) for album in (data.train, data.held_out))
        return SeenPictures(data, codec, train, held, sight_of(train, size, channels))

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(20.0, max(1.0, len(self.train) * self.codec.config.size**2 / 2e6))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"pictures": len(self.train), "held_out": len(self.held_out)}

    def lines(self) -> Mapping[str, str]:
        """The pictures in words, for a plan."""
        shape, size, rule = self.train.shape, self.codec.config.size, self.data.rule
        pixels = f"{shape[1]} x {shape[0]} pixels as they are" if shape else f"about {size} x {size} pixels"
        return {
            "data": "; ".join(self.data.notes),
            "pictures": f"{pixels}, {'grey' if self.sight.channels == 1 else 'colour'}",
            "held out": f"{len(self.held_out):,} pictures: {rule.partition(':')[2].strip() or rule}",
        }


def codec_for(
    album: Album, size: int | None, usual: int, *, trained: int | None = None, aspect: bool = True
) -> PictureCodec:
    """How pictures like these are read: as they are where all have one small shape, else at a size in pixels.

    The size is that at which a model was `trained` before, or the one asked for, or the usual one. Shapes that are
    larger than the first two are not small. `aspect`: whether others keep theirs.
    """
    shape = _one_shape(album, min(SMALL, trained or size or SMALL))
    side = trained or (size or usual if shape is None else max(shape))
    kept = shape is not None and fit_in_memory(album, side, channels_of(album))
    return PictureCodec(PictureCodec.Config(size=side, shape=shape if kept else None, aspect=aspect))


def _one_shape(album: Album, most: int) -> tuple[int, int] | None:
    """The height and width that all pictures have, if they have one and no side is longer than `most`."""
    for rows in (_some(len(album), FIRST_LOOK), range(len(album))):
        shapes = {album.read(int(row)).pixels.shape[:2] for row in rows}
        if len(shapes) > 1 or max(next(iter(shapes))) > most:
            return None
    height, width = next(iter(shapes))
    return height, width


def channels_of(album: Album) -> int:
    """The channels of the most colourful of some pictures: 1 or 3."""
    return max(album.read(int(row)).pixels.shape[2] for row in _some(len(album), LOOKED_AT))


def sight_of(train: Frames, size: int, channels: int) -> Sight:
    """The size of pictures, the mean and spread of each channel over a part of them, and metres for a pixel."""
    rows = _some(len(train), LOOKED_AT)
    some = train.read(rows)
    flat = [one.pixels.reshape(-1, channels) for one in some]
    pixels = np.concatenate([one[:: max(1, len(one) // 1024)] for one in flat]).astype(np.float64) / 255
    mean, std = pixels.mean(0), np.maximum(pixels.std(0), 1 / 255)
    height, width = train.shape or (size, size)
    metres = 1.0
    if train.metres is not None:
        spans = [one.span * (1 if train.shape else np.sqrt(one.pixels[..., 0].size) / size) for one in some]
        known = (train.metres[rows] * spans)[np.isfinite(train.metres[rows])]
        metres = float(np.median(known)) if len(known) else 1.0
    return Sight(height, width, channels, tuple(np.round(mean, 4).tolist()), tuple(np.round(std, 4).tolist()), metres)


def _some(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
