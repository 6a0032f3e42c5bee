"""Pictures with captions as ids. Knows pixels and tokens; refuses to know models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.amounts import count as in_short
from weft.codecs import PictureCodec, TextCodec
from weft.data.datasets.pictures import PictureData
from weft.data.images.album import Album
from weft.data.images.encoded import SeenPictures
from weft.errors import DataError

Texts = Sequence[np.ndarray]  # the captions of a picture as ids
MOST_TOKENS = 512  # of the longest caption that is trained on unless the user sets a context
CONTEXT_STEP = 16  # contexts are multiples of this
SHOWN = 60  # characters of a caption in a plan


@dataclass(frozen=True)
class SeenCaptions(SeenPictures):
    """Pictures with captions as ids, without marks. `long` captions were left out because they do not fit `context`."""

    text: TextCodec
    captions: Sequence[Texts]  # of the pictures to train on
    held_captions: Sequence[Texts]
    context: int
    long: int

    @staticmethod
    def captioned(
        data: PictureData,
        codecs: tuple[PictureCodec, TextCodec],
        context: int | None,
        channels: int | None,
        count: Callable[[int, int], None] | None = None,
    ) -> "SeenCaptions":
        """Pictures at the codec's size with their captions; those without a caption that fits are left out."""
        picture, text = codecs
        train, held = (caption_ids(text, album.captions) for album in (data.train, data.held_out))
        captions = sum(map(len, train))
        room = max(len(one) for texts in train for one in texts) + len(text.marks.before)
        context = context or min(MOST_TOKENS, -(-room // CONTEXT_STEP) * CONTEXT_STEP)
        train_album, train = _kept(data.train, fitting(train, text, context))
        held_album, held = _kept(data.held_out, fitting(held, text, context))
        if not train or not held:
            problem, fix = f"no caption fits {context} tokens", f"set a longer context, say --set context={room}"
            raise DataError(problem, where=data.described, fix=fix)
        seen = SeenPictures.of(replace(data, train=train_album, held_out=held_album), picture, channels, count)
        long = captions - sum(map(len, train))
        return SeenCaptions(**vars(seen), text=text, captions=train, held_captions=held, context=context, long=long)

    @property
    def amounts(self) -> Mapping[str, float]:
        """Counts for config.json; `longest` is the number of tokens of the longest caption."""
        lengths = [len(text) for texts in self.captions for text in texts]
        more = {"captions": len(lengths), "longest": max(lengths), "left_out_long": self.long}
        return {**super().amounts, **more}

    def lines(self) -> Mapping[str, str]:
        """The pictures and captions in words, for a plan."""
        lengths = [len(text) + 1 for texts in self.captions for text in texts]
        first = self.data.train.captions[0][0]
        shown = first if len(first) <= SHOWN else f"{first[: SHOWN - 1]}…"
        lines = {
            **super().lines(),
            "captions": f"{len(lengths):,} to train on; the first: {shown}",
            "tokens": f"{self.text.in_words()}; {in_short(sum(lengths))} tokens",
        }
        if self.long:
            lines["left out"] = f"{self.long:,} captions longer than {self.context} tokens (--set context=…)"
        return lines


def caption_ids(codec: TextCodec, captions: Sequence[Sequence[str]]) -> list[list[np.ndarray]]:
    """The captions of each picture as ids, without marks."""
    flat = iter(codec.ids(text for texts in captions for text in texts))
    return [[next(flat) for _ in texts] for texts in captions]


def fitting(captions: Sequence[Texts], codec: TextCodec, context: int) -> list[list[np.ndarray]]:
    """The captions of each picture without those for which a decoder with this context has no room."""
    marks = codec.marks
    return [[text for text in texts if marks.fits(text, context)] for texts in captions]


def _kept(album: Album, ids: list[list[np.ndarray]]) -> tuple[Album, list[list[np.ndarray]]]:
    """The pictures that have a caption left."""
    rows = [row for row, texts in enumerate(ids) if texts]
    if len(rows) == len(ids):
        return album, ids
    return replace(album.take(rows), more=album.more), [ids[row] for row in rows]
