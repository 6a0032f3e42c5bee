"""Preparation: how a picture gets the size that a model was trained with. Numbers alone; no pixels and no files."""

from typing import Literal

from weft.config import Config as BaseConfig
from weft.config import at_least
from weft.errors import ConfigError

Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # Pillow's filters


class Preparation(BaseConfig):
    """How a picture of any size gets the size that a model was trained with: it is scaled, then its middle is cut out.

    `sides` is the height and width that every picture is scaled to, whatever its aspect. `shortest` is the length of
    its shorter side, with the aspect kept; where the longer side would exceed `longest`, that decides. With `multiple`,
    both sides are then cut down to multiples of this number (Kim et al., 2021). Without any of these,
    a picture keeps its size. `crop` is the height and width of the middle that is kept; a smaller picture gets black
    edges. `white`: transparent pictures are laid over white; `grey`: over grey, and what shows through counts as
    missing; otherwise transparency is ignored.
    """

    sides: tuple[int, ...] | None = None
    shortest: int | None = None
    longest: int | None = None
    resample: Resample = "bilinear"
    crop: tuple[int, ...] | None = None
    white: bool = False
    grey: bool = False
    multiple: int | None = None

    def check(self) -> None:
        at_least(self, 1, "shortest", "longest", "multiple")
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
        if self.multiple is not None and (self.shortest is None or self.shortest < self.multiple):
            problem = f"shortest is {self.shortest}: no side would be left of a multiple of {self.multiple}"
            raise ConfigError(problem, where="Preparation.multiple")

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
