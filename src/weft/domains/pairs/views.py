"""What a translation looked at: the alignment of its words as a picture, a page or text, and one token step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from weft.batches.samples import PaddedIds
from weft.config import Config
from weft.core.memories import Prefix
from weft.core.recording import Reading, record
from weft.domains.pairs.codec import ChosenLanguages
from weft.domains.texts.codec.text import TextMarks
from weft.inspect import fonts, matrix
from weft.inspect.alignment import ROWS, Alignment, most_read, piece_labels, piece_spans
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.steps import Steps
from weft.inspect.steps_table import table
from weft.inspect.streams import Read, streams_of
from weft.inspect.token_steps import TOKEN, Readers, StepView
from weft.inspect.views import AttentionChoice, LookedAnswer, View
from weft.inspect.weights import weights_of
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq

Side = Literal["across", "source", "target"]
WRITTEN = "what is read of the source for each word written"
SIDE = "with token: which attention: across (cross-attention), source (of the encoder) or target (of the decoder)"


@dataclass(frozen=True)
class Look(AttentionChoice):
    """Which attention to show, and of what: whole words, or the pieces that the tokenizer cuts them into."""

    pieces: bool = False


class LookAtWriting(Config):
    """Settings of a look at what an encoder–decoder writes."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    pieces: bool = False
    target: str | None = None
    beam: int = 5
    token: str | None = None
    side: Side = "across"

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "every": "every head of every layer, each in its own panel",
        "pieces": "show the model's tokens (sub-words) instead of whole words",
        "target": "align with this translation instead of the model's own",
        "beam": "beam size of the search for the model's own translation",
        "token": TOKEN,
        "side": SIDE,
    }

    @property
    def chosen(self) -> Look:
        """The layers and heads to show."""
        return Look(layer=self.layer, head=self.head, every=self.every, pieces=self.pieces)


class LookAtTranslation(LookAtWriting, ChosenLanguages):
    """Settings of a look at a translation."""

    what: Literal["positions"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **ChosenLanguages.about,
        **LookAtWriting.about,
        "what": "positions: how the encoder knows where a token stands; needs no sentence",
    }


class TranslationView(View):
    """One sentence and its translation, with all that was read for it. Shows itself in a notebook."""

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        source: Sequence[int],
        target: Sequence[int],
        how: Look = Look(),
        *,
        marks: TextMarks,
        after: Sequence[int] = (),
        answer: LookedAnswer | None = None,
    ):
        """`source` and `target` are ids without their end; the target is read from the start among its `marks`.

        The ids `after` stand behind the source; by default the end does.
        """
        self.model, self.tokenizer, self.how, self.answer = model, tokenizer, how, answer
        self.source_ids, self.target_ids = [*source, *(after or (marks.end,))], [*target, marks.end]
        self.source, self.target = tokenizer.decode(source), tokenizer.decode(target)
        given = PaddedIds.of([np.array(self.source_ids)]).to(next(model.parameters()).device).raw()
        self.start = marks.start
        self._readings = readings_of(model, given, [marks.start, *self.target_ids[:-1]])
        how.indices(*self.pieces.weights.shape[:2])

    @property
    def about(self) -> str:
        return f"how the words of {self.target[:40]!r} read {self.source[:40]!r}"

    @cached_property
    def pieces(self) -> Alignment:
        """How much of each source token was read when each target token was written, for every layer and head."""
        return Alignment(
            source=tuple(piece_labels(self.tokenizer, self.source_ids)),
            target=tuple(piece_labels(self.tokenizer, self.target_ids)),
            weights=weights_of(self._readings["across"]),
            source_spans=tuple(piece_spans(self.tokenizer, self.source_ids)),
            target_spans=tuple(piece_spans(self.tokenizer, self.target_ids)),
        )

    @cached_property
    def alignment(self) -> Alignment:
        """The same, of whole words unless pieces are wanted."""
        return self.pieces if self.how.pieces else self.pieces.by_words(self.source, self.target)

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The alignment as a picture."""
        said = [] if self.answer is None else [str(self.answer)]
        return matrix.draw(self.alignment, self.how, format=format, notes=said)

    def document(self) -> LookDocument:
        """Both texts, and every head of the three attentions."""
        words, shown = self.alignment, self.pieces
        groups = [TokenGroup("source", words.source), TokenGroup("target", words.target)]
        reads = [Read(WRITTEN, "target", "source", words.weights)]
        if words is not shown:
            groups += [TokenGroup("source tokens", shown.source), TokenGroup("target tokens", shown.target)]
            reads.append(Read("the same by tokens", "target tokens", "source tokens", shown.weights))
        if self._readings["source"]:
            within = weights_of(self._readings["source"])
            reads.append(Read("within the source", groups[-2].name, groups[-2].name, within))
        before = ("<start>", *shown.target[:-1])
        if self._readings["target"]:
            within = weights_of(self._readings["target"])
            if within.shape[2:] == (len(before), len(before)):
                groups.append(TokenGroup("target so far", before))
                reads.append(Read("within the target", "target so far", "target so far", within))
        streams, left = streams_of(tuple(reads), groups)
        return LookDocument(
            self.source, "text", self.about, self.text(), groups=tuple(groups), streams=streams,
            answer=self.shown_answer, start=(*self.how.picked, ("token", "target.1")), notes=left,
        )  # fmt: skip

    @property
    def shown_answer(self) -> LookedAnswer:
        """The model's answer, or the target that was given."""
        return self.answer or LookedAnswer(((self.target, None),), "target")

    def text(self) -> str:
        """For each word of the translation, what was read most, in words."""
        said = self.target if self.answer is None else str(self.answer)
        return "\n".join([self.source, said, "", ROWS, *most_read(self.alignment.of(self.how).mean())])

    def steps(self, token: str | int = 1, *, side: Side = "across") -> Steps:
        """The numbers of one head for one token: its query, the keys, scores, softmax and the sum of values.

        `token` is a word or piece of the side that reads, or its place from 1. The token that reads is the one before
        the one that is written, except in the encoder.
        """
        source, target = self.pieces.source, self.pieces.target
        return seq2seq_readers(self.model, self._readings, source, target, side).steps(token, self.how)

    def table(self, token: str | int = 1, *, side: Side = "across") -> str:
        """`steps` as a table to print."""
        return table(self.steps(token, side=side))

    def step_view(self, token: str | int, side: Side) -> StepView:
        """One token step by step, as a view."""
        return StepView(self.steps(token, side=side), self.source, self.answer)

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs([*self.alignment.source, *self.alignment.target])

    def to_json(self) -> dict[str, object]:
        """Plain values: words and the weights between them."""
        chosen = self.alignment.of(self.how).mean()
        weights = [[round(float(w), 4) for w in row] for row in chosen.weights[0, 0]]
        return {
            "source": self.source,
            "text": self.target,
            **({} if self.answer is None else {"answer": self.answer.to_json()}),
            "source_words": list(chosen.source),
            "target_words": list(chosen.target),
            "weights": weights,
        }


def seq2seq_readers(
    model: Seq2Seq,
    readings: Mapping[str, list[list[Reading]]],
    source: Sequence[str],
    target: Sequence[str],
    side: Side,
) -> Readers:
    """Who reads whom in an encoder–decoder; `target` are the tokens written, each predicted by the one before."""
    before = ["<start>", *target[:-1]]
    joined = isinstance(
        model.config.target.trunk.memory, Prefix.Config
    )  # the source stands before the target in one line
    if side == "source":
        return Readers(readings["source"], source, source, "encoder")
    layers = readings["across"] if side == "across" else readings["target"]
    if joined and not readings["across"]:
        names = target if side == "across" else before
        return Readers(
            readings["target"], names, [*source, *before], "decoder, source and target in one line", len(source)
        )
    if side == "across":
        return Readers(layers, target, source, "decoder, over the source")
    return Readers(layers, before, before, "decoder, over what is written")


@torch.inference_mode()
def readings_of(model: Seq2Seq, given: Any, target: list[int]) -> dict[str, list[list[Reading]]]:
    """What every layer read, in one pass over both sides: across, within the source, within the target.

    `seen` is what the tokens of a source read of a picture, where it is a text about one.
    `given` is a source as the model reads it, `target` the ids that its decoder reads.
    """
    model.eval()
    device = next(model.parameters()).device
    with record(model) as recorder:
        model.target.encode(Text(torch.tensor([target], device=device)), memory=model.memorise(given))
    found: dict[str, list[list[Reading]]] = {"across": [], "source": [], "target": [], "seen": []}
    for name, readings in recorder.readings.items():
        side = name.split(".")[0]
        cross = {"target": "across", "source": "seen"}[side]
        found[cross if readings[0].attention.cross else side].append(readings)
    return found
