"""Settings of trainings on values at places; and the sizes of models that have a name."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.errors import ConfigError
from weft.tasks.preset import Preset
from weft.tasks.settings.limits import within
from weft.tasks.settings.sized import LABELS, RowTraining

PLACES = {
    "tiny": Preset(dim=64, depth=2, note=": trains in seconds"),
    "mini": Preset(dim=128, depth=3),
    "small": Preset(dim=256, depth=4),
    "base": Preset(dim=512, depth=5),
}


class PlaceTraining(RowTraining):
    """Settings of a training on places with a value each. Rounded numbers would blur places: it computes in fp32."""

    batch: int = 32
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "fp32"
    code: Literal["hash", "fourier", "siren", "harmonics", "raw"] | None = None
    scale: float | None = None
    features: int | None = None
    degree: int | None = None
    cells: int | None = None
    lat_column: str | None = None
    lon_column: str | None = None
    time_column: str | None = None
    plane_columns: str | None = None
    value_column: str | None = None
    labels: Literal["classes", "numbers"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in RowTraining.about.items() if name != "heads"},
        "batch": "batch size: groups of 64 places in a training step",
        "code": "position encoding: hash (multi-resolution hash grid; default for pictures), fourier (default for "
        "planes and classes), harmonics (default for numbers on the globe), siren or raw",
        "scale": "frequency scale of the Fourier features: typical number of waves over half the picture; a larger one "
        "shows finer detail",
        "features": "number of Fourier features",
        "degree": "degree of the finest spherical harmonics, which have this many waves around the globe",
        "cells": "cells along a side of the finest grid of a hash code: more show finer detail, fewer fill gaps better",
        "lat_column": "the column of the latitude in degrees: its name, or its number from 1",
        "lon_column": "the column of the longitude in degrees",
        "time_column": "the column of the time: numbers, or dates as 2024-07-01",
        "plane_columns": "the columns of coordinates that are not on the globe, as in x,y",
        "value_column": "the column, array or variable to learn",
        "labels": LABELS,
    }

    def check(self) -> None:
        super().check()
        within(self, "features", 2, 2**16)
        within(self, "degree", 1, 40)
        within(self, "cells", 1, 2**16)
        if self.scale is not None and not self.scale > 0:
            raise ConfigError(f"must be above 0, found {self.scale}", where="scale")
        if self.features is not None and self.features % 2:
            raise ConfigError(f"a sine and a cosine of each frequency: expected an even number, found {self.features}",
                              where="features")  # fmt: skip
