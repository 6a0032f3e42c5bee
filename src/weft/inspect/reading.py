"""ReadingView: attention within one input, by the names of its tokens. Knows no domain: the caller names the tokens."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from weft.core.recording import record
from weft.errors import WeftError
from weft.inspect import fonts, matrix
from weft.inspect.alignment import ROWS, Alignment, most_read, weights_of
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.rollout import rollout
from weft.inspect.steps import Steps
from weft.inspect.streams import Read, streams_of
from weft.inspect.token_steps import Readers
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer, View
from weft.models.stream import Stream

FIRST_TOKEN = (
    "The first token draws much attention in language models whatever it is; the colours are scaled without its column."
)


class ReadingView(View):
    """One input, and what each of its tokens read of the others. Shows itself in a notebook."""

    def __init__(
        self,
        model: Stream,
        raw: Any,
        labels: Sequence[str],
        said: str,
        how: AttentionChoice = ALL,
        answer: LookedAnswer | None = None,
        notes: Sequence[str] = (),
    ):
        """`raw` is a batch of one, as the embedder takes it; `labels` name its tokens, `said` is the input in words.

        `answer` is what the model answers to it; `notes` are sentences that a reader of the map should know.
        """
        self.labels, self.said, self.how, self.answer, self._notes = tuple(labels), said, how, answer, tuple(notes)
        model.eval()
        with torch.inference_mode(), record(model) as recorder:
            model.encode(raw)
        self._readings = [[reading] for readings in recorder.readings.values() for reading in readings]
        if not self._readings:
            raise WeftError("this model has no attention to look at", where="weft look")
        self._weights = weights_of(self._readings)
        how.indices(*self._weights.shape[:2])

    @property
    def about(self) -> str:
        layers, heads = self._weights.shape[:2]
        return f"attention in {layers} layers × {heads} heads over {len(self.labels)} tokens of {self.said[:60]!r}"

    @cached_property
    def attention(self) -> Alignment:
        """How much each token read of each other, for every layer and head."""
        return Alignment(source=self.labels, target=self.labels, weights=self._weights)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the map, in sentences."""
        return (*self._notes, *([FIRST_TOKEN] if self._scaled_without_first else []))

    @property
    def _scaled_without_first(self) -> bool:
        """Whether tokens read only what is before them: then all read the first, which reads itself with weight 1."""
        return len(self.labels) > 2 and not np.triu(self._weights, 1).any()

    def steps(self, token: str | int = 1) -> Steps:
        """The numbers of one head for one token: its query, the keys, scores, softmax and the sum of values."""
        return Readers(self._readings, self.labels, self.labels).steps(token, self.how)

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """Readers down the side, what they read along the top."""
        title = "" if self.answer is None else str(self.answer)
        first = int(self._scaled_without_first)
        return matrix.draw(self.attention, self.how, format=format, title=title, notes=self.notes, unscaled=first)

    def document(self) -> LookDocument:
        """The tokens, every head, and the attention through all layers."""
        groups, weights = (TokenGroup("text", self.labels),), self._weights
        through = rollout([torch.from_numpy(layer)[None] for layer in weights])[None].numpy()
        reads = [
            Read("attention", "text", "text", weights),
            Read("through all layers", "text", "text", through, "rollout"),
        ]
        streams, left = streams_of(reads, groups)
        token = len(self.labels) if self._scaled_without_first else 1
        return LookDocument(
            self.said, "text", self.about, self.text(), groups=groups, streams=streams, answer=self.answer,
            start=(*self.how.picked, ("token", f"text.{token}")), notes=(*self.notes, *left),
        )  # fmt: skip

    def text(self) -> str:
        """For each token, what it read most, in words."""
        said = [] if self.answer is None else [str(self.answer)]
        return "\n".join(
            [self.said, *said, "", ROWS, *most_read(self.attention.of(self.how).mean()), "", *self._notes]
        ).rstrip()

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs(list(self.labels))

    def to_json(self) -> dict[str, Any]:
        """Tokens, and the weights by layer, head, reader and read."""
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        return {"tokens": list(self.labels), **answer, "weights": self._weights.round(5).tolist()}
