"""GapCodec: what opens before a word and how much closes after it, as one number. Knows names; refuses to know trees."""

from collections.abc import Iterable, Sequence

import numpy as np

from weft.codecs.codec import Codec
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder

UNKNOWN = -1
Gap = tuple[str, int]  # the labels that open before a word, with a space between them; how many brackets close after it


class GapCodec(Codec):
    """A gap is number `opening * closes + closing`: where both are read off one token, their logits stand side by side."""

    class Config(Codec.Config):
        """`opens` are the rows of labels that may open at once, "" for none; from 0 to `closes` - 1 brackets may close."""

        opens: tuple[str, ...]
        closes: int

        def check(self) -> None:
            if not self.opens or len(set(self.opens)) < len(self.opens) or self.closes < 1:
                raise ConfigError("expected ways to open, none twice, and ways to close", where="GapCodec")

    config: Config

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of ways to open and to close."""
        return len(self.config.opens), self.config.closes

    def encode(self, sentences: Iterable[Sequence[Gap]]) -> list[np.ndarray]:
        """The numbers of gaps; -1 for what was never learned."""
        numbers, closes = {opens: i for i, opens in enumerate(self.config.opens)}, self.config.closes

        def number(opens: str, closing: int) -> int:
            known = opens in numbers and closing < closes
            return numbers[opens] * closes + closing if known else UNKNOWN

        return [np.array([number(*gap) for gap in gaps], np.int64) for gaps in sentences]

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        """The head is what depends on a gap codec, and weights that do not fit it are refused."""
