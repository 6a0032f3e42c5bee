"""Runs whose model is one stream of text, continued or read whole: what it is looked at and compared by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.batches.like_lengths import ids_together
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.views.vectors import LookAtText, TextVectors, look_at_text, text_vectors
from weft.errors import WeftError
from weft.generate.compute import Compute
from weft.inspect.alignment import text_labels
from weft.inspect.positions import LinePositionsView, line_codes
from weft.inspect.study import Study, stream_study
from weft.inspect.views import LookedAnswer, View
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.models.stream import Stream
from weft.tasks.asks import Given, only_text, texts_of
from weft.tasks.codec import Codecs
from weft.tasks.request import Embedded, Loaded

Answers = Callable[[np.ndarray], LookedAnswer | None]
ANSWERS = 3  # of the likeliest that a look shows


def text_of(codecs: Codecs) -> TextCodec:
    """The codec of the text."""
    codec = codecs.get("text")
    if codec is None:
        fix = "put its tokenizer.json beside its config.json"
        raise WeftError("this model came without a tokenizer: it reads no texts", where="tokenizer.json", fix=fix)
    assert isinstance(codec, TextCodec)
    return codec


def looked(run: Loaded, inputs: Sequence[Given], how: LookAtText, look: Callable[[str], View]) -> View:
    """What `look` shows of the one text; or how the model knows positions, for which no text is needed."""
    return LinePositionsView(line_codes(run.stream)) if how.what == "positions" else look(only_text(inputs))


def look_at(run: Loaded, text: str, how: LookAtText, answer: Answers | None = None) -> View:
    """What the run's model reads within a text; `answer` gives what it answers to the ids of the text."""
    codec, model = text_of(run.codecs), run.stream
    (ids,) = codec.encode([text], context_of(model.config)).rows
    said = None if answer is None or how.table or model.head is None else answer(ids)
    return look_at_text(model, codec.tokenizer, ids, text, how, said)


def study_text(run: Loaded, ids: np.ndarray, **more: Any) -> Study:
    """The study of a text given by its ids; further arguments go to `stream_study`."""
    model, tokenizer = run.stream, text_of(run.codecs).tokenizer
    raw = Text(torch.from_numpy(np.asarray(ids, np.int64))[None].to(next(model.parameters()).device))
    return stream_study(model, raw, names=text_labels(tokenizer, ids), **more)


def study_whole(run: Loaded, text: str, **more: Any) -> Study:
    """The study of a text as its codec frames it."""
    (ids,) = text_of(run.codecs).encode([text], context_of(run.model.config)).rows
    return study_text(run, ids, **more)


def token_name(tokenizer: Tokenizer, id: int) -> str:
    """What a token is called as an answer."""
    return tokenizer.names[id] if id in tokenizer.special else repr(tokenizer.decode([id]))


@torch.inference_mode()
def next_tokens(run: Loaded, ids: np.ndarray) -> LookedAnswer:
    """The likeliest tokens to follow ids."""
    model, tokenizer = run.stream.eval(), text_of(run.codecs).tokenizer
    read = torch.from_numpy(np.asarray(ids, np.int64))[None].to(next(model.parameters()).device)
    best = model(Text(read))[0, -1, : tokenizer.size].float().softmax(-1).topk(min(ANSWERS, tokenizer.size))
    named = [token_name(tokenizer, id) for id in best[1].tolist()]
    return LookedAnswer(tuple(zip(named, best[0].tolist(), strict=True)), "next token")


@torch.inference_mode()
def text_values(model: Stream, rows: Sequence[np.ndarray], count: Callable[[int], None] = lambda more: None) -> Tensor:
    """The values of the model's head for each text, texts of like length computed together; `count` hears how many."""
    model.eval()
    found, device = torch.zeros(len(rows), model.config.outputs or 1), next(model.parameters()).device
    for some, lines in ids_together(rows):
        found[torch.from_numpy(some)] = model(lines.to(device).raw()).float().cpu()
        count(len(some))
    return found


class Embedding(Compute, TextVectors):
    """Settings of the vectors of texts, the precision of the model among them."""

    about: ClassVar[Mapping[str, str]] = {**TextVectors.about, **Compute.about}


def embedded_texts(run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
    """One vector for each text."""
    codec, context = text_of(run.codecs), context_of(run.model.config)
    given = [how.prompt + text for text in ("", *texts_of(inputs))]
    prompt, *texts = [text.lower() for text in given] if how.lower else given
    rows = codec.encode(texts, min(context, how.longest or context)).rows
    skip = 0 if how.prompt_counts or not prompt else len(codec.marks.before) + len(codec.ids([prompt])[0])
    vectors = text_vectors(run.computing(how.precision).stream, rows, how, skip)
    return Embedded([one.name for one in inputs], vectors)
