"""ReadingView: attention within one input, by the names of its tokens. Knows no domain: the caller names the tokens."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from weft.core.recording import record
from weft.errors import WeftError
from weft.inspect import fonts, matrix
from weft.inspect.alignment import ROWS, Alignment, lines_of_read
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.rollout import rollout
from weft.inspect.steps import Steps
from weft.inspect.streams import Read, streams_of
from weft.inspect.token_steps import Readers
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer, View
from weft.inspect.weights import in_bins, mean_rows, weights_of
from weft.models.stream import Stream

LONG = 2048  # tokens, above which not every token is shown with every other
DRAWN = 256  # rows and columns of a map of many tokens, at most
MOST_READ = 5  # tokens that are listed for each of many

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
        self._heads = max(layer[0].q.shape[1] for layer in self._readings)
        how.indices(len(self._readings), self._heads)

    @property
    def long(self) -> bool:
        """Whether there are too many tokens to show each of them with each other."""
        return len(self.labels) > LONG

    @cached_property
    def _weights(self) -> np.ndarray:
        """The weights of all layers and heads: their memory grows with the square of the tokens."""
        if self.long:
            problem = f"{len(self.labels):,} tokens have too many weights to hold all of them"
            raise WeftError(problem, where="weft look", fix="choose a token: --set token=5; or look at a shorter text")
        return weights_of(self._readings)

    @property
    def about(self) -> str:
        layers, heads = len(self._readings), self._heads
        return f"attention in {layers} layers × {heads} heads over {len(self.labels)} tokens of {self.said[:60]!r}"

    @cached_property
    def attention(self) -> Alignment:
        """How much each token read of each other, for every layer and head."""
        return Alignment(source=self.labels, target=self.labels, weights=self._weights)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the map, in sentences."""
        size = -(-len(self.labels) // DRAWN)
        joined = (
            [f"Each row and column stands for {size} tokens: rows are averages, columns sums."] if self.long else []
        )
        return (*self._notes, *joined, *([FIRST_TOKEN] if self._scaled_without_first else []))

    @property
    def _scaled_without_first(self) -> bool:
        """Whether tokens read only what is before them: then all read the first, which reads itself with weight 1."""
        return not self.long and len(self.labels) > 2 and not np.triu(self._weights, 1).any()

    @cached_property
    def _drawn(self) -> Alignment:
        """What is drawn: every token with every other, or where there are too many, neighbours together."""
        if not self.long:
            return self.attention
        table = in_bins(mean_rows(self._readings, self.how), len(self.labels), DRAWN)
        size = -(-len(self.labels) // DRAWN)
        names = tuple(f"{n + 1}: {self.labels[n].strip()}" for n in range(0, len(self.labels), size))
        return Alignment(source=names, target=names, weights=table[None, None])

    @property
    def _chosen(self) -> AttentionChoice:
        """The layer and head of what is drawn."""
        return ALL if self.long else self.how

    def steps(self, token: str | int = 1) -> Steps:
        """The numbers of one head for one token: its query, the keys, scores, softmax and the sum of values."""
        return Readers(self._readings, self.labels, self.labels).steps(token, self.how)

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """Readers down the side, what they read along the top."""
        title = "" if self.answer is None else str(self.answer)
        first = int(self._scaled_without_first)
        return matrix.draw(self._drawn, self._chosen, format=format, title=title, notes=self.notes, unscaled=first)

    def document(self) -> LookDocument:
        """The tokens, every head, and the attention through all layers."""
        groups, weights = (TokenGroup("text", self._drawn.target),), self._drawn.weights
        through = rollout([torch.from_numpy(layer)[None] for layer in weights])[None].numpy()
        reads = [
            Read("attention", "text", "text", weights),
            Read("through all layers", "text", "text", through, "rollout"),
        ]
        streams, left = streams_of(reads, groups)
        token = len(self._drawn.target) if self._scaled_without_first else 1
        return LookDocument(
            self.said, "text", self.about, self.text(), groups=groups, streams=streams, answer=self.answer,
            start=(*self._chosen.picked, ("token", f"text.{token}")), notes=(*self.notes, *left),
        )  # fmt: skip

    def text(self) -> str:
        """For each token, what it read most, in words."""
        said = [] if self.answer is None else [str(self.answer)]
        read = lines_of_read(self.labels, self.labels, mean_rows(self._readings, self.how))
        return "\n".join([self.said, *said, "", ROWS, *read, "", *self._notes]).rstrip()

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs(list(self.labels))

    def to_json(self) -> dict[str, Any]:
        """Tokens, and the weights by layer, head, reader and read; of many tokens what each read most, from 0."""
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        if self.long:
            best = (np.argsort(-row)[:MOST_READ] for row in mean_rows(self._readings, self.how))
            return {"tokens": list(self.labels), **answer, "most_read": [one.tolist() for one in best]}
        return {"tokens": list(self.labels), **answer, "weights": self._weights.round(5).tolist()}
