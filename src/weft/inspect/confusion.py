"""The confusion of classes as a picture: which class was found for which, and how much of each was found at all."""

from collections.abc import Sequence

import numpy as np

from weft.errors import DataError
from weft.inspect.figures import EDGE, INK, PALE, SERIES, SHADES, Format, Sheet, shades, sheet

WRONG = ["#ffffff", "#fdf0d5", "#f5d08d", "#d99a3c", "#8f5a0f"]  # as SHADES, for mistakes
LEAST_DARKEST = 0.5  # a mistake is darkest where it takes half of its class: rare ones stay pale
MAX_NUMBERED_CLASSES = 20  # with more classes, cells show no numbers
MAX_LABEL = 24  # characters of a label
NAMED_MISTAKES = 5  # the commonest mistakes, listed in words where cells show no numbers
BAR_INCHES = 1.1  # length of a bar of 100 %


def confusion(counts: np.ndarray, classes: Sequence[str], *, format: Format = "png", title: str = "") -> bytes:
    """A PNG or SVG of counts[true, found]: each row a true class, blue where it was found, brown where another was.

    Shades are shares of the row. At the side, how much of each class was found (recall), and how much of what was found
    as this class is right (precision).
    """
    counts = np.asarray(counts)
    if counts.shape != (len(classes), len(classes)) or not len(classes):
        raise DataError(
            f"expected counts of {len(classes)} × {len(classes)} classes, found {counts.shape}", where="confusion"
        )
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise DataError("some counts are below 0 or not finite", where="confusion")
    total, size = counts.sum(1), len(classes)
    cell = float(np.clip(6.0 / size, 0.13, 0.5)) if size <= 100 else 13.0 / size
    with sheet(format) as on:
        _cells(on, counts, total, cell)
        _names(on, [_short(name) for name in classes], cell)
        _bars(on, counts, total, cell, "recall", 0.12, "none there")
        _bars(on, counts, counts.sum(0), cell, "precision", 0.12 + BAR_INCHES + 0.7, "none found")
        _words(on, counts, classes, cell * size)
        if title:
            on.text(0, -on.top() - 0.16, title, size=12, va="bottom")
        return on.bytes()


def _short(name: str) -> str:
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"


def _font(cell: float) -> float:
    return float(np.clip(cell * 40, 5.0, 9.5))


def _step(cell: float) -> int:
    """Every how many classes are named: all, unless a cell is smaller than a line of text."""
    return max(1, int(np.ceil(_font(cell) * 1.1 / 72 / cell)))


def _darkest(counts: np.ndarray) -> float:
    """The share of a class that is the darkest brown: of the commonest mistake, if it is no rare one."""
    shares = counts / np.maximum(counts.sum(1), 1e-30)[:, None]
    return max(float(shares[~np.eye(len(counts), dtype=bool)].max(initial=0.0)), LEAST_DARKEST)


def _cells(on: Sheet, counts: np.ndarray, total: np.ndarray, cell: float) -> None:
    """The shades, and in few large cells the numbers."""
    size = len(counts)
    shares = counts / np.maximum(total, 1e-30)[:, None]
    own = np.eye(size, dtype=bool)
    worst = _darkest(counts)
    colours = np.where(own[..., None], shades(SHADES)(shares * 0.85), shades(WRONG)(np.minimum(shares / worst, 1)))
    axis = on.axis(0, 0, cell * size, cell * size)
    axis.imshow(np.round(colours * 255).astype(np.uint8), aspect="auto", interpolation="none")
    between, width = np.arange(1, size) - 0.5, 0.6 if cell > 0.2 else 0.3
    axis.hlines(between, -0.5, size - 0.5, color="#eef1f5", linewidth=width)
    axis.vlines(between, -0.5, size - 0.5, color="#eef1f5", linewidth=width)
    if size > MAX_NUMBERED_CLASSES:
        return
    for i, j in np.argwhere(counts > 0):
        number = f"{counts[i, j]:.0f}"
        dark = shares[i, j] > 0.5 if i == j else shares[i, j] / worst > 0.6
        fits = min(_font(cell), cell * 0.9 * 72 / (0.66 * len(number)))
        axis.text(j, i, number, ha="center", va="center_baseline", fontsize=fits, color="white" if dark else INK)


def _names(on: Sheet, names: Sequence[str], cell: float) -> None:
    """The classes along the top, found, and down the side, true."""
    font = _font(cell)
    for n in range(0, len(names), _step(cell)):
        middle = (n + 0.5) * cell
        on.text(-0.07, middle, names[n], size=font, ha="right", va="center_baseline")
        on.text(
            middle, -0.06, names[n], size=font, va="bottom", rotation=50, rotation_mode="anchor",
        )  # fmt: skip
    corner = (-0.07, -0.06)
    on.text(*corner, "true ↓  found →", size=7.5, color=PALE, ha="right", va="bottom")


def _bars(on: Sheet, counts: np.ndarray, total: np.ndarray, cell: float, name: str, gap: float, absent: str) -> None:
    """Bars at the right: the share that is right of a total for each class, of those there or of those found.

    `absent` is written where there is nothing to share.
    """
    size, right = len(counts), cell * len(counts)
    shares = np.diagonal(counts) / np.maximum(total, 1e-30)
    left = right + gap
    axis = on.axis(left, 0, BAR_INCHES, cell * size, frame=None)
    axis.set(xlim=(0, 1), ylim=(size - 0.5, -0.5))
    axis.barh(np.arange(size), np.ones(size), height=0.62, color="#f1f4f8")
    axis.barh(np.arange(size), shares, height=0.62, color=SERIES[0])
    for n in range(0, size, _step(cell)):
        words = f"{shares[n]:.0%}" if total[n] else absent
        on.text(left + BAR_INCHES + 0.06, (n + 0.5) * cell, words, size=_font(cell), color=PALE, va="center_baseline")
    axis.plot([1, 1], [-0.5, size - 0.5], color=EDGE, linewidth=0.6)
    on.text(left, -0.06, name, size=7.5, color=PALE, va="bottom")


def _words(on: Sheet, counts: np.ndarray, classes: Sequence[str], y: float) -> None:
    """Below: how much is right in all, how brown is to be read, and the commonest mistakes."""
    total = counts.sum()
    mistakes = counts * ~np.eye(len(counts), dtype=bool)
    right = f"{np.trace(counts):,.0f} of {total:,.0f} are right, {np.trace(counts) / max(total, 1e-30):.1%}"
    brown = f"; brown is darkest at {_darkest(counts):.0%} of a class" if mistakes.any() else ""
    on.text(0, y + 0.1, right + brown, color=PALE)
    if len(counts) <= MAX_NUMBERED_CLASSES or not mistakes.any():
        return
    order = np.argsort(-mistakes, axis=None, kind="stable")[:NAMED_MISTAKES]
    common = [(*np.unravel_index(place, counts.shape), mistakes.flat[place]) for place in order if mistakes.flat[place]]
    told = "\n".join(f"{_short(classes[i])} taken for {_short(classes[j])} {count:,.0f}×" for i, j, count in common)
    on.text(0, y + 0.27, f"most often:\n{told}", color=PALE, linespacing=1.3)
