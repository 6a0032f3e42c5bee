"""Batches of pictures with captions: a picture is read once for several of its captions. Knows ids; refuses to know words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from weft.data.batch import PaddedIds
from weft.data.draws import draws
from weft.data.images.augment import Augment
from weft.data.images.batches import Epochs
from weft.data.images.frames import Frames, by_shape
from weft.data.order import key
from weft.modalities.around import Around
from weft.modalities.image import Picture

SCORED = 64  # pictures in one batch of held-out ones


Texts = Sequence[np.ndarray]  # the captions of a picture as ids


def fitting(captions: Sequence[Texts], around: Around, context: int) -> list[list[np.ndarray]]:
    """The captions of each picture without those for which a decoder that reads so many tokens has no room."""
    return [[text for text in texts if around.fits(text, context)] for texts in captions]


@dataclass(frozen=True)
class Captioned:
    """Pictures, and captions of which each belongs to the picture that `owner` names."""

    given: Picture
    target: PaddedIds
    owner: Int[Tensor, "R"]

    @property
    def each(self) -> "tuple[Captioned, ...]":
        """All of it is computed at once."""
        return (self,)

    def to(self, device: torch.device | str) -> "Captioned":
        """The same on another device."""
        return Captioned(self.given.to(device), self.target.to(device), self.owner.to(device))

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, rows: slice) -> "Captioned":
        start, stop, _ = rows.indices(len(self))
        mine = (self.owner >= start) & (self.owner < stop)
        target = PaddedIds(self.target.ids[mine], self.target.lengths[mine])
        return Captioned(self.given[rows], target, self.owner[mine] - start)


def captioned(picture: Picture, captions: Sequence[Texts], around: Around) -> Captioned:
    """Pictures with all these captions."""
    owner = [row for row, texts in enumerate(captions) for _ in texts]
    target = PaddedIds.of([around.target(text) for texts in captions for text in texts])
    return Captioned(picture, target, torch.tensor(owner))


def whole(
    frames: Frames, captions: Sequence[Texts], around: Around, stride: int, *, most: int | None = None
) -> Iterator[Captioned]:
    """All pictures, or about `most` spread over them, as they are and with all their captions; no batch is without any."""
    for rows, picture in by_shape(frames, stride, SCORED, most=most):
        if any(captions[row] for row in rows):
            yield captioned(picture, [captions[row] for row in rows], around)


class CaptionedPictures:
    """A `Source` of pictures with captions as ids. Each visit to a picture draws so many of its captions."""

    def __init__(
        self,
        train: tuple[Frames, Sequence[Texts]],
        held: tuple[Frames, Sequence[Texts]],
        *,
        around: Around,
        visit: int,
        how: Augment,
        stride: int,
        fingerprint: str,
        seed: int,
    ):
        """`visit` is the number of captions at a visit; `stride` is the model's, to which sides are rounded."""
        self.train, self.held, self.around, self.visit = train, held, around, visit
        self.how, self.stride, self.fingerprint = how, stride, fingerprint
        self.epochs = Epochs(len(train[0]), fingerprint, seed)
        self.key = key(fingerprint, seed, "augment")
        self.widest = max(map(len, train[1]))

    @property
    def per_epoch(self) -> int:
        """Pictures to train on."""
        return len(self.train[0])

    def batch(self, indices: np.ndarray) -> Captioned:
        """The pictures at these global indices; how each is changed, and what is said of it, its index alone decides."""
        rows = self.epochs.rows(indices)
        picture = self.train[0].changed(rows, indices, self.how, key=self.key)
        chance = draws(f"{self.key} captions", indices, self.widest)
        return captioned(picture, [self._drawn(row, c) for row, c in zip(rows, chance, strict=True)], self.around)

    def held_out(self, *, most: int | None = None) -> Iterator[Captioned]:
        """The held-out pictures, whole and with all their captions."""
        yield from whole(*self.held, self.around, self.stride, most=None if most is None else 4 * most)

    def _drawn(self, row: int, chance: np.ndarray) -> list[np.ndarray]:
        """Some of a picture's captions, none twice."""
        texts = self.train[1][row]
        return [texts[i] for i in np.argsort(chance[: len(texts)])[: self.visit]]
