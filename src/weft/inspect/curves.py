"""Curves: the loss of a run, and any named lines of numbers, with or without bands around them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.errors import DataError
from weft.inspect import fonts
from weft.inspect.figures import EDGE, INK, LINES, PALE, SERIES, Format, sheet, writable

Series = Mapping[str, Sequence[tuple[float, float]]]  # the x and y of each point of each line
Bands = Mapping[str, Sequence[tuple[float, float, float]]]  # x, low and high


def loss_curve(metrics: list[dict[str, Any]], *, unit: str = "", title: str = "") -> bytes:
    """PNG of training loss (thin, and smoothed) and held-out loss (dots) by step."""
    points = [line for line in metrics if isinstance(line.get("loss"), float)]
    steps = np.array([line["step"] for line in points])
    losses = np.array([line["loss"] for line in points])
    with sheet("png") as on:
        axis = on.axis(0, 0, 6.2, 3.4)
        if len(losses):
            axis.plot(steps, losses, color="#9db7d5", linewidth=0.6)
            span = max(1, len(losses) // 50)
            smooth = np.convolve(losses, np.ones(span) / span, mode="valid")
            axis.plot(steps[span - 1 :], smooth, color=SERIES[0], linewidth=1.6, label="training")
            low, high = losses.min(), np.quantile(losses, 0.98)
            axis.set_ylim(low - 0.08 * (high - low + 1e-9), high + 0.1 * (high - low + 1e-9))
        held = [(line["step"], line["held_out"]) for line in metrics if isinstance(line.get("held_out"), float)]
        shown = np.array([*losses, *(value for _, value in held)])
        if len(shown) and np.isfinite(shown).all() and shown.min() > 0:  # late progress is seen beside early
            least, most = shown.min(), np.quantile(shown, 0.98)
            room = max(most / least, 1.05) ** 0.1
            axis.set(yscale="log", ylim=(least / room, most * room))
        if held:
            axis.plot(*zip(*held, strict=True), "o-", color=SERIES[1], markersize=4, linewidth=1, label="held out")
        _dress(axis, "step", f"loss, nats per {unit}" if unit else "loss")
        on.text(3.1, -0.1, title, size=10, ha="center", va="bottom")
        if len(losses) or held:
            axis.legend(frameon=False, fontsize=9, labelcolor=INK)
        return on.bytes()


def lines(
    series: Series,
    *,
    x: str,
    y: str,
    log: bool = False,
    title: str = "",
    bands: Bands | None = None,
    format: Format = "png",
) -> bytes:
    """A chart of named lines of (x, y), such as accuracy by share of the data used; `log` spaces x by its logarithm.

    `bands` are (x, low, high) around the lines of the same names.
    """
    with sheet(format) as on:
        if title:
            on.text(0, -0.12, title, size=12, va="bottom")
        chart(on.axis(0, 0, 5.6, 3.4), series, x=x, y=y, log=log, bands=bands)
        return on.bytes()


def chart(
    axis: Any,
    series: Series,
    *,
    x: str,
    y: str,
    log: bool = False,
    bands: Bands | None = None,
    key: bool = True,
) -> None:
    """Draws the lines into a place, with their names beside it unless `key` is False."""
    unknown = set(bands or {}) - set(series)
    if unknown:
        raise DataError(f"bands around lines that are not there: {', '.join(sorted(unknown))}", where="chart")
    if log and any(point[0] <= 0 for points in series.values() for point in points):
        raise DataError("a logarithm needs x above 0", where="chart")
    for n, (name, points) in enumerate(series.items()):
        color = SERIES[n % len(SERIES)]
        dots = "o" if len(points) <= 30 else ""
        dashed = "-" if n < len(SERIES) else "--"
        at = sorted(points)
        axis.plot(
            [p[0] for p in at], [p[1] for p in at], dashed, marker=dots, color=color, markersize=3.5, linewidth=1.6,
            label=writable(name),
        )  # fmt: skip
        if bands and name in bands:
            band = np.array(sorted(bands[name]), float).reshape(-1, 3)
            axis.fill_between(*band.T, color=color, alpha=0.14, linewidth=0)
    if log:
        _spaced(axis, sorted({point[0] for points in series.values() for point in points}))
    _dress(axis, x, y)
    if key and any(series.values()):
        _key(axis, list(series))


def _key(axis: Any, names: list[str]) -> None:
    """The names of the lines, beside the chart where there are several."""
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02)} if len(names) > 1 else {"loc": "best"}
    key = axis.legend(frameon=False, fontsize=8, labelcolor=INK, **beside)
    for text in key.get_texts():
        text.set_family(fonts.families([text.get_text()]))


def _spaced(axis: Any, places: list[float]) -> None:
    """A logarithmic x with the places that were measured as its numbers, where they are few."""
    from matplotlib.ticker import NullFormatter

    axis.set_xscale("log")
    if 1 < len(places) <= 9:
        axis.set_xticks(places, labels=[f"{place:g}" for place in places])
        axis.set_xticks([], minor=True)
    axis.xaxis.set_minor_formatter(NullFormatter())


def _plain_numbers(dim: Any, low: float, high: float) -> None:
    """Round numbers on a logarithmic axis, written out."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    steps = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    wide = [float(step * part) for step in steps for part in (1, 2, 5) if low <= step * part <= high]
    if len(wide) < 3:
        wide = [place for place in MaxNLocator(6).tick_values(low, high) if low <= place <= high]
    dim.set_major_locator(FixedLocator(wide))
    dim.set_ticklabels([f"{place:.4g}" for place in wide])
    dim.set_minor_locator(NullLocator())


def _dress(axis: Any, x: str, y: str) -> None:
    """Axes in pale ink with their names, a grid, and no box."""
    from matplotlib.ticker import AutoLocator, MaxNLocator

    if axis.get_xscale() == "linear":
        whole = all(float(place).is_integer() for line in axis.lines for place in line.get_xdata())
        axis.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=whole))
    if axis.get_yscale() == "linear":
        axis.yaxis.set_major_locator(AutoLocator())
    else:
        _plain_numbers(axis.yaxis, *axis.get_ylim())
    axis.set_xlabel(writable(x), fontsize=9, color=INK, family=fonts.families([x]))
    axis.set_ylabel(writable(y), fontsize=9, color=INK, family=fonts.families([y]))
    axis.tick_params(length=0, labelsize=8, labelcolor=PALE, pad=4)
    axis.grid(color=LINES, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(EDGE)
