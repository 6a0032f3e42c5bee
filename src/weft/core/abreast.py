"""Abreast: a memory read at the place that the reader has come to, known by a coordinate that both streams have."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from weft.core.cache import Slots
from weft.core.mixers import Mixer
from weft.core.scope import Pass
from weft.errors import ConfigError


class Abreast(Mixer):
    """W times the first token of the memory that has the reader's own coordinate; zero where none has.

    A decoder that counts what it has written of a source reads the next word there, without having to find it:

        memory   The dog sleeps [end]          word  0 1 2 3
        written  (S (NP XX XX )NP              word  0 0 0 1 2 2     after two XX the next unread word is number 2
    """

    class Config(Mixer.Config):
        """`axis` is the coordinate that the tokens of both streams have."""

        axis: str

    cross = memory_shareable = True

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        if memory_dim is None:
            raise ConfigError("reads a place of a memory, and there is none", where="Abreast", fix="set memory_dim")
        self.axis = config.axis
        self.out = nn.Linear(memory_dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        memory = at.memory
        assert memory is not None and at.cross is not None, "this mixer reads a memory: none was given"

        def mapped() -> Tensor:
            return self.out(memory.x)

        values = mapped() if slots is None else slots.once("abreast", mapped)
        place, found = at.cross.memo(("abreast", self.axis), lambda: self.places(at))
        rows = torch.arange(x.shape[0], device=x.device) // at.rows_per_memory
        return values[rows[:, None], place].masked_fill(~found[..., None], 0.0)

    def places(self, at: Pass) -> tuple[Int[Tensor, "B Q"], Bool[Tensor, "B Q"]]:
        """For each reader the place of the token that it reads, and whether there is one."""
        assert at.memory is not None
        for name, tokens in (("tokens", at.tokens), ("memory", at.memory)):
            if self.axis not in tokens.coords:
                raise ConfigError(f"the {name} have no coordinate {self.axis!r}", where="Abreast.axis")
        own, theirs = at.tokens.coords[self.axis], at.memory.coords[self.axis]
        theirs = torch.where(at.memory.valid, theirs, -1).repeat_interleave(at.rows_per_memory, 0)
        same = own[:, :, None] == theirs[:, None, :]
        return same.int().argmax(-1), same.any(-1)
