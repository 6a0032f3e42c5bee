"""Rules for what models of pictures have besides matrices: filters over patches, and tables of places.

Permuted("filters.weight", "project.weight", (64, 16, 16, 3), (0, 3, 1, 2))  theirs has the axes in this order
Folded("position", "code.table.weight", onto="summary")                      their first rows are added to one of ours
Fixed("position", vectors)                                                   theirs is a table that we compute
"""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from weft.interop.rules import Piece, SameTensor, WeightRule


@dataclass(frozen=True)
class Permuted(SameTensor):
    """The same numbers with the axes in another order: ours is seen in `shape`, and theirs takes its `axes`."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours].view(self.shape).permute(self.axes),))}


@dataclass(frozen=True)
class Folded(SameTensor):
    """A table whose first `front` rows are added to another tensor of ours, in a batch of one where it is `batched`.

    Places of class tokens are such rows: a class token and its place are one vector here. `onto` is filled by another
    rule; where it is empty, the rows must be zero.
    """

    front: int = 1
    onto: str = ""
    batched: bool = True

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        onto = ours[self.onto][..., : self.front, :] if self.onto else None  # the rest of them have no places
        return {self.theirs: Piece((ours[self.ours],), self.front, onto, batched=self.batched)}


@dataclass(frozen=True)
class Fixed(WeightRule):
    """A table that follows from our config and that they store, behind `front` rows of zeros, in a batch of one."""

    theirs: str
    values: Tensor
    front: int = 1

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((self.values,), self.front, batched=True)}

    def uses(self) -> tuple[str, ...]:
        return ()
