"""Signatures: models with plain tensors in and out, under the names that other programs know them by.

A signature describes its tensors and gives inputs to try it on: other sizes than it was traced with, padding on either
side, and rows that are all padding. Knows no file format.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.heads import picture_vector, summary
from weft.core.recurrent import Recurrent
from weft.errors import ConfigError
from weft.interop.ports import (
    TRACED_SIZE,
    TRIED_SIZES,
    Inputs,
    Port,
    Signature,
    drawn_ids,
    drawn_mask,
    outputs_of,
    values_of,
)
from weft.modalities.graph_embed import GraphEmbed, Graphs
from weft.modalities.image import Picture, PictureEmbed
from weft.modalities.points import PointEmbed, Points
from weft.modalities.stages import StagedEmbed
from weft.modalities.text import Text, TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.relations import EdgeList
from weft.tokens import Order, Tokens

PICTURE_VECTOR = "the first token, which is the class token where there is one"


@dataclass(frozen=True)
class TextPooling:
    """How the vectors of a text's tokens become the one that `weft embed` gives."""

    summary: str = "mean"  # or class, or max
    normalise: bool = True

    @property
    def words(self) -> str:
        """What the vector is."""
        parts = {
            "mean": "the mean of the text's tokens",
            "class": "the text's first token",
            "max": "the greatest of each value",
        }
        return parts[self.summary] + (", of length 1" if self.normalise else "")

    def __call__(self, tokens: Tokens) -> Tensor:
        if self.summary == "max":
            real = tokens.valid[..., None]
            found = tokens.x.masked_fill(~real, torch.finfo(tokens.x.dtype).min).amax(1) * real.any(1)
        else:
            found = summary(tokens, first=self.summary == "class")
        return F.normalize(found, dim=-1) if self.normalise else found


class TextSignature(Signature):
    """input_ids, attention_mask -> values for each token, or one for each text."""

    def __init__(self, model: Stream, pooling: TextPooling = TextPooling()):
        super().__init__(model)
        embed = _table(model)
        self.pooling = pooling
        self.vocab: int = embed.vocab
        self.context = embed.context
        self.inputs = {
            "input_ids": Port("int64", ("batch", "length"), f"ids below {embed.vocab}, marks included"),
            "attention_mask": Port("int64", ("batch", "length"), "1 for a token, 0 for padding, on either side"),
        }
        self.outputs = outputs_of(model, ("length",), pooling.words)
        self.axes = {"batch": 1, "length": 1}
        self.note = {"context": embed.context, "reads": "the past" if embed.reading == "line" else "both ways"}

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor | tuple[Tensor, ...]:
        return values_of(self.model, Text(input_ids, attention_mask.bool()), self.pooling)

    def sample(self) -> Inputs:
        return self._drawn(*TRACED_SIZE)

    def trials(self) -> list[Inputs]:
        return [self._drawn(rows, min(length, self.context)) for rows, length in TRIED_SIZES]

    def counted(self, port: Port, inputs: Inputs) -> Tensor | None:
        return inputs["attention_mask"].bool() if "length" in port.shape else None

    def _drawn(self, rows: int, length: int) -> Inputs:
        return {"input_ids": drawn_ids(rows, length, self.vocab), "attention_mask": drawn_mask(rows, length)}


class PictureSignature(Signature):
    """pixel_values -> values for each picture, or for each of its tokens. Stages of merged places have a fixed size."""

    def __init__(self, model: Stream):
        super().__init__(model)
        embed = model.config.embed
        assert isinstance(embed, PictureEmbed.Config)
        self.channels, self.grid, self.stride = embed.channels, embed.grid, embed.stride
        size = [side * embed.stride for side in embed.grid]
        meaning = "from 0 (black) to 1, as files have them over 255; the graph itself brings them to the model's scale"
        self.fixed = isinstance(embed, StagedEmbed.Config)
        sides = tuple(size) if self.fixed else ("height", "width")
        self.inputs = {"pixel_values": Port("float32", ("batch", embed.channels, *sides), meaning)}
        self.outputs = outputs_of(model, (math.prod(embed.grid) if self.fixed else "tokens",), PICTURE_VECTOR)
        self.axes = {"batch": 1} if self.fixed else {"batch": 1, "height": embed.stride, "width": embed.stride}
        self.note = {"made_for": {"height": size[0], "width": size[1]}, "sides_are_multiples_of": embed.stride}

    def forward(self, pixel_values: Tensor) -> Tensor | tuple[Tensor, ...]:
        head: Any = self.model.head
        return values_of(self.model, Picture(pixel_values), partial(picture_vector, head, first=True))

    def sample(self) -> Inputs:
        return self._drawn(TRACED_SIZE[0], *(self.grid if self.fixed else (3, 5)))

    def trials(self) -> list[Inputs]:
        rows, columns = self.grid
        if self.fixed:
            return [self._drawn(batch, rows, columns) for batch in (1, 2, 5)]
        return [self._drawn(2, rows, columns), self._drawn(1, rows + 1, columns), self._drawn(3, 2, 4)]

    def _drawn(self, batch: int, rows: int, columns: int) -> Inputs:
        shape = (batch, self.channels, rows * self.stride, columns * self.stride)
        return {"pixel_values": torch.rand(shape, generator=torch.Generator().manual_seed(rows))}


class PointSignature(Signature):
    """places -> values at each place."""

    def __init__(self, model: Stream):
        super().__init__(model)
        embed, size = model.config.embed, model.config.outputs
        assert isinstance(embed, PointEmbed.Config) and size is not None
        self.axes_of_places = embed.axes
        scale = (
            "lat and lon in degrees, other axes as the run's codec scales them (middle and reach in its config.json)"
        )
        self.inputs = {"places": Port("float32", ("batch", len(embed.axes)), f"{', '.join(embed.axes)}: {scale}")}
        self.outputs = {
            "values": Port("float32", ("batch", size), "numbers or colours at a place, or scores of classes")
        }
        self.axes = {"batch": 1}
        self.note = {"axes": list(embed.axes)}

    def forward(self, places: Tensor) -> Tensor | tuple[Tensor, ...]:
        return values_of(self.model, Points(places))

    def sample(self) -> Inputs:
        return self._drawn(TRACED_SIZE[0])

    def trials(self) -> list[Inputs]:
        return [self._drawn(rows) for rows in (1, 2, 100)]

    def _drawn(self, rows: int) -> Inputs:
        reach = torch.tensor([{"lat": 90.0, "lon": 180.0}.get(axis, 1.0) for axis in self.axes_of_places])
        drawn = torch.rand(rows, len(reach), generator=torch.Generator().manual_seed(rows))
        return {"places": (2 * drawn - 1) * reach}


class SetSignature(Signature):
    """vectors, attention_mask -> values for each set."""

    def __init__(self, model: Stream):
        super().__init__(model)
        embed = model.config.embed
        assert isinstance(embed, GraphEmbed.Config)
        self.width = embed.features
        self.inputs = {
            "vectors": Port("float32", ("batch", "length", embed.features), "sets in their own unit, in any order"),
            "attention_mask": Port("int64", ("batch", "length"), "1 for a vector, 0 for padding, on either side"),
        }
        self.outputs = outputs_of(model, ("length",))
        self.axes = {"batch": 1, "length": 1}
        self.note = {"reads": "sets of vectors: their order means nothing"}

    def forward(self, vectors: Tensor, attention_mask: Tensor) -> Tensor | tuple[Tensor, ...]:
        nowhere = attention_mask.new_zeros(0)
        edges = EdgeList(nowhere, nowhere, attention_mask.shape[0], attention_mask.shape[1])
        degree, mask = torch.zeros_like(attention_mask), attention_mask.bool()
        return values_of(self.model, Graphs(mask.sum(1), degree, edges, vectors, mask=mask))

    def sample(self) -> Inputs:
        return self._drawn(*TRACED_SIZE)

    def trials(self) -> list[Inputs]:
        return [self._drawn(rows, length) for rows, length in TRIED_SIZES]

    def _drawn(self, rows: int, length: int) -> Inputs:
        drawn = torch.randn(rows, length, self.width, generator=torch.Generator().manual_seed(length))
        return {"vectors": drawn, "attention_mask": drawn_mask(rows, length)}


class PairSignature(Signature):
    """encoder_input_ids, attention_mask, decoder_input_ids -> logits for each token of the target."""

    def __init__(self, model: Seq2Seq):
        super().__init__(model)
        source, target = _table(model.source), _table(model.target)
        self.vocab, self.vocabs = source.vocab, (source.vocab, target.vocab)  # targets may be symbols of their own
        self.contexts = (source.context, target.context)
        self.inputs = {
            "encoder_input_ids": Port("int64", ("batch", "length"), f"ids of the source, below {source.vocab}"),
            "attention_mask": Port("int64", ("batch", "length"), "1 for a token of the source, 0 for padding"),
            "decoder_input_ids": Port(
                "int64", ("batch", "target_length"), f"ids of the target so far, below {target.vocab}; pad behind"
            ),
        }
        self.outputs = outputs_of(model.target, ("target_length",))
        self.axes = {"batch": 1, "length": 1, "target_length": 1}
        self.note = {"context": source.context, "target_context": target.context}

    def forward(self, encoder_input_ids: Tensor, attention_mask: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.model(Text(encoder_input_ids, attention_mask.bool()), Text(decoder_input_ids))

    def sample(self) -> Inputs:
        return self._drawn(*TRACED_SIZE, TRACED_SIZE[1] + 2)

    def trials(self) -> list[Inputs]:
        lengths = zip(TRIED_SIZES, (5, 1, 3, 140), strict=True)
        return [self._drawn(b, min(n, self.contexts[0]), min(m, self.contexts[1])) for (b, n), m in lengths]

    def _drawn(self, rows: int, length: int, written: int) -> Inputs:
        return {
            "encoder_input_ids": drawn_ids(rows, length, self.vocabs[0]),
            "attention_mask": drawn_mask(rows, length),
            "decoder_input_ids": drawn_ids(rows, written, self.vocabs[1]),
        }


class CaptionSignature(Signature):
    """pixel_values, decoder_input_ids -> logits for each token of the caption."""

    def __init__(self, model: Seq2Seq):
        super().__init__(model)
        self.picture, target = PictureSignature(model.source), _table(model.target)
        self.vocab: int = target.vocab
        self.context = target.context
        length = ("batch", "target_length")
        self.inputs = {
            **self.picture.inputs,
            "decoder_input_ids": Port("int64", length, f"ids of the caption so far, below {target.vocab}; pad behind"),
        }
        self.outputs = outputs_of(model.target, ("target_length",))
        self.axes = {**self.picture.axes, "target_length": 1}
        self.note = {**self.picture.note, "target_context": target.context}

    def forward(self, pixel_values: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.model(Picture(pixel_values), Text(decoder_input_ids))

    def sample(self) -> Inputs:
        return self._with_caption(self.picture.sample(), TRACED_SIZE[1] + 2)

    def trials(self) -> list[Inputs]:
        return [self._with_caption(one, length) for one, length in zip(self.picture.trials(), (5, 1, 12), strict=True)]

    def _with_caption(self, picture: Inputs, length: int) -> Inputs:
        rows, length = len(picture["pixel_values"]), min(length, self.context)
        return {**picture, "decoder_input_ids": drawn_ids(rows, length, self.vocab)}


def signature(model: Model, pooling: TextPooling = TextPooling()) -> Signature:
    """The signature of a model; a model that cannot be a graph is refused."""
    if any(isinstance(part, Recurrent) for part in model.modules()):
        raise ConfigError(
            "a recurrent model takes as many steps as its text has tokens, and a graph's steps are counted",
            where="export",
            fix="export a model without recurrence, such as swift",
        )
    if isinstance(model, Stream) and isinstance(model.embed, TextEmbed):
        return TextSignature(model, pooling)
    if isinstance(model, Stream) and isinstance(model.embed, PictureEmbed):
        return PictureSignature(model)
    if isinstance(model, Stream) and isinstance(model.embed, PointEmbed):
        return PointSignature(model)
    if isinstance(model, Stream) and isinstance(model.embed, GraphEmbed):
        return _of_sets(model)
    if isinstance(model, Seq2Seq) and all(isinstance(s.embed, TextEmbed) for s in (model.source, model.target)):
        return PairSignature(model)
    if isinstance(model, Seq2Seq) and isinstance(model.source.embed, PictureEmbed):
        return CaptionSignature(model)
    raise ConfigError(
        f"{type(model).__name__} over such inputs has no graph of its own",
        where="export",
        fix="export a model that reads texts, pictures, places or sets, translates texts or writes about pictures",
    )


def _of_sets(model: Stream) -> SetSignature:
    """The signature of a model of sets of vectors; one that reads along edges, or words, is refused."""
    embed, trunk = model.config.embed, model.config.trunk
    assert isinstance(embed, GraphEmbed.Config)
    joined = (
        embed.degrees or embed.waves or trunk.bias or any(getattr(block.mix, "rules", ()) for block in trunk.blocks)
    )
    if joined or not embed.features or embed.bags or embed.kinds:
        problem = "edges of graphs" if joined else "words or sparse features"
        raise ConfigError(
            f"a model that reads {problem} has no graph of its own",
            where="export",
            fix="export a model of sets of vectors, or use the run itself: weft predict",
        )
    return SetSignature(model)


@contextlib.contextmanager
def unstated(model: nn.Module) -> Iterator[None]:
    """While this lasts, texts come without facts about their order.

    Facts pick kernels that fit one length only (a single token, a long line in blocks). Without them everything is read
    through a mask, which is right for all.
    """

    def withhold(part: nn.Module, args: Any, tokens: Tokens) -> Tokens:
        return dataclasses.replace(tokens, order=Order.ANY, line_axis=None)

    hooks = [part.register_forward_hook(withhold) for part in model.modules() if isinstance(part, TextEmbed)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _table(stream: Stream) -> TextEmbed.Config:
    embed = stream.config.embed
    assert isinstance(embed, TextEmbed.Config)
    return embed
