"""Seq2Seq: an encoder's tokens are the memory that a decoder reads. Translation, captioning, parsing."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import at_least, below_one
from weft.core.cache import Cache
from weft.core.draws import dropout
from weft.core.heads import PerToken
from weft.core.memories import Prefix
from weft.core.norms import Norm
from weft.core.recording import Recorder
from weft.errors import ConfigError
from weft.modalities.image import PictureEmbed
from weft.models.grounded import Grounded
from weft.models.stream import Model, Stream
from weft.position import Place
from weft.tokens import Tokens


class Seq2Seq(Model):
    """source -> encoder -> memory; target, memory -> decoder -> values for each target token."""

    class Config(Model.Config):
        """The decoder's `memory_dim` is the encoder's width, or `bridge`: a linear map brings the memory to that width.

        `bridge_norm` is of what this map gives (Wang et al., 2022). `shared`: one embedding table for both sides.
        `memory_norm` is of the encoder's tokens, of which training sets the share `memory_dropout` of the numbers to
        zero, before that map; `memory_place` adds places after it.
        """

        source: Stream.Config | Grounded.Config
        target: Stream.Config
        shared: bool = False
        bridge: int | None = None
        bridge_norm: Norm.Config | None = None
        memory_norm: Norm.Config | None = None
        memory_dropout: float = 0.0
        memory_place: Place.Config | None = None

        def reader(self) -> Stream.Config:
            return self.source.reader()

        def check(self) -> None:
            at_least(self, 1, "bridge")
            below_one(self, "memory_dropout")
            if self.bridge_norm is not None and self.bridge is None:
                raise ConfigError("there is no bridge whose values it could be of", where="Seq2Seq.bridge_norm")
            if not self.shared:
                return
            tables = [(getattr(s.embed, "narrow", None) or s.dim, s.embed.size) for s in (self.source, self.target)]
            if tables[0] != tables[1]:
                raise ConfigError(f"tables of {tables[0]} and {tables[1]} cannot be one", where="Seq2Seq.shared")

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.source = config.source.build()
        width = config.bridge or config.source.dim
        self.memory_norm = config.memory_norm.build(dim=config.source.dim) if config.memory_norm else None
        self.bridge = nn.Linear(config.source.dim, config.bridge) if config.bridge else None
        self.bridge_norm = config.bridge_norm.build(dim=width) if config.bridge_norm else None
        self.memory_place = config.memory_place.build(dim=width) if config.memory_place else None
        self.target = config.target.replace(memory_dim=width).build()
        if config.shared:
            table, head = self.source.embed.table, self.target.head
            if isinstance(head, PerToken) and head.out.weight is self.target.embed.table.weight:
                head.out.weight = table.weight
            self.target.embed.table = table

    def reader(self) -> Stream | None:
        return self.source.reader()

    def backbone(self) -> tuple[Stream.Config, str]:
        if not isinstance(self.config.source.embed, PictureEmbed.Config):
            return super().backbone()
        return self.config.source, "source."

    def memorise(self, raw: Any) -> Tokens:
        """The encoder's tokens as the decoder reads them, computed once for a source."""
        memory = self.source.encode(raw)
        x = memory.x if self.memory_norm is None else self.memory_norm(memory.x)
        x = dropout(x, self.config.memory_dropout, self.training)
        x = x if self.bridge is None else self.bridge(x.to(self.target.trunk.dtype))
        x = x if self.bridge_norm is None else self.bridge_norm(x)
        return memory.with_x(x if self.memory_place is None else self.memory_place(x, memory.coords))

    def forward(self, source: Any, target: Any) -> Tensor:
        """Values for each target token, given the true tokens before it."""
        return self.target(target, memory=self.memorise(source))

    def step(self, target: Any, memory: Tokens, cache: Cache) -> Tensor:
        """Values for new target tokens after those in the cache."""
        return self.target(target, memory=memory, cache=cache)


def memory_weights(model: Seq2Seq, recorded: Recorder, memory: Tokens) -> list[Float[Tensor, "B H N K"]]:
    """How much each target token read of each token of the memory, by layers; empty where no attention reads it.

    `recorded` is one pass of whole targets. A decoder that steps reads once for each token: its readings are joined.
    """
    readings = [found for name, found in recorded.readings.items() if name.startswith("target.")]
    across = [found for found in readings if found[0].attention.cross]
    if across or not isinstance(model.config.target.trunk.memory, Prefix.Config):
        return [torch.cat([reading.weights() for reading in found], 2) for found in across]
    length = memory.shape[1]  # one line: the memory's tokens stand before those of the target
    written = [range(length, found[0].q.shape[2]) for found in readings]
    return [found[0].weights(queries=some)[..., :length] for found, some in zip(readings, written, strict=True)]
