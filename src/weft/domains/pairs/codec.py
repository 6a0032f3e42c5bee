"""TargetCodec: what a decoder writes, texts or symbols. Knows what a writer asks for; refuses to know what is written.

`ChosenLanguages`: those of a translation, where a model knows several and a user names two of them.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from weft.config import Config
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


class ChosenLanguages(Config):
    """The languages to translate between; None is the model's usual one."""

    source_language: str | None = None
    target_language: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "source_language": "language of the input, where the model knows several: en, English or the model's own code",
        "target_language": "language to translate into, where the model knows several: de, German or the model's code",
    }
