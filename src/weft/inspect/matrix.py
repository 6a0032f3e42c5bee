"""The picture of an alignment: target words down the side, source words along the top, dark cells for high weights."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from weft.inspect import fonts
from weft.inspect.alignment import Alignment
from weft.inspect.figures import (
    EDGE,
    INK,
    LINES,
    PALE,
    SHADES,
    Format,
    breadth,
    quiet,
    shades,
    sheet,
    writable,
    written,
)
from weft.inspect.views import ALL, AttentionChoice

MAX_LABEL = 24  # characters of a label
MAX_INCHES = 24.0  # of a picture's side
LINE_INCHES = 0.16  # from a line of notes to the next
BLANK = re.compile(r"\s")
VISIBLE = {"\n": "↵", "\r": "↵", "\t": "⇥"}
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")


class Above(Protocol):
    """Something that is drawn above the words along the top of a matrix, such as a tree over them."""

    def draw(self, axis: Any, *, above: float, cell: float) -> None:
        """Draw on the axis of the cells, which are `cell` inches wide, from `above` inches over them on."""


def draw(
    alignment: Alignment,
    choice: AttentionChoice = ALL,
    *,
    format: Format = "png",
    title: str = "",
    notes: Sequence[str] = (),
    unscaled: int = 0,
    above: Above | None = None,
    scale: str | None = None,
) -> bytes:
    """A PNG or SVG: the average over the chosen layers and heads; with `every`, each head in its own panel below.

    Words keep their order, first to last, from left to right and downwards, whatever the direction of their script.
    `notes` are sentences below the matrix. The first `unscaled` columns do not count for the scale of the colours.
    `scale` says what the colours stand for, by default how much is attended to.
    What is drawn `above` the matrix stands over the words of the source, which then stand upright, one a column.
    """
    chosen = alignment.of(choice)
    with sheet(format) as on:
        figure = on.figure
        labels = _Labels(chosen, pieces=above is None)
        panel = _Panel(figure, labels, chosen.mean().weights[0, 0], cell=_cell(chosen), unscaled=unscaled)
        panel.place(0.0, 0.0, upright=above is not None)
        if above is not None:
            above.draw(panel.axis, above=panel.words_reach(), cell=panel.cell)
        panel.scale(scale or _scale_note(chosen, choice))
        below = [*([labels.note] if labels.note else []), *(line for note in notes for line in textwrap.wrap(note, 80))]
        panel.heading(title, below)
        if choice.every:
            _heads(figure, chosen, labels, panel, choice, lines=len(below), unscaled=unscaled)
        return written(figure, format, labels.wish, pad=0.25 + (labels.unknown_width if format == "svg" else 0.0))


def _cell(alignment: Alignment) -> float:
    """Inches of a cell: wide for few words, then smaller, at last as small as the longest side demands."""
    longest = max(*alignment.weights.shape[2:], 1)
    return min(0.44, max(8.4 / longest, 0.19), (MAX_INCHES - 4) / longest)


class _Labels:
    """The words along both sides, as they can be drawn; in `pieces` of a text white space is made visible."""

    def __init__(self, alignment: Alignment, *, pieces: bool):
        self.source, self.target = (
            [_drawable(label, pieces) for label in side] for side in (alignment.source, alignment.target)
        )
        self.fonts = {"source": fonts.families(self.source), "target": fonts.families(self.target)}
        used = [*self.fonts["source"], *self.fonts["target"]]
        self.wish = list(dict.fromkeys([*fonts.preferred([*self.source, *self.target]), *used]))
        absent = fonts.without_font([*self.source, *self.target])
        most = max((sum(sign in absent for sign in label) for label in (*self.source, *self.target)), default=0)
        self.unknown_width = most * 0.06  # a browser's sign is wider than the box that stands for it here
        sides = [name for name in ("source", "target") if any(RIGHT_TO_LEFT.search(x) for x in getattr(self, name))]
        self.note = f"{' and '.join(sides)} written right to left: first word {_first(sides)}" if sides else ""


def _first(sides: list[str]) -> str:
    return " and ".join({"source": "at the left", "target": "at the top"}[side] for side in sides)


def _drawable(label: str, pieces: bool) -> str:
    shown = BLANK.sub(lambda found: VISIBLE.get(found[0], "␣"), label) if pieces else label
    return writable(shown if len(shown) <= MAX_LABEL else shown[: MAX_LABEL - 1] + "…")


class _Panel:
    """One matrix with its labels, placed in inches; x to the right, y downwards."""

    def __init__(self, figure: Any, labels: _Labels, weights: np.ndarray, cell: float, unscaled: int = 0):
        self.figure, self.labels, self.weights, self.cell = figure, labels, weights, cell
        self.height, self.width = (max(size, 1) * cell for size in weights.shape)
        self.top = float(weights[:, unscaled:].max(initial=0.0)) or 1.0
        self.beyond = (
            float(weights.max(initial=0.0)) > self.top
        )  # some cells have more than the darkest colour stands for

    def place(self, x: float, y: float, *, top: float | None = None, named: bool = True, upright: bool = False) -> None:
        """Draw the cells at a place, with words along them where `named`; `top` is the weight of the darkest."""
        rows, columns = self.weights.shape
        self.x, self.y = x, y
        axis = self.figure.add_axes((x, -y - self.height, self.width, self.height))
        cells = self.weights if self.weights.size else np.zeros((max(rows, 1), max(columns, 1)))
        self.image = axis.imshow(
            cells,
            cmap=shades(SHADES),
            vmin=0,
            vmax=top or self.top,
            aspect="auto",
            interpolation="none",
            origin="upper",
        )
        axis.set_xlim(-0.5, cells.shape[1] - 0.5)
        axis.set_ylim(cells.shape[0] - 0.5, -0.5)
        axis.spines[:].set(color=LINES if named else EDGE, linewidth=0.8)
        axis.tick_params(which="both", length=0, pad=3)
        axis.set_xticks([])
        axis.set_yticks([])
        if self.cell > 0.1:
            axis.set_xticks(np.arange(1, cells.shape[1]) - 0.5, minor=True)
            axis.set_yticks(np.arange(1, cells.shape[0]) - 0.5, minor=True)
            axis.grid(which="minor", color=LINES, linewidth=0.6)
        self.axis = axis
        if named:
            self._name(rows, columns, 90 if upright else 50)

    def _name(self, rows: int, columns: int, turn: int) -> None:
        size = float(np.clip(self.cell * 40, 5.5, 10.5))
        step = max(1, int(np.ceil(size * 1.15 / 72 / self.cell)))  # cells smaller than a line of text: not every word
        fits = [breadth(label) * size / 72 < self.cell * 0.95 for label in self.labels.source]
        east = any(fit and breadth(label) == len(label) for fit, label in zip(fits, self.labels.source, strict=True))
        for number in range(0, columns, step):
            label = self.labels.source[number]
            upright = all(fits) or (east and len(label) == 1)  # short words, and signs beside those of CJK
            self.axis.text(
                number if upright or turn == 90 else number + 0.04, -0.5 - 0.06 / self.cell, label,
                va="bottom" if upright or turn < 90 else "center", ha="center" if upright else "left",
                rotation=0 if upright else turn, rotation_mode="anchor",
                fontsize=size, color=INK, family=self.labels.fonts["source"],
            )  # fmt: skip
        for number in range(0, rows, step):
            self.axis.text(
                -0.5 - 0.07 / self.cell, number, self.labels.target[number], ha="right", va="center_baseline",
                fontsize=size, color=INK, family=self.labels.fonts["target"],
            )  # fmt: skip

    def scale(self, note: str) -> None:
        """A colour bar at the right, and below the matrix what the weights are."""
        height = min(self.height, 2.6)
        axis = self.figure.add_axes((self.x + self.width + 0.22, -self.y - height, 0.13, height))
        bar = self.figure.colorbar(self.image, cax=axis)
        bar.outline.set(edgecolor=EDGE, linewidth=0.6)
        ticks = [0, self.top] if height < 0.8 else [0, self.top / 2, self.top]
        more = "≥ " if self.beyond else ""
        bar.set_ticks(ticks, labels=[f"{more if tick == self.top else ''}{tick:.2g}" for tick in ticks])
        axis.tick_params(length=0, labelsize=8, labelcolor=PALE, pad=4)
        place = (self.x, -self.y - self.height - 0.12)
        self.figure.text(*place, note, fontsize=8, color=PALE, va="top", ha="left")

    def heading(self, title: str, notes: Sequence[str]) -> None:
        """The title above all words, and lines of notes below what the weights are."""
        if title:
            families = fonts.families([title])
            top = self.words_reach() + 0.16
            self.figure.text(
                self.x, top, writable(title), fontsize=12, color=INK, va="bottom", ha="left", family=families,
            )  # fmt: skip
        for n, note in enumerate(notes):
            place = (self.x, -self.y - self.height - 0.12 - LINE_INCHES * (n + 1))
            self.figure.text(*place, note, fontsize=8, color=PALE, va="top", ha="left")

    def words_reach(self) -> float:
        """How far up the words along the top, and what is drawn above them, reach in inches."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        renderer = FigureCanvasAgg(self.figure).get_renderer()
        with quiet():
            return max((text.get_window_extent(renderer).y1 / self.figure.dpi for text in self.axis.texts), default=0.0)


def _heads(
    figure: Any,
    chosen: Alignment,
    labels: _Labels,
    first: _Panel,
    choice: AttentionChoice,
    *,
    lines: int,
    unscaled: int,
) -> None:
    """A small panel for each head below the average, a row for each layer, all on one scale."""
    layers, heads, rows, columns = chosen.weights.shape
    side = min(max(0.04 * max(rows, columns), 1.4), 2.4, max(MAX_INCHES / max(heads, layers) - 0.18, 0.1))
    cell = min(side / max(rows, columns, 1), first.cell)
    top = float(chosen.weights[..., unscaled:].max(initial=0.0)) or 1.0
    wide, high = max(max(columns, 1) * cell, 0.5) + 0.18, max(rows, 1) * cell + 0.18
    y = first.height + 0.95 + LINE_INCHES * max(0, lines - 1)
    note = f"each head by itself: white 0, darkest {top:.2g}; words as above, rows are layers, columns are heads"
    figure.text(0, -y + 0.28, note, fontsize=8, color=PALE, va="bottom", ha="left")
    for i in range(layers):
        for j in range(heads):
            panel = _Panel(figure, labels, chosen.weights[i, j], cell)
            panel.place(j * wide, y + i * high, top=top, named=False)
            if i == 0:
                place = (j * wide + panel.width / 2, -y + 0.06)
                figure.text(*place, f"head {(choice.head or 1) + j}", fontsize=8, color=INK, ha="center", va="bottom")
        place = (-0.08, -y - i * high - (high - 0.18) / 2)
        figure.text(*place, f"layer {(choice.layer or 1) + i}", fontsize=8, color=INK, ha="right", va="center")


def _scale_note(chosen: Alignment, choice: AttentionChoice) -> str:
    layers, heads = chosen.weights.shape[:2]
    if not chosen.weights.any():
        return "nothing was read: all weights are 0"
    parts = [
        *([f"layer {choice.layer}"] if choice.layer is not None and layers == 1 else []),
        *([f"head {choice.head}"] if choice.head is not None else []),
    ]
    over = [*([f"{layers} layers"] if layers > 1 else []), *([f"{heads} heads"] if heads > 1 else [])]
    parts += [f"averaged over {' × '.join(over)}"] if over else []
    return ", ".join(["how much each row attends to each column", *parts])
