"""Calibration as a picture: how often a model is right when it is so sure, and how often it is so sure."""

import numpy as np

from weft.errors import DataError
from weft.inspect.figures import EDGE, INK, LINES, PALE, SERIES, Format, Sheet, sheet
from weft.objectives.measures.calibration import Reliability

SIDE, BELOW, APART = 3.2, 0.9, 0.14  # inches
GAP, SHORT = "#d1495b", "#3a8f6b"  # too sure, not sure enough
MAX_NUMBERED_BINS = 12  # with more bins, bars show no numbers
MIN_SURE_ANSWERS = 10  # answers in a bin; with fewer its bar is pale, as chance may have put it there


def calibration(found: Reliability, *, format: Format = "png", title: str = "") -> bytes:
    """A PNG or SVG: above, right answers by how sure the model was, and the line where both are equal; below, counts.

    What is missing to the line is red (too sure), what is beyond it green (not sure enough).
    """
    sizes = {len(part) for part in (found.counts, found.confidence, found.accuracy)}
    if len(sizes) != 1 or not found.counts.sum():
        raise DataError("expected bins with answers in them", where="calibration")
    with sheet(format) as on:
        _bars(on, found)
        _numbers(on, found)
        error = f"expected calibration error {found.error:.1%} over {found.counts.sum():,} answers"
        on.text(0, SIDE + APART + BELOW + 0.46, error, color=PALE)
        if title:
            on.text(0, -0.12, title, size=12, va="bottom")
        return on.bytes()


def _bars(on: Sheet, found: Reliability) -> None:
    """The share that is right in each bin, with what it lacks or has beyond how sure the model was."""
    axis, bins = on.axis(0, 0, SIDE, SIDE), len(found.counts)
    axis.set(xlim=(0, 1), ylim=(0, 1))
    left, width = np.arange(bins) / bins, 1 / bins
    for share in (0.2, 0.4, 0.6, 0.8):
        axis.axhline(share, color=LINES, linewidth=0.6, zorder=0)
    for i in np.flatnonzero(found.counts):
        right, sure = float(found.accuracy[i]), float(found.confidence[i])
        pale = 0.45 if found.counts[i] < MIN_SURE_ANSWERS else 1.0
        inner = {"width": width * 0.86, "align": "edge", "alpha": pale, "zorder": 2}
        at = left[i] + width * 0.07
        axis.bar(at, min(right, sure), color=SERIES[0], **inner)
        colour = GAP if sure > right else SHORT
        axis.bar(at, abs(sure - right), bottom=min(right, sure), color=colour, hatch="////", edgecolor="white",
                 linewidth=0, **inner)  # fmt: skip
        axis.plot([at, at + width * 0.86], [right, right], color=INK, linewidth=1.2, alpha=pale, zorder=3)
    axis.plot([0, 1], [0, 1], color=PALE, linewidth=0.9, linestyle=(0, (4, 3)), zorder=4)
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        on.text(-0.07, SIDE * (1 - share), f"{share:.0%}", color=PALE, ha="right", va="center_baseline")
    on.text(-0.5, SIDE / 2, "answers that are right", size=9, ha="right", va="center", rotation=90)
    _legend(on)


def _legend(on: Sheet) -> None:
    lines = (("right", SERIES[0]), ("too sure by", GAP), ("not sure enough by", SHORT))
    for row, (words, colour) in enumerate(lines):
        y = 0.1 + 0.19 * row
        on.axis(SIDE + 0.2, y, 0.14, 0.12, frame=None).set_facecolor(colour)
        on.text(SIDE + 0.42, y - 0.01, words, color=PALE)
    on.text(SIDE + 0.2, 0.1 + 0.19 * len(lines), f"pale: fewer than {MIN_SURE_ANSWERS} answers", color=PALE)


def _numbers(on: Sheet, found: Reliability) -> None:
    """How many answers each bin has."""
    axis, bins, top = on.axis(0, SIDE + APART, SIDE, BELOW, frame=EDGE), len(found.counts), found.counts.max()
    axis.set(xlim=(0, 1), ylim=(0, top * 1.25))
    axis.bar((np.arange(bins) + 0.5) / bins, found.counts, width=0.86 / bins, color="#9cb4cf")
    for i in np.flatnonzero(found.counts) if bins <= MAX_NUMBERED_BINS else ():
        axis.text((i + 0.5) / bins, found.counts[i] + top * 0.05, _short(int(found.counts[i])), ha="center",
                  va="bottom", fontsize=7, color=PALE)  # fmt: skip
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        on.text(SIDE * share, SIDE + APART + BELOW + 0.06, f"{share:.0%}", color=PALE, ha="center")
    on.text(SIDE / 2, SIDE + APART + BELOW + 0.22, "how sure the model was", size=9, ha="center")
    on.text(-0.5, SIDE + APART + BELOW / 2, "answers", size=9, ha="right", va="center", rotation=90)


def _short(count: int) -> str:
    """A count that fits above its bar."""
    return f"{count}" if count < 10_000 else f"{count / 1000:.0f}k" if count < 10**6 else f"{count / 10**6:.1f}M"
