"""GapCodec: what opens before a word and how much closes after it, as one number. Knows names, not trees."""

from collections.abc import Iterable, Sequence

import numpy as np

from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.tasks.codec import Codec

UNKNOWN = -1
Gap = tuple[str, int]  # the labels that open before a word, with a space between them; how many brackets close after it


class GapCodec(Codec):
    """A gap is one number in a mixed radix, of the parts that are read off one token: their logits stand side by side.

    The parts are what opens, how many brackets close, how many are still open behind the word, and its part of speech.
    The last two are learned where the config names them.
    """

    class Config(Codec.Config):
        """`opens` are the rows of labels that may open at once, "" for none; from 0 to `closes` - 1 brackets may close.

        From 0 to `depths` - 1 brackets may stay open, the last means that many or more; `tags` are parts of speech.
        """

        opens: tuple[str, ...]
        closes: int
        depths: int = 0
        tags: tuple[str, ...] = ()

        def check(self) -> None:
            if not self.opens or len(set(self.opens)) < len(self.opens) or self.closes < 1 or self.depths < 0:
                raise ConfigError("expected ways to open, none twice, and ways to close", where="GapCodec")

    config: Config

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many ways each part has that is learned, in the order of their logits."""
        return len(self.config.opens), self.config.closes, *self._further.values()

    @property
    def named_outputs(self) -> int:
        return sum(self.sizes)

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the parts that are learned beside what opens and closes."""
        return tuple(self._further)

    @property
    def _further(self) -> dict[str, int]:
        sizes = {"depth": self.config.depths, "tag": len(self.config.tags)}
        return {name: size for name, size in sizes.items() if size}

    def encode(self, sentences: Iterable[Sequence[Gap]], tags: Iterable[Sequence[str]] = ()) -> list[np.ndarray]:
        """The numbers of gaps, with the parts of speech of their words; -1 for what was never learned."""
        sentences = list(sentences)
        tags = list(tags) or [[""] * len(gaps) for gaps in sentences]
        return [self._numbers(*both) for both in zip(sentences, tags, strict=True)]

    def _numbers(self, gaps: Sequence[Gap], tags: Sequence[str]) -> np.ndarray:
        parts, known = self.parts(gaps), {tag: i for i, tag in enumerate(self.config.tags)}
        if known:
            parts.append(np.array([known.get(tag, UNKNOWN) for tag in tags], np.int64))
        number = np.zeros(len(gaps), np.int64)
        for size, part in zip(self.sizes, parts, strict=True):
            number = np.where((number < 0) | (part < 0), UNKNOWN, number * size + part)
        return number

    def parts(self, gaps: Sequence[Gap]) -> list[np.ndarray]:
        """For each gap the numbers of what opens, what closes and, where learned, what stays open; -1 is unknown."""
        known, config = {opens: i for i, opens in enumerate(self.config.opens)}, self.config
        opening = np.array([known.get(opens, UNKNOWN) for opens, _ in gaps], np.int64)
        closing = np.array([closes if closes < config.closes else UNKNOWN for _, closes in gaps], np.int64)
        if not config.depths:
            return [opening, closing]
        depth = np.cumsum([len(opens.split()) - closes for opens, closes in gaps])
        return [opening, closing, np.minimum(depth, config.depths - 1)]

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        """The head is what depends on a gap codec, and weights that do not fit it are refused."""
