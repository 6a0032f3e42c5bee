"""Several views of each picture, for models that learn to see the whole in a part."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.batches.views import Views
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.batches import PROBED, SCORED, PictureSource, augment_key, order_of
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.modalities.image import Picture


@dataclass(frozen=True)
class MultiCrop:
    """Two wide views of each picture and some near ones, each changed in its own way (multi-crop, Caron et al., 2020).

    `stride` is the model's, to which the sides of near views are rounded.
    """

    near: int
    how: Augment
    stride: int
    key: str

    def of(self, frames: Frames, rows: np.ndarray, indices: np.ndarray) -> Views:
        """The views of some pictures, drawn by their global indices."""
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

    def of_all(self, frames: Frames, most: int | None = None) -> Iterator[tuple[np.ndarray, Views]]:
        """Views of all pictures, or of the first `most`, in order, with their rows."""
        count = len(frames) if most is None else min(len(frames), most)
        for start in range(0, count, SCORED):
            rows = np.arange(start, min(count, start + SCORED))
            yield rows, self.of(frames, rows, rows)


@dataclass(frozen=True)
class ViewInputs:
    """Pictures in views, held-out ones too."""

    seen: SeenPictures
    crops: MultiCrop

    def training(self, rows: np.ndarray, indices: np.ndarray) -> Views:
        """Views of some pictures, drawn by their global indices."""
        return self.crops.of(self.seen.train, rows, indices)

    def held_out(self, most: int | None) -> Iterator[tuple[np.ndarray, Views]]:
        """Views of all pictures, or of the first of them."""
        return self.crops.of_all(self.seen.held_out, None if most is None else PROBED * most)


def picture_views(seen: SeenPictures, near: int, *, how: Augment, stride: int, seed: int) -> PictureSource[Views]:
    """Pictures in views, held-out ones too."""
    order = order_of(seen, seed)
    inputs = ViewInputs(seen, MultiCrop(near, how, stride, augment_key(order)))
    return PictureSource(order, inputs, lambda given, rows, indices: given, lambda given, rows: iter([given]))
