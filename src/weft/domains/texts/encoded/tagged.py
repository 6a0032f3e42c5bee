"""Tagged sentences as ids and as samples: the tag of each word stands at its first token. Refuses to know models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import AtTokens, PaddedIds, Samples, padded
from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.tagged import TaggedData
from weft.domains.texts.encoded.whole_texts import TextAmount
from weft.files.dataset import Dataset
from weft.modalities.framing import frame_word_ids


@dataclass(frozen=True)
class TaggedRows:
    """Sentences as ids, marks included; the place of each word's first id; the number of its tag."""

    texts: Sequence[np.ndarray]
    places: Sequence[np.ndarray]
    tags: Sequence[np.ndarray]

    def lengths(self) -> np.ndarray:
        """A column with the length of each sentence in ids."""
        return np.array([[len(text)] for text in self.texts], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, AtTokens]:
        """Some of the sentences with their tags. Words that were cut off have a tag but no place."""
        places = [self.places[row] for row in rows]
        tags = [self.tags[row][: len(self.places[row])] for row in rows]
        where, values = (torch.from_numpy(padded(part, filler)) for part, filler in ((places, 0), (tags, -1)))
        return Samples(PaddedIds.of([self.texts[row] for row in rows]), AtTokens(values, where))


@dataclass(frozen=True)
class TaggedIds:
    """Sentences as ids, without marks and uncut, with their tags: they are framed when a model's context is known."""

    data: Dataset[Any, Any]
    codec: TextCodec
    train: TaggedRows
    held_out: TaggedRows

    @staticmethod
    def of(data: TaggedData, text: TextCodec, tags: TagCodec) -> "TaggedIds":
        """Words to ids and tags to numbers."""
        train, held_out = (
            tagged_ids(text, tags, [one.words for one in side], [one.tags for one in side])
            for side in (data.train, data.held_out)
        )
        return TaggedIds(data, text, train, held_out)

    def source(self, context: int, *, tokens: int, rows: int, seed: int) -> LikeLengthSource[PaddedIds, AtTokens]:
        """The samples of a model with this context: micro-batches of at most `tokens` tokens and `rows` sentences."""
        train, held_out = (framed(side, self.codec, context) for side in (self.train, self.held_out))
        fingerprint = self.data.fingerprint
        return LikeLengthSource(train, held_out, tokens=tokens, rows=rows, fingerprint=fingerprint, seed=seed)

    @cached_property
    def amount(self) -> TextAmount:
        """How much there is to train on."""
        return TextAmount.of(self.train.texts, self.codec)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return self.amount.minutes

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"train_tokens": self.amount.tokens}

    def lines(self) -> Mapping[str, str]:
        """The sentences in words, for a plan."""
        return self.amount.lines(self.data, self.codec)


def tagged_ids(
    text: TextCodec, codec: TagCodec, words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> TaggedRows:
    """Words as ids without marks, with the numbers of their tags."""
    found = text.tokenizer.encode_words(words)
    return TaggedRows([ids for ids, _ in found], [starts for _, starts in found], codec.encode(tags))


def framed(side: TaggedRows, codec: TextCodec, context: int) -> TaggedRows:
    """Sentences between their marks, cut to a model's context; words that do not fit have no place."""
    found = frame_word_ids(codec.tokenizer, list(zip(side.texts, side.places, strict=True)), context)
    return TaggedRows(found.rows, found.places, side.tags)
