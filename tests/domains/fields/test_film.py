"""A forecast as an animation: every time a frame, of one size, bounded."""

import io

import numpy as np
import pytest
from PIL import Image

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views import film as fieldfilm
from weft.domains.fields.views.film import forecast_film
from weft.domains.fields.views.series import FieldSeries
from weft.errors import DataError
from weft.inspect import films

GRID = FieldGrid(np.arange(40.0, 20, -5), np.arange(0.0, 40, 5))
WIND = FieldLayer("u", units="m/s")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Maps of one inch are drawn fast."""
    monkeypatch.setattr(fieldfilm, "WIDTH", 1.0)


def fields(count: int) -> np.ndarray:
    found = np.random.default_rng(0).normal(size=(count, *GRID.shape))
    found[:, 0, 0] = np.nan
    return found


def days(count: int) -> FieldSeries:
    return FieldSeries(WIND, GRID, [f"2001-01-{n + 1:02d}" for n in range(count)])


def frames(gif: bytes) -> list[np.ndarray]:
    film = Image.open(io.BytesIO(gif))
    found = []
    for n in range(getattr(film, "n_frames", 1)):
        film.seek(n)
        found.append(np.asarray(film.convert("RGB")).astype(int))
    return found


def test_every_time_is_a_frame_of_one_size():
    alone, beside = (frames(forecast_film(days(3), fields(3), **more)) for more in ({}, {"truth": fields(3)}))
    assert len(alone) == len(beside) == 3
    assert len({frame.shape for frame in beside}) == 1
    assert all((a != b).any(2).mean() > 0.05 for a, b in zip(beside, beside[1:], strict=False))
    assert (beside[0][0, 0] == 255).all()


def test_colours_stay_the_same_from_frame_to_frame():
    values = np.zeros((2, *GRID.shape))
    values[0], values[1, :, 4:] = 5.0, -5.0
    first, second = frames(forecast_film(days(2), values))
    red = [(frame[..., 0] - frame[..., 2] > 90).mean() for frame in (first, second)]
    assert red[0] > 0.2 and red[1] < 0.05  # a scale of its own would make the second frame red again


def test_of_many_times_some_are_left_out(monkeypatch):
    monkeypatch.setattr(fieldfilm, "MOST_FRAMES", 4)
    assert len(frames(forecast_film(days(9), fields(9)))) == 4


def test_a_large_film_is_made_smaller(monkeypatch):
    large = forecast_film(days(2), fields(2))
    monkeypatch.setattr(films, "MOST_BYTES", len(large) - 1)
    small = forecast_film(days(2), fields(2))
    assert len(small) < len(large) and frames(small)[0].shape[1] < frames(large)[0].shape[1]


def test_fields_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="truth: expected 2 fields"):
        forecast_film(days(2), fields(2), truth=fields(3))
    with pytest.raises(DataError, match="forecast"):
        forecast_film(days(0), fields(0))
