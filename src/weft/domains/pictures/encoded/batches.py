"""Batches of pictures for training and for measuring. Knows pixels, what is wanted of them and the order of samples."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.batches.epochs import Epochs
from weft.batches.order import key
from weft.batches.samples import Classes, Numbers, Samples
from weft.domains.pictures.encoded.augment import Augment, mix, partner_indices
from weft.domains.pictures.encoded.frames import by_shape
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.modalities.image import Picture

SCORED = 128  # pictures in one batch of held-out ones
PROBED = 8  # held-out pictures that training looks at, for each sample that is asked for

B = TypeVar("B")
Labels = Classes | Numbers
Make = Callable[[np.ndarray, np.ndarray], B]  # pictures by row, and the global indices of these samples -> a batch


class PictureSource(Generic[B]):
    """A `Source` of pictures: changed at random for training, by their index alone, and as they are when held out.

    `make` gives the samples of some pictures at some global indices, `mix` blends samples with others of the data, and
    `held_out` gives all held-out batches, or those of about as many pictures as it is asked for.
    """

    def __init__(
        self,
        order: Epochs,
        make: Make[B],
        held_out: Callable[[int | None], Iterator[B]],
        *,
        mix: Callable[[B, B, np.ndarray], B] | None = None,
    ):
        self.order, self.make, self.mix, self._held_out = order, make, mix, held_out
        self.fingerprint = order.fingerprint

    @property
    def per_epoch(self) -> int:
        """Pictures to train on."""
        return self.order.count

    def batch(self, indices: np.ndarray) -> B:
        """The samples at these global indices."""
        samples = self.make(self.order.rows(indices), indices)
        if self.mix is None:
            return samples
        partners = partner_indices(indices, key=augment_key(self.order))
        return self.mix(samples, self.make(self.order.rows(partners), partners), indices)

    def held_out(self, *, most: int | None = None) -> Iterator[B]:
        """Held-out batches, always the same."""
        return self._held_out(most)


def augment_key(order: Epochs) -> str:
    """What decides, with an index, how a picture is changed."""
    return key(order.fingerprint, order.seed, "augment")


def order_of(seen: SeenPictures, seed: int) -> Epochs:
    """The order of the pictures to train on."""
    return Epochs(len(seen.train), seen.data.fingerprint, seed)


def plain_pictures(seen: SeenPictures, how: Augment, stride: int, seed: int) -> PictureSource[Picture]:
    """Single pictures. `stride` is the model's, to which the sides of held-out pictures of many shapes are rounded."""
    order = order_of(seen, seed)
    mark = augment_key(order)

    def held_out(most: int | None) -> Iterator[Picture]:
        for _, picture in by_shape(seen.held_out, seen.codec, stride, SCORED, most=_probed(most)):
            yield picture

    return PictureSource(order, lambda rows, indices: seen.train.changed(rows, indices, how, key=mark), held_out)


def labelled_pictures(
    seen: SeenPictures, labels: Labels, held_labels: Labels, *, how: Augment, stride: int, seed: int
) -> PictureSource[Samples[Picture, Labels]]:
    """Pictures with what is wanted of each: classes, or numbers."""
    order = order_of(seen, seed)
    mark = augment_key(order)

    def make(rows: np.ndarray, indices: np.ndarray) -> Samples[Picture, Labels]:
        return Samples(seen.train.changed(rows, indices, how, key=mark), labels[torch.from_numpy(rows)])

    def held_out(most: int | None) -> Iterator[Samples[Picture, Labels]]:
        for rows, picture in by_shape(seen.held_out, seen.codec, stride, SCORED, most=_probed(most)):
            yield Samples(picture, held_labels[torch.from_numpy(rows)])

    def blend(
        samples: Samples[Picture, Labels], others: Samples[Picture, Labels], indices: np.ndarray
    ) -> Samples[Picture, Labels]:
        return mixed(samples, others, indices, how, key=mark)

    return PictureSource(order, make, held_out, mix=blend if how.mixup or how.cutmix else None)


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


def _probed(most: int | None) -> int | None:
    return None if most is None else PROBED * most


def _gone(picture: Picture) -> Float[Tensor, "B 1 Y X"]:
    """1 where a pixel is missing, 0 elsewhere."""
    return torch.zeros_like(picture.pixels[:, :1]) if picture.missing is None else picture.missing.float()
