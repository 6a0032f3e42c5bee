"""Texts that are streamed again and again, and known by a mark of what they say. Knows nothing of files and tokens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkedPieces:
    """Pieces of text with None at the end of each document; equal marks are of equal texts.

    What is made of them can be kept by their mark, and needs no reading then.
    """

    mark: str
    bytes: int
    read: Callable[[], Iterator[str | None]] = field(repr=False)

    def __iter__(self) -> Iterator[str | None]:
        return self.read()
