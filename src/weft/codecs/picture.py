"""PictureCodec: the size at which pictures are read. Knows pixels and sides; refuses to know files."""

import math
from collections.abc import Sequence
from typing import Literal

from weft.codecs.codec import Codec
from weft.config import Config as BaseConfig
from weft.config import at_least
from weft.errors import ConfigError

Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's filters


class Preparation(BaseConfig):
    """How a picture of any size gets the size that a model was trained with: it is scaled, then its middle is cut out.

    `sides` is the height and width that every picture is scaled to, whatever its aspect. `shortest` is the length of its
    shorter side, with the aspect kept; where the longer side would exceed `longest`, that decides. Without either, a
    picture keeps its size. `crop` is the height and width of the middle that is kept; a smaller picture gets black edges.
    `white`: transparent pictures are laid over white; otherwise transparency is ignored.
    """

    sides: tuple[int, ...] | None = None
    shortest: int | None = None
    longest: int | None = None
    resample: Resample = "bilinear"
    crop: tuple[int, ...] | None = None
    white: bool = False

    def check(self) -> None:
        at_least(self, 1, "shortest", "longest")
        for name in ("sides", "crop"):
            value = getattr(self, name)
            if value is not None and (len(value) != 2 or min(value) < 1):
                raise ConfigError(f"expected a height and a width, found {list(value)}", where=f"Preparation.{name}")
        if self.sides is not None and self.shortest is not None:
            raise ConfigError("sides and shortest cannot both be set", where="Preparation")
        if self.longest is not None and self.shortest is None:
            raise ConfigError("longest limits shortest, which is not set", where="Preparation.longest")

    @property
    def final(self) -> tuple[int, int] | None:
        """The height and width that a square picture ends with; None where a picture keeps its size."""
        if self.crop is not None:
            return self.crop[0], self.crop[1]
        if self.sides is not None:
            return self.sides[0], self.sides[1]
        return None if self.shortest is None else self.scaled_shape(self.shortest, self.shortest)

    def scaled_shape(self, height: int, width: int) -> tuple[int, int]:
        """The height and width that a picture of this size is scaled to, before anything is cut off."""
        if self.sides is not None:
            return self.sides[0], self.sides[1]
        if self.shortest is None:
            return height, width
        short, long = sorted((height, width))
        size: float = self.shortest
        if self.longest is not None and float(long) / float(short) * size > self.longest:
            size = self.longest * float(short) / float(long)
        new_short = max(1, round(size))
        new_long = long if new_short == short and self.longest is not None else max(1, int(size * long / short))
        return (new_long, new_short) if width <= height else (new_short, new_long)


class PictureCodec(Codec):
    """Pictures of one small shape are read as they are; others at about `size` times `size` pixels, their aspect kept.

    Where the makers of a model prepared pictures otherwise, `preparation` says how, and pictures are read in the size
    that it gives them.
    """

    class Config(Codec.Config):
        """`shape` is the height and width of pictures that are read as they are."""

        size: int
        shape: tuple[int, ...] | None = None
        preparation: Preparation | None = None

    config: Config

    def read_shape(self, shape: Sequence[int], stride: int) -> tuple[int, int]:
        """The height and width at which a picture of this shape is read, by tokens of `stride` pixels."""
        small = self.config.shape is not None and max(shape[:2]) <= max(self.config.shape)
        if small or self.config.preparation is not None:
            return shape[0], shape[1]
        return whole_shape(shape, self.config.size, stride)


def whole_shape(shape: Sequence[int], size: int, stride: int) -> tuple[int, int]:
    """The height and width at which a whole picture is read: the area of `size` times `size`, in whole tokens."""
    height, width = shape[:2]
    factor = size / math.sqrt(height * width)
    high, wide = (max(stride, round(side * factor / stride) * stride) for side in (height, width))
    return high, wide
