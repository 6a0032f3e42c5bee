"""What a model read of each word of a text when it read each other: attention within one text."""

from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from weft.core.recording import record
from weft.errors import WeftError
from weft.inspect import matrix
from weft.inspect.alignment import Alignment, piece_labels, weights_of
from weft.inspect.translation import MIN_LISTED_WEIGHT
from weft.inspect.views import ALL, AttentionChoice, page, svg_figure
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream


class ReadingView:
    """One text, and what each of its tokens read of the others. Shows itself in a notebook."""

    def __init__(self, model: Stream, tokenizer: Tokenizer, ids: np.ndarray, text: str, how: AttentionChoice = ALL):
        """`ids` are the text's with its marks."""
        self.tokenizer, self.ids, self.said, self.how = tokenizer, [int(id) for id in ids], text, how
        model.eval()
        with torch.inference_mode(), record(model) as recorder:
            model.encode(Text(torch.tensor([self.ids])))
        found = [[reading] for readings in recorder.readings.values() for reading in readings]
        if not found:
            raise WeftError("this model has no attention to look at", where="weft look")
        self._weights = weights_of(found)
        how.indices(*self._weights.shape[:2])

    @cached_property
    def attention(self) -> Alignment:
        """How much each token read of each other, for every layer and head."""
        labels = tuple(self._labels())
        return Alignment(source=labels, target=labels, weights=self._weights)

    def _labels(self) -> list[str]:
        """Marks by their names, other tokens as they are written."""
        special = set(self.tokenizer.special.tolist())
        plain = piece_labels(self.tokenizer, self.ids)
        return [self.tokenizer.names[id] if id in special else label for id, label in zip(self.ids, plain, strict=True)]

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """Readers down the side, what they read along the top."""
        return matrix.draw(self.attention, self.how, format=format)

    def page(self) -> bytes:
        """The same as a page that needs nothing else."""
        return page(self.said, svg_figure(self.picture("svg")))

    def text(self) -> str:
        """For each token, what it read most, in words."""
        chosen = self.attention.of(self.how).mean()
        width = max(map(len, chosen.target), default=0)
        lines = []
        for word, row in zip(chosen.target, chosen.weights[0, 0], strict=True):
            best = [int(i) for i in np.argsort(-row) if row[i] >= MIN_LISTED_WEIGHT]
            lines.append(f"  {word:<{width}}  " + ", ".join(f"{chosen.source[i]} {row[i]:.2f}" for i in best))
        return f"{self.said}\n\n" + "\n".join(lines)

    def note(self) -> str | None:
        """Nothing to say of it."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Tokens, and the weights by layer, head, reader and read."""
        return {"tokens": list(self.attention.target), "weights": self.attention.weights.round(5).tolist()}

    def _repr_png_(self) -> bytes:
        return self.picture()
