"""Models that write about pictures, by name: an encoder of pictures (`EYES`) and a decoder that reads its tokens.

`swift`, the default; `transformer`, transformers from pixels to language; `cnn-transformer`, on convolutional features.
"""

from collections.abc import Callable

from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import language, translation
from weft.models.zoo.language import Size
from weft.models.zoo.vision import vit, vit_hybrid


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


CAPTION_MODELS: dict[str, Callable[..., Seq2Seq.Config]] = {
    "swift": swift,
    "transformer": transformer,
    "cnn-transformer": transformer,
}
EYES: dict[str, Callable[..., Stream.Config]] = {"swift": vit_hybrid, "transformer": vit, "cnn-transformer": vit_hybrid}
