"""Pairs of texts as samples. Knows ids and marks; refuses to know what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.data.batch import PaddedIds, Samples


@dataclass(frozen=True)
class PairRows:
    """Pairs of ids. A source is read up to the `end`; a target stands between a `start` and the end."""

    pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    end: int
    start: int

    def lengths(self) -> np.ndarray:
        """Of source and target, with the end that each is given to read."""
        return np.array([(len(source) + 1, len(target) + 1) for source, target in self.pairs], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, PaddedIds]:
        """Some of the pairs, marks put where they belong."""
        some = [self.pairs[row] for row in rows]
        source = PaddedIds.of([np.append(source, self.end) for source, _ in some])
        target = PaddedIds.of([np.concatenate(([self.start], target, [self.end])) for _, target in some])
        return Samples(source, target)
