"""Models that take and give numbers in the user's unit, for tools that know no codec: mean and spread become weights."""

import copy
from typing import Any

import torch

from weft.codecs.graph import GraphCodec
from weft.codecs.numbers import NumberCodec
from weft.core import PerClassToken
from weft.models.stream import Model
from weft.tasks.request import Loaded

MIN_SPREAD_PARTS = 100  # a spread below this part of the mean is lost in fp32, as far as an export is compared


def in_unit(run: Loaded, model: Model) -> tuple[Model, float | None]:
    """A model that has learned numbers around 0 made to give them in the user's unit, and what differences are small to.

    Mean and spread become part of the head's map, so that no other tool has to know them.
    """
    codec = run.codecs.get("label")
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


def from_unit(run: Loaded, model: Model) -> Model:
    """A model of vectors made to take them in the user's unit: mean and spread become part of the embedder's map."""
    codec = run.codecs.get("graph")
    if not isinstance(codec, GraphCodec) or not codec.config.mean:
        return model
    twin: Any = copy.deepcopy(model)
    mean, spread = (torch.tensor(side, dtype=torch.double) for side in (codec.config.mean, codec.config.spread))
    with torch.no_grad():
        table, offset = twin.embed.features.weight, twin.embed.offset
        scaled = table.double().cpu() / spread[:, None]
        offset.copy_(offset.double().cpu() - mean @ scaled)
        table.copy_(scaled)
    return twin
