"""Coordinate networks: sizes that suit a budget, and the code that suits the places. Reads no files."""

import math
from dataclasses import replace
from typing import Any

from weft.domains.places.codec import ColourCodec, PlaceCodec
from weft.domains.places.dataset import PlaceData
from weft.domains.places.encoded import EncodedPlaces
from weft.domains.places.settings import PLACES, PlaceTraining
from weft.models.stream import Stream
from weft.models.zoo.points import CodeName, CoordinateSize, field
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.recipe import OF_A_TRUNK, MinEpochs, Recipe, with_model_settings
from weft.tasks.request import Draft, Loaded

MIN_EPOCHS = MinEpochs(24, enough=2_000_000)
FEWEST_PLACES = 65_536  # of an epoch when a size is chosen: data with fewer places makes more epochs
SCALE_PLACES = 64  # along a side, for each typical wave of a Fourier code
CELL_PLACES = 2  # along a side, for each cell of the finest grid of a hash code
DEGREE_PLACES = 6  # square root of the number of places, for each degree of harmonics
LADDER = (
    CoordinateSize(dim=64, depth=2, features=128),
    CoordinateSize(dim=96, depth=3, features=192),
    CoordinateSize(dim=128, depth=3),
    CoordinateSize(dim=192, depth=3),
    CoordinateSize(dim=256, depth=4),
    CoordinateSize(dim=384, depth=4, features=384),
    CoordinateSize(dim=512, depth=5, features=512),
)
HASH_SIZE = CoordinateSize(dim=64, depth=2)  # the tables hold the picture, the layers mix what they say
CODE_WIDTHS = {"tiny": 128, "mini": 256, "small": 256, "base": 512}  # of the Fourier code of each preset
PRESETS = {name: CoordinateSize(one.dim, one.depth, CODE_WIDTHS[name]) for name, one in PLACES.items()}
RELU = {"lr": 1e-2, "matrix_lr": 3.0, "head_lr": 1.0, "weight_decay": 0.0}
SIREN = {"lr": 1e-3, "optimizer": "adamw", "head_lr": 1.0, "weight_decay": 0.0}  # Muon's steps grow too long for it
HARMONICS = {"lr": 1e-3, "matrix_lr": 3.0, "head_lr": 1.0, "weight_decay": 3.0}  # decay keeps their waves wide
HASH = {"lr": 1e-2, "optimizer": "adamw", "head_lr": 1.0, "weight_decay": 0.0}
RATES: dict[str, dict[str, Any]] = {"hash": HASH, "fourier": RELU, "raw": RELU, "siren": SIREN, "harmonics": HARMONICS}
OF_A_FIELD = (*OF_A_TRUNK, "code", "scale", "features", "degree", "cells")
RECIPE = Recipe(
    models={"field": field},
    presets=PRESETS,
    default="field",
    rates={"field": RELU},
    fixed=OF_A_FIELD,
    kept=(*OF_A_FIELD, "lat_column", "lon_column", "time_column", "plane_columns", "value_column", "labels"),
    efficiency=0.4,
)
FieldDraft = Draft[PlaceData, EncodedPlaces, PlaceTraining]


def new_field(draft: FieldDraft) -> tuple[Stream.Config, PlaceTraining]:
    """A network that suits data and budget, and the settings with everything decided."""
    place, label, training = draft.codec("place", PlaceCodec), draft.codec("label", LabelCodec), draft.training
    places = len(draft.encoded.train)
    smooth = place.globe and not isinstance(label, ClassCodec)  # borders of classes are sharp
    usual: CodeName = "hash" if isinstance(label, ColourCodec) else "harmonics" if smooth else "fourier"
    code: CodeName = training.code or usual
    scale = training.scale or float(f"{min(10.0, max(0.5, math.sqrt(places) / SCALE_PLACES)):.2g}")

    def make(size: CoordinateSize) -> Stream.Config:
        return field(size, place.axes, outputs=label.outputs, code=code, scale=scale, dropout=training.dropout or 0.0)

    degree = training.degree or min(24, max(4, round(math.sqrt(places) / DEGREE_PLACES)))
    cells = training.cells or max(1, round(math.sqrt(places) / CELL_PLACES))
    rungs = [_own(replace(one, degree=degree, cells=cells), training) for one in _rungs(draft, code)]
    size = _choose(draft, rungs, make)
    config = with_model_settings(make(size), draft.request)
    rates = {name: value for name, value in RATES[code].items() if name not in draft.request.settings}
    own = {"scale": scale, "features": size.features} if code == "fourier" else {}
    own |= {"degree": degree} if code == "harmonics" else {}
    own |= {"cells": cells} if code == "hash" else {}
    sizes = {
        "dim": config.dim,
        "depth": len(config.trunk.all_blocks()),
        "code": code,
        "dropout": training.dropout or 0.0,
    }
    return config, training.replace(**rates, **own, **sizes)


def _rungs(draft: FieldDraft, code: CodeName) -> tuple[CoordinateSize, ...]:
    if draft.request.preset is not None:
        return (PRESETS[draft.request.preset],)
    return (HASH_SIZE,) if code == "hash" else LADDER


def _own(size: CoordinateSize, training: PlaceTraining) -> CoordinateSize:
    """A size with the user's numbers in place of its own."""
    names = ("dim", "depth", "features")
    size = replace(size, **{name: value for name in names if (value := getattr(training, name)) is not None})
    size.check()
    return size


def _choose(draft: FieldDraft, rungs: list[CoordinateSize], make: Any) -> CoordinateSize:
    """The largest size that still sees the places often enough."""
    places = len(draft.encoded.train)
    return draft.sizing.choose(
        rungs,
        lambda size: 6 * weights(make(size)),
        places,
        lambda some, seen: MIN_EPOCHS.choose(some, seen, max(FEWEST_PLACES, places)),
    )


def weights(config: Stream.Config) -> int:
    """Weights in matrices, each used once for a place."""
    width: int = config.embed.width  # type: ignore[attr-defined]
    return config.dim * (width + len(config.trunk.all_blocks()) * config.dim + (config.outputs or 1))


def field_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    return {"places": f"{run.data.amount('train')} to train on, {run.data.amount('held_out')} held out"}
