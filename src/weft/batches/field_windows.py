"""A batch of windows of fields. Knows no files, so that a loss which takes it is quick to load."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weft.batches.samples import Samples
from weft.modalities.field import FieldWindow


@dataclass(frozen=True)
class Cells:
    """What is wanted of a window: the true values, which cells are scored, and the share of each row in the area."""

    values: Float[Tensor, "B V T Y X"]
    scored: Bool[Tensor, "B V T Y X"]
    weights: Float[Tensor, "B Y"]

    def to(self, device: torch.device | str) -> "Cells":
        """The same on another device."""
        return Cells(self.values.to(device), self.scored.to(device), self.weights.to(device))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> "Cells":
        return Cells(self.values[rows], self.scored[rows], self.weights[rows])


FieldSamples = Samples[FieldWindow, Cells]
