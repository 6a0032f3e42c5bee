"""SymbolCodec: sequences of symbols to ids and back, each symbol one id. Knows names, not what they mean."""

from collections.abc import Iterable

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
        return cls(cls.Config(names=tuple(names)), read=lambda name: b"")

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
