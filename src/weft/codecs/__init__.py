"""Codecs: the two ends of a task's samples, each between what people have and the numbers of a model."""

from weft.codecs.classes import ClassCodec
from weft.codecs.codec import Codec, Codecs, codecs_from_json
from weft.codecs.graph import GraphCodec
from weft.codecs.label import LabelCodec
from weft.codecs.numbers import NumberCodec
from weft.codecs.picture import PictureCodec
from weft.codecs.tags import TagCodec
from weft.codecs.text import TextCodec, TextMarks

__all__ = [
    "ClassCodec",
    "Codec",
    "Codecs",
    "GraphCodec",
    "LabelCodec",
    "NumberCodec",
    "PictureCodec",
    "TagCodec",
    "TextCodec",
    "TextMarks",
    "codecs_from_json",
]
