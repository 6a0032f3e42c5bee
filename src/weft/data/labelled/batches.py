"""Labelled texts as samples. Knows ids and numbers; refuses to know what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.data.batch import Classes, Numbers, PaddedIds, Samples, wanted


@dataclass(frozen=True)
class LabelledRows:
    """Texts as ids, marks included, and a target for each: whole numbers are classes, others numbers."""

    texts: Sequence[np.ndarray]
    targets: np.ndarray

    def lengths(self) -> np.ndarray:
        """A column with the length of each text in ids."""
        return np.array([[len(text)] for text in self.texts], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, Classes | Numbers]:
        """Some of the texts with their targets."""
        return Samples(PaddedIds.of([self.texts[row] for row in rows]), wanted(self.targets[np.asarray(rows)]))
