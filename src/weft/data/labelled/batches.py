"""Batches of labelled texts: texts of like length, with what is to be learned of each. Knows ids and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.data.bundles import LikeLengths, Microbatches, PaddedIds, in_order


@dataclass(frozen=True)
class LabelledBundle:
    """Texts that are computed at once, and of each its class by number, or its number."""

    text: PaddedIds
    targets: Int[Tensor, "B"] | Float[Tensor, "B"]

    def to(self, device: torch.device | str) -> "LabelledBundle":
        """The same on another device."""
        return LabelledBundle(self.text.to(device), self.targets.to(device))


class LabelledBundles:
    """A `Source` over texts as ids, marks included, whose samples are bundles of at most about `tokens` tokens.

    Where texts are short, `rows` bounds a bundle too: a step over hundreds of them would learn little more than one over
    dozens.
    """

    def __init__(
        self,
        train: tuple[Sequence[np.ndarray], np.ndarray],
        held_out: tuple[Sequence[np.ndarray], np.ndarray],
        *,
        tokens: int,
        fingerprint: str,
        seed: int,
        rows: int | None = None,
    ):
        """Both parts are texts and their targets: whole numbers for classes, others for numbers."""
        self.train, self.valid, self.fingerprint = train, held_out, fingerprint
        self.order = LikeLengths(_lengths(train[0]), tokens=tokens, fingerprint=fingerprint, seed=seed, rows=rows)

    @property
    def per_epoch(self) -> int:
        """Bundles in one round through the texts."""
        return self.order.per_epoch

    def batch(self, indices: np.ndarray) -> Microbatches[LabelledBundle]:
        """The bundles at these global indices."""
        return Microbatches(tuple(labelled(self.train, rows) for rows in self.order.each(indices)))

    def held_out(self, *, most: int | None = None) -> Iterator[Microbatches[LabelledBundle]]:
        """The held-out texts, in bundles of like length."""
        for rows in in_order(_lengths(self.valid[0]), most):
            yield Microbatches((labelled(self.valid, rows),))


def labelled(data: tuple[Sequence[np.ndarray], np.ndarray], rows: Sequence[int] | np.ndarray) -> LabelledBundle:
    """Some of the texts with their targets as one bundle."""
    texts, targets = data
    return LabelledBundle(PaddedIds.of([texts[row] for row in rows]), torch.from_numpy(targets[np.asarray(rows)]))


def _lengths(texts: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([[len(text)] for text in texts], np.int64)
