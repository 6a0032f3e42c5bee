"""Texts that a model reads whole, as ids and as samples: with a label each, or with a tag for each word.

The tag of a word stands at its first token. Knows tokenizers, labels and tags; refuses to know models.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from weft.batches.id_rows import ENCODED_AT_ONCE, GrowingIds, IdRows, MarkedIds, id_rows
from weft.batches.like_lengths import LikeLengthSource, Rows
from weft.batches.samples import AtTokens, Classes, Numbers, PaddedIds, Samples, W, padded
from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.tagged import TaggedData
from weft.domains.texts.reading.kept import KeptExample, KeptTagged
from weft.domains.texts.reading.labelled_texts import Example
from weft.domains.texts.reading.tagged_texts import Tagged
from weft.files.dataset import Dataset
from weft.files.labelled import LabelledData
from weft.modalities.framing import frame_ids, frame_word_ids, room_for
from weft.storage.prepared import StagedEntry, key_of, store_for, temporary_store
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.rows import LabelledRows

LONG_SHARE = 0.995  # of the texts are no longer than a long one
SHORTEST = 8  # tokens of a long text where there are none
R = TypeVar("R")  # the rows of one side of the data


@dataclass(frozen=True)
class TextAmount:
    """Tokens to train on and tokens of a long text, marks included."""

    tokens: int
    longest: int

    @staticmethod
    def of(texts: Sequence[np.ndarray], codec: TextCodec) -> "TextAmount":
        """The amount of texts that are ids without marks."""
        marks = codec.marks
        lengths = [len(marks.before) + len(ids) + len(marks.after) for ids in texts]
        return TextAmount(sum(lengths), int(np.quantile(lengths, LONG_SHARE)) if lengths else SHORTEST)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return min(10.0, max(0.5, self.tokens / 1e5))

    def lines(self, data: Dataset[Any, Any], codec: TextCodec) -> Mapping[str, str]:
        """The texts in words, for a plan."""
        return {
            "data": "; ".join(data.notes),
            "tokens": f"{codec.in_words()}; about {self.tokens:,} to train on",
            "held out": data.rule.partition(":")[0],
        }


@dataclass(frozen=True)
class WholeTexts(ABC, Generic[R, W]):
    """Texts as ids, without marks and uncut, with what is wanted of each: framed when a model's context is known."""

    data: Dataset[Any, Any]
    codec: TextCodec
    train: R
    held_out: R

    @property
    @abstractmethod
    def texts(self) -> Sequence[np.ndarray]:
        """The ids of the texts that are trained on."""

    @abstractmethod
    def framed(self, side: R, context: int) -> Rows[PaddedIds, W]:
        """Texts between their marks, cut to a model's context."""

    def source(self, context: int, *, tokens: int, rows: int, seed: int) -> LikeLengthSource[PaddedIds, W]:
        """The samples of a model with this context: micro-batches of at most `tokens` tokens and `rows` texts."""
        train, held_out = (self.framed(side, context) for side in (self.train, self.held_out))
        fingerprint = self.data.fingerprint
        return LikeLengthSource(train, held_out, tokens=tokens, rows=rows, fingerprint=fingerprint, seed=seed)

    @cached_property
    def amount(self) -> TextAmount:
        """How much there is to train on."""
        return TextAmount.of(self.texts, self.codec)

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        return self.amount.minutes

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"train_tokens": self.amount.tokens}

    def lines(self) -> Mapping[str, str]:
        """The texts in words, for a plan."""
        return self.amount.lines(self.data, self.codec)


class LabelledIds(WholeTexts[LabelledRows[PaddedIds], Classes | Numbers]):
    """Texts with their targets."""

    @staticmethod
    def of(data: LabelledData[Example], text: TextCodec, label: LabelCodec) -> "LabelledIds":
        """Texts to ids and labels to targets."""
        sides = {"train": data.train, "held out": data.held_out}
        train, held_out = (_encoded(data, side, rows, text, label) for side, rows in sides.items())
        return LabelledIds(data, text, train, held_out)

    @property
    def texts(self) -> Sequence[np.ndarray]:
        return self.train.rows

    def framed(self, side: LabelledRows[PaddedIds], context: int) -> LabelledRows[PaddedIds]:
        if isinstance(side.rows, IdRows):
            tokenizer = self.codec.tokenizer
            between = MarkedIds(side.rows, *tokenizer.marks, room_for(tokenizer, context))
            return LabelledRows(between, side.targets, PaddedIds.of)
        return LabelledRows(frame_ids(self.codec.tokenizer, side.rows, context).rows, side.targets, PaddedIds.of)


def _encoded(
    data: LabelledData[Example], side: str, rows: Sequence[Example], text: TextCodec, label: LabelCodec
) -> LabelledRows[PaddedIds]:
    """The rows of a side; the ids of texts that are not held in memory are kept in mapped files too."""
    targets = label.encode([row.label for row in rows])
    if not rows or not isinstance(rows[0], KeptExample):
        return LabelledRows(text.ids(row.text for row in rows), targets, PaddedIds.of)

    def make(staged: StagedEntry) -> None:
        id_rows(staged, "texts", text.tokenizer.dtype, (row.text for row in rows), text.ids)

    key = key_of("ids of texts", data.fingerprint, data.rule, side, len(rows), text.tokenizer.digest)
    size = rows[0].texts.rows.bytes
    entry = (store_for(size) or temporary_store()).entry(key, make, {"kind": "ids of labelled texts"})
    return LabelledRows(IdRows.of(entry, "texts"), targets, PaddedIds.of)


@dataclass(frozen=True)
class TaggedRows:
    """Sentences as ids, marks included; the place of each word's first id; the number of its tag."""

    texts: Sequence[np.ndarray]
    places: Sequence[np.ndarray]
    tags: Sequence[np.ndarray]

    def lengths(self) -> np.ndarray:
        """A column with the length of each sentence in ids."""
        if isinstance(self.texts, IdRows | MarkedIds):
            return self.texts.lengths()[:, None].astype(np.int64)
        return np.array([[len(text)] for text in self.texts], np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[PaddedIds, AtTokens]:
        """Some of the sentences with their tags. Words that were cut off have a tag but no place."""
        places = [self.places[row] for row in rows]
        tags = [self.tags[row][: len(self.places[row])] for row in rows]
        where, values = (torch.from_numpy(padded(part, filler)) for part, filler in ((places, 0), (tags, -1)))
        return Samples(PaddedIds.of([self.texts[row] for row in rows]), AtTokens(values, where))


class TaggedIds(WholeTexts[TaggedRows, AtTokens]):
    """Sentences with the tags of their words."""

    @staticmethod
    def of(data: TaggedData, text: TextCodec, tags: TagCodec) -> "TaggedIds":
        """Words to ids and tags to numbers."""
        sides = {"train": data.train, "held out": data.held_out}
        train, held_out = (_tagged_side(data, side, rows, text, tags) for side, rows in sides.items())
        return TaggedIds(data, text, train, held_out)

    @property
    def texts(self) -> Sequence[np.ndarray]:
        return self.train.texts

    def framed(self, side: TaggedRows, context: int) -> TaggedRows:
        return framed(side, self.codec, context)


def tagged_ids(
    text: TextCodec, codec: TagCodec, words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> TaggedRows:
    """Words as ids without marks, with the numbers of their tags."""
    found = text.tokenizer.encode_words(words)
    return TaggedRows([ids for ids, _ in found], [starts for _, starts in found], codec.encode(tags))


@dataclass(frozen=True)
class Fitting(Sequence[np.ndarray]):
    """The places of words that fit into `room` ids, behind `shift` marks, each row when it is looked at."""

    rows: Sequence[np.ndarray]
    room: int
    shift: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        places = self.rows[row].astype(np.int64)
        return places[places < self.room] + self.shift


def _tagged_side(data: TaggedData, side: str, rows: Sequence[Tagged], text: TextCodec, tags: TagCodec) -> TaggedRows:
    """The rows of a side; those of sentences that are not held in memory are kept in mapped files too."""
    if not rows or not isinstance(rows[0], KeptTagged):
        return tagged_ids(text, tags, [one.words for one in rows], [one.tags for one in rows])

    def make(staged: StagedEntry) -> None:
        dtypes = {"texts": text.tokenizer.dtype, "places": np.uint32, "tags": np.int32}
        growing = [GrowingIds(staged, name, dtype) for name, dtype in dtypes.items()]
        for start in range(0, len(rows), ENCODED_AT_ONCE):
            some = rows[start : start + ENCODED_AT_ONCE]
            found = tagged_ids(text, tags, [one.words for one in some], [one.tags for one in some])
            for one, ids in zip(growing, (found.texts, found.places, found.tags), strict=True):
                one.extend(ids)

    key = key_of("ids of tagged", data.fingerprint, data.rule, side, len(rows), text.tokenizer.digest, list(tags.names))
    entry = (store_for(rows[0].texts.rows.bytes) or temporary_store()).entry(key, make, {"kind": "ids of sentences"})
    return TaggedRows(*(IdRows.of(entry, name) for name in ("texts", "places", "tags")))


def framed(side: TaggedRows, codec: TextCodec, context: int) -> TaggedRows:
    """Sentences between their marks, cut to a model's context; words that do not fit have no place."""
    if isinstance(side.texts, IdRows):
        room, (before, after) = room_for(codec.tokenizer, context), codec.tokenizer.marks
        texts = MarkedIds(side.texts, before, after, room)
        return TaggedRows(texts, Fitting(side.places, room, len(before)), side.tags)
    found = frame_word_ids(codec.tokenizer, list(zip(side.texts, side.places, strict=True)), context)
    return TaggedRows(found.rows, found.places, side.tags)
