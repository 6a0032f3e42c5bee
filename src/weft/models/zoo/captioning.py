"""Models that write about pictures, by name: an encoder of pictures (`CAPTION_ENCODERS`) and a decoder that reads its tokens.

`swift`, the default; `transformer`, transformers from pixels to language; `cnn-transformer`, on convolutional features; `coca`,
which also compares pictures with texts.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import language, translation
from weft.models.zoo.contrastive import coca
from weft.models.zoo.language import Size
from weft.models.zoo.vision import Sight, VisionSize, small_net, vit, vit_hybrid

TOKENS_PER_SIDE = 8  # of a picture, about: a decoder reads them again for every word
STAGES = (0, 1, 0, 1, 1)  # residual blocks between halvings


def swift(encoder: Stream.Config, size: Size, *, vocab: int, dropout: float = 0.0) -> Seq2Seq.Config:
    """The decoder of translation's `swift`, which reads a picture's tokens in place of a sentence's."""
    writer = translation.swift(size, vocab=vocab, dropout=dropout)
    return Seq2Seq.Config(source=encoder, target=writer.target)


def transformer(encoder: Stream.Config, size: Size, *, vocab: int, dropout: float = 0.0) -> Seq2Seq.Config:
    """A decoder of GPT-2's layout whose blocks read the picture between mixing and transforming."""
    writer = language.gpt(size, vocab=vocab, dropout=dropout)
    block = writer.trunk.block
    assert block is not None
    trunk = writer.trunk.replace(block=block.replace(read=block.mix))
    bridge = None if encoder.dim == size.dim else size.dim
    return Seq2Seq.Config(source=encoder, target=writer.replace(trunk=trunk), bridge=bridge)


def features(
    size: VisionSize, sight: Sight, *, outputs: int | None = None, dropout: float = 0.0, drop: float = 0.0
) -> Stream.Config:
    """A transformer on the features of a small convolutional network, which halves large pictures more often."""
    if size.net.stem == "small":
        halvings = round(math.log2(max(sight.height, sight.width) / TOKENS_PER_SIDE))
        depths = STAGES[: min(max(halvings, 1), len(STAGES) - 1) + 1]
        size = replace(size, net=small_net(size.net.widths[0], depths))
    return vit_hybrid(size, sight, outputs=outputs, dropout=dropout, drop=drop)


CAPTION_MODELS: dict[str, Callable[..., Seq2Seq.Config]] = {
    "swift": swift,
    "transformer": transformer,
    "cnn-transformer": transformer,
    "coca": coca,
}
CAPTION_ENCODERS: dict[str, Callable[..., Stream.Config]] = {
    "swift": features,
    "transformer": vit,
    "cnn-transformer": features,
    "coca": features,
}
