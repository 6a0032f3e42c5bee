"""Running text as ids: a stream to train on and one that is held out. Knows tokenizers; refuses to know models."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weft.amounts import count
from weft.batches.windows import TextWindows
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.running import TextData
from weft.errors import DataError
from weft.modalities.encoding import encode_pieces


@dataclass(frozen=True)
class RunningIds:
    """A text to train on and one that is held out, as ids; `minutes` to train where the user does not say."""

    data: TextData
    codec: TextCodec
    train: np.ndarray
    held_out: np.ndarray
    minutes: float

    @staticmethod
    def of(data: TextData, codec: TextCodec) -> "RunningIds":
        """The ids of text; too little of it is refused."""
        train, held = (encode_pieces(codec.tokenizer, part.pieces()) for part in (data.train, data.held_out))
        if len(train) < 3 or len(held) < 2:
            problem = f"{data.corpus.characters} characters are too few to train on"
            raise DataError(problem, where=data.described, fix="add more text")
        return RunningIds(data, codec, train, held, minutes=min(10.0, max(1.0, data.corpus.bytes / 2e5)))

    @property
    def tokens(self) -> int:
        """Ids to train on."""
        return len(self.train)

    @property
    def longest(self) -> int:
        """Tokens that have to be read at once: of running text any number will do."""
        return 0

    def source(self, context: int, seed: int) -> TextWindows:
        """The samples of a model with this context."""
        return TextWindows(self.train, self.held_out, context=context, fingerprint=self.data.fingerprint, seed=seed)

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"train_tokens": len(self.train), "held_out_tokens": len(self.held_out)}

    def lines(self) -> Mapping[str, str]:
        """The text in words, for a plan."""
        return {
            "data": "; ".join(self.data.notes),
            "tokens": f"{self.codec.in_words()}; {count(len(self.train))} to train on",
            "held out": f"{self.data.rule.partition(':')[0]} ({count(len(self.held_out))} tokens)",
        }
