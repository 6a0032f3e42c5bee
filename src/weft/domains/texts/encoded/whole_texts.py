"""Texts that a model reads whole, as ids: how much there is of them, and how long to learn from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.domains.texts.codec.text import TextCodec
from weft.files.dataset import Dataset

LONG_SHARE = 0.995  # of the texts are no longer than a long one
SHORTEST = 8  # tokens of a long text where there are none


@dataclass(frozen=True)
class TextAmount:
    """Tokens to train on and tokens of a long text, marks included."""

    tokens: int
    longest: int

    @staticmethod
    def of(texts: Sequence[np.ndarray], codec: TextCodec) -> "TextAmount":
        """The amount of texts that are ids without marks."""
        marks = codec.marks
        lengths = [len(marks.before) + len(ids) + len(marks.after) for ids in texts]
        return TextAmount(sum(lengths), int(np.quantile(lengths, LONG_SHARE)) if lengths else SHORTEST)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(10.0, max(0.5, self.tokens / 1e5))

    def lines(self, data: Dataset[Any, Any], codec: TextCodec) -> Mapping[str, str]:
        """The texts in words, for a plan."""
        return {
            "data": "; ".join(data.notes),
            "tokens": f"{codec.in_words()}; about {self.tokens:,} to train on",
            "held out": data.rule.partition(":")[0],
        }
