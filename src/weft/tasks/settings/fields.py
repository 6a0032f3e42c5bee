"""Settings of trainings on fields: on a grid in time, or as values at places."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.errors import ConfigError
from weft.tasks.settings.limits import within
from weft.tasks.settings.sized import LABELS, RowTraining, SizedTraining


class ForecastTraining(SizedTraining):
    """Settings of a training on fields in space and time."""

    batch: int = 8
    history: int | None = None
    ahead: int | None = None
    hide: Literal["all", "future", "gaps"] = "all"
    patch: int | None = None
    halo: int | None = None
    span: int | None = None
    variables: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **SizedTraining.about,
        "batch": "batch size: windows in a training step",
        "history": "input steps: consecutive fields that the model reads; by default 6",
        "ahead": "output steps: fields after them that it predicts at once; by default 6. Longer forecasts are rolled forward "
        "(autoregressive)",
        "hide": "masking: what is hidden in training: all (the future, blocks, patches, a layer, the middle), only the future, or "
        "only gaps",
        "patch": "patch size: the side of a token in grid cells",
        "halo": "grid cells around a token that are part of its input too",
        "span": "time steps in a token; by default all of a window (swift), or one (atmorep)",
        "variables": "names of the variables to use, with commas between them; by default all on the grid",
    }

    def check(self) -> None:
        super().check()
        for name, least, most in (
            ("history", 1, 100),
            ("ahead", 1, 100),
            ("patch", 1, 512),
            ("halo", 0, 64),
            ("span", 1, 200),
        ):
            within(self, name, least, most)


class PlaceTraining(RowTraining):
    """Settings of a training on places with a value each. Rounded numbers would blur places: it computes in fp32."""

    batch: int = 32
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    code: Literal["fourier", "siren", "harmonics", "raw"] | None = None
    scale: float | None = None
    features: int | None = None
    degree: int | None = None
    lat_column: str | None = None
    lon_column: str | None = None
    time_column: str | None = None
    plane_columns: str | None = None
    value_column: str | None = None
    labels: Literal["classes", "numbers"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **{name: text for name, text in RowTraining.about.items() if name != "heads"},
        "batch": "batch size: groups of 64 places in a training step",
        "code": "position encoding: fourier (default for pictures, planes, classes), siren, harmonics (default for numbers on the "
        "globe) or raw",
        "scale": "frequency scale of the Fourier features: typical number of waves over half the picture; a larger one shows finer detail",
        "features": "number of Fourier features",
        "degree": "degree of the finest spherical harmonics, which have this many waves around the globe",
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
        if self.scale is not None and not self.scale > 0:
            raise ConfigError(f"must be above 0, found {self.scale}", where="scale")
        if self.features is not None and self.features % 2:
            raise ConfigError(f"a sine and a cosine of each frequency: expected an even number, found {self.features}",
                              where="features")  # fmt: skip
