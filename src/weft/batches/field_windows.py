"""A batch of windows of fields. Knows no files, so that a loss which takes it is quick to load."""

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Bool, Float
from torch import Tensor

from weft.batches.samples import RowTensors, Samples
from weft.modalities.field import FieldWindow
from weft.sending import on_host


@dataclass(frozen=True)
class Cells(RowTensors):
    """What is wanted of a window: the true values, which cells are scored, and the share of each row in the area."""

    values: Float[Tensor, "B V T Y X"]
    scored: Bool[Tensor, "B V T Y X"]
    weights: Float[Tensor, "B Y"]

    @cached_property
    def many(self) -> int:
        """The number of cells that are scored."""
        host = on_host(self)
        return int(self.scored.sum()) if host is self else host.many


FieldSamples = Samples[FieldWindow, Cells]
