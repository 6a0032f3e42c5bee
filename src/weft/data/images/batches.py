"""Batches of pictures for training and for measuring. Knows pixels, classes by number and the order of samples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.data.images.augment import Augment, mix, partner_indices
from weft.data.images.frames import Frames, by_shape
from weft.data.order import key, permuted
from weft.modalities.image import Picture

SCORED = 128  # pictures in one batch of held-out ones


@dataclass(frozen=True)
class Mixed:
    """What else is in pictures that were mixed of two: the other class, and how much there is of the first."""

    labels: Int[Tensor, "B"]
    share: Float[Tensor, "B"]

    def to(self, device: torch.device | str) -> "Mixed":
        """The same on another device."""
        return Mixed(self.labels.to(device), self.share.to(device))

    def __getitem__(self, rows: slice) -> "Mixed":
        return Mixed(self.labels[rows], self.share[rows])


@dataclass(frozen=True)
class Labelled:
    """Pictures with their classes, by number."""

    picture: Picture
    labels: Int[Tensor, "B"]
    mixed: Mixed | None = None

    def to(self, device: torch.device | str) -> "Labelled":
        """The same on another device."""
        mixed = None if self.mixed is None else self.mixed.to(device)
        return Labelled(self.picture.to(device), self.labels.to(device), mixed)

    def __len__(self) -> int:
        return len(self.picture)

    def __getitem__(self, rows: slice) -> "Labelled":
        return Labelled(self.picture[rows], self.labels[rows], None if self.mixed is None else self.mixed[rows])


class Epochs:
    """Which picture is the i-th sample: every epoch is a new order of all of them."""

    def __init__(self, count: int, fingerprint: str, seed: int):
        self.count, self.fingerprint, self.seed = count, fingerprint, seed

    def rows(self, indices: np.ndarray) -> np.ndarray:
        """The pictures at these global indices."""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.count)
        rows = np.empty_like(within)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            rows[chosen] = permuted(within[chosen], self.count, key(self.fingerprint, self.seed, int(epoch)))
        return rows


class LabelledPictures:
    """A `Source` of pictures with classes: augmented for training, as they are when held out."""

    def __init__(
        self,
        train: Frames,
        labels: Sequence[int],
        held: Frames,
        held_labels: Sequence[int],
        *,
        how: Augment,
        stride: int,
        fingerprint: str,
        seed: int,
    ):
        """`stride` is the model's, to which the sides of held-out pictures of many shapes are rounded."""
        self.train, self.labels = train, np.asarray(labels, np.int64)
        self.held, self.held_labels = held, np.asarray(held_labels, np.int64)
        self.how, self.stride, self.fingerprint = how, stride, fingerprint
        self.epochs = Epochs(len(train), fingerprint, seed)
        self.key = key(fingerprint, seed, "augment")

    @property
    def per_epoch(self) -> int:
        """Pictures to train on."""
        return len(self.train)

    def batch(self, indices: np.ndarray) -> Labelled:
        """The pictures at these global indices, each augmented in a way that its index alone decides."""
        picture, labels = self._augmented(indices)
        if not (self.how.mixup or self.how.cutmix):
            return Labelled(picture, labels)
        others, other_labels = self._augmented(partner_indices(indices, key=self.key))
        pixels, share = mix(picture.pixels, others.pixels, indices, self.how, key=self.key)
        missing = None
        if picture.missing is not None or others.missing is not None:  # what is made of two is known where both are
            missing = mix(_gone(picture), _gone(others), indices, self.how, key=self.key)[0] > 0
        return Labelled(Picture(pixels, missing, picture.metres), labels, Mixed(other_labels, share))

    def held_out(self, *, most: int | None = None) -> Iterator[Labelled]:
        """The held-out pictures, whole."""
        for rows, picture in by_shape(self.held, self.stride, SCORED, most=None if most is None else 8 * most):
            yield Labelled(picture, torch.from_numpy(self.held_labels[rows]))

    def _augmented(self, indices: np.ndarray) -> tuple[Picture, Tensor]:
        rows = self.epochs.rows(indices)
        return self.train.changed(rows, indices, self.how, key=self.key), torch.from_numpy(self.labels[rows])


def _gone(picture: Picture) -> Float[Tensor, "B 1 Y X"]:
    """1 where a pixel is missing, 0 elsewhere."""
    return torch.zeros_like(picture.pixels[:, :1]) if picture.missing is None else picture.missing.float()
