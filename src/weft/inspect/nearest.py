"""Which tokens lie nearest to a word in the table of a trained model, and to sums of words: king - man + woman."""

import html
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.inspect.figures import INK, PALE, sheet
from weft.inspect.views import page, svg_figure
from weft.modalities.tokenizer import Tokenizer

NEIGHBOURS = 10  # tokens listed
TERM = re.compile(r"\s*([+-])\s*")


@dataclass(frozen=True)
class Near:
    """A token and the cosine of the angle between it and what was asked for."""

    token: str
    similarity: float


class NearestView:
    """The neighbours of a word, or of a sum of words, in a table of vectors. Shows itself in a notebook."""

    def __init__(self, table: np.ndarray, tokenizer: Tokenizer, asked: str, count: int = NEIGHBOURS):
        """`table` has a row for each token."""
        self.asked = asked.strip()
        unit = table[: tokenizer.size] / np.maximum(
            np.linalg.norm(table[: tokenizer.size], axis=1, keepdims=True), 1e-12
        )
        wanted, used = _sum(unit, tokenizer, self.asked)
        cosine = unit @ (wanted / max(float(np.linalg.norm(wanted)), 1e-12))
        left_out = {*used, *tokenizer.special.tolist()}
        order = [int(i) for i in np.argsort(-cosine) if int(i) not in left_out][:count]
        self.found = [Near(tokenizer.decode([i]).strip() or repr(tokenizer.names[i]), float(cosine[i])) for i in order]

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """A bar for each neighbour, as long as it is near."""
        with sheet(format) as on:
            on.text(0, -0.12, f"nearest to {self.asked}", size=12, va="bottom")
            axis = on.axis(0, 0, 3.6, 0.28 * max(1, len(self.found)))
            axis.barh(range(len(self.found)), [one.similarity for one in self.found], color="#4a86c5", height=0.7)
            axis.set_yticks(range(len(self.found)), [one.token for one in self.found], color=INK)
            axis.invert_yaxis()
            axis.set_xlabel("cosine", color=PALE)
            return on.bytes()

    def page(self) -> bytes:
        """The list as a page."""
        return page(self.asked, f"<pre>{html.escape(self.text())}</pre>{svg_figure(self.picture('svg'))}")

    def text(self) -> str:
        """The list in words."""
        return "\n".join([self.asked, *(f"  {one.similarity:.3f}  {one.token}" for one in self.found)])

    def note(self) -> str | None:
        """Nothing to say of it."""
        return None

    def to_json(self) -> dict[str, Any]:
        """The list as plain values."""
        return {
            "asked": self.asked,
            "nearest": [{"token": n.token, "similarity": round(n.similarity, 5)} for n in self.found],
        }

    def _repr_png_(self) -> bytes:
        return self.picture()


def _sum(unit: np.ndarray, tokenizer: Tokenizer, asked: str) -> tuple[np.ndarray, set[int]]:
    """The sum of the words' directions, and the tokens that they are made of."""
    parts = ["+", *TERM.split(asked)] if asked else []
    wanted, used = np.zeros(unit.shape[1]), set[int]()
    for sign, word in zip(parts[::2], parts[1::2], strict=True):
        ids = tokenizer.encode(f" {word}" if tokenizer.cuts_at_words else word).tolist()
        if not word or not ids:
            raise WeftError(f"expected words joined by + and -, found {asked!r}", where="weft look")
        vector = unit[ids].mean(0)
        wanted += (1 if sign == "+" else -1) * vector / max(float(np.linalg.norm(vector)), 1e-12)
        used.update(ids)
    if not used:
        raise WeftError("no word to look for", where="weft look", fix='give one, or a sum: "king - man + woman"')
    return wanted, used
