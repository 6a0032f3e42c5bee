"""SeveralCodec: any number of labels at once, each with a probability of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from weft.errors import ConfigError, DataError, listed
from weft.files.labels import parted
from weft.tasks.labels.label import NamedCodec

LIKELY = 0.5  # a label with a higher probability is given


class SeveralCodec(NamedCodec):
    """Labels in the order of their numbers; a sample may have any of them, or none."""

    class Config(NamedCodec.Config):
        """The names of the labels. One is given where its probability is above the `threshold`."""

        threshold: float = LIKELY

        def check(self) -> None:
            if not 0 <= self.threshold < 1:
                raise ConfigError(f"expected a probability below 1, found {self.threshold}", where="threshold")

    config: Config

    @property
    def named_outputs(self) -> int:
        return len(self.names)

    def encode(self, labels: Sequence[str], where: str = "") -> np.ndarray:
        """(rows, labels) of 0 and 1; all labels that were never learned are named at once."""
        numbers, rows = {name: i for i, name in enumerate(self.names)}, [parted(label) for label in labels]
        if unknown := sorted({one for row in rows for one in row} - numbers.keys()):
            problem = f"labels that the model has not learned: {listed(unknown)}"
            raise DataError(problem, where=where, fix=f"the labels are {listed(self.names)}")
        found = np.zeros((len(rows), len(self.names)))
        for number, row in enumerate(rows):
            found[number, [numbers[one] for one in row]] = 1
        return found

    def given(self, values: Tensor) -> np.ndarray:
        """Which labels are given, (rows, labels), from logits."""
        return values.sigmoid().numpy() > self.config.threshold

    def decode(self, values: Tensor, top: int = 0) -> list[dict[str, Any]]:
        """The likely labels of each row of logits, and the probabilities of the `top` likeliest of all; 0 gives all."""
        found = []
        for shares in values.sigmoid().tolist():
            ranked, shown = self.ranked(shares, top)
            given = [label for label, p in ranked if p > self.config.threshold]
            found.append({"labels": given, "probabilities": shown})
        return found
