"""Batches of pictures for training and for measuring. Knows pixels, what is wanted of them and the order of samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.batches.epochs import Epochs
from weft.batches.features import Inputs
from weft.batches.order import key
from weft.batches.samples import Classes, Numbers, Samples
from weft.domains.pictures.encoded.augment import Augment, mix, partner_indices
from weft.domains.pictures.encoded.frames import by_shape, picture_of
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.modalities.image import Picture

SCORED = 128  # pictures in one batch of held-out ones
PROBED = 8  # held-out pictures that training looks at, for each sample that is asked for

B = TypeVar("B")
Labels = Classes | Numbers
Make = Callable[[Any, np.ndarray, np.ndarray], B]  # what is given, its rows, the global indices of these samples
OfHeld = Callable[[Any, np.ndarray], Iterator[B]]  # what is given of held-out rows, and these rows


@dataclass(frozen=True)
class PictureInputs:
    """Pictures as a model reads them: changed at random for training, whole and in batches of one shape when held out.

    `stride` is the model's, to which the sides of held-out pictures of many shapes are rounded. Of held-out pictures
    `scored` are in a batch, and where some samples are asked for, there are `probed` times as many pictures.
    """

    seen: SeenPictures
    how: Augment
    stride: int
    key: str
    scored: int = SCORED
    probed: int = PROBED

    @property
    def sizes(self) -> tuple[int, int]:
        """Pictures to train on, and held out."""
        return len(self.seen.train), len(self.seen.held_out)

    def training(self, rows: np.ndarray, indices: np.ndarray) -> Picture:
        """Pictures, each changed as its global index alone decides."""
        return self.seen.train.changed(rows, indices, self.how, key=self.key)

    def version(self, rows: np.ndarray, version: int) -> Picture:
        """Version 0 is the whole picture, others are changed at random; all have the shape of pictures in training."""
        train = self.seen.train
        if version:
            return train.changed(rows, rows + version * len(train), self.how, key=f"{self.key} kept")
        shape = train.shape or (train.size, train.size)
        return picture_of(train.read(rows), shape, None if train.metres is None else train.metres[rows])

    def held_out(self, most: int | None) -> Iterator[tuple[np.ndarray, Picture]]:
        """Held-out pictures, always the same."""
        seen, probed = self.seen, None if most is None else self.probed * most
        return by_shape(seen.held_out, seen.codec, self.stride, self.scored, most=probed)


class PictureSource(Generic[B]):
    """A `Source` of pictures: changed at random for training, by their index alone, and as they are when held out.

    `make` gives the samples of some inputs, `of_held` those of held-out ones, and `mix` blends samples with others.
    """

    def __init__(
        self,
        order: Epochs,
        inputs: Inputs,
        make: Make[B],
        of_held: OfHeld[B],
        *,
        mix: Callable[[B, B, np.ndarray], B] | None = None,
    ):
        self.order, self.inputs, self.make, self.of_held, self.mix = order, inputs, make, of_held, mix
        self.fingerprint = order.fingerprint

    @property
    def per_epoch(self) -> int:
        """Pictures to train on."""
        return self.order.count

    def with_inputs(self, inputs: Inputs) -> "PictureSource[B]":
        """The same samples with other inputs, say features; these are not blended."""
        return PictureSource(self.order, inputs, self.make, self.of_held)

    def batch(self, indices: np.ndarray) -> B:
        """The samples at these global indices."""
        samples = self._made(indices)
        if self.mix is None:
            return samples
        return self.mix(samples, self._made(partner_indices(indices, key=augment_key(self.order))), indices)

    def _made(self, indices: np.ndarray) -> B:
        rows = self.order.rows(indices)
        return self.make(self.inputs.training(rows, indices), rows, indices)

    def held_out(self, *, most: int | None = None) -> Iterator[B]:
        """Held-out batches, always the same."""
        for rows, given in self.inputs.held_out(most):
            yield from self.of_held(given, rows)


def augment_key(order: Epochs) -> str:
    """What decides, with an index, how a picture is changed."""
    return key(order.fingerprint, order.seed, "augment")


def order_of(seen: SeenPictures, seed: int) -> Epochs:
    """The order of the pictures to train on."""
    return Epochs(len(seen.train), seen.data.fingerprint, seed)


def plain_pictures(seen: SeenPictures, how: Augment, stride: int, seed: int) -> PictureSource[Picture]:
    """Single pictures. `stride` is the model's, to which the sides of held-out pictures of many shapes are rounded."""
    order = order_of(seen, seed)
    inputs = PictureInputs(seen, how, stride, augment_key(order))
    return PictureSource(order, inputs, lambda given, rows, indices: given, lambda given, rows: iter([given]))


def labelled_pictures(
    seen: SeenPictures, labels: Labels, held_labels: Labels, *, how: Augment, stride: int, seed: int
) -> PictureSource[Samples[Any, Labels]]:
    """Pictures with what is wanted of each: classes, or numbers."""
    order = order_of(seen, seed)
    inputs = PictureInputs(seen, how, stride, augment_key(order))

    def make(given: Any, rows: np.ndarray, indices: np.ndarray) -> Samples[Any, Labels]:
        return Samples(given, labels[torch.from_numpy(rows)])

    def of_held(given: Any, rows: np.ndarray) -> Iterator[Samples[Any, Labels]]:
        yield Samples(given, held_labels[torch.from_numpy(rows)])

    def blend(
        samples: Samples[Picture, Labels], others: Samples[Picture, Labels], indices: np.ndarray
    ) -> Samples[Picture, Labels]:
        return mixed(samples, others, indices, how, key=inputs.key)

    return PictureSource(order, inputs, make, of_held, mix=blend if how.mixup or how.cutmix else None)


def mixed(
    samples: Samples[Picture, Labels], others: Samples[Picture, Labels], indices: np.ndarray, how: Augment, *, key: str
) -> Samples[Picture, Labels]:
    """Each sample blended with another, and how much of it is its own. What is made of two is known where both are."""
    picture, other = samples.given, others.given
    pixels, share = mix(picture.pixels, other.pixels, indices, how, key=key)
    missing = None
    if picture.missing is not None or other.missing is not None:
        missing = mix(_gone(picture), _gone(other), indices, how, key=key)[0] > 0
    blended = Picture(pixels, missing, picture.metres)
    wanted, further = samples.wanted, others.wanted
    if isinstance(wanted, Classes) and isinstance(further, Classes):
        return Samples(blended, Classes(wanted.labels, further.labels, share))
    assert isinstance(wanted, Numbers) and isinstance(further, Numbers)
    return Samples(blended, Numbers(wanted.values, further.values, share))


def _gone(picture: Picture) -> Float[Tensor, "B 1 Y X"]:
    """1 where a pixel is missing, 0 elsewhere."""
    return torch.zeros_like(picture.pixels[:, :1]) if picture.missing is None else picture.missing.float()
