"""The pieces of a batch that are computed one after another, and the chance of the samples in them. Knows no model.

A sample's key is made of a seed and its global index. A batch says how its rows stand to its samples: a row each,
several that follow one another, several views side by side, texts that name their picture. Where that cannot be told,
`Chance` knows no such rows, and they draw from torch's generator.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.batches import order
from weft.batches.draws import GOLDEN
from weft.batches.samples import Microbatches, moved
from weft.batches.views import Views
from weft.core.draws import Chance


def pieces(batch: Any, indices: np.ndarray, micro: int | None, key: str) -> Iterator[tuple[Any, Chance]]:
    """Pieces of `micro` rows, and each micro-batch by itself; the batch is of the samples at these global indices."""
    keys = order.mixed(order.numbers(key, 1)[0] + np.asarray(indices, np.int64).astype(np.uint64))
    if isinstance(batch, Microbatches):
        for part, own in zip(batch.each, keys, strict=True):
            yield part, Chance(_RowKeys({1: own[None]}), whole=True)
        return
    rows, each = _of_rows(batch, keys), micro or max(1, len(batch))
    for start in range(0, len(batch), each):
        piece = batch[start : start + each]
        yield piece, Chance(_RowKeys({} if rows is None else _layouts(piece, rows[start : start + each])))


def _of_rows(batch: Any, keys: np.ndarray) -> np.ndarray | None:
    """The key of each row of a batch; None where it cannot be told whose the rows are."""
    owner = getattr(getattr(batch, "given", None), "owner", None)  # questions name their pictures
    if owner is not None:
        return _owned(keys, owner.numpy())
    if not len(keys) or len(batch) % len(keys):
        return None
    return _owned(keys, np.arange(len(batch)) // (len(batch) // len(keys)))


def _layouts(piece: Any, rows: np.ndarray) -> dict[int, np.ndarray]:
    """The keys of rows by their number, for every way in which the rows of a piece stand in a model."""
    found = [rows]
    owner, given = getattr(piece, "owner", None), getattr(piece, "given", None)
    if owner is not None:  # texts name their pictures
        found.append(_owned(rows, owner.numpy()))
    if (asked := getattr(given, "owner", None)) is not None:  # the pictures, before the first of their questions
        found.append(rows[np.unique(asked.numpy(), return_index=True)[1]])
    if isinstance(piece, Views):  # side by side
        for views in (piece.wide, piece.near):
            found.append(_owned(rows, np.tile(np.arange(len(rows)), len(views))))
    by_count: dict[int, np.ndarray] = {}
    for one in found:
        known = by_count.setdefault(len(one), one)
        if not np.array_equal(known, one):  # two ways with one number of rows: neither is guessed
            by_count[len(one)] = one[:0]
    return by_count


def _owned(keys: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Keys of rows that belong to other rows: the first of an owner has its key, the next ones have others."""
    grouped = np.argsort(owner, kind="stable")
    sorted_owners = owner[grouped]
    firsts = np.flatnonzero(np.append(True, sorted_owners[1:] != sorted_owners[:-1])) if len(owner) else owner
    before = np.empty(len(owner), np.uint64)
    before[grouped] = np.arange(len(owner)) - np.repeat(firsts, np.diff(np.append(firsts, len(owner))))
    own = keys[owner]
    return np.where(before > 0, order.mixed(own + before * GOLDEN), own)


@dataclass(eq=False)
class _RowKeys:
    """The keys of rows by their number, sent to a device when they are first asked for."""

    by_count: dict[int, np.ndarray]

    def __post_init__(self) -> None:
        self.sent = lru_cache(maxsize=None)(self._sent)

    def __call__(self, count: int, device: torch.device) -> Tensor | None:
        """The keys of rows of this number; None where it is not known whose they are."""
        return self.sent(count, device) if len(self.by_count.get(count, ())) else None

    def _sent(self, count: int, device: torch.device) -> Tensor:
        return moved(torch.from_numpy(self.by_count[count].copy().view(np.int32).reshape(-1, 2)), device)
