"""SymbolCodec: sequences of symbols to ids and back, each symbol one id. GapCodec: what opens before a word and how
much closes after it, as one number. They know lists of names; they refuse to know what they mean.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from weft.domains.texts.codec.text import TextMarks
from weft.errors import ConfigError, DataError
from weft.modalities.embedder import Embedder
from weft.tasks.codec import Codec

END = 0  # the id that ends a sequence, and that it begins from


class SymbolCodec(Codec):
    """Texts whose words, with a space between them, are all among `names`. Ids run from 1 in the order of the names."""

    class Config(Codec.Config):
        """`names` are the symbols."""

        names: tuple[str, ...]

        def check(self) -> None:
            if not self.names or len(set(self.names)) < len(self.names):
                raise ConfigError("expected at least one symbol, and none twice", where="SymbolCodec.names")

    config: Config

    @classmethod
    def of(cls, names: Iterable[str]) -> "SymbolCodec":
        """The codec of these symbols."""
        return cls(cls.Config(names=tuple(names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols."""
        return self.config.names

    @property
    def size(self) -> int:
        """The number of ids, that of the end included."""
        return len(self.names) + 1

    @property
    def marks(self) -> TextMarks:
        """A sequence stands between ends."""
        return TextMarks((END,), (END,))

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids of which any ends what a model writes."""
        return (END,)

    def in_words(self) -> str:
        """The size of the vocabulary."""
        return f"{len(self.names)} symbols"

    def ids(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The ids of sequences, without ends."""
        numbers = {name: i + 1 for i, name in enumerate(self.names)}
        try:
            return [np.array([numbers[symbol] for symbol in text.split()], np.int64) for text in texts]
        except KeyError as error:
            problem = f"the symbol {error} is not among those that were learned"
            raise DataError(problem, fix="train on data that has it") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The symbols of ids; the end has none."""
        return " ".join(self.names[id - 1] for id in ids if id != END)

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        if embed.size != self.size:
            problem = (
                f"there are {self.size} symbols with the end, the model has {embed.size}: they are of different runs"
            )
            raise ConfigError(problem, where=where, fix="put the run's own config.json back")


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
