"""The task on places: values at coordinates."""

from weft.domains.places.settings import PLACES, PlaceTraining
from weft.tasks.card import Card
from weft.tasks.preset import in_words

FIT_FIELD = Card(
    name="fit-field",
    summary="learn values at coordinates: a picture, a map, measurements",
    files=".csv, .tsv or .jsonl (gzip too) with lat, lon (and time) or other coordinates, and a number or class in "
    "each row; a grid as .npz (lat, lon, values) or netCDF; one picture",
    sample="weft's tapestry (a picture of 256 x 256 pixels)",
    example="0.5, 0.5",
    home="weft.domains.places.fit_field.FitField",
    reads="weft.domains.places.dataset.PlacesWithValues",
    training=PlaceTraining,
    models={
        "field": "a coordinate network: a position encoding (--set code=hash, fourier, siren, harmonics or raw), then "
        "an MLP"
    },
    presets=in_words(PLACES),
    listed=13,
)

CARDS = (FIT_FIELD,)
