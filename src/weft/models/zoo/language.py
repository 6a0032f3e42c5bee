"""Language models by name: `gpt`, `llama`, `lstm`, and `swift`, the default."""

from collections.abc import Callable
from dataclasses import dataclass

from weft.core import (
    Attention,
    Block,
    Dot,
    Gated,
    LayerNorm,
    Lstm,
    Mlp,
    PerToken,
    Plain,
    RmsNorm,
    SilentInit,
    TokenShift,
    Trunk,
)
from weft.errors import ConfigError
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.position import Add, Learned, Rotary


@dataclass(frozen=True)
class Size:
    """The sizes that a preset or a plan fixes."""

    dim: int
    depth: int
    heads: int
    context: int

    def check(self) -> None:
        """Refuse what cannot be built, with the arithmetic."""
        for name in ("dim", "depth", "heads", "context"):
            if getattr(self, name) < 1:
                raise ConfigError(f"must be at least 1, found {getattr(self, name)}", where=name)
        if self.dim % self.heads:
            raise ConfigError(
                f"a width of {self.dim} does not divide into {self.heads} heads ({self.dim} / {self.heads} = "
                f"{self.dim / self.heads:.2f})",
                where="heads",
                fix=f"--set dim={self.heads * max(1, round(self.dim / self.heads))} or another number of heads",
            )


def gpt(size: Size, *, vocab: int, dropout: float = 0.0) -> Stream.Config:
    """GPT-2's layout (Radford et al., 2019): learned positions, pre-norm, GELU, tied head."""
    block = Block.Config(
        mix=Attention.Config(heads=size.heads), transform=Mlp.Config(activation="gelu_tanh"), dropout=dropout
    )
    return Stream.Config(
        dim=size.dim,
        embed=TextEmbed.Config(
            vocab=vocab,
            context=size.context,
            place=Add.Config(code=Learned.Config(size=size.context)),
            dropout=dropout,
        ),
        trunk=Trunk.Config(depth=size.depth, block=block),
        head=PerToken.Config(tied=True),
    )


def llama(size: Size, *, vocab: int, dropout: float = 0.0) -> Stream.Config:
    """Llama's layout (Touvron et al., 2023): rotary, RMS norm, gated MLP, key heads shared by two query heads."""
    shared = size.heads // 2 if size.heads % 2 == 0 else size.heads
    block = Block.Config(
        mix=Attention.Config(heads=size.heads, kv_heads=shared, turn=Rotary.Config(), offsets=False),
        transform=Gated.Config(),
        norm=RmsNorm.Config(),
        dropout=dropout,
    )
    return Stream.Config(
        dim=size.dim,
        embed=TextEmbed.Config(vocab=vocab, context=size.context, dropout=dropout),
        trunk=Trunk.Config(depth=size.depth, block=block, norm=RmsNorm.Config()),
        head=PerToken.Config(),
    )


def lstm(size: Size, *, vocab: int, dropout: float = 0.0) -> Stream.Config:
    """Stacked LSTMs, the recurrent baseline: no attention, no skip, the state carries everything."""
    block = Block.Config(mix=Lstm.Config(), wiring=Plain.Config(), dropout=dropout)
    return Stream.Config(
        dim=size.dim,
        embed=TextEmbed.Config(vocab=vocab, context=size.context, std=0.1, dropout=dropout),
        trunk=Trunk.Config(depth=size.depth, block=block),
        head=PerToken.Config(),
    )


def swift(size: Size, *, vocab: int, dropout: float = 0.0) -> Stream.Config:
    """Weft's default: rotary, normalised queries and keys, squared ReLU, norms without weights, silent start.

    For small vocabularies (bytes, characters) hashed vectors of the last two and three symbols are added, and each
    token is mixed a little with the one before. docs/choices.md has the measurements behind each part.
    """
    norm = LayerNorm.Config(learned=False)
    fine = vocab <= 1024
    block = Block.Config(
        mix=Attention.Config(
            heads=size.heads,
            turn=Rotary.Config(base=1000.0),
            qk_norm=norm,
            score=Dot.Config(temperature=0.9),
            offsets=False,
        ),
        transform=Mlp.Config(activation="relu_squared", offsets=False),
        norm=norm,
        shift=TokenShift.Config(),
        dropout=dropout,
    )
    return Stream.Config(
        dim=size.dim,
        embed=TextEmbed.Config(
            vocab=vocab,
            context=size.context,
            grams=HashedNgrams.Config() if fine else None,
            norm=norm,
            std=0.7,
            dropout=dropout,
        ),
        trunk=Trunk.Config(depth=size.depth, block=block, norm=norm, init=SilentInit.Config()),
        head=PerToken.Config(cap=15.0, std=0.0),
    )


LANGUAGE_MODELS: dict[str, Callable[..., Stream.Config]] = {"swift": swift, "gpt": gpt, "llama": llama, "lstm": lstm}
