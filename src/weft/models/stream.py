"""Stream: one stream of tokens from an embedder through a trunk to a head. GPT, BERT and ViT are streams.

Whether it encodes or decodes is not decided here: the tokens' ranks say who reads whom.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core.attention import Attention
from weft.core.cache import Cache
from weft.core.heads import Head
from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.tokens import Tokens


class Model(Part, nn.Module):
    """Anything that a run can hold."""

    abstract = True

    class Config(BaseConfig):
        """The wirings."""

        def reader(self) -> "Stream.Config":
            """The stream that reads what is given to the model."""
            raise NotImplementedError

    config: Config
    frozen: tuple[str, ...] = ()  # parts whose weights are not trained

    def freeze(self, *names: str) -> "Model":
        """Freeze these parts: no gradients, and always in evaluation mode (no dropout, no statistics of a batch)."""
        self.frozen = (*self.frozen, *names)
        for name in names:
            self.get_submodule(name).requires_grad_(False)
        return self.train(self.training)

    def train(self, mode: bool = True) -> "Model":
        """Set training or evaluation mode; frozen parts always stay in evaluation mode."""
        super().train(mode)
        for name in self.frozen:
            self.get_submodule(name).eval()
        return self

    def reader(self) -> "Stream | None":
        """The stream that reads what is given to the model, where its tokens are all that the rest needs of it."""
        return None

    def backbone(self) -> "tuple[Stream.Config, str]":
        """The stream inside that other tasks may continue with, and the prefix of its weights' names."""
        raise ConfigError(f"a {type(self).__name__} has no part that another task could go on with", where="--from")

    def follow(self, weights: Mapping[str, Tensor], progress: float) -> bool:
        """Update `weights` (by name, in full precision) after an optimizer step; returns whether anything changed."""
        return False


class Stream(Model):
    """raw values -> embed -> trunk -> head -> values."""

    class Config(Model.Config):
        """`dim` is the width of everything; `outputs` the head's size, by default the embedder's."""

        dim: int
        embed: Embedder.Config
        trunk: Trunk.Config
        head: Head.Config | None = None
        outputs: int | None = None
        memory_dim: int | None = None

        def reader(self) -> "Stream.Config":
            return self

        def check(self) -> None:
            if self.dim < 1:
                raise ConfigError(f"must be at least 1, found {self.dim}", where="Stream.dim")
            for block in self.trunk.all_blocks():
                for part in (block.mix, block.read):
                    if isinstance(part, Attention.Config):
                        part.width(self.dim)  # refuses a width that does not divide, before anything is built

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embed = config.embed.build(dim=config.dim)
        self.trunk = config.trunk.build(dim=config.dim, memory_dim=config.memory_dim)
        self.head = None
        if config.head is not None:
            size = config.outputs or config.embed.size
            self.head = config.head.build(dim=config.dim, size=size, table=getattr(self.embed, "table", None))

    def reader(self) -> "Stream":
        return self

    def backbone(self) -> "tuple[Stream.Config, str]":
        return self.config, ""

    def encode(self, raw: Any, *, memory: Tokens | None = None, cache: Cache | None = None) -> Tokens:
        """The trunk's last tokens. Those that were computed before, as of a frozen encoder, pass as they are."""
        if isinstance(raw, Tokens):
            return raw
        tokens = self.embed(raw, slots=cache.slots("embed") if cache is not None else None)
        return self.trunk(tokens, memory, cache)

    def forward(self, raw: Any, *, memory: Tokens | None = None, cache: Cache | None = None) -> Tensor:
        """The head's values."""
        assert self.head is not None, "this stream has no head: use encode"
        return self.head(self.encode(raw, memory=memory, cache=cache))
