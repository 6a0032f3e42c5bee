"""Tables of what differs between two files, or between a file and what a model was trained on."""

from collections.abc import Sequence

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.reading.units import same_units

Row = tuple[str, str, str]
MOST_ROWS = 12  # in a message


def table(names: tuple[str, str], rows: Sequence[Row]) -> str:
    """Rows of (what, here, there) under the names of both, as lines of a message."""
    lines = [("", *names), *rows[:MOST_ROWS]]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    text = "".join(
        "\n  " + "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return text + (f"\n  and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else "")


def grid_differences(one: FieldGrid, other: FieldGrid) -> list[Row]:
    """In what two grids differ; nothing where they have the same cells."""
    if one.same(other):
        return []
    rows = [("surface", one.surface, other.surface), ("cells", _size(one), _size(other))]
    rows += [("rows", _span(one.y), _span(other.y)), ("columns", _span(one.x), _span(other.x))]
    rows.append(("round the globe", "yes" if one.wraps else "no", "yes" if other.wraps else "no"))
    different = [row for row in rows if row[1] != row[2]]
    return different or [_first_apart(one, other)]


def layer_differences(one: Sequence[FieldLayer], other: Sequence[FieldLayer]) -> list[Row]:
    """In what two sets of layers differ, whatever their order: names, levels and units."""
    here, there = ({layer.name: layer for layer in layers} for layers in (one, other))
    rows: list[Row] = []
    for name in [*here, *(name for name in there if name not in here)]:
        a, b = here.get(name), there.get(name)
        if a is None or b is None:
            rows.append((name, "missing" if a is None else "there", "missing" if b is None else "there"))
        elif not same_units(a.units, b.units):
            rows.append((f"units of {name}", a.units or "none", b.units or "none"))
    return rows


def _size(grid: FieldGrid) -> str:
    return "{} x {}".format(*grid.shape)


def _span(values: np.ndarray) -> str:
    if len(values) < 2:
        return f"{values[0]:g}"
    return f"{values[0]:.6g} to {values[-1]:.6g} by {abs(values[-1] - values[0]) / (len(values) - 1):.4g}"


def _first_apart(one: FieldGrid, other: FieldGrid) -> Row:
    for word, a, b in (("row", one.y, other.y), ("column", one.x, other.x)):
        apart = np.flatnonzero(np.abs(a - b) > 1e-4)
        if len(apart):
            at = int(apart[0])
            return f"{word} {at}", f"{a[at]:.8g}", f"{b[at]:.8g}"
    raise AssertionError("grids that differ have a cell that differs")
