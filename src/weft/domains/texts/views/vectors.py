"""Texts as a model sees them: a vector for each, what was read within one, and what lies near it in the table."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from weft.batches.like_lengths import ids_together
from weft.config import Config
from weft.domains.texts.views.reading import text_reading
from weft.inspect.nearest import NearestView, WordSpace
from weft.inspect.token_steps import TOKEN, StepView
from weft.inspect.views import AttentionChoice, LookedAnswer, View
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream


class LookAtText(Config):
    """What to look at."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    table: bool = False
    token: str | None = None
    what: Literal["positions"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "every": "every head of every layer, each in its own panel",
        "token": TOKEN,
        "table": "tokens with the nearest embeddings to a word, or to a sum such as king - man + woman",
        "what": "positions: how the model knows where a token stands (sines, a table, turns); needs no text",
    }


class TextVectors(Config):
    """Settings of the vectors of texts."""

    summary: Literal["mean", "class", "max"] = "mean"
    normalise: bool = True
    longest: int | None = None
    lower: bool = False
    prompt: str = ""
    prompt_counts: bool = True

    about: ClassVar[Mapping[str, str]] = {
        "summary": "pooling: mean (of all tokens), class (the first token) or max (the greatest of each value)",
        "normalise": "scale each vector to length 1, so that dot products are cosine similarities",
        "longest": "read at most this number of tokens of a text; by default the model's context length",
        "lower": "change all letters to lower case first",
        "prompt": "a text that is read before each text, such as 'query: '",
        "prompt_counts": "whether pooling takes the tokens of the prompt too",
    }


def look_at_text(
    model: Stream,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    text: str,
    how: LookAtText,
    answer: LookedAnswer | None = None,
    segments: np.ndarray | None = None,
) -> View:
    """What was read within a text, by all tokens or by one step by step, or what lies near it in the table.

    `segments` say which of two texts in one row each token belongs to.
    """
    if how.table:
        embed: Any = model.embed
        return NearestView(WordSpace.of_tokens(embed.table.weight.detach().float().cpu().numpy(), tokenizer), text)
    choice = AttentionChoice(how.layer, how.head, how.every)
    view = text_reading(model, tokenizer, ids, text, choice, answer, segments)
    return view if how.token is None else StepView(view.steps(how.token), text, answer)


@torch.inference_mode()
def text_vectors(model: Stream, rows: Sequence[np.ndarray], how: TextVectors, skip: int = 0) -> np.ndarray:
    """One vector for each text, texts of like length computed together; pooling leaves out the first `skip` tokens."""
    found = np.zeros((len(rows), model.config.dim), np.float32)
    device = next(model.parameters()).device
    model.eval()
    for some, lines in ids_together(rows):
        raw = lines.to(device).raw()
        x, real = model.encode(raw).x.float(), raw.valid
        if skip:
            behind = (torch.arange(x.shape[1], device=device) >= skip).expand(x.shape[:2])
            real = behind if real is None else behind & real
        vector = _summed_up(x, real, how.summary)
        found[some] = (F.normalize(vector, dim=-1) if how.normalise else vector).cpu().numpy()
    return found


def _summed_up(
    x: Float[Tensor, "B N D"], real: Bool[Tensor, "B N"] | None, summary: Literal["mean", "class", "max"]
) -> Float[Tensor, "B D"]:
    """One vector for each row; `real` is None where every token counts. The class token is the first that does."""
    if summary == "class":
        return x[:, 0] if real is None else x[torch.arange(len(x), device=x.device), real.int().argmax(1)]
    if summary == "max":
        return (x if real is None else x.masked_fill(~real[..., None], float("-inf"))).amax(1)
    if real is None:
        return x.mean(1)
    return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
