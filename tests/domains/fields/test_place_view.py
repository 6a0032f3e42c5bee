"""What a place read: shares by distance, patch, variable and time; hot where most was read; in words and as a page."""

import json

import numpy as np
import pytest
from helpers.drawings import pixels, size, texts
from helpers.pages import document

from weft.domains.fields.reading.cells import find_place
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.place_reading import PlaceReading, by_layer, by_time, largest, rings
from weft.domains.fields.views.place_view import PlaceView
from weft.errors import DataError
from weft.inspect.views import View

GLOBE = FieldGrid(np.arange(85.0, -86, -10), np.arange(-175.0, 180, 10), wraps=True)
LAYERS = (FieldLayer("u", 500.0), FieldLayer("v", 500.0))
TIMES = ("2001-01-01", "2001-01-02", "2001-01-03")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Maps of three inches are drawn fast."""
    monkeypatch.setattr("weft.domains.fields.views.place_view.WIDTH", 3.0)


def reading(weights: np.ndarray | None = None, at: str = "45,15", **more) -> PlaceReading:
    grid = more.pop("grid", GLOBE)
    patch = more.pop("patch", (4, 6))
    tiles = tuple(-(-n // p) for n, p in zip(grid.shape, patch, strict=True))
    drawn = np.random.default_rng(0).random((2, 3, *tiles)) if weights is None else weights
    return PlaceReading(drawn, find_place(at, grid), grid, LAYERS, TIMES, patch, **more)


def only(layer: int, time: int, row: int, column: int) -> np.ndarray:
    found = np.zeros((2, 3, 5, 6))
    found[layer, time, row, column] = 0.25
    return found


def test_all_that_was_read_is_counted_once():
    for table in (by_layer(reading()), by_time(reading())):
        assert sum(share for _, share in table) == pytest.approx(1)
    shares = [share for _, share in rings(reading())]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1) and reading().cells.sum() == pytest.approx(1)


def test_what_was_read_stands_under_its_variable_time_and_place():
    found = reading(only(1, 2, 1, 0))
    assert by_layer(found) == [("u at 500", 0.0), ("v at 500", 1.0)]
    assert by_time(found)[2] == ("2001-01-03", 1.0)
    ((where, share),) = largest(found)
    assert share == 1 and where.startswith("30°N 150°W") and where.endswith("to the west")


def test_its_own_patch_is_named_so_and_is_near():
    found = reading(only(0, 0, 1, 3))
    assert largest(found) == [("its own patch", 1.0)]
    assert dict(rings(found))["within 10,000 km"] == pytest.approx(1)


def test_patches_beyond_the_dateline_are_near():
    found = reading(only(0, 0, 2, 0), at="0,175")
    assert dict(rings(found))["within 10,000 km"] == pytest.approx(1)
    assert largest(found)[0][0].endswith("to the east")


def test_the_map_is_hot_where_most_was_read_and_a_star_marks_the_place():
    picture = pixels(PlaceView(reading(only(0, 0, 3, 1))).picture()).astype(int)
    dark = (picture[..., 0] > 100) & (picture[..., 1] < 40) & (picture[..., 2] < 60)  # the end of the scale
    star = (picture == (0xFF, 0xD2, 0x3F)).all(2)
    assert dark.sum() > 500 and star.sum() > 30
    (down, along), (star_down, star_along) = (np.mean(np.nonzero(where), axis=1) for where in (dark[:, :480], star))
    assert down > star_down and along < star_along  # the patch lies to the southwest


@pytest.mark.parametrize(
    "field",
    [np.full(GLOBE.shape, np.nan), np.where(np.eye(18, 36) > 0, np.nan, 3.0)],
    ids=["missing", "constant with gaps"],
)
def test_any_field_may_lie_below(field):
    words = texts(PlaceView(reading(field=field, title="what it read")).picture("svg"))
    assert "what it read" in words and any("pale" in line for line in words)


@pytest.mark.parametrize(
    "grid, at, patch",
    [
        (FieldGrid(np.arange(20.0, -21, -5), np.arange(160.0, 221, 5)), "0,-170", (4, 5)),
        (FieldGrid(np.arange(9.0)[::-1], np.arange(7.0), surface="plane"), "3,2", (2, 2)),
        (FieldGrid(np.arange(9.0)[::-1], np.array([4.0])), "3,4", (2, 2)),
        (FieldGrid(np.array([4.0]), np.array([4.0])), "4,4", (1, 1)),
    ],
    ids=["dateline", "plane", "one column", "one cell"],
)
def test_any_grid_can_be_looked_at(grid: FieldGrid, at: str, patch: tuple[int, int]):
    view = PlaceView(reading(grid=grid, at=at, patch=patch))
    assert min(size(view.picture())) > 100 and "by distance" in view.text()


def test_a_view_is_a_picture_a_page_words_and_plain_values():
    view = PlaceView(reading())
    assert isinstance(view, View) and view.note() is None
    shown = document(view.page())
    assert [one.heading for one in shown.tables][:2] == ["by distance", "read most"] and shown.streams[0].rows[
        1
    ] == "v at 500"
    assert shown.scene == "globe" and shown.groups[0].place.coast and len(shown.groups[0].tokens) == 30
    assert json.loads(json.dumps(view.to_json()))["place"] == {"row": 4, "column": 19, "y": 45.0, "x": 15.0}
    assert np.shape(view.to_json()["map"]) == (5, 6)


def test_a_place_that_read_nothing_says_so():
    view = PlaceView(reading(np.zeros((2, 3, 5, 6))))
    assert view.note() == "45°N 15°E read nothing" and size(view.picture())


def test_names_are_written_as_words_in_a_page():
    found = reading()
    layers = (FieldLayer("<b>u</b>"), FieldLayer("v" * 80))
    view = PlaceView(PlaceReading(found.weights, found.place, GLOBE, layers, TIMES, (4, 6)))
    assert "<b>u</b>" not in view.page().decode() and size(view.picture())[0] < 1700


def test_many_variables_and_times_are_put_together():
    weights = np.random.default_rng(0).random((20, 30, 5, 6))
    layers, times = tuple(FieldLayer(f"x{n}") for n in range(20)), tuple(f"day {n}" for n in range(30))
    found = PlaceReading(weights, find_place("0,0", GLOBE), GLOBE, layers, times, (4, 6))
    assert by_layer(found)[-1][0] == "9 others" and len(by_layer(found)) == len(by_time(found)) == 12
    assert by_time(found)[0][0] == "day 0 to day 2" and sum(s for _, s in by_time(found)) == pytest.approx(1)


def test_shares_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"\(2, 3, 5, 6\).*found \(2, 3, 4, 6\)"):
        reading(np.ones((2, 3, 4, 6)))
    with pytest.raises(DataError, match="negative or no numbers"):
        reading(-only(0, 0, 0, 0))
    with pytest.raises(DataError, match="field"):
        reading(field=np.zeros((3, 3)))
