"""Codecs: the two ends of a task's samples, each between what people have and the numbers of a model."""

from weft.codecs.classes import ClassCodec
from weft.codecs.codec import Codec, Codecs, codecs_from_json
from weft.codecs.colours import ColourCodec
from weft.codecs.field import FieldCodec
from weft.codecs.gaps import GapCodec
from weft.codecs.graph import GraphCodec
from weft.codecs.label import LabelCodec
from weft.codecs.numbers import NumberCodec
from weft.codecs.picture import PictureCodec
from weft.codecs.places import PlaceCodec
from weft.codecs.several import SeveralCodec
from weft.codecs.symbols import SymbolCodec
from weft.codecs.tags import TagCodec
from weft.codecs.text import TextCodec, TextMarks
from weft.codecs.usual_answers import UsualAnswers
from weft.codecs.words import WordCodec

__all__ = [
    "ClassCodec",
    "Codec",
    "Codecs",
    "ColourCodec",
    "FieldCodec",
    "GapCodec",
    "GraphCodec",
    "LabelCodec",
    "NumberCodec",
    "PictureCodec",
    "PlaceCodec",
    "SeveralCodec",
    "SymbolCodec",
    "TagCodec",
    "TextCodec",
    "TextMarks",
    "UsualAnswers",
    "WordCodec",
    "codecs_from_json",
]
