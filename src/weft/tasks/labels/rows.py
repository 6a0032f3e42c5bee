"""Rows of different lengths with a label each, as numbers and as samples. Knows no domain: a codec made the numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np

from weft.batches.id_rows import IdRows, MarkedIds
from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import Classes, G, Numbers, Samples, wanted
from weft.files.labelled import LabelledData
from weft.tasks.labels.label import LabelCodec

MINUTES = 0.5  # of a training whose length nobody says
TOKENS, ROWS = 8192, 32  # the most in a micro-batch


@dataclass(frozen=True)
class LabelledRows(Generic[G]):
    """Rows as a codec gives them, and a target for each: whole numbers are classes, others numbers.

    `batch` puts some rows into one part of a batch.
    """

    rows: Sequence[np.ndarray]
    targets: np.ndarray
    batch: Callable[[Sequence[np.ndarray]], G]

    def lengths(self) -> np.ndarray:
        """A column with the length of each row."""
        if isinstance(self.rows, IdRows | MarkedIds):
            return self.rows.lengths()[:, None].astype(np.int64)
        return np.array([[len(row)] for row in self.rows], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[G, Classes | Numbers]:
        """Some of the rows with their targets."""
        return Samples(self.batch([self.rows[row] for row in rows]), wanted(self.targets[np.asarray(rows)]))


@dataclass(frozen=True)
class EncodedRows(Generic[G]):
    """All rows of a run as numbers, with what a plan and config.json say of them."""

    data: LabelledData[Any]
    train: LabelledRows[G]
    held_out: LabelledRows[G]
    minutes: float = MINUTES
    amounts: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        data: LabelledData[Any],
        encode: Callable[[Sequence[Any]], Sequence[np.ndarray]],
        label: LabelCodec,
        batch: Callable[[Sequence[np.ndarray]], G],
    ) -> "EncodedRows[G]":
        """The data through the codecs of both ends; `encode` gives rows as numbers."""
        sides = (data.train, data.held_out)
        train, held = (LabelledRows(encode(some), label.encode([row.label for row in some]), batch) for some in sides)
        return EncodedRows(data, train, held)

    def source(self, *, seed: int, rows: int = ROWS, tokens: int = TOKENS) -> LikeLengthSource[G, Classes | Numbers]:
        """The samples: micro-batches of like length, of at most `tokens` tokens, padding included, and `rows` rows."""
        key = self.data.fingerprint
        return LikeLengthSource(self.train, self.held_out, tokens=tokens, rows=rows, fingerprint=key, seed=seed)

    def lines(self) -> Mapping[str, str]:
        """The data in words, by name."""
        return {"data": "; ".join(self.data.notes), "held out": self.data.rule}
