"""Maps of fields: the values of one layer on its grid, as colours, with degrees beside them; arrows where it is a wind.

Knows arrays and a `FieldGrid`; not where the values come from. Cells without a value are grey and hatched.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.domains.fields.reading.cells import cell_edges, latitude_words, longitude_words
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.series import layer_words
from weft.errors import DataError
from weft.inspect import coast
from weft.inspect.figures import (
    DOTS_PER_INCH,
    EDGE,
    INK,
    MISSING,
    MISSING_LINES,
    PALE,
    SHADES,
    SIGNS,
    VALUES,
    Format,
    Sheet,
    shades,
    sheet,
)

_SPELLED = r"\d*{0}\d*m?|{0}_?(wnd|wind|as|a|o|grd|comp\w*|vel\w*)|(wnd|wind|water|vel)_?{0}"
_EAST = re.compile(rf"^({_SPELLED.format('u')})$|eastward|zonal|\bu[ -]component", re.IGNORECASE)
_NORTH = re.compile(rf"^({_SPELLED.format('v')})$|northward|meridional|\bv[ -]component", re.IGNORECASE)
ARROW_INCHES = 0.22  # between the feet of two arrows


def is_wind_part(layer: FieldLayer) -> bool:
    """Whether a layer is one part of a wind, so that its sign is a direction."""
    return _says(_EAST, layer) or _says(_NORTH, layer)


def _says(pattern: re.Pattern[str], layer: FieldLayer) -> bool:
    return any(pattern.search(words) for words in (layer.variable, layer.title))


def draw_arrows(axis: Any, east: np.ndarray, north: np.ndarray, grid: FieldGrid, size: tuple[float, float]) -> None:
    """Arrows over a map of `size` inches (width, height), spaced evenly; the longest just reach their neighbours."""
    rows, columns = (_spread(count, inches) for count, inches in zip(grid.shape, (size[1], size[0]), strict=True))
    u, v = (part[np.ix_(rows, columns)] for part in (east, north))
    speed = np.hypot(u, v)
    known = speed[np.isfinite(speed)]
    strong = float(np.quantile(known, 0.9)) if known.size else 0.0
    if strong <= 0:
        return
    shorter = strong / np.maximum(speed, strong)  # outliers would cover their neighbours
    apart = min(size[0] / len(columns), size[1] / len(rows))
    axis.quiver(
        grid.x[columns], grid.y[rows], u * shorter, v * shorter, angles="uv", units="inches", scale_units="inches",
        scale=strong / (0.95 * apart), width=0.015, headwidth=3.6, headlength=4.2, headaxislength=3.8, minlength=0.5,
        color=INK, edgecolor="white", linewidth=0.45, pivot="mid",
    )  # fmt: skip


def _spread(count: int, inches: float) -> np.ndarray:
    """Which of `count` cells in a row carry an arrow."""
    arrows = int(np.clip(inches / ARROW_INCHES, 1, count))
    return ((np.arange(arrows) + 0.5) * count / arrows).astype(int)


Kind = Literal["values", "signed", "amounts"]
RAMPS: dict[Kind, list[str]] = {"values": VALUES, "signed": SIGNS, "amounts": SHADES}
TAIL = 0.01  # the share of values at either end that may lie beyond the colours
WIDTH, HEIGHT = 8.6, 5.0  # inches: the box of a single map
FLATTEST, STEEPEST = 0.16, 1.25  # height by width of a map: others are stretched or squeezed
COAST = "#2e2e2e"  # the outlines of land: without colour, so that cells without a value stay grey
SVG_DETAIL = 2  # an SVG may be enlarged: times the pixels of a PNG
LABEL_EDGE = 0.05  # a label in this share of the width at either end stands within the map
DEGREES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 180)  # between two labels of an axis


@dataclass(frozen=True)
class Scale:
    """Which value has which colour: `values` from low to high, `signed` around 0, `amounts` from 0."""

    low: float
    high: float
    kind: Kind = "values"

    @classmethod
    def of(cls, values: np.ndarray | Sequence[np.ndarray], kind: Kind = "values") -> "Scale":
        """The colours for some values; a few outliers get the colour of the end that they lie beyond."""
        parts = [np.asarray(values)] if isinstance(values, np.ndarray) else [np.asarray(part) for part in values]
        known = np.concatenate([part[np.isfinite(part)].ravel() for part in parts] or [np.empty(0)]).astype(np.float64)
        if not known.size:
            return cls(-1.0 if kind == "signed" else 0.0, 1.0, kind)
        if kind == "values":
            low, high = (float(end) for end in np.quantile(known, (TAIL, 1 - TAIL)))
        else:
            high = float(np.quantile(np.abs(known), 1 - TAIL)) or float(np.abs(known).max())
            low = -high if kind == "signed" else 0.0
        return cls(*_apart(low, high), kind)

    def colours(self) -> Any:
        """The colour map; its bar ends in points where values may lie beyond it."""
        found = shades(RAMPS[self.kind])
        found.colorbar_extend = "max" if self.kind == "amounts" else "both"
        return found

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers within the scale."""
        from matplotlib.ticker import MaxNLocator

        found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], symmetric=self.kind == "signed")
        slack = 1e-9 * (self.high - self.low)
        ticks = found.tick_values(self.low, self.high)
        return [float(tick) for tick in ticks if self.low - slack <= tick <= self.high + slack]


def _apart(low: float, high: float) -> tuple[float, float]:
    """Two ends with some room between them, so that a constant field has a colour."""
    least = 1e-6 * max(abs(low), abs(high)) or 1.0
    return (low, high) if high - low > least else (low - least if low else low, high + least)


def kind_of(layer: FieldLayer) -> Kind:
    """How the values of a layer are best coloured: by their sign where it is a direction."""
    return "signed" if is_wind_part(layer) else "values"


def field_map(
    values: np.ndarray,
    grid: FieldGrid,
    layer: FieldLayer,
    *,
    title: str = "",
    kind: Kind | None = None,
    wind: tuple[np.ndarray, np.ndarray] | None = None,
    format: Format = "png",
) -> bytes:
    """A PNG or SVG of one field (Y X); `wind` are its eastward and northward parts, as arrows over the colours."""
    checked(values, grid, "values")
    scale = Scale.of(values, kind or kind_of(layer))
    wide, high = map_size(grid, WIDTH, HEIGHT)
    with sheet(format) as on:
        on.text(0, -0.12, title or layer_words(layer), size=12, va="bottom")
        axis, image = paint(on, values, grid, (0, 0, wide, high), scale)
        if wind is not None:
            draw_arrows(axis, checked(wind[0], grid, "wind"), checked(wind[1], grid, "wind"), grid, (wide, high))
        value_bar(on, image, scale, (wide + 0.15, 0, 0.14, high), layer.units)
        return on.bytes()


def checked(values: np.ndarray, grid: FieldGrid, name: str) -> np.ndarray:
    """A field that fits its grid; others are refused."""
    if np.shape(values) != grid.shape:
        raise DataError(f"expected a field of {grid.shape} cells (rows, columns), found {np.shape(values)}", where=name)
    return np.asarray(values)


def bounds(grid: FieldGrid) -> tuple[float, float, float, float]:
    """West, east, south and north of the outermost cells; on a sphere no further than the poles."""
    x, y = cell_edges(grid.x), cell_edges(grid.y)
    south, north = float(y.min()), float(y.max())
    if grid.surface == "sphere":
        south, north = max(south, -90.0), min(north, 90.0)
    return float(x.min()), float(x.max()), south, north


def map_size(grid: FieldGrid, width: float, height: float) -> tuple[float, float]:
    """The largest width and height of a map within a box; on a sphere as wide as the middle latitude is long."""
    west, east, south, north = bounds(grid)
    steepness = (north - south) / max(east - west, 1e-12)
    if grid.surface == "sphere":
        steepness /= max(float(np.cos(np.radians((north + south) / 2))), 0.35)
    steepness = float(np.clip(steepness, FLATTEST, STEEPEST))
    wide = min(width, height / steepness)
    return wide, wide * steepness


def paint(
    on: Sheet,
    values: np.ndarray,
    grid: FieldGrid,
    place: tuple[float, float, float, float],
    scale: Scale,
    *,
    labels: tuple[bool, bool] = (True, True),
) -> tuple[Any, Any]:
    """Draws a field into a place (x, y, width, height in inches); returns the axis and the image, for a bar.

    `labels` says whether degrees stand on the left and below.
    """
    axis = on.axis(*place)
    dress(axis, grid, place[2:], labels)
    detail = DOTS_PER_INCH * (SVG_DETAIL if on.format == "svg" else 1)
    image = axis.imshow(
        spread_out(values, grid, round(place[3] * detail), round(place[2] * detail)),
        extent=bounds(grid), aspect="auto", interpolation="none", cmap=scale.colours(), vmin=scale.low, vmax=scale.high,
    )  # fmt: skip
    if not np.isfinite(values).any():
        axis.text(0.5, 0.5, "no values", transform=axis.transAxes, ha="center", va="center", fontsize=8, color=PALE)
    return axis, image


def draw_coast(axis: Any, grid: FieldGrid) -> None:
    """The outlines of land over a map of a sphere."""
    if grid.surface == "sphere":
        for line in coast.within(*bounds(grid)):
            axis.plot(
                line[:, 0], line[:, 1], color=COAST, linewidth=0.5, alpha=0.7, zorder=1, scalex=False, scaley=False
            )


def spread_out(values: np.ndarray, grid: FieldGrid, height: int, width: int) -> np.ndarray:
    """The cell below each pixel (height width ...), whatever the spacing of the grid; what is not finite is masked."""
    west, east, south, north = bounds(grid)
    down = north - (np.arange(max(height, 1)) + 0.5) / max(height, 1) * (north - south)
    along = west + (np.arange(max(width, 1)) + 0.5) / max(width, 1) * (east - west)
    rows = np.searchsorted(-cell_edges(grid.y)[1:-1], -down)
    columns = np.searchsorted(cell_edges(grid.x)[1:-1], along)
    return np.ma.masked_invalid(np.asarray(values)[rows][:, columns])


def dress(axis: Any, grid: FieldGrid, size: Sequence[float], labels: tuple[bool, bool]) -> None:
    """An empty map: grey and hatched, with its coordinates on the left and below."""
    from matplotlib.patches import Rectangle

    west, east, south, north = bounds(grid)
    axis.add_patch(
        Rectangle((0, 0), 1, 1, transform=axis.transAxes, facecolor=MISSING, edgecolor=MISSING_LINES,
                  hatch="//////", linewidth=0, zorder=-1)
    )  # fmt: skip
    for dim, low, high, words, most in (
        (axis.xaxis, west, east, longitude_words, size[0] / 0.62),
        (axis.yaxis, south, north, latitude_words, size[1] / 0.3),
    ):
        ticks = _degrees(low, high, most) if grid.surface == "sphere" else _round(low, high, most)
        dim.set_ticks(ticks, labels=[words(tick) if grid.surface == "sphere" else f"{tick:g}" for tick in ticks])
    axis.set(xlim=(west, east), ylim=(south, north))
    left, below = labels
    axis.tick_params(length=2, width=0.6, color=EDGE, labelsize=7, labelcolor=PALE, pad=2)
    axis.tick_params(left=left, labelleft=left, bottom=below, labelbottom=below)
    for tick in axis.xaxis.get_major_ticks():
        share = (tick.get_loc() - west) / (east - west)  # labels at the ends keep clear of the next map's
        tick.label1.set_ha("left" if share < LABEL_EDGE else "right" if share > 1 - LABEL_EDGE else "center")
    draw_coast(axis, grid)


def _degrees(low: float, high: float, most: float) -> list[float]:
    """Multiples of a usual number of degrees, at most about `most`, from one end of an axis to the other."""
    step = next((step for step in DEGREES if (high - low) / step <= max(most, 2)), DEGREES[-1])
    return [float(step * n) for n in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]


def _round(low: float, high: float, most: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(int(np.clip(most, 2, 8)), steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in ticks if low <= tick <= high]


def value_bar(on: Sheet, image: Any, scale: Scale, place: tuple[float, float, float, float], units: str) -> None:
    """The scale of colours beside maps, with some of its numbers and its units above."""
    on.bar(image, place, scale.ticks(int(np.clip(place[3] / 0.35, 2, 6))), ".6g")
    if units:
        on.text(place[0], place[1] - 0.05, units, size=7, color=PALE, va="bottom")
