"""Labelled and tagged texts as ids: tokenized once and whole, framed to whatever context a model turns out to have."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.tagged import TaggedData
from weft.domains.texts.encoded.whole_texts import LabelledIds, TaggedIds, TextAmount
from weft.domains.texts.reading.labelled_texts import Example
from weft.domains.texts.reading.tagged_texts import Tagged
from weft.files.labelled import LabelledData
from weft.modalities.framing import frame_texts, frame_word_ids
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.labels.classes import ClassCodec

TEXTS = ["a long and winding text", "short", "a b c d e f"]
SAID: dict[str, Any] = {"fingerprint": "f", "rule": "3 texts: all", "described": "texts", "notes": ("3 texts",)}


def labelled() -> LabelledIds:
    rows = [Example(text, "even" if len(text) % 2 == 0 else "odd") for text in TEXTS]
    data = LabelledData(train=rows, held_out=rows, kind="classes", classes=("even", "odd"), **SAID)
    label = ClassCodec(ClassCodec.Config(names=data.classes))
    return LabelledIds.of(data, TextCodec.learn([], "bytes", None, characters=0), label)


def tagged() -> TaggedIds:
    rows = [Tagged(tuple(text.split()), ("O",) * len(text.split())) for text in TEXTS]
    data = TaggedData(train=rows, held_out=rows, tags=("O", "X"), scheme="plain", **SAID)
    tags = TagCodec(TagCodec.Config(names=data.tags))
    return TaggedIds.of(data, TextCodec.learn([], "bytes", None, characters=0), tags)


@pytest.mark.parametrize("context", [6, 12, 512])
def test_ids_framed_late_are_those_of_texts_framed_at_once(context: int) -> None:
    encoded, sentences = labelled(), tagged()
    tokenizer = encoded.codec.tokenizer
    source, tags = (one.source(context, tokens=10**6, rows=32, seed=0) for one in (encoded, sentences))
    whole = frame_texts(tokenizer, TEXTS, context).rows
    assert all(np.array_equal(a, b) for a, b in zip(source.valid.rows, whole, strict=True))
    words = frame_word_ids(tokenizer, tokenizer.encode_words([text.split() for text in TEXTS]), context)
    assert all(np.array_equal(a, b) for a, b in zip(tags.valid.texts, words.rows, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(tags.valid.places, words.places, strict=True))
    (batch,) = tags.held_out()
    assert int((batch.each[0].wanted.values >= 0).sum()) == sum(map(len, words.places))


@pytest.mark.parametrize("make", [labelled, tagged])
def test_texts_are_tokenized_once_whatever_the_context(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded, asked = make(), list[str]()
    for name in ("encode", "encode_all", "encode_words"):
        monkeypatch.setattr(Tokenizer, name, lambda self, *given, name=name: asked.append(name))
    for context in (8, 16):
        encoded.source(context, tokens=100, rows=8, seed=0)
    assert encoded.minutes == 0.5 and encoded.lines()["held out"] == "3 texts" and not asked


def test_an_amount_counts_marks_and_leaves_out_the_longest_few() -> None:
    codec = TextCodec.learn([], "bytes", None, characters=0)
    marks = sum(map(len, codec.tokenizer.marks))
    texts = [np.zeros(4, np.int64)] * 999 + [np.zeros(5000, np.int64)]
    assert TextAmount.of(texts, codec) == TextAmount(999 * 4 + 5000 + 1000 * marks, 4 + marks)
    assert TextAmount(200_000, 9).minutes == 2.0 and TextAmount(10**9, 9).minutes == 10.0


def test_targets_stay_with_their_texts() -> None:
    (batch,) = labelled().source(512, tokens=10**6, rows=32, seed=0).held_out()
    lengths = batch.each[0].given.lengths - sum(map(len, labelled().codec.tokenizer.marks))
    assert torch.equal(batch.each[0].wanted.labels, lengths % 2)
