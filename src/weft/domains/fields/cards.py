"""The task on fields: variables on a grid in time."""

from weft.domains.fields.presets import FIELDS
from weft.domains.fields.settings import ForecastTraining
from weft.tasks.card import Card
from weft.tasks.preset import in_words

FIELD_PRESETS = in_words(FIELDS)

FORECAST = Card(
    name="forecast",
    summary="learn to forecast fields on a grid, and to fill their gaps",
    files="netCDF files (.nc) or zarr stores with variables on a grid of latitude and longitude, or x and y, by time; "
    "several of them, or a folder; needs the extra weather",
    sample="weft's own small atmosphere: waves that travel round a globe, seen by a satellite that leaves gaps",
    example="fields.nc",
    home="weft.domains.fields.forecast.ForecastFields",
    reads="weft.domains.fields.dataset.GriddedFields",
    training=ForecastTraining,
    models={
        "swift": "the default: a token holds all time steps of a window at one place; normalised queries and keys, "
        "Muon",
        "atmorep": "a token for each small neighbourhood in space and time, as in AtmoRep",
    },
    presets=FIELD_PRESETS,
    listed=12,
)

CARDS = (FORECAST,)
