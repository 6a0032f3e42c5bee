"""The marks that an encoder–decoder knows texts between. Knows ids; refuses to know models and runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Around:
    """The `opening` that targets go on from, the `end` of sources and targets, and what stands `before` a source."""

    opening: tuple[int, ...]
    end: int
    before: tuple[int, ...] = ()

    @property
    def start(self) -> int:
        """Where a target is read from."""
        return self.opening[0]

    @property
    def first(self) -> tuple[int, ...]:
        """What a target begins with, behind the start."""
        return self.opening[1:] or self.before

    def target(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The ids of a text as a decoder learns them."""
        return np.concatenate((self.opening, ids, [self.end])).astype(np.int64)

    def fits(self, ids: Sequence[int] | np.ndarray, context: int) -> bool:
        """Whether a decoder that reads so many tokens has room for a text."""
        return len(ids) <= context - len(self.opening)
