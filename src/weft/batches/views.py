"""A batch of pictures in several views. Knows no files, so that a loss which takes it is quick to load."""

from dataclasses import dataclass

import torch

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
