"""Every model of the zoo, tiny, with an input of three rows: for laws that hold over all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.fields import field_model, window
from helpers.tiny import (
    CONTEXT,
    ENCODER_ZOO,
    PAIR_ZOO,
    PICTURE_ZOO,
    VOCAB,
    ZOO,
    encoder_model,
    ids,
    language_model,
    pictures,
    randomised,
    translation_model,
    vision_model,
)
from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.encoded import NodePositions, batch_of
from weft.domains.graphs.positions import STEP_KINDS
from weft.modalities.graph import Graph
from weft.modalities.graph_embed import GraphEmbed
from weft.modalities.image import Picture
from weft.modalities.picture_text import PictureText
from weft.modalities.points import Points
from weft.modalities.text import Text
from weft.models.zoo import Size
from weft.models.zoo.answering import ANSWER_ENCODERS, ANSWER_MODELS, Words
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.fields import FIELD_MODELS
from weft.models.zoo.graphs import GRAPH_MODELS, SET_MODELS, Wanted
from weft.models.zoo.points import CoordinateSize, field
from weft.models.zoo.vision import Sight, VisionSize, small_net

ROWS = 3
Rows = Sequence[int]
SIZE = Size(dim=16, depth=2, heads=2, context=CONTEXT)
SIGHT = VisionSize(dim=16, depth=2, heads=2, patch=2, net=small_net(8, (0, 1)))


@dataclass(frozen=True)
class Case:
    """A model, and its values for some rows of an input; values that should be equal differ by at most `rounding`."""

    model: nn.Module
    values: Callable[[Rows], Tensor]
    rounding: float = 1e-8

    def all(self) -> Tensor:
        """The values of all rows."""
        with torch.no_grad():
            return self.values(range(ROWS))


@cache
def case(name: str) -> Case:
    """The model of the zoo with this name, as in "caption: swift"."""
    kind, _, which = name.partition(": ")
    return CASES[kind](which)


def _language(name: str) -> Case:
    model, text = language_model(name), ids(ROWS, 6)
    return Case(model, lambda rows: model(Text(text[list(rows)])))


def _encoder(name: str) -> Case:
    model, text = encoder_model(name, "pooled"), ids(ROWS, 6)
    valid = torch.arange(6)[None] < torch.tensor([[6], [4], [5]])
    return Case(model, lambda rows: model(Text(text[list(rows)], valid[list(rows)])))


def _pairs(name: str) -> Case:
    model, source, target = translation_model(name), ids(ROWS, 5), ids(ROWS, 4, seed=1)
    return Case(model, lambda rows: model(Text(source[list(rows)]), Text(target[list(rows)])))


def _pictures(name: str) -> Case:
    model, seen = vision_model(name), pictures(ROWS)
    return Case(model, lambda rows: model(Picture(seen.pixels[list(rows)])))


def _captions(name: str) -> Case:
    encoder = CAPTION_ENCODERS[name](SIGHT, Sight(8, 8), outputs=None)
    model = randomised(CAPTION_MODELS[name](encoder, SIZE, vocab=VOCAB).build()).double().eval()
    seen, target = pictures(ROWS), ids(ROWS, 4, seed=1)
    return Case(model, lambda rows: model(Picture(seen.pixels[list(rows)]), Text(target[list(rows)])))


def _answers(name: str) -> Case:
    encoder = ANSWER_ENCODERS[name](SIGHT, Sight(8, 8), outputs=None)
    model = randomised(ANSWER_MODELS[name](encoder, SIZE, Words(VOCAB, 8)).build()).double().eval()
    seen, asked, target = pictures(ROWS), ids(ROWS, 5, seed=3), ids(ROWS, 4, seed=1)
    return Case(
        model,
        lambda rows: model(
            PictureText(Picture(seen.pixels[list(rows)]), Text(asked[list(rows)])), Text(target[list(rows)])
        ),
    )


def _graph(seed: int) -> Graph:
    chance, size = np.random.default_rng(seed), 6
    edges = np.concatenate([np.argwhere(np.triu(chance.random((size, size)) < 0.3, 1)), [[0, 1], [1, 2]]])
    features = chance.normal(size=(size, 4)).astype(np.float32)
    return Graph(name=f"graph {seed}", size=size, edges=np.unique(edges, axis=0), features=features)


def _graphs(name: str) -> Case:
    graphs = [_graph(seed) for seed in range(ROWS)]
    codec = GraphCodec.of(graphs)
    embed = GraphEmbed.Config(features=codec.config.features, degrees=6, waves=2)
    wanted = Wanted(
        level="nodes", outputs=3, types=codec.config.type_count, weighted=codec.config.weighted, steps=STEP_KINDS
    )
    model = randomised({**GRAPH_MODELS, **SET_MODELS}[name](SIZE, embed, wanted).build()).double().eval()

    def values(rows: Rows) -> Tensor:
        batch = batch_of(codec.encode([graphs[row] for row in rows]), NodePositions(2, True))
        assert isinstance(batch.features, Tensor) and batch.waves is not None
        return model(replace(batch, features=batch.features.double(), waves=batch.waves.double()))

    return Case(model, values)


def _fields(name: str) -> Case:
    model, raw = field_model(name), window(ROWS)
    parts = {one: getattr(raw, one) for one in raw.__dataclass_fields__}

    def values(rows: Rows) -> Tensor:
        return model(type(raw)(**{k: v[list(rows)] if isinstance(v, Tensor) else v for k, v in parts.items()}))

    return Case(model, values)


def _points(name: str) -> Case:
    config: Any = field(CoordinateSize(16, 2, features=8, degree=3), ("x", "y"), outputs=2, code="siren")
    model = randomised(config.build()).eval()  # codes of places are in fp32
    places = torch.rand(ROWS, 2, generator=torch.Generator().manual_seed(0))
    return Case(model, lambda rows: model(Points(places[list(rows)])), rounding=1e-4)


CASES: dict[str, Callable[[str], Case]] = {
    "language": _language, "encoder": _encoder, "pairs": _pairs, "picture": _pictures, "caption": _captions,
    "answer": _answers, "graph": _graphs, "field": _fields, "points": _points,
}  # fmt: skip
WHOLE_ZOO = [
    f"{kind}: {name}"
    for kind, names in {
        "language": ZOO, "encoder": ENCODER_ZOO, "pairs": PAIR_ZOO, "picture": PICTURE_ZOO,
        "caption": sorted(CAPTION_MODELS), "answer": sorted(ANSWER_MODELS),
        "graph": sorted({**GRAPH_MODELS, **SET_MODELS}), "field": sorted(FIELD_MODELS), "points": ["siren"],
    }.items()
    for name in names
]  # fmt: skip
