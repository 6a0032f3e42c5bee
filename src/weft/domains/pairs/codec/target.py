"""TargetCodec: what a decoder writes, texts or symbols. Knows what a writer asks for, not what is written."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from weft.domains.texts.codec.text import TextMarks


@runtime_checkable
class TargetCodec(Protocol):
    """A codec of targets: sequences to ids and back, between marks."""

    @property
    def size(self) -> int:
        """The number of ids that may be written."""
        ...

    @property
    def marks(self) -> TextMarks:
        """The ids that stand before and after a target."""
        ...

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids of which any ends what a model writes."""
        ...

    def ids(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The ids of targets, without marks."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The target that ids spell."""
        ...

    def in_words(self) -> str:
        """The vocabulary for people."""
        ...
