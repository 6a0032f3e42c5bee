"""Models that answer questions about pictures, by name: an encoder reads picture and question, a decoder answers.

`swift`, the default, on convolutional features; `transformer`, on patches. Picture and question are one stream, in
which all tokens read each other (Kim et al., 2021); the decoder reads that stream and writes the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from weft.core import LayerNorm
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import captioning
from weft.models.zoo.language import Size
from weft.models.zoo.vision import POSITION_STD, vit
from weft.position import Add, Learned


@dataclass(frozen=True)
class Words:
    """The words of questions and answers: the size of the vocabulary, and the most tokens of a question."""

    vocab: int
    longest: int


def swift(encoder: Stream.Config, size: Size, words: Words, *, dropout: float = 0.0) -> Seq2Seq.Config:
    """The decoder of translation's `swift`; questions and answers have one table of vectors, brought to one length."""
    writer = captioning.swift(encoder, size, vocab=words.vocab, dropout=dropout)
    norm = LayerNorm.Config(learned=False)
    question = _question(words, dropout).replace(norm=norm, std=0.7)
    return writer.replace(source=with_question(encoder, question), shared=encoder.dim == size.dim)


def transformer(encoder: Stream.Config, size: Size, words: Words, *, dropout: float = 0.0) -> Seq2Seq.Config:
    """A decoder of GPT-2's layout that reads picture and question between mixing and transforming."""
    writer = captioning.transformer(encoder, size, vocab=words.vocab, dropout=dropout)
    return writer.replace(source=with_question(encoder, _question(words, dropout)))


def with_question(encoder: Stream.Config, question: TextEmbed.Config) -> Stream.Config:
    """An encoder of pictures whose trunk reads a text beside each."""
    assert isinstance(encoder.embed, PictureEmbed.Config)
    return encoder.replace(embed=PictureTextEmbed.Config(picture=encoder.embed, text=question))


def _question(words: Words, dropout: float) -> TextEmbed.Config:
    place = Add.Config(code=Learned.Config(size=words.longest, std=POSITION_STD))
    return TextEmbed.Config(vocab=words.vocab, context=words.longest, reading="free", place=place, dropout=dropout)


ANSWER_MODELS: dict[str, Callable[..., Seq2Seq.Config]] = {"swift": swift, "transformer": transformer}
ANSWER_ENCODERS: dict[str, Callable[..., Stream.Config]] = {"swift": captioning.silent_features, "transformer": vit}
