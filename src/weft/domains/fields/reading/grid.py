"""Grid, Times, Layer and Fields: values on a grid at several times, in one convention whatever the file's own.

Rows go from north to south, columns from west to east, from the first longitude at or after -180. Needs no torch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

Surface = Literal["sphere", "plane"]


@dataclass(frozen=True)
class FieldLayer:
    """One variable at one level: what one token is made of. `level` is None where the variable has no levels."""

    variable: str
    level: float | None = None
    units: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """As people read it: `z` or `z at 500`."""
        return self.variable if self.level is None else f"{self.variable} at {self.level:g}"


@dataclass(frozen=True)
class FieldGrid:
    """Where the cells are: on a sphere `y` is the latitude and `x` the longitude in degrees; on a plane any numbers.

    `wraps`: the last column is a neighbour of the first.
    """

    y: np.ndarray  # Y, float64, descending (north first)
    x: np.ndarray  # X, float64, ascending
    surface: Surface = "sphere"
    wraps: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.y), len(self.x)

    @cached_property
    def weights(self) -> np.ndarray:
        """The share of each row's cells in the area: the cosine of the latitude on a sphere, with mean 1."""
        if self.surface == "plane":
            return np.ones(len(self.y))
        weights = np.cos(np.radians(self.y)).clip(min=1e-3)
        return weights / weights.mean()

    def same(self, other: "FieldGrid") -> bool:
        """Whether both have the same cells, up to rounding of their coordinates."""
        alike = self.shape == other.shape and (self.surface, self.wraps) == (other.surface, other.wraps)
        return alike and all(np.allclose(a, b, rtol=0, atol=1e-4) for a, b in ((self.y, other.y), (self.x, other.x)))


@dataclass(frozen=True)
class Times:
    """When the fields are, in the calendar of their file.

    `days` count from the file's origin; `season` is the share of the year and `hour` the share of the day that have
    passed, from 0 to below 1. `step` is the usual time between two fields in days; `pieces` are the stretches
    (start, stop) within which each field follows the one before by one step.
    """

    days: np.ndarray  # T, float64, ascending
    season: np.ndarray  # T
    hour: np.ndarray  # T
    labels: tuple[str, ...]  # ISO dates, as people read them
    step: float
    pieces: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.days)


class Fields(ABC):
    """Values of several layers on one grid, by time; read from their files when they are asked for."""

    grid: FieldGrid
    layers: tuple[FieldLayer, ...]
    times: Times

    @abstractmethod
    def read(self, start: int, stop: int) -> np.ndarray:
        """The fields of some times (n V Y X) in float32; NaN where a value is missing."""

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class FieldSpan:
    """A part of some fields, from `start` to before `stop`: what is trained on, or what is held out.

    What came before `start` may be read as history, and never as something to be predicted.
    """

    fields: Fields
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start
