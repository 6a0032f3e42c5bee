"""Batches of sentence pairs: filled by tokens with pairs of like length. Knows ids; refuses to know what they mean."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weft.data.bundles import LikeLengths, Microbatches, PaddedIds, in_order
from weft.modalities.text import Text


@dataclass(frozen=True)
class Bundle:
    """Pairs that are computed at once. A source ends with the end token; a target stands between a start and the end."""

    source: PaddedIds
    target: PaddedIds
    owner = None  # each target has a source of its own

    @property
    def given(self) -> Text:
        """The sources as a model reads them."""
        return self.source.text()

    def to(self, device: torch.device | str) -> "Bundle":
        """The same on another device."""
        return Bundle(self.source.to(device), self.target.to(device))


class PairBundles:
    """A `Source` over encoded pairs, whose samples are bundles of about `tokens` tokens a side, padding included.

    Targets are read from `start` on, by default the end token.
    """

    def __init__(
        self,
        train: Sequence[tuple[np.ndarray, np.ndarray]],
        held_out: Sequence[tuple[np.ndarray, np.ndarray]],
        *,
        end: int,
        start: int | None = None,
        tokens: int,
        fingerprint: str,
        seed: int,
    ):
        self.train, self.valid, self.fingerprint = train, held_out, fingerprint
        self.end, self.start = end, end if start is None else start
        self.order = LikeLengths(_lengths(train), tokens=tokens, fingerprint=fingerprint, seed=seed)

    @property
    def per_epoch(self) -> int:
        """Bundles in one round through the pairs."""
        return self.order.per_epoch

    @property
    def real_share(self) -> float:
        """The share of tokens that are not padding."""
        return self.order.real_share

    def batch(self, indices: np.ndarray) -> Microbatches[Bundle]:
        """The bundles at these global indices."""
        return Microbatches(tuple(self._bundle(self.train, rows) for rows in self.order.each(indices)))

    def held_out(self, *, most: int | None = None) -> Iterator[Microbatches[Bundle]]:
        """The held-out pairs, in bundles of like length."""
        for rows in in_order(_lengths(self.valid), most):
            yield Microbatches((self._bundle(self.valid, rows),))

    def _bundle(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]], rows: Iterable[int]) -> Bundle:
        return bundle([pairs[row] for row in rows], self.end, self.start)


def _lengths(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Of source and target, with the end token that each is given to read."""
    return np.array([(len(source) + 1, len(target) + 1) for source, target in pairs], np.int64)


def bundle(pairs: Sequence[tuple[np.ndarray, np.ndarray]], end: int, start: int | None = None) -> Bundle:
    """Pairs of ids as one bundle, the end token put where it belongs; targets are read from `start` on."""
    source = PaddedIds.of([np.append(source, end) for source, _ in pairs])
    first = end if start is None else start
    target = PaddedIds.of([np.concatenate(([first], target, [end])) for _, target in pairs])
    return Bundle(source, target)
