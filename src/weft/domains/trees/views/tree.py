"""What a parser read: its tree above the words of a sentence, and below them what was read for each of its parts."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from weft.domains.pairs.views.translation import Look, LookAtWriting
from weft.domains.trees.reading.tree import Tree, draw, words
from weft.domains.trees.views.crown import Crown
from weft.inspect import fonts, matrix
from weft.inspect.alignment import Alignment, most_read
from weft.inspect.views import LookedAnswer, View, page, probability, svg_figure

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

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The tree above its words, and below them how dark each was read."""
        given = [GIVEN_NOTE] if self.crown and self.framed else []
        return matrix.draw(self.reading, self.how, format=format, title=self.said, notes=given, above=self.crown)

    def page(self) -> bytes:
        """The same as a page that needs nothing else, with the tree in brackets."""
        drawn = f"<pre>{html.escape(draw(self.tree))}</pre>"
        return page(" ".join(self.words), svg_figure(self.picture("svg")) + drawn, self.answer)

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
