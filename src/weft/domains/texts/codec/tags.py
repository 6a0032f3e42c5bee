"""TagCodec: one tag for each word, by number."""

from collections.abc import Iterable, Sequence

import numpy as np

from weft.errors import DataError, listed
from weft.tasks.codec import Codec


class TagCodec(Codec):
    """Tags in the order of their numbers. The first is the commonest; words that a model did not read get it."""

    class Config(Codec.Config):
        """`scheme` is "plain", or how tags of spans were written: BIO, IOB1, IOBES."""

        names: tuple[str, ...]
        scheme: str = "plain"

    config: Config

    @property
    def names(self) -> tuple[str, ...]:
        """The tags."""
        return self.config.names

    @property
    def named_outputs(self) -> int:
        return len(self.names)

    @property
    def spans(self) -> bool:
        """Whether tags mark spans of words, such as names."""
        return self.config.scheme != "plain"

    def encode(self, sentences: Iterable[Sequence[str]]) -> list[np.ndarray]:
        """The numbers of tags; all tags that were never learned are named at once."""
        numbers, given = {tag: i for i, tag in enumerate(self.names)}, list(sentences)
        unknown = sorted({tag for tags in given for tag in tags} - set(self.names))
        if unknown:
            problem = f"words have tags that the model has not learned: {listed(unknown)}"
            raise DataError(problem, fix=f"the tags are {listed(self.names)}")
        return [np.array([numbers[tag] for tag in tags], np.int64) for tags in given]

    def same(self, other: Codec | None) -> bool:
        return isinstance(other, TagCodec) and other.names == self.names
