"""Counted: a coordinate of text tokens that says how many of some ids were met so far. Knows ids alone."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.cache import Slots
from weft.errors import ConfigError


class Counted(Part, nn.Module):
    """coordinate_i = the number of tokens up to and with the i-th whose id is one of `ids`.

    Where a source counts the ids that begin a word, and its reader the ids that stand for a word, both know where they
    are. A text that is continued goes on counting from what its cache holds.
    """

    class Config(BaseConfig):
        """`axis` is the name of the coordinate."""

        axis: str
        ids: tuple[int, ...]

        def check(self) -> None:
            if min(self.ids, default=0) < 0 or not self.axis or self.axis == "position":
                raise ConfigError("ids must be at least 0, and the axis another than position", where="Counted")

    def __init__(self, config: Config, *, vocab: int):
        super().__init__()
        if max(config.ids, default=0) >= vocab:
            raise ConfigError(f"there is no id {max(config.ids)} among {vocab}", where="Counted.ids")
        self.axis = config.axis
        chosen = set(config.ids)
        self.register_buffer("counts", torch.tensor([id in chosen for id in range(vocab)]), persistent=False)

    def forward(self, ids: Int[Tensor, "B N"], valid: Bool[Tensor, "B N"] | None, slots: Slots | None) -> Tensor:
        """The coordinate of each token."""
        hits = self.counts[ids]  # type: ignore[index]
        if valid is not None:
            hits = hits & valid
        total = hits.long().cumsum(1)
        before = slots.get(f"count of {self.axis}") if slots is not None else None
        if before is not None:
            total = total + before[:, None]
        if slots is not None:
            slots.set(f"count of {self.axis}", total[:, -1])
        return total
