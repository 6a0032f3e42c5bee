"""SeveralCodec: any number of labels at once, each with a probability of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.errors import WeftError
from weft.tasks.labels.label import NamedCodec

LIKELY = 0.5  # a label with a higher probability is given


class SeveralCodec(NamedCodec):
    """Labels in the order of their numbers. Models that were trained elsewhere have them; weft trains none."""

    class Config(NamedCodec.Config):
        """The names of the labels."""

    def encode(self, labels: Sequence[str], where: str = "") -> np.ndarray:
        """Refused: files have one label a row."""
        problem = "this model gives several labels at once, and data with one label a row cannot measure that"
        raise WeftError(problem, where=where, fix="use weft predict --json: it has the probability of every label")

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The likely labels of each row of logits, and the probabilities of the `top` likeliest of all; 0 gives all."""
        found = []
        for shares in values.sigmoid().tolist():
            ranked, listed = self.ranked(shares, top)
            found.append({"labels": [label for label, p in ranked if p > LIKELY], "probabilities": listed})
        return found
