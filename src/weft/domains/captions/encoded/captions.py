"""Pictures with captions as ids and as samples: a picture is read once for several of its captions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from weft.amounts import count as in_short
from weft.batches.draws import draws
from weft.batches.samples import PaddedIds, Samples
from weft.domains.captions.encoded.caption_ids import CaptionIds, Texts
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.batches import PictureInputs, PictureSource, augment_key, order_of
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.reading.album import Album
from weft.domains.texts.codec.text import TextCodec, TextMarks
from weft.errors import DataError

MOST_TOKENS = 512  # of the longest caption that is trained on unless the user sets a context
CONTEXT_STEP = 16  # contexts are multiples of this
SHOWN = 60  # characters of a caption in a plan


@dataclass(frozen=True)
class SeenCaptions(SeenPictures):
    """Pictures with captions as ids, without marks. `long` captions were left out because they do not fit `context`."""

    text: TextCodec
    captions: CaptionIds  # of the pictures to train on
    held_captions: CaptionIds
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
        train, held = (CaptionIds.kept(text, album) for album in (data.train, data.held_out))
        captions = len(train.rows)
        room = int(train.rows.lengths().max()) + len(text.marks.before)
        context = context or min(MOST_TOKENS, -(-room // CONTEXT_STEP) * CONTEXT_STEP)
        train_album, train = _with_captions(data.train, train.fitting(text.marks, context))
        held_album, held = _with_captions(data.held_out, held.fitting(text.marks, context))
        if not len(train) or not len(held):
            problem, fix = f"no caption fits {context} tokens", f"set a longer context, say --set context={room}"
            raise DataError(problem, where=data.described, fix=fix)
        seen = SeenPictures.of(replace(data, train=train_album, held_out=held_album), picture, channels, count)
        long = captions - len(train.rows)
        return SeenCaptions(**vars(seen), text=text, captions=train, held_captions=held, context=context, long=long)

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json; `longest` is the number of tokens of the longest caption."""
        lengths = self.captions.rows.lengths()
        more = {"captions": len(lengths), "longest": int(lengths.max()), "left_out_long": self.long}
        return {**super().amounts, **more}

    def lines(self) -> Mapping[str, str]:
        """The pictures and captions in words, for a plan."""
        lengths = self.captions.rows.lengths().astype(np.int64) + 1
        first = self.data.train.captions[0][0]
        shown = first if len(first) <= SHOWN else f"{first[: SHOWN - 1]}…"
        lines = {
            **super().lines(),
            "captions": f"{len(lengths):,} to train on; the first: {shown}",
            "tokens": f"{self.text.in_words()}; {in_short(int(lengths.sum()))} tokens",
        }
        if self.long:
            lines["left out"] = f"{self.long:,} captions longer than {self.context} tokens (--set context=…)"
        return lines


def _with_captions(album: Album, ids: CaptionIds) -> tuple[Album, CaptionIds]:
    """The pictures that have a caption left."""
    rows = np.flatnonzero(ids.counts())
    if len(rows) == len(ids):
        return album, ids
    return replace(album.take(rows), more=album.more), ids.of_pictures(rows)


SCORED = 64  # pictures in one batch of held-out ones
PROBED = 4  # held-out pictures that training looks at, for each sample that is asked for

Captioned = Samples[Any, PaddedIds]  # of pictures or their features; `owner` names the picture of each caption


def captioned(picture: Any, captions: Sequence[Texts], marks: TextMarks) -> Captioned:
    """Pictures with all these captions."""
    owner = [row for row, texts in enumerate(captions) for _ in texts]
    wanted = PaddedIds.of([marks.around(text) for texts in captions for text in texts])
    return Samples(picture, wanted, torch.tensor(owner))


def whole(
    pictures: Iterator[tuple[np.ndarray, Any]], captions: Sequence[Texts], marks: TextMarks
) -> Iterator[Captioned]:
    """Pictures in batches of one shape, by row, with all their captions; no batch is without any."""
    for rows, picture in pictures:
        if any(len(captions[row]) for row in rows):
            yield captioned(picture, [captions[row] for row in rows], marks)


def captioned_pictures(
    seen: SeenCaptions, visit: int, *, how: Augment, stride: int, seed: int
) -> PictureSource[Captioned]:
    """Pictures with captions as ids. Each visit to a picture draws `visit` of its captions, none twice.

    `stride` is the model's, to which the sides of held-out pictures are rounded.
    """
    order, marks = order_of(seen, seed), seen.text.marks
    mark, widest = augment_key(order), int(seen.captions.counts().max())
    inputs = PictureInputs(seen, how, stride, mark, scored=SCORED, probed=PROBED)

    def make(given: Any, rows: np.ndarray, indices: np.ndarray) -> Captioned:
        chance = draws(f"{mark} captions", indices, widest)
        texts = [drawn(seen.captions[int(row)], c, visit) for row, c in zip(rows, chance, strict=True)]
        return captioned(given, texts, marks)

    def of_held(given: Any, rows: np.ndarray) -> Iterator[Captioned]:
        return whole(iter([(rows, given)]), seen.held_captions, marks)

    return PictureSource(order, inputs, make, of_held)


def drawn(texts: Texts, chance: np.ndarray, visit: int) -> list[np.ndarray]:
    """Some of a picture's captions, none twice."""
    return [texts[i] for i in np.argsort(chance[: len(texts)])[:visit]]
