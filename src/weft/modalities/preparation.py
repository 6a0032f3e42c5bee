"""Preparation: how a picture gets the size that a model was trained with. Numbers alone; no pixels and no files."""

import math
from typing import Literal

from weft.config import Config as BaseConfig
from weft.config import at_least
from weft.errors import ConfigError

Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's filters


SQUARE = 256  # pixels along a picture whose final size stands for all
SCALES, SCALE_STEP = (1e-6, 100.0), 1e-5  # between which the largest scale is looked for, and how finely


class Preparation(BaseConfig):
    """How a picture of any size gets the size that a model was trained with: it is scaled, then its middle is cut out.

    `sides` is the height and width that every picture is scaled to, whatever its aspect. `shortest` is the length of
    its shorter side, with the aspect kept; where the longer side would exceed `longest`, that decides. With `multiple`,
    both sides are then cut down to multiples of this number (Kim et al., 2021). With `most`, a picture is scaled to
    the largest sides, in multiples, that hold at most so many squares of that size, and its aspect changes a little
    (Dehghani et al., 2023). Without any of these, a picture keeps its size. `crop` is the height and width of the
    middle that is kept; a smaller picture gets black edges. `white`: transparent pictures are laid over white; `grey`:
    over grey, and what shows through counts as missing; otherwise transparency is ignored.
    """

    sides: tuple[int, ...] | None = None
    shortest: int | None = None
    longest: int | None = None
    resample: Resample = "bilinear"
    crop: tuple[int, ...] | None = None
    white: bool = False
    grey: bool = False
    multiple: int | None = None
    most: int | None = None

    def check(self) -> None:
        at_least(self, 1, "shortest", "longest", "multiple", "most")
        if self.most is not None and (self.multiple is None or self.shortest is not None or self.sides is not None):
            raise ConfigError("most counts squares of multiple, and no side is set", where="Preparation.most")
        for name in ("sides", "crop"):
            value = getattr(self, name)
            if value is not None and (len(value) != 2 or min(value) < 1):
                raise ConfigError(f"expected a height and a width, found {list(value)}", where=f"Preparation.{name}")
        if self.sides is not None and self.shortest is not None:
            raise ConfigError("sides and shortest cannot both be set", where="Preparation")
        if self.white and self.grey:
            raise ConfigError("white and grey cannot both be set", where="Preparation")
        if self.longest is not None and self.shortest is None:
            raise ConfigError("longest limits shortest, which is not set", where="Preparation.longest")
        if self.most is None and self.multiple is not None and (self.shortest is None or self.shortest < self.multiple):
            problem = f"shortest is {self.shortest}: no side would be left of a multiple of {self.multiple}"
            raise ConfigError(problem, where="Preparation.multiple")

    @property
    def final(self) -> tuple[int, int] | None:
        """The height and width that a square picture ends with; None where a picture keeps its size."""
        if self.crop is not None:
            return self.crop[0], self.crop[1]
        if self.sides is not None:
            return self.sides[0], self.sides[1]
        if self.most is not None:
            return self.scaled_shape(SQUARE, SQUARE)
        return None if self.shortest is None else self.scaled_shape(self.shortest, self.shortest)

    def scaled_shape(self, height: int, width: int) -> tuple[int, int]:
        """The height and width that a picture of this size is scaled to, before anything is cut off."""
        if self.sides is not None:
            return self.sides[0], self.sides[1]
        if self.most is not None and self.multiple is not None:
            return self._in_squares(height, width, self.most, self.multiple)
        if self.shortest is None:
            return height, width
        if self.multiple is not None:
            return self._in_multiples(height, width, self.shortest, self.multiple)
        short, long = sorted((height, width))
        size: float = self.shortest
        if self.longest is not None and float(long) / float(short) * size > self.longest:
            size = self.longest * float(short) / float(long)
        new_short = max(1, round(size))
        new_long = long if new_short == short and self.longest is not None else max(1, int(size * long / short))
        return (new_long, new_short) if width <= height else (new_short, new_long)

    def _in_multiples(self, height: int, width: int, shortest: int, multiple: int) -> tuple[int, int]:
        """The sides at the scale that gives the shorter one its length, rounded, then cut down to multiples."""
        factor = shortest / min(height, width)
        sides = [factor * height, factor * width]
        if self.longest is not None and max(sides) > self.longest:
            factor = self.longest / max(sides)
            sides = [factor * side for side in sides]
        high, wide = (max(multiple, int(side + 0.5) // multiple * multiple) for side in sides)
        return high, wide

    def _in_squares(self, height: int, width: int, most: int, multiple: int) -> tuple[int, int]:
        """The sides at the largest scale, found by halving, at which there are few enough squares."""

        def rounded(scale: float) -> tuple[int, int]:
            high, wide = (max(multiple, math.ceil(side * scale / multiple) * multiple) for side in (height, width))
            return high, wide

        low, high = SCALES
        while high - low >= SCALE_STEP:
            middle = (low + high) / 2
            sides = rounded(middle)
            low, high = (middle, high) if sides[0] * sides[1] <= most * multiple**2 else (low, middle)
        return rounded(low)
