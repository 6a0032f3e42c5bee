"""The task on time series, and the settings of its training. Loads no torch."""

from collections.abc import Mapping
from typing import ClassVar

from weft.tasks.card import Card
from weft.tasks.preset import Preset, in_words
from weft.tasks.settings.sized import RowTraining

PRESETS = {"tiny": Preset(dim=32, depth=1, heads=2), "small": Preset(dim=64, depth=3, heads=4)}


class SeriesTraining(RowTraining):
    """Settings of a training on series with a label each."""

    batch: int = 1
    patch: int = 4
    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        "batch": "batch size: micro-batches in a training step, each of up to 32 series",
        "patch": "values in a row that are one token",
    }


CLASSIFY_SERIES = Card(
    name="classify-series",
    summary="learn labels of time series",
    files=".csv or .tsv with a label and a series of numbers in each row",
    sample="240 waves of three shapes",
    example="0.1, 0.5, 0.9, 0.4, -0.2, -0.6, -0.9, -0.3",
    home="weft_series.task.ClassifySeries",
    reads="weft_series.reading.SeriesTables",
    training=SeriesTraining,
    models={"transformer": "attention between all parts of a series"},
    presets=in_words(PRESETS),
)

CARDS = (CLASSIFY_SERIES,)
