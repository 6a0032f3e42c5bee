"""Fields in memory, for tests: values by time with a calendar of 365 days."""

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, Fields, Times


def times_every(step: float, count: int, first: float = 0.0, gaps: tuple[int, ...] = ()) -> Times:
    """`count` times `step` days apart; a year has 365 days, and before each index of `gaps` ten steps are left out."""
    days = first + step * np.arange(count, dtype=np.float64)
    for gap in gaps:
        days[gap:] += 10 * step
    edges = [0, *gaps, count]
    labels = tuple(f"day {day:g}" for day in days)
    return Times(days, days / 365 % 1, days % 1, labels, step, tuple(zip(edges, edges[1:], strict=False)))


class ArrayFields(Fields):
    """Values (T V Y X) that are already there."""

    def __init__(self, values: np.ndarray, times: Times, grid: FieldGrid | None = None):
        rows, columns = values.shape[-2:]
        self.values, self.times = values.astype(np.float32), times
        self.grid = grid or FieldGrid(np.linspace(60, -60, rows), np.linspace(0, 300, columns))
        self.layers = tuple(FieldLayer(f"layer{i}") for i in range(values.shape[1]))

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.values[start:stop].copy()
