"""Encoder–decoders by name: `swift`, the default; `transformer`, the paper's; `lstm` and `lstm-attention` before it."""

from collections.abc import Callable
from typing import Literal

from weft.core import (
    Additive,
    Attention,
    Block,
    Dot,
    Last,
    LayerNorm,
    Lstm,
    Mlp,
    PerToken,
    Plain,
    PostNorm,
    SilentInit,
    TokenShift,
    Trunk,
)
from weft.core.linear import XavierInit
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo.language import Size
from weft.position import Add, Rotary, Sinusoidal

Reading = Literal["line", "free"]


def swift(size: Size, *, vocab: int, dropout: float = 0.0) -> Seq2Seq.Config:
    """The language model's `swift` on both sides, with attention from the decoder to the encoder."""
    norm = LayerNorm.Config(learned=False)

    read = Attention.Config(heads=size.heads, qk_norm=norm, score=Dot.Config(temperature=0.9), offsets=False)
    mix = read.replace(turn=Rotary.Config(base=1000.0))

    def side(reading: Reading, read: Attention.Config | None, head: PerToken.Config | None) -> Stream.Config:
        block = Block.Config(
            mix=mix,
            read=read,
            transform=Mlp.Config(activation="relu_squared", offsets=False),
            norm=norm,
            shift=TokenShift.Config() if reading == "line" else None,
            dropout=dropout,
        )
        embed = TextEmbed.Config(
            vocab=vocab, context=size.context, reading=reading, norm=norm, std=0.7, dropout=dropout
        )
        trunk = Trunk.Config(depth=size.depth, block=block, norm=norm, init=SilentInit.Config())
        return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=head)

    return Seq2Seq.Config(
        source=side("free", None, None),
        target=side("line", read, PerToken.Config(std=0.0)),
        shared=True,
    )


def transformer(size: Size, *, vocab: int, dropout: float = 0.1) -> Seq2Seq.Config:
    """The Transformer (Vaswani et al., 2017): post-norm, sinusoids, ReLU, one table for both sides and the output."""
    attention = Attention.Config(heads=size.heads)

    def side(reading: Reading, read: Attention.Config | None, head: PerToken.Config | None) -> Stream.Config:
        block = Block.Config(
            mix=attention,
            read=read,
            transform=Mlp.Config(activation="relu"),
            wiring=PostNorm.Config(),
            dropout=dropout,
        )
        embed = TextEmbed.Config(
            vocab=vocab,
            context=size.context,
            reading=reading,
            place=Add.Config(code=Sinusoidal.Config()),
            std=size.dim**-0.5,
            scale=size.dim**0.5,
            dropout=dropout,
        )
        trunk = Trunk.Config(depth=size.depth, block=block, init=XavierInit.Config())
        return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=head)

    return Seq2Seq.Config(
        source=side("free", None, None), target=side("line", attention, PerToken.Config(tied=True)), shared=True
    )


def lstm(size: Size, *, vocab: int, dropout: float = 0.0) -> Seq2Seq.Config:
    """LSTM to LSTM through one context vector (Sutskever et al., 2014)."""
    return _recurrent(size, vocab, dropout, [Lstm.Config(read=Last.Config())] * size.depth)


def lstm_attention(size: Size, *, vocab: int, dropout: float = 0.0) -> Seq2Seq.Config:
    """LSTM to LSTM with a new context at each step, from an alignment model (Bahdanau et al., 2015).

    Scores are divided by sqrt(D): at this recipe's learning rate v otherwise grows so fast that all attention stays on
    the first word.
    """
    reader = Lstm.Config(read=Attention.Config(heads=1, score=Additive.Config(temperature=size.dim**0.5)))
    return _recurrent(size, vocab, dropout, [reader] + [Lstm.Config(read=Last.Config())] * (size.depth - 1))


def _recurrent(size: Size, vocab: int, dropout: float, layers: list[Lstm.Config]) -> Seq2Seq.Config:
    def side(mixers: list[Lstm.Config], head: PerToken.Config | None) -> Stream.Config:
        blocks = tuple(Block.Config(mix=mix, wiring=Plain.Config(), dropout=dropout) for mix in mixers)
        embed = TextEmbed.Config(vocab=vocab, context=size.context, std=0.1, dropout=dropout)
        trunk = Trunk.Config(blocks=blocks, init=XavierInit.Config())
        return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=head)

    return Seq2Seq.Config(source=side([Lstm.Config()] * size.depth, None), target=side(layers, PerToken.Config()))


TRANSLATION_MODELS: dict[str, Callable[..., Seq2Seq.Config]] = {
    "swift": swift,
    "transformer": transformer,
    "lstm": lstm,
    "lstm-attention": lstm_attention,
}
