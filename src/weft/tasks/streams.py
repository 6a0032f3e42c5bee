"""Runs whose model is one stream of text, continued or read whole: what it is looked at and compared by."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
import torch

from weft.codecs.codec import Codecs
from weft.codecs.text import TextCodec, only_texts
from weft.errors import WeftError
from weft.generate.compute import Compute
from weft.inspect.texts import LookAtText, TextVectors, look_at_text, text_vectors
from weft.inspect.views import Answer, View
from weft.modalities.text import Text
from weft.models.backbone import context_of
from weft.tasks.request import Loaded
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.sized import SizedTraining

T = TypeVar("T", bound=SizedTraining)
Answers = Callable[[np.ndarray], Answer | None]
ANSWERS = 3  # of the likeliest that a look shows


def text_of(codecs: Codecs) -> TextCodec:
    """The codec of the text."""
    codec = codecs.get("text")
    if codec is None:
        fix = "put its tokenizer.json beside its config.json"
        raise WeftError("this model came without a tokenizer: it reads no texts", where="tokenizer.json", fix=fix)
    assert isinstance(codec, TextCodec)
    return codec


def look_at(run: Loaded, given: object, how: LookAtText, answer: Answers | None = None) -> View:
    """What the run's model reads within a text; `answer` gives what it answers to the ids of the text."""
    codec, model = text_of(run.codecs), run.stream
    (text,) = only_texts([given])
    (ids,) = codec.encode([text], context_of(model.config)).rows
    said = None if answer is None or how.table or model.head is None else answer(ids)
    return look_at_text(model, codec.tokenizer, ids, text, how, said)


@torch.inference_mode()
def next_tokens(run: Loaded, ids: np.ndarray) -> Answer:
    """The likeliest tokens to follow ids."""
    model, tokenizer = run.stream.eval(), text_of(run.codecs).tokenizer
    read = torch.from_numpy(np.asarray(ids, np.int64))[None].to(next(model.parameters()).device)
    best = model(Text(read))[0, -1, : tokenizer.size].float().softmax(-1).topk(min(ANSWERS, tokenizer.size))
    named = [
        tokenizer.names[id] if id in tokenizer.special else repr(tokenizer.decode([id])) for id in best[1].tolist()
    ]
    return Answer(tuple(zip(named, best[0].tolist(), strict=True)), "next token")


class Embedding(Compute, TextVectors):
    """Settings of the vectors of texts, the precision of the model among them."""

    about: ClassVar[Mapping[str, str]] = {**TextVectors.about, **Compute.about}


def vectors_of(run: Loaded, inputs: Sequence[object], settings: Mapping[str, object]) -> np.ndarray:
    """One vector for each text."""
    how = with_settings(run.usual(Embedding, "embed"), settings)
    texts = [text.lower() if how.lower else text for text in only_texts(inputs)]
    context = context_of(run.model.config)
    rows = text_of(run.codecs).encode(texts, min(context, how.longest or context)).rows
    return text_vectors(run.computing(how.precision).stream, rows, how)
