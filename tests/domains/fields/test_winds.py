"""Winds: their parts are found by name or title, and arrows point where the wind goes."""

import numpy as np
import pytest

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views import maps as winds
from weft.domains.fields.views.maps import draw_arrows, is_wind_part
from weft.inspect.figures import sheet

GRID = FieldGrid(np.arange(40.0, -41, -10), np.arange(0.0, 90, 10))


@pytest.mark.parametrize(
    "east, north",
    [("UWND", "VWND"), ("u", "v"), ("u10", "v10"), ("10u", "10v"), ("uas", "vas"), ("eastward_wind", "northward_wind"),
     ("u_wind", "v_wind"), ("wind_u", "wind_v"), ("uo", "vo")],
)  # fmt: skip
def test_the_parts_of_a_wind_are_found_by_their_names(east: str, north: str):
    layers = [FieldLayer("t"), FieldLayer(north), FieldLayer(east)]
    assert [is_wind_part(layer) for layer in layers] == [False, True, True]


def test_titles_tell_parts_whose_names_do_not():
    layers = [
        FieldLayer("xu3", title="Zonal wind"),
        FieldLayer("xv3", title="Meridional wind"),
        FieldLayer("xu4"),
        FieldLayer("xv4"),
    ]
    assert [is_wind_part(layer) for layer in layers] == [True, True, False, False]


@pytest.mark.parametrize("name", ["sst", "humidity", "snow", "uv_index", "slp"])
def test_other_variables_are_no_winds(name: str):
    assert not is_wind_part(FieldLayer(name))


def arrows(east: np.ndarray, north: np.ndarray):
    with sheet("png") as on:
        axis = on.axis(0, 0, 2, 2)
        draw_arrows(axis, east, north, GRID, (2, 2))
        return axis.collections


def test_arrows_point_where_the_wind_goes_and_gaps_have_none():
    east, north = np.full(GRID.shape, 3.0), np.full(GRID.shape, 4.0)
    east[:, :4] = np.nan
    (drawn,) = arrows(east, north)
    missing = np.broadcast_to(drawn.Umask, np.shape(drawn.U))
    columns = sorted(set(np.asarray(drawn.X)[missing].tolist()))
    assert columns and max(columns) <= GRID.x[3] < min(np.asarray(drawn.X)[~missing])
    assert np.allclose(np.asarray(drawn.V)[~missing] / np.asarray(drawn.U)[~missing], 4 / 3)


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_calm_or_unknown_winds_have_no_arrows(value: float):
    assert not arrows(np.full(GRID.shape, value), np.full(GRID.shape, value))


def test_a_gale_is_no_longer_than_the_arrows_around_it(monkeypatch):
    monkeypatch.setattr(winds, "ARROW_INCHES", 0.2)
    east = np.ones(GRID.shape)
    east[4, 4] = 1000.0
    (drawn,) = arrows(east, np.zeros(GRID.shape))
    assert np.max(drawn.U) == pytest.approx(1.0)
