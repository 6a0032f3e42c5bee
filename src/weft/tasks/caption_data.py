"""The user's pictures with captions as ids: read, split, tokenized; and the record of them in a run. Knows no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.amounts import count
from weft.data import samples
from weft.data.captions.batches import fitting
from weft.data.images.album import Album, Found
from weft.data.readers.captions import read_captions
from weft.errors import DataError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.around import Around
from weft.modalities.encoding import ended
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.caption_plan import CaptionTraining
from weft.tasks.pair_data import MOST_TOKENS, vocabulary
from weft.tasks.picture_data import PictureData, counted, held_apart
from weft.tasks.text_data import several
from weft.training.progress import Progress

Ids = list[np.ndarray]  # the captions of a picture
STEP = 16  # tokens to whose multiples a context is rounded


@dataclass(frozen=True, kw_only=True)
class CaptionData(PictureData):
    """Pictures with captions as ids. `long` counts captions left out because they do not fit the context."""

    tokenizer: Tokenizer
    around: Around
    ids: list[Ids]  # of the pictures to train on
    held_ids: list[Ids]
    context: int
    long: int

    @property
    def captions(self) -> int:
        """Captions to train on."""
        return sum(map(len, self.ids))

    @property
    def longest(self) -> int:
        """Tokens of the longest of them."""
        return max(len(text) for texts in self.ids for text in texts)


def read_captioned(
    sources: Sequence[str], valid: str | None, settings: CaptionTraining, progress: Progress | None = None
) -> PictureData:
    """Pictures with captions from files, or the sample where none are named. What is held out is found by its pictures."""
    how: dict[str, Any] = {
        "picture": settings.picture_column,
        "caption": settings.caption_column,
        "skip": settings.allowed,
        "progress": None if progress is None else counted(progress),
    }
    found = read_captions(sources, **how) if sources else Found(samples.captioned_shapes(), None)
    given = None if valid is None else read_captions([valid], further=sources, **how)
    if progress is not None:
        progress.stop()
    name = several([Path(source).name for source in sources]) if sources else "weft's shapes"
    return held_apart(found, given, name, valid)


def encoded(data: PictureData, settings: CaptionTraining, known: tuple[Tokenizer, Around] | None = None) -> CaptionData:
    """Captions to ids. With no tokenizer known one is made of a size that suits the text; captions begin with its end."""
    texts = [text for captions in data.train.captions for text in captions]
    if known is None:
        kind = settings.tokenizer or "bpe"
        characters = sum(map(len, texts))
        size = settings.vocab or vocabulary(characters, kind)
        tokenizer = tokenizers.train(kind, ended(texts), size, characters=characters)
        known = tokenizer, Around((tokenizer.end,), tokenizer.end)
    tokenizer, around = known
    ids, held_ids = (caption_ids(tokenizer, album.captions) for album in (data.train, data.held_out))
    room = max(len(text) for texts in ids for text in texts) + len(around.opening)
    context = settings.context or min(MOST_TOKENS, -(-room // STEP) * STEP)
    train, ids = _kept(data.train, fitting(ids, around, context))
    held, held_ids = _kept(data.held_out, fitting(held_ids, around, context))
    if not ids or not held_ids:
        problem = f"no caption fits {context} tokens"
        raise DataError(problem, where=data.described, fix=f"set a longer context, say --set context={room}")
    parts = {one.name: getattr(data, one.name) for one in fields(PictureData)} | {"train": train, "held_out": held}
    long = len(texts) - sum(map(len, ids))
    return CaptionData(
        **parts, tokenizer=tokenizer, around=around, ids=ids, held_ids=held_ids, context=context, long=long
    )


def caption_ids(tokenizer: Tokenizer, captions: Sequence[Sequence[str]]) -> list[Ids]:
    """The captions of each picture as ids."""
    flat = iter(tokenizer.encode_all([text for texts in captions for text in texts]))
    return [[next(flat) for _ in texts] for texts in captions]


def _kept(album: Album, ids: list[Ids]) -> tuple[Album, list[Ids]]:
    """The pictures that have a caption left."""
    rows = [row for row, texts in enumerate(ids) if texts]
    if len(rows) == len(ids):
        return album, ids
    return replace(album.take(rows), more=album.more), [ids[row] for row in rows]


def caption_facts(data: CaptionData) -> dict[str, Any]:
    """What config.json says of the captions."""
    return {
        "captions": data.captions,
        "longest": data.longest,
        "left_out_long": data.long,
        "opening": list(data.around.opening),
        "end": data.around.end,
        "tokenizer": data.tokenizer.kind,
        "tokenizer_digest": data.tokenizer.digest,
        "vocabulary": data.tokenizer.size,
    }


def caption_lines(data: CaptionData) -> Mapping[str, str]:
    """The captions in words."""
    tokens, first = sum(len(text) + 1 for texts in data.ids for text in texts), data.train.captions[0][0]
    shown = first if len(first) <= 60 else f"{first[:59]}…"
    lines = {
        "captions": f"{data.captions:,} to train on; the first: {shown}",
        "tokens": f"{data.tokenizer.kind}, vocabulary {data.tokenizer.size}; {count(tokens)} tokens",
    }
    if data.long:
        lines["left out"] = f"{data.long:,} captions longer than {data.context} tokens (--set context=…)"
    return lines
