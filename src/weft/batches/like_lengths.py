"""Rows of like length, computed at once: a source of samples, and the order behind it. Knows lengths alone."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Generic, Protocol, runtime_checkable

import numpy as np

from weft.batches.order import key, numbers, permuted
from weft.batches.samples import G, Microbatches, PaddedIds, Samples, W

SCORED = 4096  # tokens a side in one micro-batch of held-out rows
USED, USED_MIXED = 1024, 512  # tokens that are computed together in use: in rows of one length, and of several


class LikeLengths:
    """Which rows make up the i-th micro-batch, for rows with a length or several: a pure function of the index.

    In every epoch the rows are ordered by length, those of equal lengths at random, and cut into micro-batches of about
    `tokens` tokens, padding included, and at most `rows` rows; the micro-batches come in random order. Lengths alone
    decide where the cuts fall, so every epoch has the same number of micro-batches.
    """

    def __init__(self, lengths: np.ndarray, *, tokens: int, fingerprint: str, seed: int, rows: int | None = None):
        """`lengths` has a row for each thing and a column for each of its sides; the last column counts first."""
        self.lengths, self.fingerprint, self.seed = lengths, fingerprint, seed
        ordered = lengths[_by_length(lengths)]
        self.cuts = _cuts(ordered, tokens, rows)
        self.real_share = _real_share(ordered, self.cuts)

    @property
    def per_epoch(self) -> int:
        """Micro-batches in one epoch."""
        return len(self.cuts) - 1

    def each(self, indices: np.ndarray) -> list[np.ndarray]:
        """The rows of the micro-batches at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.per_epoch)
        return [self._rows(int(epoch), int(i)) for epoch, i in zip(epochs, within, strict=True)]

    def _rows(self, epoch: int, i: int) -> np.ndarray:
        mark = key(self.fingerprint, self.seed, epoch)
        place = int(permuted(np.array([i]), self.per_epoch, mark)[0])
        return self._order(mark)[self.cuts[place] : self.cuts[place + 1]]

    @lru_cache(maxsize=2)  # noqa: B019 (a source lives as long as its run)
    def _order(self, mark: str) -> np.ndarray:
        """The rows by length, and by chance among those of equal lengths."""
        chance = np.random.Generator(np.random.Philox(key=numbers(mark, 2))).permutation(len(self.lengths))
        return _by_length(self.lengths, chance)


def in_order(lengths: np.ndarray, most: int | None = None) -> list[np.ndarray]:
    """Rows to be scored in micro-batches of like length; at most `most`, spread evenly over the lengths."""
    order = _by_length(lengths)
    cuts = _cuts(lengths[order], SCORED)
    chosen = range(len(cuts) - 1)
    if most is not None and most < len(chosen):
        chosen = np.linspace(0, len(cuts) - 2, most).round().astype(int).tolist()
    return [order[cuts[i] : cuts[i + 1]] for i in chosen]


def together(lengths: Sequence[int]) -> list[np.ndarray]:
    """Rows to be computed in use: the numbers of those that are computed together, the shortest first.

    Where there are many rows, nearly all are computed with rows of their own length: no padding, no mask.
    """
    sides = np.asarray(lengths, np.int64)[:, None]
    order = _by_length(sides)
    return np.split(order, _cuts(sides[order], USED, mixed=USED_MIXED)[1:-1]) if len(order) else []


def ids_together(rows: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, PaddedIds]]:
    """Rows of ids to be computed in use, as `together` cuts them: the numbers of some rows, and these rows."""
    for some in together([len(row) for row in rows]):
        yield some, PaddedIds.of([rows[i] for i in some])


def _by_length(lengths: np.ndarray, chance: np.ndarray | None = None) -> np.ndarray:
    sides = tuple(lengths.T)
    return np.lexsort(sides if chance is None else (chance, *sides))


def _cuts(lengths: np.ndarray, tokens: int, rows: int | None = None, mixed: int | None = None) -> np.ndarray:
    """Where to cut rows in order of length so that no side of a micro-batch exceeds `tokens`, unless one row does.

    With `mixed`, this is the most tokens of a micro-batch whose rows are not all of one length.
    """
    cuts, start, widest = [0], 0, np.zeros(lengths.shape[1], np.int64)
    for i, row in enumerate(lengths):
        wider = np.maximum(widest, row)
        most = tokens if mixed is None or (wider == lengths[start]).all() else mixed
        if i > start and (wider.max() * (i - start + 1) > most or i - start == rows):
            cuts.append(i)
            start, wider = i, row
        widest = wider
    return np.array([*cuts, len(lengths)])


def _real_share(lengths: np.ndarray, cuts: np.ndarray) -> float:
    """The share of tokens that are not padding."""
    filled = sum((lengths[a:b].max(0) * (b - a)).sum() for a, b in pairwise(cuts))
    return float(lengths.sum() / filled)


@runtime_checkable
class Rows(Protocol[G, W]):
    """Encoded rows of different lengths."""

    def lengths(self) -> np.ndarray:
        """A row of lengths for each row, a column for each of its sides; the last column counts first."""
        ...

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[G, W]:
        """Some of the rows as samples."""
        ...


class LikeLengthSource(Generic[G, W]):
    """A `Source` whose samples are micro-batches of like length: about `tokens` tokens at most, with padding.

    Where rows are short, `rows` bounds a micro-batch too: a step over hundreds of short texts would learn little more
    than one over dozens.
    """

    def __init__(
        self,
        train: Rows[G, W],
        held_out: Rows[G, W],
        *,
        tokens: int,
        fingerprint: str,
        seed: int,
        rows: int | None = None,
    ):
        self.train, self.valid, self.fingerprint = train, held_out, fingerprint
        self.order = LikeLengths(train.lengths(), tokens=tokens, fingerprint=fingerprint, seed=seed, rows=rows)

    @property
    def per_epoch(self) -> int:
        """Micro-batches in one epoch."""
        return self.order.per_epoch

    @property
    def real_share(self) -> float:
        """The share of tokens that are not padding."""
        return self.order.real_share

    def batch(self, indices: np.ndarray) -> Microbatches[G, W]:
        """The micro-batches at these global indices."""
        return Microbatches(tuple(self.train.take(rows) for rows in self.order.each(indices)))

    def held_out(self, *, most: int | None = None) -> Iterator[Microbatches[G, W]]:
        """The held-out rows, in micro-batches of like length."""
        return scored(self.valid, most)


def scored(rows: Rows[G, W], most: int | None = None) -> Iterator[Microbatches[G, W]]:
    """Rows to be scored, in micro-batches of like length; at most `most`, spread evenly over the lengths."""
    for some in in_order(rows.lengths(), most):
        yield Microbatches((rows.take(some),))
