"""A tree drawn above the columns of a matrix, whose words are its leaves. Knows positions and labels, no models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.domains.trees.reading.tree import Tree, walk
from weft.inspect import fonts
from weft.inspect.figures import INK, PALE, breadth, writable

LEVEL_INCHES = 0.27  # from a bracket to the one above it
GAP_INCHES = 0.06  # from the words to the lowest brackets
GIVEN = "#d1495b"  # the frame of a cell that was given


@dataclass(frozen=True)
class Bracket:
    """A labelled node by its place: above the columns from `left` to `right`, `level` brackets above the words.

    `below` are the places of its children: column and level, which is 0 for a word.
    """

    label: str
    left: float
    right: float
    level: int
    below: tuple[tuple[float, int], ...]

    @property
    def middle(self) -> float:
        """The column in the middle of the children."""
        return (self.below[0][0] + self.below[-1][0]) / 2


def brackets(tree: Tree) -> list[Bracket]:
    """The brackets of a tree over the columns 0, 1, 2 …, each after those below it."""
    found: list[Bracket] = []
    open_nodes: list[list[tuple[float, int]]] = [[]]  # the places of the children of what is open
    starts: list[int] = []
    words = 0
    for event, node in walk(tree):
        if event == "open":
            open_nodes.append([])
            starts.append(words)
        elif event == "leaf":
            open_nodes[-1].append((float(words), 0))
            words += 1
        else:
            below = tuple(open_nodes.pop())
            bracket = Bracket(node.label, starts.pop(), words - 1, 1 + max(level for _, level in below), below)
            found.append(bracket)
            open_nodes[-1].append((bracket.middle, bracket.level))
    return found


@dataclass(frozen=True)
class Crown:
    """A tree over the columns from `first` on, and for each row of the matrix the column that is framed, if any."""

    tree: Tree
    first: int = 0
    framed: Sequence[int | None] = ()

    def draw(self, axis: Any, *, above: float, cell: float) -> None:
        """Draw on an axis whose columns are `cell` inches wide, from `above` inches over its cells on."""
        size = float(np.clip(cell * 30, 5.0, 9.0))

        def height(level: int) -> float:
            inches = above + GAP_INCHES + LEVEL_INCHES * max(0.0, level - 0.25 if level else 0.0)
            return -0.5 - inches / cell

        line = {"color": PALE, "linewidth": 0.8, "clip_on": False, "zorder": 1}
        for bracket in brackets(self.tree):
            x = [self.first + column for column, _ in bracket.below]
            top = height(bracket.level)
            axis.plot([x[0], x[-1]], [top, top], **line)
            for place, (_, level) in zip(x, bracket.below, strict=True):
                axis.plot([place, place], [height(level), top], **line)
        for bracket in brackets(self.tree):
            label = writable(bracket.label)
            smaller = (
                min(1.0, 1.6 * cell * 72 / max(1e-9, size * breadth(label))) if bracket.left == bracket.right else 1.0
            )
            axis.text(
                self.first + bracket.middle, height(bracket.level), label, ha="center", va="center", color=INK,
                zorder=2, fontsize=max(4.0, size * smaller), family=fonts.families([label]), clip_on=False,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )  # fmt: skip
        self._frame_cells(axis)

    def _frame_cells(self, axis: Any) -> None:
        """Frame one cell in each row that has one."""
        from matplotlib.patches import Rectangle

        for row, column in enumerate(self.framed):
            if column is not None:
                place = (column - 0.5, row - 0.5)
                axis.add_patch(
                    Rectangle(place, 1, 1, fill=False, edgecolor=GIVEN, linewidth=1.1, clip_on=False, zorder=3)
                )
