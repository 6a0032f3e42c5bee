"""Batches of pictures with captions: a picture is read once for several of its captions. Knows ids; refuses to know words."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from weft.codecs import TextMarks
from weft.data.batch import PaddedIds, Samples
from weft.data.captions.encoded import SeenCaptions, Texts
from weft.data.draws import draws
from weft.data.images.augment import Augment
from weft.data.images.batches import PictureSource, augment_key, order_of
from weft.data.images.frames import by_shape
from weft.modalities.image import Picture

SCORED = 64  # pictures in one batch of held-out ones
PROBED = 4  # held-out pictures that training looks at, for each sample that is asked for

Captioned = Samples[Picture, PaddedIds]  # `owner` names the picture of each caption


def captioned(picture: Picture, captions: Sequence[Texts], marks: TextMarks) -> Captioned:
    """Pictures with all these captions."""
    owner = [row for row, texts in enumerate(captions) for _ in texts]
    wanted = PaddedIds.of([marks.around(text) for texts in captions for text in texts])
    return Samples(picture, wanted, torch.tensor(owner))


def whole(
    pictures: Iterator[tuple[np.ndarray, Picture]], captions: Sequence[Texts], marks: TextMarks
) -> Iterator[Captioned]:
    """Pictures in batches of one shape, by row, with all their captions; no batch is without any."""
    for rows, picture in pictures:
        if any(captions[row] for row in rows):
            yield captioned(picture, [captions[row] for row in rows], marks)


def captioned_pictures(
    seen: SeenCaptions, visit: int, *, how: Augment, stride: int, seed: int
) -> PictureSource[Captioned]:
    """Pictures with captions as ids. Each visit to a picture draws `visit` of its captions, none twice.

    `stride` is the model's, to which the sides of held-out pictures are rounded.
    """
    order, marks = order_of(seen, seed), seen.text.marks
    mark, widest = augment_key(order), max(map(len, seen.captions))

    def make(rows: np.ndarray, indices: np.ndarray) -> Captioned:
        picture = seen.train.changed(rows, indices, how, key=mark)
        chance = draws(f"{mark} captions", indices, widest)
        texts = [drawn(seen.captions[row], c, visit) for row, c in zip(rows, chance, strict=True)]
        return captioned(picture, texts, marks)

    def held_out(most: int | None) -> Iterator[Captioned]:
        probed = None if most is None else PROBED * most
        return whole(by_shape(seen.held_out, seen.codec, stride, SCORED, most=probed), seen.held_captions, marks)

    return PictureSource(order, make, held_out)


def drawn(texts: Texts, chance: np.ndarray, visit: int) -> list[np.ndarray]:
    """Some of a picture's captions, none twice."""
    return [texts[i] for i in np.argsort(chance[: len(texts)])[:visit]]
