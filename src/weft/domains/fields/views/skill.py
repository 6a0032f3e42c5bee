"""Skill by lead time: the errors of a forecast beside those of simple ones, layer by layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from weft.domains.fields.reading.grid import FieldLayer
from weft.errors import DataError
from weft.inspect.curves import chart
from weft.inspect.figures import PALE, SERIES, Format, Sheet, breadth, sheet

WIDTH, HEIGHT, GAP = 2.3, 1.6, 0.75  # inches: one chart, and between charts
FAR = 2.0  # times the median of all errors of a chart
MOST_COLUMNS, MOST_LAYERS = 3, 12  # layers beside each other, and shown at all


@dataclass(frozen=True)
class LayerSkill:
    """How good forecasts of one layer are at each lead; the names of forecasts are the same for all layers, ours first.

    `rmse` is in the layer's units; `acc`, the correlation of anomalies, is empty where unknown. NaN: not measured.
    """

    layer: FieldLayer
    leads: Sequence[float]
    rmse: Mapping[str, Sequence[float]]
    acc: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, numbers in (*self.rmse.items(), *self.acc.items()):
            if len(numbers) != len(self.leads):
                problem = f"expected a number for each of {len(self.leads)} leads, found {len(numbers)}"
                raise DataError(problem, where=f"{self.layer.name}, {name}")


def skill_chart(skills: Sequence[LayerSkill], *, unit: str = "steps", title: str = "", format: Format = "png") -> bytes:
    """A PNG or SVG of small charts: for each layer the rmse by lead, and below it the correlation of anomalies.

    `unit` is that of the leads.
    """
    if not skills:
        raise DataError("there is no skill to show", where="skill")
    shown, names = skills[:MOST_LAYERS], list(dict.fromkeys(name for skill in skills for name in skill.rmse))
    columns = -(-len(shown) // -(-len(shown) // MOST_COLUMNS))  # rows filled evenly
    with_acc = any(skill.acc for skill in shown)
    tall = HEIGHT + GAP + (HEIGHT + 0.25 if with_acc else 0)
    with sheet(format) as on:
        on.text(0, -0.72, title or "skill by lead time", size=12, va="bottom")
        _names(on, names)
        for n, skill in enumerate(shown):
            x, y = n % columns * (WIDTH + GAP), n // columns * (tall + 0.15)
            on.text(x, y - 0.06, skill.layer.name, size=9, va="bottom")
            rmse = f"rmse, {skill.layer.units}" if skill.layer.units else "rmse"
            _chart(on, (x, y), skill.leads, skill.rmse, names, ("" if with_acc else f"lead, {unit}", rmse), far=FAR)
            if with_acc:
                under = (x, y + HEIGHT + 0.25)
                _chart(on, under, skill.leads, skill.acc, names, (f"lead, {unit}", "anomaly correlation"))
        if len(skills) > len(shown):
            below = -(-len(shown) // columns) * (tall + 0.15)
            on.text(0, below, f"the first {len(shown)} of {len(skills)} layers", color=PALE)
        return on.bytes()


def _chart(
    on: Sheet,
    corner: tuple[float, float],
    leads: Sequence[float],
    numbers: Mapping[str, Sequence[float]],
    names: Sequence[str],
    axes: tuple[str, str],
    far: float = float("inf"),
) -> None:
    """One chart, from 0 up, or from below 0 where numbers are; a forecast has the same colour in all charts.

    What is above `far` times the median leaves the chart, as persistence does through the seasons: else all others
    would be one line.
    """
    axis = on.axis(*corner, WIDTH, HEIGHT)
    series = {
        name: [(float(lead), float(y)) for lead, y in zip(leads, numbers.get(name, ()), strict=False) if np.isfinite(y)]
        for name in names
    }
    chart(axis, series, x=axes[0], y=axes[1], key=False)
    known = [y for points in series.values() for _, y in points] or [1.0]
    middle = float(np.median(known))
    top = min(max(*known, 0.0), far * middle) if middle > 0 else max(*known, 0.0)
    axis.set_ylim(min(0.0, min(known) * 1.08), top * 1.08 or 1.0)


def _names(on: Sheet, names: Sequence[str]) -> None:
    """The names of the forecasts in their colours, above the charts."""
    x = 0.0
    for n, name in enumerate(names):
        on.text(x, -0.36, f"● {name}", size=8.5, color=SERIES[n % len(SERIES)], va="bottom")
        x += (breadth(name) + 2.2) * 8.5 / 72
