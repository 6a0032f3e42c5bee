"""Sheets of maps: forecasts and filled gaps beside the truth, readable whatever the number of times."""

import numpy as np
import pytest
from helpers.drawings import images, size, texts

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.series import FieldSeries
from weft.domains.fields.views.sheets import _compact, difference_row, filling_sheet, forecast_sheet
from weft.errors import DataError

GLOBE = FieldGrid(np.arange(75.0, -76, -30), np.arange(-165.0, 180, 30), wraps=True)
TEMPERATURE = FieldLayer("t", 500.0, "K")
DATES = tuple(f"2001-01-{day:02d}T00:00" for day in range(1, 21))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sheets of three inches are drawn fast."""
    monkeypatch.setattr("weft.domains.fields.views.sheets.WIDTH", 3.0)


def fields(count: int, grid: FieldGrid = GLOBE, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(280, 5, (count, *grid.shape)).astype(np.float32)


def of(labels: tuple[str, ...], grid: FieldGrid = GLOBE) -> FieldSeries:
    return FieldSeries(TEMPERATURE, grid, labels)


def test_a_sheet_has_a_row_for_all_that_is_known():
    truth, spread = fields(2, seed=1), np.ones((2, *GLOBE.shape))
    full = texts(forecast_sheet(of(DATES[:2]), fields(2), truth=truth, spread=spread, format="svg"))
    assert {"truth", "forecast", "− truth", "spread", "K", "t at 500", "2001-01-01T00:00"} <= set(full)
    bare = texts(forecast_sheet(of(DATES[:2]), fields(2), format="svg"))
    assert "forecast" in bare and not {"truth", "spread"} & set(bare)


def test_truth_and_forecast_share_their_colours():
    truth = fields(2)
    shown = images(forecast_sheet(of(DATES[:2]), truth, truth=truth, format="svg"))
    maps = [image for image in shown if image.shape[1] > image.shape[0]]
    assert (maps[0] == maps[2]).all() and (maps[1] == maps[3]).all() and (maps[0] != maps[1]).any()


def test_a_forecast_without_an_error_has_none_on_the_sheet():
    words = texts(forecast_sheet(of(DATES[:2]), fields(2), truth=fields(2), format="svg"))
    assert words.count("rmse 0") == 2


def test_errors_are_counted_by_area_and_without_gaps():
    error = np.zeros((1, *GLOBE.shape))
    error[0, 0], error[0, 1] = 3.0, np.nan
    weights = GLOBE.weights
    expected = np.sqrt(9 * weights[0] / (weights.sum() - weights[1]))
    assert difference_row("", error, GLOBE).notes == [f"rmse {expected:.3g}"]
    assert difference_row("", np.full_like(error, np.nan), GLOBE).notes == [""]


def test_of_many_times_the_first_and_last_and_some_between_are_shown():
    words = texts(forecast_sheet(of(DATES), fields(20), format="svg"))
    heads = [word for word in words if word.startswith("2001")]
    assert len(heads) == 6 and heads[0].startswith("2001-01-01") and heads[-1].startswith("2001-01-20")


def test_sheets_are_of_a_size_to_print(monkeypatch):
    monkeypatch.undo()
    width, height = size(forecast_sheet(of(DATES), fields(20), truth=fields(20)))
    assert 1400 < width < 1750 and 300 < height < 1600


@pytest.mark.parametrize("count", [1, 3])
def test_filled_gaps_stand_beside_what_was_given(count: int):
    truth = fields(count)
    given, filled = truth.copy(), truth.copy()
    given[:, 2:4, 3:6], filled[:, 2:4, 3:6] = np.nan, truth[:, 2:4, 3:6] + 2
    svg = filling_sheet(of(DATES[:count]), given, filled, truth=truth, format="svg")
    assert {"given", "filled", "truth"} <= set(texts(svg)) and texts(svg).count("rmse 2") == count


def test_lines_go_around_areas_and_not_around_scattered_cells():
    block, scattered = np.zeros(GLOBE.shape, bool), np.indices(GLOBE.shape).sum(0) % 2 == 0
    block[1:5, 2:10] = True
    assert _compact(block) and not _compact(scattered) and not _compact(block & ~block)


def test_narrow_grids_and_empty_fields_can_be_drawn():
    grid = FieldGrid(np.arange(40.0, 20, -5), np.array([10.0]))
    empty = np.full((2, *grid.shape), np.nan)
    assert size(forecast_sheet(of(DATES[:2], grid), fields(2, grid), truth=empty, spread=empty))
    row = FieldGrid(np.array([1.0]), np.arange(9.0), surface="plane")
    gaps = np.full((1, *row.shape), np.nan)
    assert size(filling_sheet(of(DATES[:1], row), gaps, fields(1, row), truth=fields(1, row)))


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"forecast: expected 2 fields of \(6, 12\) cells"):
        forecast_sheet(of(DATES[:2]), fields(2)[:, :5])
    with pytest.raises(DataError, match="no times"):
        forecast_sheet(of(()), fields(0))
