"""What a place read: where on the map, in which variables and at which times its attention went. Knows no model."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from weft.data.grids.grid import Grid, Layer
from weft.data.grids.places import Place, direction, distances, point_words
from weft.errors import DataError
from weft.inspect.fieldmaps import Scale, bounds, checked, dress, map_size, spread_out
from weft.inspect.figures import DOTS_PER_INCH, INK, LINES, PALE, READ, Format, Sheet, shades, sheet
from weft.inspect.views import picture_page

WIDTH, HEIGHT = 6.2, 4.4  # inches: the box of the map
BAR, BAR_WIDTH = 0.19, 1.5  # inches: from one bar to the next, the longest bar
MOST_BARS = 12  # more variables are shown as "others", more times as stretches
RINGS_KM = (500, 1000, 2000, 5000, 10000)
NEAREST = 5  # patches named in the table
FIELD_SHADE = 0.2  # how much darker the field makes the map where it is lowest


@dataclass(frozen=True)
class PlaceReading:
    """What a place read: the share of each source patch, by layer and time (V T R S); shares need not add up to 1.

    A patch has `patch` cells, rows by columns, from the upper left of the grid; the last ones may be cut by its edge.
    """

    weights: np.ndarray
    place: Place
    grid: Grid
    layers: tuple[Layer, ...]
    times: tuple[str, ...]
    patch: tuple[int, int]
    field: np.ndarray | None = None  # Y X: drawn in pale shades below
    title: str = ""

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
    def apart(self) -> np.ndarray:
        """R S: how far the middle of each patch is from the place."""
        return distances(self.place, *self.middles, self.grid)


def rings(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share that was read from within some distances of the place, in words; rings that hold all are left out."""
    sphere = reading.grid.surface == "sphere"
    farthest = float(reading.apart.max())
    steps = RINGS_KM if sphere else [farthest * n / 5 for n in range(1, 5)]
    inner = float(reading.apart.min())
    used = [step for step in steps if inner <= step < farthest]
    unit = " km" if sphere else ""
    found = [(f"within {step:,.4g}{unit}", float(reading.map[reading.apart <= step].sum())) for step in used]
    return [*found, ("everywhere", float(reading.map.sum()))]


def largest(reading: PlaceReading) -> list[tuple[str, float]]:
    """The patches that were read most, in words: where they lie and how far from the place."""
    order = np.argsort(-reading.map, axis=None, kind="stable")[:NEAREST]
    unit = " km" if reading.grid.surface == "sphere" else ""
    found = []
    for row, column in zip(*np.unravel_index(order, reading.map.shape), strict=True):
        y, x = (float(middle[row, column]) for middle in reading.middles)
        covers = (reading.place.row // reading.patch[0], reading.place.column // reading.patch[1])
        away = f"{reading.apart[row, column]:,.0f}{unit} to the {direction(reading.place, y, x, reading.grid)}"
        where = "its own patch" if (row, column) == covers else f"{point_words(y, x, reading.grid)}, {away}"
        found.append((where, float(reading.map[row, column])))
    return [(where, share) for where, share in found if share > 0]


def by_layer(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share of each layer; the least of many together as others."""
    shares = [(layer.name, float(s)) for layer, s in zip(reading.layers, reading.shares.sum((1, 2, 3)), strict=True)]
    if len(shares) <= MOST_BARS:
        return shares
    ordered = sorted(shares, key=lambda one: -one[1])
    few = ordered[: MOST_BARS - 1]
    return [*few, (f"{len(shares) - len(few)} others", sum(share for _, share in ordered[MOST_BARS - 1 :]))]


def by_time(reading: PlaceReading) -> list[tuple[str, float]]:
    """The share of each time, in order; neighbouring ones together where there are many."""
    shares = reading.shares.sum((0, 2, 3))
    parts = np.array_split(np.arange(len(shares)), min(len(shares), MOST_BARS))
    named = ((reading.times[part[0]], reading.times[part[-1]], float(shares[part].sum())) for part in parts)
    return [(first if first == last else f"{first} to {last}", share) for first, last, share in named]


def draw(reading: PlaceReading, *, format: Format = "png") -> bytes:
    """A PNG or SVG: the map of where it read with a star at the place, beside it bars by variable and by time."""
    wide, high = map_size(reading.grid, WIDTH, HEIGHT)
    with sheet(format) as on:
        on.text(0, -0.3, reading.title or f"what {reading.place.words} read", size=12, va="bottom")
        shown = f"the field {'in pale shades, ' if reading.field is not None else ''}under the share read of each patch"
        on.text(0, -0.08, shown, size=8, color=PALE, va="bottom")
        _heat(on, reading, (0, 0, wide, high))
        x, y = wide + 1.75, 0.0
        for heading, bars in (("by variable", by_layer(reading)), ("by time", by_time(reading))):
            y = _bars(on, heading, bars, x, y) + 0.25
        _table(on, reading, max(high + 0.45, 0.0))
        return on.bytes()


def _heat(on: Sheet, reading: PlaceReading, place: tuple[float, float, float, float]) -> None:
    """The shares as colours, darker where the field is low; cells without a value stay hatched below them."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    grid, (x, y, wide, high) = reading.grid, place
    axis = on.axis(*place)
    dress(axis, grid, (wide, high), (True, True))
    cells = np.kron(reading.map, np.ones(reading.patch))[: grid.shape[0], : grid.shape[1]]
    most = float(reading.map.max()) or 1.0
    field = np.zeros(grid.shape) if reading.field is None else reading.field
    scale, known = Scale.of(field), np.isfinite(field)
    level = np.clip((np.where(known, field, 0) - scale.low) / (scale.high - scale.low), 0, 1)
    pixels = shades(READ)(cells / most)
    if reading.field is not None:
        pixels[..., :3] *= (1 - FIELD_SHADE * (1 - np.where(known, level, 1)))[..., None]
    pixels[..., 3] = np.where(known, 1, np.clip(cells / most, 0, 0.7))
    shown = spread_out(pixels, grid, round(high * DOTS_PER_INCH), round(wide * DOTS_PER_INCH))
    axis.imshow(shown.data, extent=bounds(grid), aspect="auto", interpolation="none")
    axis.plot(
        [reading.place.x], [reading.place.y], "*", markersize=15, color="#ffd23f", markeredgecolor=INK, markeredgewidth=1,
        clip_on=False, zorder=5,
    )  # fmt: skip
    bar = ScalarMappable(Normalize(0, 100 * most), shades(READ))
    on.bar(bar, (wide + 0.12, 0, 0.12, high), Scale(0, 100 * most).ticks(4), ".3g")
    on.text(wide + 0.12, -0.05, "%", size=7, color=PALE, va="bottom")


def _bars(on: Sheet, heading: str, bars: Sequence[tuple[str, float]], x: float, y: float) -> float:
    """Shares as bars with their names on the left; returns where they end."""
    from matplotlib.patches import Rectangle

    on.text(x, y - 0.06, heading, size=9, va="bottom")
    axis = on.axis(x, y, BAR_WIDTH, BAR * len(bars), frame=None)
    axis.set(xlim=(0, 1), ylim=(len(bars), 0))
    most = max(share for _, share in bars) or 1.0
    for n, (name, share) in enumerate(bars):
        axis.add_patch(Rectangle((0, n + 0.18), 1, 0.64, color=LINES, linewidth=0))
        axis.add_patch(Rectangle((0, n + 0.18), share / most, 0.64, color=READ[3], linewidth=0))
        on.text(x - 0.06, y + (n + 0.5) * BAR, name, ha="right", va="center", size=7.5)
        on.text(x + BAR_WIDTH + 0.06, y + (n + 0.5) * BAR, f"{share:.1%}", va="center", size=7.5, color=PALE)
    return y + BAR * len(bars) + 0.2


def _table(on: Sheet, reading: PlaceReading, y: float) -> None:
    """The shares in words below the map: by distance on the left, the largest on the right."""
    for x, heading, rows in ((0.0, "by distance", rings(reading)), (2.6, "read most", largest(reading))):
        on.text(x, y, heading, size=9)
        for n, (words, share) in enumerate(rows):
            on.text(x + 0.5, y + 0.24 + 0.17 * n, f"{share:.1%}", size=7.5, color=PALE, ha="right")
            on.text(x + 0.58, y + 0.24 + 0.17 * n, words, size=7.5)


class PlaceView:
    """What a place read, as a picture, a page, words and plain values. Shows itself in a notebook."""

    def __init__(self, reading: PlaceReading):
        self.reading = reading

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The map with its bars."""
        return draw(self.reading, format=format)

    def page(self) -> bytes:
        """The picture and the table as a page that needs nothing else."""
        return picture_page(self._title, self.picture(), below=self._html())

    def text(self) -> str:
        """The shares by distance, of the patches read most, by variable and by time."""
        lines = [self._title]
        for heading, rows in self.tables.items():
            lines += ["", heading, *(f"  {share:6.1%}  {words}" for words, share in rows)]
        return "\n".join(lines)

    @cached_property
    def tables(self) -> dict[str, list[tuple[str, float]]]:
        """Shares under their names: by distance, read most, by variable, by time."""
        reading = self.reading
        return {
            "by distance": rings(reading),
            "read most": largest(reading),
            "by variable": by_layer(reading),
            "by time": by_time(reading),
        }

    def note(self) -> str | None:
        """What a user should know where nothing was read."""
        return None if self.reading.map.any() else f"{self.reading.place.words} read nothing"

    def to_json(self) -> dict[str, Any]:
        """Plain values: the place, the share of each patch over all layers and times, and the tables."""
        place = self.reading.place
        tables = {
            name.replace(" ", "_"): [[words, round(s, 6)] for words, s in rows] for name, rows in self.tables.items()
        }
        return {
            "title": self._title,
            "place": {"row": place.row, "column": place.column, "y": place.y, "x": place.x},
            "map": np.round(self.reading.map, 6).tolist(),
            **tables,
        }

    @property
    def _title(self) -> str:
        return self.reading.title or f"what {self.reading.place.words} read"

    def _html(self) -> str:
        parts = []
        for heading, rows in self.tables.items():
            cells = "".join(f"<tr><td>{share:.1%}</td><td>{html.escape(words)}</td></tr>" for words, share in rows)
            parts.append(f"<h2>{heading}</h2><table>{cells}</table>")
        return "".join(parts)

    def _repr_png_(self) -> bytes:
        return self.picture("png")

    def __repr__(self) -> str:
        return self.text()
