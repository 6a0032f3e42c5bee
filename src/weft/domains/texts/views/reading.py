"""What a model read of each word of a text when it read each other: attention within one text."""

import numpy as np
import torch

from weft.inspect.alignment import text_labels
from weft.inspect.reading import ReadingView
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream


def text_reading(
    model: Stream,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    text: str,
    how: AttentionChoice = ALL,
    answer: LookedAnswer | None = None,
    segments: np.ndarray | None = None,
) -> ReadingView:
    """The view of one text by its tokens. `ids` are those of the text and its marks; `answer` is the model's.

    `segments` say which of two texts in one row each token belongs to.
    """
    numbers = [int(id) for id in ids]
    labels = text_labels(tokenizer, numbers)  # marks by their names, other tokens as they are written
    opened = numbers[0] == tokenizer.end and len(numbers) > 1
    start = f"{labels[0]} at the start is the mark between documents: the model reads it before every text."
    raw = Text(torch.tensor([numbers]), segments=None if segments is None else torch.from_numpy(segments)[None])
    raw = raw.to(next(model.parameters()).device)
    return ReadingView(model, raw, labels, text, how, answer, [start] if opened else [])
