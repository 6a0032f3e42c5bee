"""Counts of pairs of words that stand near each other: samples for learning words from counts. Knows ids alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from weft.batches.order import key, permuted
from weft.batches.words import PairCounts, TableRows, WordPairs

BUNCH = 512  # pairs in a sample: they stay together, in an order that was drawn once
AT_ONCE = 2**24  # pairs that are sorted at a time
PAIR_POWER = 0.75  # a pair below `most` counts by this power of its share of it (Pennington et al., 2014)


@dataclass(frozen=True)
class NearbyPairs:
    """Different words `first` and `second`, and their count: 1 / distance for every time they stand near each other."""

    first: np.ndarray
    second: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def scaled(self, factor: float) -> "NearbyPairs":
        """The counts that a text `factor` times as long would have."""
        return NearbyPairs(self.first, self.second, factor * self.counts)


def count_pairs(ids: np.ndarray, words: int, window: int) -> NearbyPairs:
    """The pairs within a window in a stream of ids, in which the number of words stands where sentences end.

    A pair stands in both orders. Pairs are added up by sorting, some millions at a time.
    """
    sentence = np.cumsum(ids == words)
    keys: np.ndarray = np.zeros(0, np.int64)
    counts: np.ndarray = np.zeros(0)
    for distance in range(1, min(window, len(ids) - 1) + 1):
        for start in range(0, len(ids) - distance, AT_ONCE):
            left, right = ids[start : start + AT_ONCE + distance], sentence[start : start + AT_ONCE + distance]
            one, other = left[:-distance].astype(np.int64), left[distance:].astype(np.int64)
            same = (right[:-distance] == right[distance:]) & (one != words) & (other != words)
            one, other = one[same], other[same]
            found, times = np.unique(np.minimum(one, other) * words + np.maximum(one, other), return_counts=True)
            keys, place = np.unique(np.concatenate((keys, found)), return_inverse=True)
            counts = np.bincount(place, np.concatenate((counts, times / distance)), len(keys))
    low, high = np.divmod(keys, words)
    apart = low != high
    first = np.concatenate((low, high[apart])).astype(np.int32)
    second = np.concatenate((high, low[apart])).astype(np.int32)
    return NearbyPairs(first, second, np.concatenate((np.where(apart, counts, 2 * counts), counts[apart])))


class CountedPairs:
    """A `Source` over the pairs of two texts. A sample is a bunch of pairs, so that drawing the order costs little."""

    def __init__(self, train: NearbyPairs, held_out: NearbyPairs, *, most: float, fingerprint: str, seed: int):
        """A pair that stands together `most` times or more counts fully."""
        mixed = permuted(np.arange(len(train)), max(1, len(train)), key(fingerprint, "pairs"))
        self.train = NearbyPairs(train.first[mixed], train.second[mixed], train.counts[mixed])
        self.valid, self.most, self.fingerprint, self.seed = held_out, most, fingerprint, seed
        self.per_epoch = max(1, -(-len(train) // BUNCH))

    def batch(self, indices: np.ndarray) -> WordPairs:
        """The bunches at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.per_epoch)
        bunches = np.empty_like(within)
        for epoch in np.unique(epochs):
            mine = epochs == epoch
            bunches[mine] = permuted(within[mine], self.per_epoch, key(self.fingerprint, self.seed, int(epoch)))
        places = (bunches[:, None] * BUNCH + np.arange(BUNCH)).ravel()
        return self._pairs(self.train, places[places < len(self.train)])

    def held_out(self, *, most: int | None = None) -> Iterator[WordPairs]:
        """The pairs of the held-out text, spread evenly over them when not all are asked for."""
        many = len(self.valid)
        places = np.arange(many)
        if most is not None and many > most * BUNCH:
            places = np.linspace(0, many - 1, most * BUNCH).round().astype(np.int64)
        for i in range(0, len(places), 64 * BUNCH):
            yield self._pairs(self.valid, places[i : i + 64 * BUNCH])

    def _pairs(self, pairs: NearbyPairs, places: np.ndarray) -> WordPairs:
        counts = pairs.counts[places]
        weights = np.minimum(1.0, counts / self.most) ** PAIR_POWER
        return WordPairs(
            TableRows.of(pairs.first[places]),
            PairCounts(
                TableRows.of(pairs.second[places]),
                torch.from_numpy(np.log(counts).astype(np.float32)),
                torch.from_numpy(weights.astype(np.float32)),
            ),
        )
