"""Bundles: sequences of like length that are computed at once. Knows ids and lengths; refuses to know what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from weft.data.order import key, numbers, permuted
from weft.modalities.text import Text

SCORED = 4096  # tokens a side in one bundle of held-out sequences


@dataclass(frozen=True)
class PaddedIds:
    """Sequences of ids of different lengths, padded behind."""

    ids: Int[Tensor, "B N"]
    lengths: Int[Tensor, "B"]

    @staticmethod
    def of(rows: Sequence[np.ndarray]) -> "PaddedIds":
        """Rows of ids put into one tensor."""
        return PaddedIds(torch.from_numpy(padded(rows, 0)), torch.tensor([len(row) for row in rows]))

    def to(self, device: torch.device | str) -> "PaddedIds":
        """The same on another device."""
        return PaddedIds(self.ids.to(device), self.lengths.to(device))

    @property
    def real(self) -> Tensor:
        """True where a token is not padding."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def text(self) -> Text:
        """As a model reads them; where none is shorter than the others there is no padding to speak of."""
        even = bool((self.lengths == self.ids.shape[1]).all())
        return Text(self.ids, None if even else self.real, padded_behind=True)


def padded(rows: Sequence[np.ndarray], filler: int) -> np.ndarray:
    """Rows of whole numbers in one array, as wide as the longest."""
    table = np.full((len(rows), max(len(row) for row in rows)), filler, np.int64)
    for cells, row in zip(table, rows, strict=True):
        cells[: len(row)] = row
    return table


class Movable(Protocol):
    """What a bundle must be able to do."""

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        ...


B = TypeVar("B", bound=Movable)


@dataclass(frozen=True)
class Microbatches(Generic[B]):
    """The samples of a step: each is a bundle, computed for itself."""

    each: tuple[B, ...]

    def to(self, device: torch.device | str) -> "Microbatches[B]":
        """The same on another device."""
        return Microbatches(tuple(bundle.to(device) for bundle in self.each))

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, rows: slice) -> "Microbatches[B]":
        return Microbatches(self.each[rows])


class LikeLengths:
    """Which rows make up the i-th bundle, for rows with a length or several: a pure function of the index.

    In every epoch the rows are ordered by length, those of equal lengths at random, and cut into bundles of about
    `tokens` tokens, padding included, and at most `rows` rows; the bundles come in random order. Lengths alone decide
    where the cuts fall, so every epoch has the same number of bundles.
    """

    def __init__(self, lengths: np.ndarray, *, tokens: int, fingerprint: str, seed: int, rows: int | None = None):
        """`lengths` has a row for each thing and a column for each of its sides; the last column counts first."""
        self.lengths, self.fingerprint, self.seed = lengths, fingerprint, seed
        ordered = lengths[_by_length(lengths)]
        self.cuts = _cuts(ordered, tokens, rows)
        self.real_share = _real_share(ordered, self.cuts)

    @property
    def per_epoch(self) -> int:
        """Bundles in one round."""
        return len(self.cuts) - 1

    def each(self, indices: np.ndarray) -> list[np.ndarray]:
        """The rows of the bundles at these global indices."""
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
    """Rows to be scored in bundles of like length; spread evenly over the lengths where only `most` are wanted."""
    order = _by_length(lengths)
    cuts = _cuts(lengths[order], SCORED)
    chosen = range(len(cuts) - 1)
    if most is not None and most < len(chosen):
        chosen = np.linspace(0, len(cuts) - 2, most).round().astype(int).tolist()
    return [order[cuts[i] : cuts[i + 1]] for i in chosen]


def _by_length(lengths: np.ndarray, chance: np.ndarray | None = None) -> np.ndarray:
    sides = tuple(lengths.T)
    return np.lexsort(sides if chance is None else (chance, *sides))


def _cuts(lengths: np.ndarray, tokens: int, rows: int | None = None) -> np.ndarray:
    """Where to cut rows in order of length so that no side of a bundle exceeds `tokens`, unless one row does."""
    cuts, start, widest = [0], 0, np.zeros(lengths.shape[1], np.int64)
    for i, row in enumerate(lengths):
        wider = np.maximum(widest, row)
        if i > start and (wider.max() * (i - start + 1) > tokens or i - start == rows):
            cuts.append(i)
            start, wider = i, row
        widest = wider
    return np.array([*cuts, len(lengths)])


def _real_share(lengths: np.ndarray, cuts: np.ndarray) -> float:
    """The share of tokens that are not padding."""
    filled = sum((lengths[a:b].max(0) * (b - a)).sum() for a, b in pairwise(cuts))
    return float(lengths.sum() / filled)
