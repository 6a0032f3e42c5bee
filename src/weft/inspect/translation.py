"""What a translation looked at: the alignment of its words as a picture, a page or text, and one token step by step."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from weft.codecs import TextMarks
from weft.codecs.languages import ChosenLanguages
from weft.core.recording import Reading, record
from weft.data.batch import PaddedIds
from weft.errors import ConfigError
from weft.inspect import fonts, matrix
from weft.inspect.alignment import Alignment, piece_labels, piece_spans, weights_of
from weft.inspect.steps import Steps, steps, table
from weft.inspect.views import AttentionChoice, page, svg_figure
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq

Side = Literal["across", "source", "target"]
MIN_LISTED_WEIGHT = 0.1  # weights below this are not listed in words


@dataclass(frozen=True)
class Look(AttentionChoice):
    """Which attention to show, and of what: whole words, or the pieces that the tokenizer cuts them into."""

    pieces: bool = False


class LookAtTranslation(ChosenLanguages):
    """Settings of a look at a translation."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    pieces: bool = False
    target: str | None = None
    beam: int = 5
    token: str | None = None
    side: Side = "across"

    about: ClassVar[Mapping[str, str]] = {
        **ChosenLanguages.about,
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "every": "every head of every layer in a panel of its own",
        "pieces": "tokens as the model has them, instead of whole words",
        "target": "align with this translation instead of the model's own",
        "beam": "the beam of the model's own translation",
        "token": "the numbers of one token step by step: a word, or its place from 1",
        "side": "of which attention: across (from target to source), source or target",
    }

    @property
    def chosen(self) -> Look:
        """The layers and heads to show."""
        return Look(layer=self.layer, head=self.head, every=self.every, pieces=self.pieces)


class TranslationView:
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
    ):
        """`source` and `target` are ids without their end; the target is read from the start among its `marks`.

        The ids `after` stand behind the source; by default the end does.
        """
        self.tokenizer, self.how = tokenizer, how
        self.source_ids, self.target_ids = [*source, *(after or (marks.end,))], [*target, marks.end]
        self.source, self.target = tokenizer.decode(source), tokenizer.decode(target)
        given = PaddedIds.of([np.array(self.source_ids)]).to(next(model.parameters()).device).raw()
        self._readings = readings_of(model, given, [marks.start, *self.target_ids[:-1]])
        how.indices(*self.pieces.weights.shape[:2])

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

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The alignment as a picture."""
        return matrix.draw(self.alignment, self.how, format=format)

    def page(self) -> bytes:
        """The alignment as a page that needs nothing else."""
        return page(self.source, f"<p>{html.escape(self.target)}</p>{svg_figure(self.picture('svg'))}")

    def text(self) -> str:
        """For each word of the translation, what was read most, in words."""
        chosen = self.alignment.of(self.how).mean()
        width = max(map(len, chosen.target), default=0)
        lines = []
        for word, row in zip(chosen.target, chosen.weights[0, 0], strict=True):
            best = [int(i) for i in np.argsort(-row) if row[i] >= MIN_LISTED_WEIGHT]
            lines.append(f"  {word:<{width}}  " + ", ".join(f"{chosen.source[i]} {row[i]:.2f}" for i in best))
        return f"{self.source}\n{self.target}\n\n" + "\n".join(lines)

    def steps(self, token: str | int = 1, *, side: Side = "across") -> Steps:
        """The numbers of one head for one token: its query, the keys, scores, softmax and the sum of values.

        `token` is a word or piece of the side that reads, or its place from 1. The token that reads is the one before
        the one that is written, except in the encoder.
        """
        readings = self._readings[side]
        if not readings:
            raise ConfigError(f"this model has no attention {_SIDES[side]}", where="side")
        layer, head = self.how.indices(len(readings), readings[0][0].q.shape[1])
        wanted = readings[len(readings) - 1 if layer is None else layer]
        place = _place(self.pieces if side == "across" else self._labels(side), token, side)
        reading, query = _of_query(wanted, place)
        shown = self._labels(side)
        return steps(
            reading,
            head=head or 0,
            query=query,
            query_label=shown[0][place],
            key_labels=shown[1][: reading.k.shape[2]],
        )

    def table(self, token: str | int = 1, *, side: Side = "across") -> str:
        """`steps` as a table to print."""
        return table(self.steps(token, side=side))

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
            "source_words": list(chosen.source),
            "target_words": list(chosen.target),
            "weights": weights,
        }

    def _repr_png_(self) -> bytes:
        return self.picture("png")

    def __repr__(self) -> str:
        return self.text()

    def _labels(self, side: Side) -> tuple[list[str], list[str]]:
        """What reads and what is read, as labels."""
        source = piece_labels(self.tokenizer, self.source_ids)
        target = piece_labels(self.tokenizer, self.target_ids)
        shifted = ["<start>", *target[:-1]]
        return {"across": (target, source), "source": (source, source), "target": (shifted, shifted)}[side]


class StepView:
    """One token of one head, step by step."""

    def __init__(self, view: TranslationView, token: str | int, side: Side):
        self.view = view
        self.steps = view.steps(token, side=side)

    def text(self) -> str:
        """The numbers as a table."""
        return f"{self.view.source}\n{self.view.target}\n\n{table(self.steps)}"

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """There is none."""
        raise ConfigError("the numbers of one token are a table, not a picture", where="token", fix="leave -o away")

    def page(self) -> bytes:
        """The table as a page."""
        return page(self.view.source, f"<pre>{html.escape(self.text())}</pre>")

    def note(self) -> str | None:
        """Nothing to add."""
        return None

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"source": self.view.source, "text": self.view.target, "steps": self.steps.to_json()}

    def __repr__(self) -> str:
        return self.text()


_SIDES = {"across": "from target to source", "source": "within the source", "target": "within the target"}


@torch.inference_mode()
def readings_of(model: Seq2Seq, given: Any, target: list[int]) -> dict[str, list[list[Reading]]]:
    """What every layer read, in one pass over both sides: across, within the source, within the target.

    `given` is a source as the model reads it, `target` the ids that its decoder reads.
    """
    model.eval()
    device = next(model.parameters()).device
    with record(model) as recorder:
        model.target.encode(Text(torch.tensor([target], device=device)), memory=model.memorise(given))
    found: dict[str, list[list[Reading]]] = {"across": [], "source": [], "target": []}
    for name, readings in recorder.readings.items():
        side = "across" if readings[0].attention.cross else name.split(".")[0]
        found[side].append(readings)
    return found


def _of_query(readings: list[Reading], place: int) -> tuple[Reading, int]:
    """The reading that holds a query, and its place in it: a decoder that steps reads once for each token."""
    for reading in readings:
        if place < reading.q.shape[2]:
            return reading, place
        place -= reading.q.shape[2]
    raise ConfigError("there is no such token", where="token")


def _place(labels: Alignment | tuple[list[str], list[str]], token: str | int, side: Side) -> int:
    names = list(labels.target) if isinstance(labels, Alignment) else labels[0]
    if isinstance(token, int) or token.isdigit():
        if 1 <= int(token) <= len(names):
            return int(token) - 1
        raise ConfigError(f"expected a place from 1 to {len(names)}, found {token}", where="token")
    wanted = token.strip().casefold()
    for match in (
        lambda n: n.strip().casefold() == wanted,
        lambda n: n.strip() and wanted.startswith(n.strip().casefold()),
    ):
        for i, name in enumerate(names):
            if match(name):
                return i
    listed = ", ".join(name.strip() for name in names)
    raise ConfigError(
        f"{token!r} is not among the tokens", where="token", fix=f"they are: {listed}; or give a place from 1"
    )
