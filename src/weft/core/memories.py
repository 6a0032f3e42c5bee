"""How a trunk takes a memory: its blocks read it across, or it stands before the tokens in one line with them."""

from dataclasses import replace

import torch

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.errors import ConfigError
from weft.tokens import Order, Tokens, join


class MemoryUse(Part):
    """What a trunk does with the memory beside its tokens."""

    abstract = True

    class Config(BaseConfig):
        """The ways to take a memory."""

        def block_memory(self, dim: int, memory_dim: int | None) -> int | None:
            """The width of the memory that blocks of width `dim` read, or None where they read none."""
            return memory_dim

    def line(self, tokens: Tokens, memory: Tokens) -> Tokens:
        """The tokens that go through the blocks when a line begins: those given last."""
        return tokens

    def beside(self, memory: Tokens | None) -> Tokens | None:
        """The memory that the blocks read."""
        return memory


class Across(MemoryUse):
    """Blocks read the memory by a branch of their own, or inside a recurrent mixer."""

    class Config(MemoryUse.Config):
        """Encoder–decoders since Bahdanau et al. (2015)."""

    def __init__(self, config: Config):
        self.config = config


class Prefix(MemoryUse):
    """The memory stands before the tokens: it reads itself and is blind to them, and they read it as their past.

        memory  m m m m
        tokens          x_0 x_1 x_2 ...        ranks -1 -1 -1 -1 0 1 2 ...

    Along an axis where it has no places of its own, all of it stands at -1.
    """

    class Config(MemoryUse.Config):
        """One stream for both (Liu et al., 2018; Wang et al., 2022): no block needs a `read`."""

        def block_memory(self, dim: int, memory_dim: int | None) -> int | None:
            if memory_dim not in (None, dim):
                problem = f"a memory of width {memory_dim} cannot stand in a line of width {dim}"
                raise ConfigError(problem, where="Trunk.memory", fix=f"bring it to that width: bridge={dim}")
            return None

    def __init__(self, config: Config):
        self.config = config

    def line(self, tokens: Tokens, memory: Tokens) -> Tokens:
        rows = tokens.shape[0] // memory.shape[0]
        if rows > 1:
            memory = memory.rows(torch.arange(tokens.shape[0], device=tokens.x.device) // rows)
        coords = dict(memory.coords)
        for axis, places in tokens.coords.items():
            if axis not in coords:
                coords[axis] = places.new_full((*memory.shape, *places.shape[2:]), -1)
            elif axis == tokens.line_axis:
                coords[axis] = coords[axis] - memory.shape[1]
        prefix = replace(
            memory.with_x(memory.x.to(tokens.x.dtype)), rank=torch.full_like(memory.rank, -1), coords=coords
        )
        plain = tokens.order is Order.LINE
        return replace(join(prefix, tokens), order=Order.PREFIX if plain else Order.ANY)

    def beside(self, memory: Tokens | None) -> Tokens | None:
        return None
