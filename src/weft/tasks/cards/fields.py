"""Tasks on fields: on a grid in time, or as values at places."""

from weft.tasks import settings
from weft.tasks.cards.card import Card
from weft.tasks.presets.fields import FIELDS
from weft.tasks.presets.places import PLACES
from weft.tasks.presets.preset import in_words

FIELD_PRESETS = in_words(FIELDS)

FORECAST = Card(
    name="forecast",
    summary="learn to forecast fields on a grid, and to fill their gaps",
    files="netCDF files (.nc) or zarr stores with variables on a grid of latitude and longitude, or x and y, by time; "
    "several of them, or a folder; needs the extra weather",
    sample="weft's own small atmosphere: waves that travel round a globe, seen by a satellite that leaves gaps",
    example="fields.nc",
    home="forecast.ForecastFields",
    reads="fields.GriddedFields",
    training=settings.ForecastTraining,
    models={
        "swift": "the default: a token holds all time steps of a window at one place; normalised queries and keys, Muon",
        "atmorep": "a token for each small neighbourhood in space and time, as in AtmoRep",
    },
    presets=FIELD_PRESETS,
)
FIT_FIELD = Card(
    name="fit-field",
    summary="learn values at coordinates: a picture, a map, measurements",
    files=".csv, .tsv or .jsonl (gzip too) with lat, lon (and time) or other coordinates, and a number or class in "
    "each row; a grid as .npz (lat, lon, values) or netCDF; one picture",
    sample="weft's tapestry (a picture of 256 x 256 pixels)",
    example="0.5, 0.5",
    home="fit_field.FitField",
    reads="places.PlacesWithValues",
    training=settings.PlaceTraining,
    models={
        "field": "a coordinate network: a position encoding (--set code=fourier, siren, harmonics or raw), then an MLP"
    },
    presets=in_words(PLACES),
)
