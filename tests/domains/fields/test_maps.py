"""Maps of fields: each cell in its place and colour, gaps in grey, on any grid."""

import numpy as np
import pytest
from helpers.drawings import images, pixels, size, texts

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.maps import Scale, bounds, field_map, kind_of, map_size
from weft.errors import DataError

GLOBE = FieldGrid(np.arange(85.0, -86, -10), np.arange(-175.0, 180, 10), wraps=True)
GRIDS = {
    "globe": GLOBE,
    "with poles": FieldGrid(np.arange(90.0, -91, -10), np.arange(-180.0, 180, 10), wraps=True),
    "dateline": FieldGrid(np.arange(20.0, -21, -5), np.arange(160.0, 221, 5)),
    "plane": FieldGrid(np.arange(8.0)[::-1], np.arange(12.0) * 100, surface="plane"),
    "one column": FieldGrid(np.arange(40.0, 20, -2), np.array([10.0])),
    "one row": FieldGrid(np.array([10.0]), np.arange(10.0, 50)),
    "one cell": FieldGrid(np.array([10.0]), np.array([10.0])),
    "gaussian rows": FieldGrid(np.array([80.0, 55.0, 20.0, -10.0, -70.0]), np.arange(0.0, 100, 20)),
}
TEMPERATURE = FieldLayer("t", 500.0, "K", "air temperature")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Maps of two inches are drawn fast."""
    monkeypatch.setattr("weft.domains.fields.views.maps.WIDTH", 2.0)


def field(grid: FieldGrid) -> np.ndarray:
    return np.random.default_rng(0).normal(280, 5, grid.shape).astype(np.float32)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_any_grid_can_be_drawn(grid: FieldGrid):
    drawn = field_map(field(grid), grid, TEMPERATURE)
    assert all(100 < side < 1600 for side in size(drawn)) and pixels(drawn).std() > 10


@pytest.mark.parametrize(
    "value, kind",
    [(0.0, "values"), (0.0, "signed"), (0.0, "amounts"), (273.15, "values"), (np.nan, "values"), (np.inf, "signed")],
)
def test_constant_and_empty_fields_can_be_drawn(value: float, kind):
    svg = field_map(np.full(GLOBE.shape, value), GLOBE, TEMPERATURE, kind=kind, format="svg")
    assert ("no values" in texts(svg)) == (not np.isfinite(value))


def test_a_map_has_its_title_and_units():
    assert {"air temperature at 500", "K"} <= set(texts(field_map(field(GLOBE), GLOBE, TEMPERATURE, format="svg")))


def test_a_map_is_the_same_each_time():
    assert field_map(field(GLOBE), GLOBE, TEMPERATURE) == field_map(field(GLOBE), GLOBE, TEMPERATURE)


@pytest.mark.parametrize("row, column", [(0, 35), (17, 0)])
def test_a_cell_has_its_place(row: int, column: int):
    values = np.zeros(GLOBE.shape)
    values[row, column] = 9.0
    shown = images(field_map(values, GLOBE, TEMPERATURE, kind="signed", format="svg"))[0].astype(int)
    red = (shown[..., 0] - shown[..., 2]) > 60
    down, along = (float(np.mean(at)) / side for at, side in zip(np.nonzero(red), red.shape, strict=True))
    assert (int(down * 18), int(along * 36)) == (row, column)


def test_rows_are_as_high_as_their_cells():
    grid = GRIDS["gaussian rows"]
    values = np.repeat(np.array([[9.0], [-9.0], [-9.0], [-9.0], [-9.0]]), 5, axis=1)
    shown = images(field_map(values, grid, TEMPERATURE, kind="signed", format="svg"))[0].astype(int)
    red = (shown[:, 3, 0] > shown[:, 3, 2]).mean()
    west, east, south, north = bounds(grid)
    assert red == pytest.approx((north - 67.5) / (north - south), abs=0.02)


def test_missing_cells_are_grey_and_hatched():
    values = np.where(np.arange(36) < 18, np.nan, 300 + np.arange(36.0)) * np.ones((18, 1))
    shown = pixels(field_map(values, GLOBE, TEMPERATURE)).astype(int)
    middle = shown[shown.shape[0] // 2 - 20 : shown.shape[0] // 2 + 20]
    left = middle[:, 150 : shown.shape[1] // 2 - 60]
    assert (left.max(2) - left.min(2)).max() < 20  # grey
    assert left.std((0, 1)).min() > 1  # with lines


def test_degrees_are_named_by_the_winds(monkeypatch):
    monkeypatch.setattr("weft.domains.fields.views.maps.WIDTH", 4.0)
    words = texts(field_map(field(GRIDS["dateline"]), GRIDS["dateline"], TEMPERATURE, format="svg"))
    assert "180°" in words and any(w.endswith("°W") for w in words) and any(w.endswith("°E") for w in words)
    assert not any(w.startswith(("190", "200", "210")) for w in words)
    assert not any("°" in w for w in texts(field_map(field(GRIDS["plane"]), GRIDS["plane"], TEMPERATURE, format="svg")))


def test_scales_leave_outliers_out():
    values = np.random.default_rng(0).normal(size=100_000)
    values[:10] = 1e6
    assert Scale.of(values).high < 4 and Scale.of(values, "signed").high < 4
    assert Scale.of(values, "signed").low == -Scale.of(values, "signed").high
    assert Scale.of(np.abs(values), "amounts").low == 0


def test_few_values_that_are_not_zero_still_have_a_scale():
    values = np.zeros(10_000)
    values[0] = -3.0
    assert Scale.of(values, "signed").high == 3


@pytest.mark.parametrize("kind", ["values", "signed", "amounts"])
def test_the_numbers_of_a_bar_lie_within_it(kind):
    scale = Scale.of(np.random.default_rng(0).normal(3, 2, 1000), kind)
    assert len(scale.ticks()) >= 2 and all(scale.low <= tick <= scale.high for tick in scale.ticks())


def test_parts_of_winds_are_coloured_by_their_sign():
    assert (kind_of(FieldLayer("UWND")), kind_of(TEMPERATURE)) == ("signed", "values")


def test_maps_have_a_sensible_shape():
    assert map_size(GLOBE, 4, 4) == pytest.approx((4, 2))
    north = FieldGrid(np.arange(65.0, 54, -1), np.arange(0.0, 11))
    assert map_size(north, 4, 9)[1] == pytest.approx(5.0)  # squeezed from 8
    belt = FieldGrid(np.array([1.0, 0.0]), np.arange(-180.0, 180))
    assert map_size(belt, 4, 4)[1] > 0.5


def test_a_wind_is_drawn_as_speed_under_arrows():
    parts = (field(GLOBE), field(GLOBE))
    drawn, bare = (
        field_map(np.hypot(*parts), GLOBE, FieldLayer("speed", units="m/s"), title="wind", kind="amounts", wind=wind)
        for wind in (parts, None)
    )
    assert size(drawn) == size(bare) and (pixels(drawn) != pixels(bare)).any(2).mean() > 0.005


def test_a_field_of_another_grid_is_refused():
    with pytest.raises(DataError, match=r"\(18, 36\).*found \(36, 18\)"):
        field_map(field(GLOBE).T, GLOBE, TEMPERATURE)
