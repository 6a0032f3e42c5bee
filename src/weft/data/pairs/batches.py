"""Batches of sentence pairs: filled by tokens with pairs of like length. Knows ids; refuses to know what they mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from weft.data.order import key, numbers, permuted
from weft.modalities.text import Text

SCORED = 4096  # tokens a side in one batch of held-out pairs


@dataclass(frozen=True)
class Lines:
    """Sequences of ids of different lengths, padded behind."""

    ids: Int[Tensor, "B N"]
    lengths: Int[Tensor, "B"]

    @staticmethod
    def of(rows: Sequence[np.ndarray]) -> "Lines":
        """Rows of ids put into one tensor."""
        lengths = torch.tensor([len(row) for row in rows])
        ids = np.zeros((len(rows), int(lengths.max())), np.int64)
        for padded, row in zip(ids, rows, strict=True):
            padded[: len(row)] = row
        return Lines(torch.from_numpy(ids), lengths)

    def to(self, device: torch.device | str) -> "Lines":
        """The same on another device."""
        return Lines(self.ids.to(device), self.lengths.to(device))

    @property
    def real(self) -> Tensor:
        """True where a token is not padding."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def text(self) -> Text:
        """As a model reads them; where none is shorter than the others there is no padding to speak of."""
        even = bool((self.lengths == self.ids.shape[1]).all())
        return Text(self.ids, None if even else self.real, trailing=True)


@dataclass(frozen=True)
class Bundle:
    """Pairs that are computed at once. A source ends with the end token, a target begins and ends with it."""

    source: Lines
    target: Lines

    def to(self, device: torch.device | str) -> "Bundle":
        """The same on another device."""
        return Bundle(self.source.to(device), self.target.to(device))


@dataclass(frozen=True)
class Bundles:
    """The samples of a step: each is a bundle, computed for itself."""

    each: tuple[Bundle, ...]

    def to(self, device: torch.device | str) -> "Bundles":
        """The same on another device."""
        return Bundles(tuple(bundle.to(device) for bundle in self.each))

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, rows: slice) -> "Bundles":
        return Bundles(self.each[rows])


class PairBundles:
    """A `Source` over encoded pairs, whose samples are bundles of about `tokens` tokens a side, padding included.

    In every epoch the pairs are ordered by length, those of equal lengths at random, and cut into bundles; the bundles
    come in random order. Lengths alone decide where the cuts fall, so every epoch has the same number of bundles.
    """

    def __init__(
        self,
        train: Sequence[tuple[np.ndarray, np.ndarray]],
        held_out: Sequence[tuple[np.ndarray, np.ndarray]],
        *,
        end: int,
        tokens: int,
        fingerprint: str,
        seed: int,
    ):
        self.train, self.valid, self.end = train, held_out, end
        self.fingerprint, self.seed = fingerprint, seed
        self.lengths = np.array([(len(source) + 1, len(target) + 1) for source, target in train], np.int64)
        ordered = self.lengths[np.lexsort((self.lengths[:, 0], self.lengths[:, 1]))]
        self.cuts = _cuts(ordered, tokens)
        self.real_share = _real_share(ordered, self.cuts)

    @property
    def per_epoch(self) -> int:
        """Bundles in one round through the pairs."""
        return len(self.cuts) - 1

    def batch(self, indices: np.ndarray) -> Bundles:
        """The bundles at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.per_epoch)
        return Bundles(tuple(self._bundle(int(e), int(i)) for e, i in zip(epochs, within, strict=True)))

    def held_out(self, *, most: int | None = None) -> Iterator[Bundles]:
        """The held-out pairs, in bundles of like length."""
        lengths = np.array([(len(source) + 1, len(target) + 1) for source, target in self.valid], np.int64)
        order = np.lexsort((lengths[:, 0], lengths[:, 1]))
        cuts = _cuts(lengths[order], SCORED)
        chosen = range(len(cuts) - 1)
        if most is not None and most < len(chosen):
            chosen = np.linspace(0, len(cuts) - 2, most).round().astype(int).tolist()
        for i in chosen:
            yield Bundles((bundle([self.valid[j] for j in order[cuts[i] : cuts[i + 1]]], self.end),))

    def _bundle(self, epoch: int, i: int) -> Bundle:
        mark = key(self.fingerprint, self.seed, epoch)
        place = int(permuted(np.array([i]), self.per_epoch, mark)[0])
        rows = self._order(epoch, mark)[self.cuts[place] : self.cuts[place + 1]]
        return bundle([self.train[row] for row in rows], self.end)

    @lru_cache(maxsize=2)  # noqa: B019 (a source lives as long as its run)
    def _order(self, epoch: int, mark: str) -> np.ndarray:
        """The pairs by length of target and source, and by chance among those of equal lengths."""
        chance = np.random.Generator(np.random.Philox(key=numbers(mark, 2))).permutation(len(self.train))
        return np.lexsort((chance, self.lengths[:, 0], self.lengths[:, 1]))


def bundle(pairs: Sequence[tuple[np.ndarray, np.ndarray]], end: int) -> Bundle:
    """Pairs of ids as one bundle, the end token put where it belongs."""
    source = Lines.of([np.append(source, end) for source, _ in pairs])
    target = Lines.of([np.concatenate(([end], target, [end])) for _, target in pairs])
    return Bundle(source, target)


def _cuts(lengths: np.ndarray, tokens: int) -> np.ndarray:
    """Where to cut pairs in order of length so that no side of a bundle exceeds `tokens`, unless one pair does."""
    cuts, start, widest = [0], 0, np.zeros(2, np.int64)
    for i, pair in enumerate(lengths):
        wider = np.maximum(widest, pair)
        if i > start and wider.max() * (i - start + 1) > tokens:
            cuts.append(i)
            start, wider = i, pair
        widest = wider
    return np.array([*cuts, len(lengths)])


def _real_share(lengths: np.ndarray, cuts: np.ndarray) -> float:
    """The share of tokens that are not padding."""
    padded = sum((lengths[a:b].max(0) * (b - a)).sum() for a, b in pairwise(cuts))
    return float(lengths.sum() / padded)
