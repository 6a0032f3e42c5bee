"""Sheets of maps: forecasts beside what came, filled gaps beside what was hidden; one layer, one column a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid
from weft.domains.fields.views.maps import Kind, Scale, kind_of, map_size, paint, value_bar
from weft.domains.fields.views.series import FieldSeries
from weft.inspect.figures import INK, PALE, Format, Sheet, sheet

WIDTH = 8.1  # inches of all maps in a row, without what stands beside them
MOST_COLUMNS = 6  # of many times these are shown, from the first to the last
GAP, ROW_GAP = 0.1, 0.14  # inches between maps
MOST_BORDER = 1.0  # sides of cells on the border for each cell within
MAP_WIDTH, MAP_HEIGHT = 3.9, 3.4  # inches of the largest map


@dataclass(frozen=True)
class MapRow:
    """Maps under one name, one for each time; rows with the same scale stand above each other and share its bar."""

    name: str
    values: np.ndarray  # n Y X
    scale: Scale
    outlines: np.ndarray | None = None  # n Y X, bool: what to draw a line around
    notes: Sequence[str] = ()  # a few words below each map


def forecast_sheet(
    series: FieldSeries,
    forecast: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    spread: np.ndarray | None = None,
    format: Format = "png",
) -> bytes:
    """A PNG or SVG: truth, forecast (n Y X), their difference and the model's spread, one column for each lead.

    What is None has no row.
    """
    pick, grid = series.picked(MOST_COLUMNS), series.grid
    given = {"truth": truth, "forecast": forecast, "spread": spread}
    known = {name: series.checked(part, name)[pick] for name, part in given.items() if part is not None}
    scale = Scale.of([known[name] for name in ("truth", "forecast") if name in known], kind_of(series.layer))
    rows = [MapRow(name, known[name], scale) for name in ("truth", "forecast") if name in known]
    if truth is not None:
        rows.append(difference_row("forecast\n− truth", known["forecast"] - known["truth"], grid))
    if spread is not None:
        rows.append(MapRow("spread", known["spread"], Scale.of(known["spread"], "amounts")))
    return draw_rows(rows, series, format=format)


def filling_sheet(
    series: FieldSeries,
    given: np.ndarray,
    filled: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    format: Format = "png",
) -> bytes:
    """A PNG or SVG: fields with gaps (n Y X), the same filled, the truth, and how far the filled cells are from it."""
    pick = series.picked(MOST_COLUMNS)
    given, filled = series.checked(given, "given")[pick], series.checked(filled, "filled")[pick]
    scale = Scale.of([given, filled], kind_of(series.layer))
    gaps = np.isnan(given) & np.isfinite(filled)
    rows = [MapRow("given", given, scale), MapRow("filled", filled, scale, outlines=gaps)]
    if truth is not None:
        truth = series.checked(truth, "truth")[pick]
        rows.append(MapRow("truth", truth, scale))
        error = filled - truth
        error = np.where(gaps | np.isnan(error), error, 0)
        rows.append(difference_row("filled\n− truth", error, series.grid, where=gaps))
    return draw_rows(rows, series, format=format)


def difference_row(
    name: str,
    error: np.ndarray,
    grid: FieldGrid,
    kind: Kind = "signed",
    *,
    where: np.ndarray | None = None,
) -> MapRow:
    """Differences (n Y X) with the root of their mean square, by area, below each map; of the cells `where` alone."""
    counted = np.isfinite(error) if where is None else where & np.isfinite(error)
    area = counted * grid.weights[:, None]
    squares = (np.where(counted, error, 0).astype(np.float64) ** 2 * area).sum((1, 2))
    roots = [np.sqrt(s / a) if a > 0 else np.nan for s, a in zip(squares, area.sum((1, 2)), strict=True)]
    notes = [f"rmse {root:.3g}" if np.isfinite(root) else "" for root in roots]
    return MapRow(name, error, Scale.of(error if where is None else error[where], kind), notes=notes)


def draw_rows(rows: Sequence[MapRow], series: FieldSeries, *, format: Format = "png") -> bytes:
    """A PNG or SVG of rows of maps under the times of a series, or some of them; rows of one map stand two by two."""
    heads = [series.labels[n] for n in series.picked(MOST_COLUMNS)]
    alone, grid, units = len(heads) == 1, series.grid, series.layer.units
    columns = min(2, len(rows)) if alone else len(heads)
    size = map_size(grid, min((WIDTH - GAP * (columns - 1)) / columns, MAP_WIDTH), MAP_HEIGHT)
    with sheet(format) as on:
        on.text(0, -0.38, f"{series.heading}, {heads[0]}" if alone else series.heading, size=12, va="bottom")
        if alone:
            _two_by_two(on, rows, grid, size, units)
        else:
            _rows(on, rows, grid, heads, size, units)
        return on.bytes()


def _rows(
    on: Sheet, rows: Sequence[MapRow], grid: FieldGrid, heads: Sequence[str], size: tuple[float, float], units: str
) -> None:
    """A line of maps for each row; its name stands on the left, its bar on the right."""
    wide, high = size
    for n, head in enumerate(heads):
        on.text(n * (wide + GAP) + wide / 2, -0.07, _short(head, wide), ha="center", va="bottom", size=8.5)
    y, begun = 0.0, 0.0
    for k, row in enumerate(rows):
        last = k == len(rows) - 1
        for n in range(len(heads)):
            place = (n * (wide + GAP), y, wide, high)
            image = _map(on, row, n, grid, place, labels=(n == 0, last))
            if row.notes:
                on.text(
                    place[0] + wide, y + high + (0.19 if last else 0.03), row.notes[n], ha="right", size=7, color=PALE
                )
        on.text(-0.5, y + high / 2, row.name, ha="right", va="center", size=9, color=INK)
        if last or rows[k + 1].scale != row.scale:
            beside = (len(heads) * (wide + GAP) + 0.02, begun, 0.12, y + high - begun)
            value_bar(on, image, row.scale, beside, units if k == 0 or begun == 0 else "")
            begun = y + high + ROW_GAP + (0.14 if row.notes else 0)
        y += high + ROW_GAP + (0.14 if row.notes else 0)


def _two_by_two(on: Sheet, rows: Sequence[MapRow], grid: FieldGrid, size: tuple[float, float], units: str) -> None:
    """Large maps, each with its name above and its bar beside it."""
    wide, high = size
    for k, row in enumerate(rows):
        x, y = k % 2 * (wide + 1.15), k // 2 * (high + 0.62)
        on.text(x, y - 0.06, row.name.replace("\n", " "), va="bottom", size=9)
        if row.notes:
            on.text(x + wide, y - 0.06, row.notes[0], ha="right", va="bottom", size=7.5, color=PALE)
        image = _map(on, row, 0, grid, (x, y, wide, high), labels=(True, True))
        value_bar(on, image, row.scale, (x + wide + 0.1, y, 0.12, high), units)


def _map(
    on: Sheet,
    row: MapRow,
    n: int,
    grid: FieldGrid,
    place: tuple[float, float, float, float],
    labels: tuple[bool, bool],
) -> Any:
    axis, image = paint(on, row.values[n], grid, place, row.scale, labels=labels)
    if row.outlines is not None and min(grid.shape) > 1 and _compact(row.outlines[n]):
        axis.contour(grid.x, grid.y, row.outlines[n].astype(float), levels=[0.5], colors=[INK], linewidths=0.5)
    return image


def _compact(region: np.ndarray) -> bool:
    """Whether cells form areas that a line can go around; the lines around scattered cells would hide the map."""
    border = sum(int((np.diff(region.astype(np.int8), axis=axis) != 0).sum()) for axis in (0, 1))
    return bool(region.any()) and border < MOST_BORDER * region.sum()


def _short(head: str, width: float) -> str:
    """A date without its time of day where the column is too narrow for both."""
    return head if len(head) * 0.075 <= width else head.split("T")[0].split(" ")[0]
