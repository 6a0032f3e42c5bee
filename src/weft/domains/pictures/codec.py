"""PictureCodec: the size at which pictures are read. Knows pixels and sides; refuses to know files."""

import math
from collections.abc import Sequence

from weft.modalities.image import PictureEmbed
from weft.modalities.preparation import Preparation
from weft.tasks.codec import Codec


class PictureCodec(Codec):
    """Pictures of one small shape are read as they are; others at about `size` times `size` pixels.

    They keep their `aspect`, or are scaled to the one shape that the model reads: the way of other libraries, so that a
    model answers there as it does here. Where the makers of a model prepared pictures otherwise, `preparation` says
    how, and pictures are read in the size that it gives them.
    """

    class Config(Codec.Config):
        """`shape` is the height and width of pictures that are read as they are."""

        size: int
        shape: tuple[int, ...] | None = None
        preparation: Preparation | None = None
        aspect: bool = True

    config: Config

    def fitted(self, embed: PictureEmbed.Config) -> "PictureCodec":
        """The codec for a model, with the preparation that gives pictures the one shape that it reads.

        The codec itself where aspects are kept, and where pictures are read in a shape that the model fills up.
        """
        sides = tuple(count * embed.stride for count in embed.grid)
        if self.config.preparation is not None or self.config.aspect or self.config.shape not in (None, sides):
            return self
        return PictureCodec(self.config.replace(preparation=Preparation(sides=sides, grey=True)))

    def read_shape(self, shape: Sequence[int], stride: int) -> tuple[int, int]:
        """The height and width at which a picture of this shape is read, by tokens of `stride` pixels."""
        small = self.config.shape is not None and max(shape[:2]) <= max(self.config.shape)
        if small or self.config.preparation is not None:
            return shape[0], shape[1]
        if not self.config.aspect and self.config.shape is None:
            side = -(-self.config.size // stride) * stride
            return side, side
        return whole_shape(shape, self.config.size, stride)


def whole_shape(shape: Sequence[int], size: int, stride: int) -> tuple[int, int]:
    """The height and width at which a whole picture is read: the area of `size` times `size`, in whole tokens."""
    height, width = shape[:2]
    factor = size / math.sqrt(height * width)
    high, wide = (max(stride, round(side * factor / stride) * stride) for side in (height, width))
    return high, wide
