"""Text encoders by name: `swift`, the default, and `bert`, the paper's. Every token reads every other.

A head says what is wanted of the text: `fill` gives logits over the vocabulary for each token, `tags` gives `outputs`
for each token, `pooled` gives `outputs` for the whole, `span` gives two logits for each token, where an answer begins
and where it ends; None gives none, for those who want the tokens themselves.
"""

from collections.abc import Callable
from typing import Literal

from weft.core import (
    Attention,
    Block,
    Dense,
    Dot,
    Head,
    LayerNorm,
    Mlp,
    PerToken,
    Pooled,
    PostNorm,
    SilentInit,
    SpanEnds,
    TokenShift,
    Trunk,
)
from weft.errors import ConfigError
from weft.modalities.spelling import Spelling
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.models.zoo.language import Size
from weft.position import Add, Learned, Rotary

Wanted = Literal["fill", "pooled", "tags", "span"] | None
Told = Literal["class", "mean"]


def bert(
    size: Size,
    *,
    vocab: int,
    head: Wanted,
    outputs: int | None = None,
    dropout: float = 0.1,
    summary: Told = "class",
) -> Stream.Config:
    """BERT (Devlin et al., 2019): post-norm, GELU, learned places, two segments, one norm of the sum of them all.

    A masked word is predicted by a dense layer, a norm and the tied table; a class by the first token through a tanh.
    """
    norm = LayerNorm.Config(eps=1e-12)
    block = Block.Config(
        mix=Attention.Config(heads=size.heads),
        transform=Mlp.Config(activation="gelu"),
        norm=norm,
        wiring=PostNorm.Config(),
        dropout=dropout,
    )
    embed = TextEmbed.Config(
        vocab=vocab,
        context=size.context,
        reading="free",
        place=Add.Config(code=Learned.Config(size=size.context)),
        segments=2,
        last_norm=norm,
        dropout=dropout,
    )
    pooler = Dense.Config(activation="tanh") if summary == "class" else None
    heads: dict[str, Head.Config] = {
        "fill": PerToken.Config(tied=True, offsets=True, dense=Dense.Config(activation="gelu", norm=norm)),
        "pooled": Pooled.Config(first=summary == "class", dense=pooler, dropout=dropout),
        "tags": PerToken.Config(offsets=True),
        "span": SpanEnds.Config(),
    }
    trunk = Trunk.Config(depth=size.depth, block=block)
    return _stream(size, embed, trunk, head, heads, outputs)


def swift(
    size: Size,
    *,
    vocab: int,
    head: Wanted,
    outputs: int | None = None,
    dropout: float = 0.0,
    summary: Told = "class",
    spelling: Spelling.Config | None = None,
    token_dropout: float = 0.0,
) -> Stream.Config:
    """The language model's `swift`, reading both ways.

    Each token is mixed a little with the one before, as there: without that, filling in blanks stays for thousands of
    steps at what the frequencies of words alone tell.
    """
    norm = LayerNorm.Config(learned=False)
    mix = Attention.Config(
        heads=size.heads,
        turn=Rotary.Config(base=1000.0),
        qk_norm=norm,
        score=Dot.Config(temperature=0.9),
        offsets=False,
    )
    transform = Mlp.Config(activation="relu_squared", offsets=False)
    block = Block.Config(mix=mix, transform=transform, norm=norm, shift=TokenShift.Config(), dropout=dropout)
    embed = TextEmbed.Config(
        vocab=vocab,
        context=size.context,
        reading="free",
        grams=HashedNgrams.Config() if vocab <= 400 else None,  # characters and bytes
        norm=norm,
        segments=2 if head == "span" else 0,
        std=0.7,
        dropout=dropout,
        token_dropout=token_dropout,
        spelling=spelling,
    )
    heads: dict[str, Head.Config] = {
        "fill": PerToken.Config(cap=15.0, std=0.0),
        "pooled": Pooled.Config(first=summary == "class", dropout=dropout, std=0.0),
        "tags": PerToken.Config(offsets=True, std=0.0),
        "span": SpanEnds.Config(std=0.0),
    }
    trunk = Trunk.Config(depth=size.depth, block=block, norm=norm, init=SilentInit.Config())
    return _stream(size, embed, trunk, head, heads, outputs)


def _stream(
    size: Size,
    embed: TextEmbed.Config,
    trunk: Trunk.Config,
    head: Wanted,
    heads: dict[str, Head.Config],
    outputs: int | None,
) -> Stream.Config:
    asks = head in ("pooled", "tags")
    if asks and outputs is None:
        raise ConfigError(f"a model with a {head} head needs to know how many outputs it has", where="outputs")
    if outputs is not None and not asks:
        raise ConfigError(f"a number of outputs is for heads that are pooled or tags, not {head}", where="outputs")
    chosen = None if head is None else heads[head]
    return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=chosen, outputs=outputs)


ENCODER_MODELS: dict[str, Callable[..., Stream.Config]] = {"swift": swift, "bert": bert}
