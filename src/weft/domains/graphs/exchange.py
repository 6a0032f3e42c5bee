"""Models of graphs and sets for elsewhere: other tools know no codec, so they give vectors in the user's unit."""

import copy
from typing import Any

import torch

from weft.domains.graphs.codec import GraphCodec
from weft.models.stream import Model
from weft.tasks.outgoing import plain_model
from weft.tasks.request import Loaded


def with_vectors_in_unit(run: Loaded) -> Model:
    """The model made to take vectors in the user's unit: mean and spread become part of the embedder's map."""
    codec, model = run.codec("graph", GraphCodec), plain_model(run)
    if not codec.config.mean:
        return model
    twin: Any = copy.deepcopy(model)
    mean, spread = (torch.tensor(side, dtype=torch.double) for side in (codec.config.mean, codec.config.spread))
    with torch.no_grad():
        table, offset = twin.embed.features.weight, twin.embed.offset
        scaled = table.double().cpu() / spread[:, None]
        offset.copy_(offset.double().cpu() - mean @ scaled)
        table.copy_(scaled)
    return twin
