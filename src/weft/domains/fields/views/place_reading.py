"""What a place read, in numbers and words: how far away, in which variables, at which times. Draws nothing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.domains.fields.reading.cells import GridPoint, direction, distances, point_words
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.maps import checked
from weft.errors import DataError

MOST_BARS = 12  # of more variables the least are put together as others; of more times, neighbours
RINGS_KM = (500, 1000, 2000, 5000, 10000)
MOST_READ = 5  # patches named in the table


@dataclass(frozen=True)
class PlaceReading:
    """What a place read: the share of each source patch, by layer and time (V T R S); shares need not add up to 1.

    A patch has `patch` cells, rows by columns, from the upper left of the grid; the last ones may be cut by its edge.
    """

    weights: np.ndarray
    place: GridPoint
    grid: FieldGrid
    layers: tuple[FieldLayer, ...]
    times: tuple[str, ...]
    patch: tuple[int, int]
    field: np.ndarray | None = None  # Y X: drawn in pale shades below
    title: str = ""
    changes: tuple[tuple[str, float], ...] = ()  # times, and how much the forecast changes where each alone is hidden

    def __post_init__(self) -> None:
        tiles = tuple(-(-cells // side) for cells, side in zip(self.grid.shape, self.patch, strict=True))
        wanted = (len(self.layers), len(self.times), *tiles)
        if np.shape(self.weights) != wanted:
            problem = f"expected shares of {wanted} (layers, times, rows, columns), found {np.shape(self.weights)}"
            raise DataError(problem, where="reading")
        if not np.isfinite(self.weights).all() or np.min(self.weights) < 0:
            raise DataError("expected shares from 0 up, found some that are negative or no numbers", where="reading")
        if self.field is not None:
            checked(self.field, self.grid, "field")

    @cached_property
    def shares(self) -> np.ndarray:
        """The same, so that all add up to 1; zeros where nothing was read."""
        weights = np.asarray(self.weights, np.float64)
        return weights / (weights.sum() or 1.0)

    @cached_property
    def map(self) -> np.ndarray:
        """R S: over all layers and times."""
        return self.shares.sum((0, 1))

    @cached_property
    def middles(self) -> tuple[np.ndarray, np.ndarray]:
        """The y (R S) and x (R S) of the middle of each patch."""
        y, x = (
            np.array([axis[n : n + side].mean() for n in range(0, len(axis), side)])
            for axis, side in zip((self.grid.y, self.grid.x), self.patch, strict=True)
        )
        middles = np.meshgrid(y, x, indexing="ij")
        return middles[0], middles[1]

    @cached_property
    def cells(self) -> np.ndarray:
        """Y X: the share of each cell, that of its patch divided evenly."""
        rows, columns = (np.arange(cells) // side for cells, side in zip(self.grid.shape, self.patch, strict=True))
        count = np.bincount(rows)[:, None] * np.bincount(columns)[None]
        return (self.map / count)[np.ix_(rows, columns)]


def rings(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share that was read from within some distances of the place, in words; the last is all of it."""
    grid = reading.grid
    apart = distances(reading.place, grid.y[:, None], grid.x[None], grid)
    farthest = float(apart.max())
    steps = RINGS_KM if grid.surface == "sphere" else [farthest * n / 5 for n in range(1, 5)]
    found = [
        (f"within {_length(step, grid)}", float(reading.cells[apart <= step].sum()))
        for step in steps
        if apart.min() <= step < farthest
    ]
    return [*found, ("everywhere", float(reading.map.sum()))]


def _length(apart: float, grid: FieldGrid) -> str:
    """A distance in words, rounded to ten kilometres on a sphere."""
    return f"{round(apart, -1):,.0f} km" if grid.surface == "sphere" else f"{apart:.3g}"


def largest(reading: PlaceReading) -> list[tuple[str, float]]:
    """The patches that were read most, in words: where they lie and how far from the place."""
    order = np.argsort(-reading.map, axis=None, kind="stable")[:MOST_READ]
    apart = distances(reading.place, *reading.middles, reading.grid)
    own = (reading.place.row // reading.patch[0], reading.place.column // reading.patch[1])
    found = []
    for row, column in zip(*np.unravel_index(order, reading.map.shape), strict=True):
        y, x = (float(middle[row, column]) for middle in reading.middles)
        away = f"{_length(apart[row, column], reading.grid)} to the {direction(reading.place, y, x, reading.grid)}"
        where = "its own patch" if (row, column) == own else f"{point_words(y, x, reading.grid)}, {away}"
        found.append((where, float(reading.map[row, column])))
    return [(where, share) for where, share in found if share > 0]


def time_heading(reading: PlaceReading) -> str:
    """What the shares by time are shares of."""
    return "by time, hidden in turn" if reading.changes else "by time"


def by_layer(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share of each layer; the least of many together as others."""
    shares = [(layer.name, float(s)) for layer, s in zip(reading.layers, reading.shares.sum((1, 2, 3)), strict=True)]
    if len(shares) <= MOST_BARS:
        return shares
    ordered = sorted(shares, key=lambda one: -one[1])
    few = ordered[: MOST_BARS - 1]
    return [*few, (f"{len(shares) - len(few)} others", sum(share for _, share in ordered[MOST_BARS - 1 :]))]


def by_time(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share of each time, in order; neighbouring ones together where there are many.

    Where a token holds several times, attention cannot tell them apart: then the share of the changes.
    """
    if reading.changes:
        times, changes = zip(*reading.changes, strict=True)
        shares = np.array(changes) / (sum(changes) or 1.0)
    else:
        times, shares = reading.times, reading.shares.sum((0, 2, 3))
    parts = np.array_split(np.arange(len(shares)), min(len(shares), MOST_BARS))
    named = ((times[part[0]], times[part[-1]], float(shares[part].sum())) for part in parts)
    return [(first if first == last else f"{first} to {last}", share) for first, last, share in named]
