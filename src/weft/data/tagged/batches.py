"""Batches of tagged sentences: sentences of like length, with the tag of each word at its first token. Knows ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from weft.data.bundles import LikeLengths, Microbatches, PaddedIds, in_order, padded


@dataclass(frozen=True)
class TaggedRows:
    """Sentences as ids, marks included; where each word's first id is; the number of its tag."""

    texts: Sequence[np.ndarray]
    places: Sequence[np.ndarray]
    tags: Sequence[np.ndarray]

    def lengths(self) -> np.ndarray:
        """A column with the length of each sentence in ids."""
        return np.array([[len(text)] for text in self.texts], np.int64)


@dataclass(frozen=True)
class TaggedBundle:
    """Sentences that are computed at once, the place of each word's first token, and its tag; -1 where there is no word."""

    text: PaddedIds
    places: Int[Tensor, "B W"]
    tags: Int[Tensor, "B W"]

    def to(self, device: torch.device | str) -> "TaggedBundle":
        """The same on another device."""
        return TaggedBundle(self.text.to(device), self.places.to(device), self.tags.to(device))

    @property
    def real(self) -> Bool[Tensor, "B W"]:
        """True where there is a word."""
        return self.tags >= 0


class TaggedBundles:
    """A `Source` over tagged sentences, whose samples are bundles of at most about `tokens` tokens and `rows` sentences."""

    def __init__(
        self,
        train: TaggedRows,
        held_out: TaggedRows,
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
        """Bundles in one round through the sentences."""
        return self.order.per_epoch

    def batch(self, indices: np.ndarray) -> Microbatches[TaggedBundle]:
        """The bundles at these global indices."""
        return Microbatches(tuple(tagged(self.train, rows) for rows in self.order.each(indices)))

    def held_out(self, *, most: int | None = None) -> Iterator[Microbatches[TaggedBundle]]:
        """The held-out sentences, in bundles of like length."""
        for rows in in_order(self.valid.lengths(), most):
            yield Microbatches((tagged(self.valid, rows),))


def tagged(data: TaggedRows, rows: Sequence[int] | np.ndarray) -> TaggedBundle:
    """Some of the sentences with their tags as one bundle. Words that were cut off have a tag but no place."""
    places = [data.places[row] for row in rows]
    tags = [data.tags[row][: len(data.places[row])] for row in rows]
    return TaggedBundle(
        PaddedIds.of([data.texts[row] for row in rows]),
        torch.from_numpy(padded(places, 0)),
        torch.from_numpy(padded(tags, -1)),
    )
