"""Whole rows of ids packed into windows, of whose tokens some count in the loss. Knows ids and lengths alone.

    | row … | row ……… | row … | filler |     one window: rows are whole, and one that is too long is cut into several

A row never reads the ones behind it, so what fills a window at its end changes nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weft.batches.order import key, permuted
from weft.batches.windows import SCORE_TOKENS, Windows, scored_spans, windows

OPEN = 64  # windows with room that are tried for a row, the oldest first


@dataclass(frozen=True)
class ScoredIds:
    """A row of ids, and which of them count in the loss."""

    ids: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    def pieces(self, context: int) -> "Iterator[ScoredIds]":
        """The row, or, where it is longer than a window, parts that overlap; every token counts in one of them."""
        if len(self) <= context + 1:
            yield self
            return
        for first, stop in scored_spans(len(self), context):
            counts = self.counts.copy()
            counts[:first] = False
            here = slice(stop - 1 - context, stop)
            yield ScoredIds(self.ids[here], counts[here])


@dataclass(frozen=True)
class PackedRows:
    """Windows of one length, and which of their tokens count."""

    ids: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(rows: Sequence[ScoredIds], context: int, *, filler: int) -> "PackedRows":
        """Rows in windows of `context` ids and one more to predict; parts in which nothing counts are left out."""
        bins, full = list[list[ScoredIds]](), list[list[ScoredIds]]()
        for piece in (piece for row in rows for piece in row.pieces(context)):
            if not piece.counts[1:].any():
                continue
            home = next((one for one in bins if sum(map(len, one)) + len(piece) <= context + 1), None)
            if home is None:
                bins.append([piece])
                if len(bins) > OPEN:
                    full.append(bins.pop(0))
            else:
                home.append(piece)
        packs = full + bins
        width = max((sum(map(len, one)) for one in packs), default=2)
        ids, counts = np.full((len(packs), width), filler, np.int64), np.zeros((len(packs), width), bool)
        for number, pack in enumerate(packs):
            place = 0
            for piece in pack:
                ids[number, place : place + len(piece)] = piece.ids
                counts[number, place : place + len(piece)] = piece.counts
                counts[number, place] = False  # nothing of the same row stands before it
                place += len(piece)
        return PackedRows(ids, counts)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: np.ndarray) -> Windows:
        """Some of the windows as samples."""
        return windows(torch.from_numpy(self.ids[rows]), torch.from_numpy(self.counts[rows, 1:]))

    def chosen(self, most: int | None) -> np.ndarray:
        """The numbers of all windows, or of some that are spread evenly over them."""
        if most is None or most >= len(self):
            return np.arange(len(self))
        return np.linspace(0, len(self) - 1, most).round().astype(np.int64)

    def scored(self, most: int | None = None) -> Iterator[Windows]:
        """The windows to be scored, in batches."""
        numbers, rows = self.chosen(most), max(1, SCORE_TOKENS // self.ids.shape[1])
        return (self.take(numbers[i : i + rows]) for i in range(0, len(numbers), rows))


class PackedWindows:
    """A `Source` over packed rows: some to train on, some held out."""

    def __init__(self, train: PackedRows, valid: PackedRows, *, fingerprint: str, seed: int):
        self.train, self.valid, self.fingerprint, self.seed = train, valid, fingerprint, seed

    @property
    def per_epoch(self) -> int:
        """Windows in one epoch."""
        return len(self.train)

    def batch(self, indices: np.ndarray) -> Windows:
        """The windows at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.per_epoch)
        marks = (key(self.fingerprint, self.seed, int(epoch)) for epoch in epochs)
        places = [permuted(np.array([i]), self.per_epoch, mark)[0] for i, mark in zip(within, marks, strict=True)]
        return self.train.take(np.array(places, np.int64))

    def held_out(self, *, most: int | None = None) -> Iterator[Windows]:
        """The held-out windows, spread evenly over them when not all are asked for."""
        return self.valid.scored(most)
