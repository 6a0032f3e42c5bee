"""Held-out text as a language model is scored on it: all of a running text, or the answers of talks."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.batches.packed import PackedRows
from weft.batches.windows import Windows, count_windows, score_windows, scored_spans
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.codec.turns import TurnCodec
from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.dataset.talks import TalkTexts
from weft.domains.texts.encoded.talks import TalkRows
from weft.domains.texts.reading.corpus import Corpus
from weft.domains.texts.reading.talks import Talk
from weft.modalities.encoding import encode_pieces
from weft.tasks.codec import Codecs, codec_at

HeldText = Corpus | CorpusPart | Sequence[Talk]


class ScoredText(ABC):
    """A held-out text in windows of a model's context."""

    counted: ClassVar[str]  # what `documents` counts, one of them

    @property
    @abstractmethod
    def documents(self) -> int:
        """How many documents or talks there are."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """How many tokens are scored."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """The bytes of these tokens."""

    @property
    @abstractmethod
    def unknown(self) -> int:
        """How many tokens stand for characters that the vocabulary does not have."""

    def notes(self) -> dict[str, Any]:
        """What else a report says of the text."""
        return {"unknown": self.unknown} if self.unknown else {}

    @property
    @abstractmethod
    def windows(self) -> int:
        """How many windows there are."""

    @abstractmethod
    def samples(self, most: int | None = None) -> Iterator[Windows]:
        """The windows, or some that are spread evenly over them."""

    @property
    @abstractmethod
    def ids(self) -> np.ndarray:
        """All ids in a line, as plain methods read them."""

    @abstractmethod
    def by_window(self, costs: np.ndarray, rows: int) -> np.ndarray:
        """The cost of each of the ids, summed over those that count in each of this many windows."""


@dataclass(frozen=True)
class ScoredRunning(ScoredText):
    """Running text: every token but the first counts."""

    counted = "document"
    text: Corpus | CorpusPart
    codec: TextCodec
    context: int

    @cached_property
    def ids(self) -> np.ndarray:
        return encode_pieces(self.codec.tokenizer, self.text.pieces())

    @property
    def windows(self) -> int:
        return count_windows(len(self.ids), self.context)

    def samples(self, most: int | None = None) -> Iterator[Windows]:
        return score_windows(self.ids, self.context, most=most)

    def by_window(self, costs: np.ndarray, rows: int) -> np.ndarray:
        total = np.append(0, costs).cumsum()
        spans = scored_spans(len(self.ids), self.context, rows)
        return np.array([total[stop] - total[first] for first, stop in spans])

    @property
    def documents(self) -> int:
        return max(1, int((self.ids[1:] == self.codec.tokenizer.end).sum()))

    @property
    def tokens(self) -> int:
        return len(self.ids) - 1

    @property
    def bytes(self) -> int:
        return self.text.bytes

    @property
    def unknown(self) -> int:
        return sum(self.codec.tokenizer.unknown(piece) for piece in self.text.pieces() if piece)


@dataclass(frozen=True)
class ScoredTalks(ScoredText):
    """Talks: the tokens of answers count, and the mark that ends each."""

    counted = "talk"
    talks: Sequence[Talk]
    codec: TextCodec
    turns: TurnCodec
    context: int

    @cached_property
    def packed(self) -> PackedRows:
        """The talks in windows."""
        rows = TalkRows.of(self.talks, self.codec, self.turns)
        return rows.packed(self.context, filler=self.codec.tokenizer.end)

    @property
    def windows(self) -> int:
        return len(self.packed)

    def samples(self, most: int | None = None) -> Iterator[Windows]:
        return self.packed.scored(most)

    @property
    def ids(self) -> np.ndarray:
        return self.packed.ids.ravel()

    def by_window(self, costs: np.ndarray, rows: int) -> np.ndarray:
        counted = np.where(self.packed.counts, costs.reshape(self.packed.ids.shape), 0).sum(1)
        return counted[self.packed.chosen(rows)]

    @property
    def documents(self) -> int:
        return len(self.talks)

    @property
    def tokens(self) -> int:
        return int(self.packed.counts.sum())

    @property
    def bytes(self) -> int:
        return sum(len(answer.encode("utf-8", "replace")) for talk in self.talks for answer in talk.answers)

    @property
    def unknown(self) -> int:
        return sum(self.codec.tokenizer.unknown(piece) for piece in TalkTexts(self.talks).pieces() if piece)

    def notes(self) -> dict[str, Any]:
        answers = sum(len(talk.answers) for talk in self.talks)
        return {**super().notes(), "answers": answers, "question": self.talks[0].question}


def scored_text(codecs: Codecs, held_out: HeldText, context: int) -> ScoredText:
    """Held-out text, or talks, for a model with this context."""
    text = codec_at(codecs, "text", TextCodec)
    if isinstance(held_out, Corpus | CorpusPart):
        return ScoredRunning(held_out, text, context)
    return ScoredTalks(held_out, text, codec_at(codecs, "turns", TurnCodec), context)
