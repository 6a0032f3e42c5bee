"""ClassCodec: one class of several, by number. Knows names and probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.errors import DataError, listed
from weft.tasks.labels.label import NamedCodec


class ClassCodec(NamedCodec):
    """Classes in the order of their numbers."""

    class Config(NamedCodec.Config):
        """The names of the classes."""

    @property
    def named_outputs(self) -> int:
        return len(self.names)

    def encode(self, labels: Sequence[str], where: str = "") -> np.ndarray:
        """The numbers of classes; all labels that were never learned are named at once."""
        numbers = {name: i for i, name in enumerate(self.names)}
        unknown = sorted(set(labels) - set(self.names))
        if unknown:
            count = sum(label in unknown for label in labels)
            problem = f"{count:,} of {len(labels):,} have labels that the model has not learned: {listed(unknown)}"
            raise DataError(problem, where=where, fix=f"the classes are {listed(self.names)}")
        return np.array([numbers[label] for label in labels], np.int64)

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The likeliest class of each row of logits, and the probabilities of the `top` likeliest; 0 gives all."""
        found = []
        for shares in values.softmax(-1).tolist():
            ranked, listed = self.ranked(shares, top)
            found.append({"label": ranked[0][0], "probabilities": listed})
        return found
