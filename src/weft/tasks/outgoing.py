"""Outgoing: what an export asks for besides weights, as other tools call it: tokenizer, marks, labels, unit."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from weft.core import PerClassToken
from weft.interop import Marks
from weft.interop.signatures import TextPooling
from weft.modalities.preparation import Preparation
from weft.modalities.tokenizer import Tokenizer
from weft.models.adapted import has_adapters, merged
from weft.models.stream import Model
from weft.tasks.labels.label import NamedCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.request import Loaded

MIN_SPREAD_PARTS = 100  # a spread below this part of the mean is lost in fp32, as far as an export is compared


@dataclass(frozen=True)
class Outgoing:
    """A run as another tool gets it. `model` has its adapters merged; its numbers are in the user's unit."""

    model: Model
    tokenizer: Tokenizer | None = None
    tokenizer_json: str | None = None  # the tokenizer with the marks that it puts around texts
    marks: Marks = Marks()
    labels: tuple[str, ...] = ()
    problem: str | None = None  # what the other library calls labels that are not one of several classes
    trial_texts: tuple[str, ...] = ()  # texts that both tokenizers have to cut alike
    preparation: Preparation | None = None  # how pictures get their size
    unit: float | None = None  # beside which differences of values are small; None: of the values as they are
    pooling: TextPooling = TextPooling()  # how a text gets its vector
    generation: Mapping[str, Any] = field(
        default_factory=dict
    )  # how texts are written, as generation_config.json has it
    chat_template: str | None = None  # how the turns of a talk are marked
    remarks: tuple[str, ...] = ()  # what users of the export should know, for its README.md


def plain_model(run: Loaded) -> Model:
    """The model of a run with its adapters merged into the weights."""
    return merged(run.model) if has_adapters(run.model) else run.model


def with_labels(run: Loaded, model: Model | None = None) -> Outgoing:
    """What every export has: the model and its labels; `model` stands for the run's own with adapters merged."""
    codec = run.codecs.get("label")
    model, unit = in_unit(plain_model(run) if model is None else model, codec)
    problems = {SeveralCodec: "multi_label_classification", NumberCodec: "regression"}
    return Outgoing(
        model,
        labels=tuple(codec.names) if isinstance(codec, NamedCodec) else (),
        problem=problems.get(type(codec)),  # type: ignore[arg-type]
        unit=unit,
    )


def in_unit(model: Model, codec: object) -> tuple[Model, float | None]:
    """A model that learned numbers around 0, made to give them in the user's unit; and the scale for comparing these.

    Mean and spread become part of the head's map, so that no other tool has to know them.
    """
    if not isinstance(codec, NumberCodec):
        return model, None
    twin: Any = copy.deepcopy(model)
    scale = codec.config
    maps: Any = twin.head.outs if isinstance(twin.head, PerClassToken) else (twin.head.out,)
    with torch.no_grad():
        for last in maps:
            last.weight.copy_(last.weight.double() * scale.spread)
            last.bias.copy_(codec.restored(last.bias))
    return twin, max(scale.spread, abs(scale.mean) / MIN_SPREAD_PARTS)
