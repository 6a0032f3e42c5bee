"""What a parser read: its tree above the words of a sentence, and below them what was read for each of its parts.

The tree stands above the columns of a matrix, whose words are its leaves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from weft.domains.pairs.views import Look, LookAtWriting
from weft.domains.trees.reading.tree import Tree, draw, walk, words
from weft.inspect import fonts, matrix
from weft.inspect.alignment import Alignment, most_read
from weft.inspect.answers import probability
from weft.inspect.document import Bracket, LinePlace, LookDocument, TokenGroup, TreePlace
from weft.inspect.figures import INK, PALE, breadth, writable
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import LookedAnswer, View

LEVEL_INCHES = 0.27  # from a bracket to the one above it
GAP_INCHES = 0.06  # from the words to the lowest brackets
GIVEN = "#d1495b"  # the frame of a cell that was given


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


GIVEN_NOTE = "Framed: the next unread word, whose encoding the decoder is given at each step."


class LookAtTree(LookAtWriting):
    """Settings of a look at a tree."""

    about: ClassVar[Mapping[str, str]] = {
        **LookAtWriting.about,
        "target": "a tree in brackets over the same words, to look at instead of the model's own",
        "beam": "the beam of the model's own tree",
        "pieces": "tokens as the model has them, instead of whole words and brackets",
    }


class TreeView(View):
    """A sentence and its tree, with what was read for each bracket and word. Shows itself in a notebook."""

    def __init__(
        self,
        tree: Tree,
        reading: Alignment,
        how: Look,
        answer: LookedAnswer,
        *,
        first: int = 0,
        framed: Sequence[int] = (),
    ):
        """`reading` has a row for each part of the tree, and a column for each word from number `first` on.

        The columns `framed`, one for each row, are words that the model was given there.
        """
        self.tree, self.reading, self.how, self.answer, self.framed = tree, reading, how, answer, tuple(framed)
        self.words = words(tree, plain=False)
        whole = not how.pieces and len(reading.source) >= first + len(self.words)  # a column for each word
        self.crown = Crown(tree, first, self.framed) if whole else None
        how.indices(*reading.weights.shape[:2])

    @property
    def about(self) -> str:
        return f"how the tree of {' '.join(self.words)[:60]!r} was read"

    @property
    def said(self) -> str:
        """Whose tree it is, and its probability."""
        assert self.answer is not None
        chance = self.answer.said[0][1]
        return self.answer.called if chance is None else f"{self.answer.called} ({probability(chance)})"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The tree above its words, and below them how dark each was read."""
        given = [GIVEN_NOTE] if self.crown and self.framed else []
        return matrix.draw(self.reading, self.how, format=format, title=self.said, notes=given, above=self.crown)

    def document(self) -> LookDocument:
        """The tree over its words, and every head that read them."""
        drawn = TreePlace(tuple(brackets(self.tree)), self.crown.first) if self.crown else LinePlace()
        groups = (TokenGroup("words", self.reading.source, drawn), TokenGroup("parts of the tree", self.reading.target))
        read = Read("what is read for each part", "parts of the tree", "words", self.reading.weights)
        streams, left = streams_of((read,), groups)
        return LookDocument(
            " ".join(self.words), "tree", self.about, self.text(), groups=groups, streams=streams, answer=self.answer,
            start=(*self.how.picked, ("token", "parts of the tree.1")), notes=left,
        )  # fmt: skip

    def text(self) -> str:
        """The tree, and for each of its parts what was read most, in words."""
        chosen = self.reading.of(self.how).mean()
        lines = most_read(chosen)
        if self.framed:
            next_words = [chosen.source[column] for column in self.framed]
            width = max(map(len, next_words))
            lines = [f"  {word:<{width}} {line}" for word, line in zip(next_words, lines, strict=True)]
            lines.insert(0, f"  {'next':<{width}}   written, and what was read most for it")
        return "\n".join([" ".join(self.words), self.said, "", draw(self.tree), "", *lines])

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs([*self.reading.source, *self.reading.target])

    def to_json(self) -> dict[str, Any]:
        """Plain values: the tree, its parts, the words and the weights between them."""
        chosen = self.reading.of(self.how).mean()
        assert self.answer is not None
        return {
            "source": " ".join(self.words),
            "text": str(self.tree),
            "answer": self.answer.to_json(),
            "source_words": list(chosen.source),
            "target_words": list(chosen.target),
            "weights": [[round(float(w), 4) for w in row] for row in chosen.weights[0, 0]],
            **({"next_words": [chosen.source[column] for column in self.framed]} if self.framed else {}),
        }
