"""Which words lie nearest to a word in a space of vectors, and to sums of words: king - man + woman.

The vectors are those of a model of words, or the table of tokens of any model of texts.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.figures import INK, PALE, sheet
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import View
from weft.modalities.tokenizer import Tokenizer

NEIGHBOURS = 10  # words listed
TERM = re.compile(r"\s*([+-])\s*")
SPACED_TERM = re.compile(r"(?:^|\s+)([+-])\s*")  # a sign within a word belongs to it: co-operate


@dataclass(frozen=True)
class NearWord:
    """A word or token and the cosine of the angle between it and what was asked for."""

    token: str
    similarity: float


@dataclass(frozen=True)
class WordSpace:
    """Directions by number, `unit` of length 1; the `names` of those that may be found, None for the others.

    `numbers` gives the rows that a word is made of; none where it is unknown. `terms` cuts a sum at its signs.
    """

    unit: np.ndarray
    names: Callable[[int], str | None]
    numbers: Callable[[str], Sequence[int]]
    terms: re.Pattern[str] = TERM

    @staticmethod
    def of_tokens(table: np.ndarray, tokenizer: Tokenizer) -> "WordSpace":
        """The table of a model's tokens; a word may be several."""
        own = table[: tokenizer.size]
        special = set(tokenizer.special.tolist())

        def name(i: int) -> str | None:
            return None if i in special else tokenizer.decode([i]).strip() or repr(tokenizer.names[i])

        def numbers(word: str) -> list[int]:
            ids: list[int] = tokenizer.encode(f" {word}" if tokenizer.cuts_at_words else word).tolist()
            return ids

        return WordSpace(own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12), name, numbers)

    def sum(self, asked: str, where: str) -> tuple[np.ndarray, set[int]]:
        """The sum of the words' directions, and the rows that they are made of."""
        whole = ["+", *self.terms.split(asked)] if asked else []
        parts = whole if whole[1:2] != [""] else whole[2:]  # a sum may begin with a sign
        wanted, used = np.zeros(self.unit.shape[1]), set[int]()
        for sign, word in zip(parts[::2], parts[1::2], strict=True):
            if not word:
                raise WeftError(f"expected words joined by + and -, found {asked!r}", where=where)
            vector = self.direction(word, where)
            wanted += vector if sign == "+" else -vector
            used.update(self.numbers(word))
        if not used:
            raise WeftError("no word to look for", where=where, fix='give one, or a sum: "king - man + woman"')
        return wanted, used

    def direction(self, word: str, where: str) -> np.ndarray:
        """The direction of a word."""
        ids = list(self.numbers(word))
        if not ids:
            fix = "give a word that stands often enough in the training text"
            raise WeftError(f"the word {word!r:.60} has no vector", where=where, fix=fix)
        vector = self.unit[ids].mean(0)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))

    def nearest(self, asked: str, count: int = NEIGHBOURS, where: str = "weft look") -> list[NearWord]:
        """The words nearest to a word or a sum of words, without these words themselves."""
        wanted, used = self.sum(asked, where)
        cosine = self.unit @ (wanted / max(float(np.linalg.norm(wanted)), 1e-12))
        found: list[NearWord] = []
        for i in np.argsort(-cosine, kind="stable").tolist():
            name = None if i in used else self.names(i)
            if name is not None:
                found.append(NearWord(name, float(cosine[i])))
            if len(found) == count:
                break
        return found


class NearestView(View):
    """The neighbours of a word, or of a sum of words, in a space of vectors. Shows itself in a notebook."""

    def __init__(self, space: WordSpace, asked: str, count: int = NEIGHBOURS):
        self.asked = asked.strip()
        self.found = space.nearest(self.asked, count)

    @property
    def about(self) -> str:
        return f"the words nearest to {self.asked}"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """A bar for each neighbour, as long as it is near."""
        with sheet(format) as on:
            on.text(0, -0.12, f"nearest to {self.asked}", size=12, va="bottom")
            axis = on.axis(0, 0, 3.6, 0.28 * max(1, len(self.found)))
            cosines = [one.similarity for one in self.found]
            axis.barh(range(len(self.found)), cosines, color="#4a86c5", height=0.7)
            axis.set_xlim(min(0.0, *cosines, 0.0), max(1.0, *cosines, 1.0))
            axis.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "0.25", "0.5", "0.75", "1"])
            axis.tick_params(axis="x", length=2, labelsize=8, labelcolor=PALE, color=PALE)
            for row, cosine in enumerate(cosines):
                on.text(3.66, 0.28 * (row + 0.5), f"{cosine:.2f}", color=PALE, va="center")
            axis.set_yticks(range(len(self.found)), [one.token for one in self.found], color=INK)
            axis.invert_yaxis()
            axis.set_xlabel("cosine similarity", color=PALE, fontsize=9)
            return on.bytes()

    def document(self) -> LookDocument:
        """The word and its neighbours, with their cosines."""
        groups = (TokenGroup("asked", (self.asked,)), TokenGroup("nearest", tuple(one.token for one in self.found)))
        cosines = np.array([one.similarity for one in self.found], np.float32)[None, None, None]
        reads = (Read("cosine similarity", "asked", "nearest", cosines, "cosine"),) if self.found else ()
        streams, left = streams_of(reads, groups)
        return LookDocument(self.asked, "text", self.about, self.text(), groups=groups, streams=streams, notes=left)

    def text(self) -> str:
        """The list in words."""
        return "\n".join([self.asked, *(f"  {one.similarity:.3f}  {one.token}" for one in self.found)])

    def to_json(self) -> dict[str, Any]:
        """The list as plain values."""
        return {
            "asked": self.asked,
            "nearest": [{"token": n.token, "similarity": round(n.similarity, 5)} for n in self.found],
        }
