"""Which fields are shown: one layer on a grid at several times, and what they are called. Draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.errors import DataError


def layer_words(layer: FieldLayer) -> str:
    """A layer by its title, with its level; by its name where it has none."""
    if not layer.title:
        return layer.name
    return layer.title if layer.level is None else f"{layer.title} at {layer.level:g}"


@dataclass(frozen=True)
class FieldSeries:
    """Which fields are shown: one layer on a grid, at some times under their labels."""

    layer: FieldLayer
    grid: FieldGrid
    labels: Sequence[str]
    title: str = ""  # what stands above; by default the layer's own

    @property
    def heading(self) -> str:
        """What stands above the maps."""
        return self.title or layer_words(self.layer)

    def checked(self, values: np.ndarray, name: str) -> np.ndarray:
        """Fields (n Y X) of all times; others are refused."""
        if not self.labels:
            raise DataError("there are no times to show", where=name)
        if np.shape(values) != (len(self.labels), *self.grid.shape):
            problem = f"expected {len(self.labels)} fields of {self.grid.shape} cells, found {np.shape(values)}"
            raise DataError(problem, where=name)
        return np.asarray(values)

    def picked(self, most: int) -> list[int]:
        """Which of many times are shown: all of a few, else `most` from the first to the last."""
        return sorted({round(n) for n in np.linspace(0, len(self.labels) - 1, min(len(self.labels), most))})
