"""Settings of trainings on fields on a grid in time."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.tasks.settings.limits import within
from weft.tasks.settings.sized import SizedTraining


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
        "ahead": "output steps: fields after them that it predicts at once; by default 6. Longer forecasts are rolled "
        "forward (autoregressive)",
        "hide": "masking: what is hidden in training: all (the future, blocks, patches, a layer, the middle), only the "
        "future, or only gaps",
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
