"""Pictures without labels for training: as they are for reconstructing, in several views for distilling."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from weft.data.images.augment import Augment
from weft.data.images.batches import SCORED, Epochs
from weft.data.images.frames import Frames, by_shape
from weft.data.order import key
from weft.modalities.image import Picture


@dataclass(frozen=True)
class Views:
    """Several views of the same pictures: `wide` ones of most of a picture, `near` ones of small parts."""

    wide: tuple[Picture, ...]
    near: tuple[Picture, ...]

    def to(self, device: torch.device | str) -> "Views":
        """The same on another device."""
        return Views(tuple(v.to(device) for v in self.wide), tuple(v.to(device) for v in self.near))

    def __len__(self) -> int:
        return len(self.wide[0])

    def __getitem__(self, rows: slice) -> "Views":
        return Views(tuple(v[rows] for v in self.wide), tuple(v[rows] for v in self.near))


class PlainPictures:
    """A `Source` of single pictures without labels."""

    def __init__(self, train: Frames, held: Frames, *, how: Augment, stride: int, fingerprint: str, seed: int):
        self.train, self.held, self.how, self.stride = train, held, how, stride
        self.fingerprint = fingerprint
        self.epochs = Epochs(len(train), fingerprint, seed)
        self.key = key(fingerprint, seed, "augment")

    @property
    def per_epoch(self) -> int:
        """Pictures to train on."""
        return len(self.train)

    def batch(self, indices: np.ndarray) -> Picture:
        """The pictures at these global indices, each augmented in a way that its index alone decides."""
        return self.train.changed(self.epochs.rows(indices), indices, self.how, key=self.key)

    def held_out(self, *, most: int | None = None) -> Iterator[Picture]:
        """The held-out pictures, whole."""
        for _, picture in by_shape(self.held, self.stride, SCORED, most=None if most is None else 8 * most):
            yield picture


class PictureViews(PlainPictures):
    """A `Source` of pictures in two wide views and some near ones, each changed in its own way (multi-crop)."""

    def __init__(self, *args: Frames, near: int, **more: object):
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.near = near

    def batch(self, indices: np.ndarray) -> Views:  # type: ignore[override]
        """The views of the pictures at these global indices."""
        return self._views(self.train, self.epochs.rows(indices), indices)

    def held_out(self, *, most: int | None = None) -> Iterator[Views]:  # type: ignore[override]
        """Views of held-out pictures, always the same."""
        count = len(self.held) if most is None else min(len(self.held), 8 * most)
        for start in range(0, count, SCORED):
            rows = np.arange(start, min(count, start + SCORED))
            yield self._views(self.held, rows, rows)

    def _views(self, frames: Frames, rows: np.ndarray, indices: np.ndarray) -> Views:
        most = self.how.replace(zoom=min(0.6, max(self.how.zoom, 0.5)))
        little = self.how.replace(zoom=0.9)
        sides = frames.shape or (frames.size, frames.size)
        high, wide = (max(self.stride, round(side / 2 / self.stride) * self.stride) for side in sides)

        def view(how: Augment, name: str, size: tuple[int, int] | None = None) -> Picture:
            return frames.changed(rows, indices, how, key=f"{self.key} {name}", size=size)

        return Views(
            tuple(view(most, f"wide {i}") for i in range(2)),
            tuple(view(little, f"near {i}", (high, wide)) for i in range(self.near)),
        )
