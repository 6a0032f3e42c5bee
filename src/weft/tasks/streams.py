"""Runs whose model is one stream of text, continued or read whole: what it is looked at and compared by."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from weft.codecs import Codecs, TextCodec
from weft.codecs.text import only_texts
from weft.config import from_json
from weft.errors import WeftError
from weft.inspect.texts import LookAtText, TextVectors, look_at_text, text_vectors
from weft.inspect.views import View
from weft.models.stream import Stream
from weft.tasks.recipes.language import context_of
from weft.tasks.request import Loaded
from weft.tasks.settings import SizedTraining, with_settings

T = TypeVar("T", bound=SizedTraining)


def text_of(codecs: Codecs) -> TextCodec:
    """The codec of the text."""
    codec = codecs.get("text")
    if codec is None:
        fix = "put its tokenizer.json beside its config.json"
        raise WeftError("this model came without a tokenizer: it reads no texts", where="tokenizer.json", fix=fix)
    assert isinstance(codec, TextCodec)
    return codec


def stream_of(run: Loaded) -> Stream:
    """The run's model, which is one stream."""
    assert isinstance(run.model, Stream)
    return run.model


def look_at(run: Loaded, given: object, how: LookAtText) -> View:
    """What the run's model reads within a text."""
    codec, model = text_of(run.codecs), stream_of(run)
    (text,) = only_texts([given])
    (ids,) = codec.encode([text], context_of(model.config)).rows
    return look_at_text(model, codec.tokenizer, ids, text, how)


def vectors_of(run: Loaded, inputs: Sequence[object], settings: Mapping[str, object]) -> np.ndarray:
    """One vector for each text."""
    how = with_settings(run.usual(TextVectors, "embed"), settings)
    texts = [text.lower() if how.lower else text for text in only_texts(inputs)]
    context = context_of(run.model.config)
    rows = text_of(run.codecs).encode(texts, min(context, how.longest or context)).rows
    return text_vectors(stream_of(run), rows, how)


def training_of(run: Loaded, kind: type[T]) -> T:
    """The settings that the run was trained with."""
    return from_json(run.config["training"], kind, where=f"{run.folder.path}/config.json: training")  # type: ignore[no-any-return]
