"""Rows of like length, computed at once: a source of samples, and the order behind it. Knows lengths alone."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, Protocol, runtime_checkable

import numpy as np

from weft.batches.order import key, numbers, permuted
from weft.batches.samples import G, Microbatches, PaddedIds, Samples, W

SCORED = 4096  # tokens a side in one micro-batch of held-out rows
SORTED_AT_ONCE = 2**20  # rows
USED, USED_MIXED = 1024, 512  # tokens that are computed together in use: in rows of one length, and of several


class LikeLengths:
    """Which rows make up the i-th micro-batch, for rows with a length or several: a pure function of the index.

    In every epoch the rows are ordered by length, those of equal lengths at random, and cut into micro-batches of about
    `tokens` tokens, padding included, and at most `rows` rows; the micro-batches come in random order. Lengths alone
    decide where the cuts fall, so every epoch has the same number of micro-batches.
    """

    def __init__(self, lengths: np.ndarray, *, tokens: int, fingerprint: str, seed: int, rows: int | None = None):
        """`lengths` has a row for each thing and a column for each of its sides; the last column counts first."""
        self.fingerprint, self.seed = fingerprint, seed
        self.rows, self.starts, widths = _by_length(lengths)
        self.cuts = _cuts(widths, self.starts, tokens, rows)
        self.real_share = _real_share(widths, self.starts, self.cuts)

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
        return self._order(mark)[self.cuts[place] : self.cuts[place + 1]].astype(np.int64)

    @lru_cache(maxsize=2)  # noqa: B019 (a source lives as long as its run)
    def _order(self, mark: str) -> np.ndarray:
        """The rows by length, and by chance among those of equal lengths; sorted in parts, which need little memory."""
        chance = np.arange(len(self.rows), dtype=self.rows.dtype)
        np.random.Generator(np.random.Philox(key=numbers(mark, 2))).shuffle(chance)
        order, ends, start = np.empty_like(self.rows), self.starts[1:], 0
        while start < len(order):
            stop = int(ends[min(int(np.searchsorted(ends, start + SORTED_AT_ONCE)), len(ends) - 1)])
            some, groups = self.rows[start:stop], np.searchsorted(ends, (start, stop), side="right")
            sizes = np.diff(self.starts[groups[0] : groups[1] + 1])
            alike = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
            order[start:stop] = some[np.argsort((alike << np.uint64(40)) | chance[some].astype(np.uint64))]
            start = stop
        return order


def in_order(lengths: np.ndarray, most: int | None = None) -> list[np.ndarray]:
    """Rows to be scored in micro-batches of like length; at most `most`, spread evenly over the lengths."""
    order, starts, widths = _by_length(lengths)
    cuts = _cuts(widths, starts, SCORED)
    chosen = range(len(cuts) - 1)
    if most is not None and most < len(chosen):
        chosen = np.linspace(0, len(cuts) - 2, most).round().astype(int).tolist()
    return [order[cuts[i] : cuts[i + 1]].astype(np.int64) for i in chosen]


def together(lengths: Sequence[int]) -> list[np.ndarray]:
    """Rows to be computed in use: the numbers of those that are computed together, the shortest first.

    Where there are many rows, nearly all are computed with rows of their own length: no padding, no mask.
    """
    order, starts, widths = _by_length(np.asarray(lengths, np.int64)[:, None])
    if not len(order):
        return []
    return np.split(order.astype(np.int64), _cuts(widths, starts, USED, mixed=USED_MIXED)[1:-1])


def ids_together(rows: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, PaddedIds]]:
    """Rows of ids to be computed in use, as `together` cuts them: the numbers of some rows, and these rows."""
    for some in together([len(row) for row in rows]):
        yield some, PaddedIds.of([rows[i] for i in some])


def _by_length(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of rows in order of their lengths; where each group of equal ones begins, and the end; its lengths.

    The numbers are of 32 bits where these are enough.
    """
    count, sides = lengths.shape
    if not count:
        return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros((0, sides), np.int64)
    bits = [max(1, int(side.max()).bit_length()) for side in lengths.T]
    kind: type[np.unsignedinteger[Any]] = np.uint32 if sum(bits) <= 32 else np.uint64
    one = np.zeros(count, kind)  # all sides in a number, the last one highest
    for side, width in zip(lengths.T[::-1], bits[::-1], strict=True):
        one = np.bitwise_or(np.left_shift(one, kind(width)), side.astype(kind))
    rows = np.argsort(one, kind="stable").astype(np.uint32 if count < 2**32 else np.int64)
    one = one[rows]
    starts = np.append(np.append(0, 1 + np.flatnonzero(one[1:] != one[:-1])), count)
    return rows, starts, lengths[rows[starts[:-1]]].astype(np.int64)


def _cuts(
    widths: np.ndarray, starts: np.ndarray, tokens: int, rows: int | None = None, mixed: int | None = None
) -> np.ndarray:
    """Where to cut rows in order of length so that no side of a micro-batch exceeds `tokens`, unless one row does.

    `widths` are the lengths of groups of rows that begin at `starts`. With `mixed`, this is the most tokens of a
    micro-batch whose rows are not all of one length.
    """
    cuts, start = [0], 0
    first = widest = tuple(widths[0].tolist()) if len(widths) else ()
    for group, place, stop in zip(widths.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        i = place
        while i < stop:  # as many of the group as fit beside what is there already
            wider = tuple(map(max, widest, group)) if i > start else tuple(group)
            most = tokens if mixed is None or i == start or wider == first else mixed
            end = min(stop, start + most // max(wider), stop if rows is None else start + rows)
            if i == start:
                end, first = max(end, start + 1), wider
            if end > i:
                i, widest = end, wider
            if i < stop:
                cuts.append(i)
                start = i
    return np.array([*cuts, int(starts[-1])])


def _real_share(widths: np.ndarray, starts: np.ndarray, cuts: np.ndarray) -> float:
    """The share of tokens that are not padding."""
    first = np.searchsorted(starts, cuts[:-1], side="right") - 1  # the groups that micro-batches begin in
    behind = np.searchsorted(starts, cuts[1:], side="left")  # and the first group behind each
    padded = np.append(widths, np.zeros_like(widths[:1]), axis=0)
    widest = np.maximum.reduceat(padded, np.column_stack((first, behind)).ravel())[::2]
    filled = (widest * np.diff(cuts)[:, None]).sum()
    return float((widths * np.diff(starts)[:, None]).sum() / filled)


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

    apart = True

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
