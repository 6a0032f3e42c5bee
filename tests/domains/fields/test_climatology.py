"""A climate learned from fields: means by season and hour, spreads, correlations."""

import numpy as np
import pytest
from helpers.field_arrays import ArrayFields, times_every

from weft.domains.fields.reading import climatology
from weft.domains.fields.reading.climatology import best_half_life, learn
from weft.domains.fields.reading.grid import FieldSpan
from weft.errors import DataError
from weft.modalities.climate import ANNUAL, COLUMNS, Climate, waves

MONTH = 365 / 12


def cyclic(times, columns, rng, shape=(2, 3, 4)):
    """Fields that are exactly a sum of waves, and the waves."""
    truth = rng.normal(size=(len(columns), *shape))
    return np.tensordot(waves(times.season, times.hour)[:, columns], truth, 1), truth


def learned(values, times, lags=3, **options) -> Climate:
    return learn(FieldSpan(ArrayFields(values, times), 0, len(times)), lags, **options)


def test_the_waves_of_the_year_are_recovered():
    times, rng = times_every(MONTH, 36), np.random.default_rng(0)
    values, truth = cyclic(times, [0, *ANNUAL], rng)
    climate = learned(values, times)
    assert climate.columns.tolist() == [0, *ANNUAL]
    np.testing.assert_allclose(climate.harmonics, truth, atol=1e-5)
    np.testing.assert_allclose(climate.mean(times.season, times.hour), values, atol=1e-5)
    np.testing.assert_allclose(climate.mean(times.season[7], times.hour[7]), values[7], atol=1e-5)


@pytest.mark.parametrize(("step", "columns"), [(1 / 8, [0, 5, 6, 7, 8]), (1 / 4, [0, 5, 6, 7])])
def test_waves_of_the_day_are_recovered_as_far_as_the_steps_tell_them_apart(step, columns):
    times, rng = times_every(step, 80), np.random.default_rng(1)
    values, truth = cyclic(times, columns, rng)
    climate = learned(values, times)
    assert climate.columns.tolist() == columns  # every six hours the last sine is 0, and ten days tell no season
    np.testing.assert_allclose(climate.harmonics, truth, atol=1e-5)


def test_both_cycles_are_recovered_from_two_years_with_missing_values():
    times, rng = times_every(0.25, 4 * 740), np.random.default_rng(2)
    columns = [0, *ANNUAL, 5, 6, 7]
    values, truth = cyclic(times, columns, rng, (1, 2, 2))
    values[rng.random(values.shape) < 0.6] = np.nan
    climate = learned(values, times)
    assert climate.columns.tolist() == columns
    np.testing.assert_allclose(climate.harmonics, truth, atol=1e-4)


@pytest.mark.parametrize("times", [times_every(MONTH, 23), times_every(365, 40)], ids=["below two years", "every year"])
def test_where_times_tell_no_season_the_mean_is_plain(times):
    values = np.random.default_rng(3).normal(5, 1, (len(times), 1, 2, 3))
    climate = learned(values, times)
    assert climate.columns.tolist() == [0]
    np.testing.assert_allclose(climate.mean(0.3, 0.1), values.mean(0), atol=1e-5)


def test_cells_with_few_values_keep_their_mean_and_cells_without_any_have_their_layers():
    times, rng = times_every(MONTH, 48), np.random.default_rng(4)
    values = rng.normal(10, 1, (48, 2, 2, 2))
    values[6:, 0, 0, 0] = np.nan
    values[:, 1, 1, 1] = np.inf  # not a number that could be learned from
    climate = learned(values, times)
    assert climate.harmonics[0, 0, 0, 0] == pytest.approx(values[:6, 0, 0, 0].mean(), rel=1e-6)
    assert (climate.harmonics[1:, 0, 0, 0] == 0).all() and (climate.harmonics[1:, 0, 0, 1] != 0).all()
    others = np.ones((2, 2), bool)
    others[1, 1] = False
    assert climate.harmonics[0, 1, 1, 1] == pytest.approx(climate.harmonics[0, 1][others].mean(), rel=1e-5)
    assert climate.known.sum() == 7 and not climate.known[1, 1, 1]
    assert all(np.isfinite(part).all() for part in climate.arrays().values())


def test_a_cell_known_in_one_season_is_not_extrapolated_wildly():
    times, rng = times_every(5, 73 * 4), np.random.default_rng(5)
    values = 280 + 10 * np.cos(2 * np.pi * times.season)[:, None, None, None] + rng.normal(0, 1, (len(times), 1, 1, 2))
    values[times.season > 0.35, 0, 0, 0] = np.nan
    values[times.season > 0.15, 0, 0, 1] = np.nan
    climate = learned(values, times)
    assert abs(climate.mean(np.linspace(0, 1, 50), 0.0) - 280).max() < 30
    known = times.season <= 0.35
    error = climate.mean(times.season, times.hour)[known, 0, 0, 0] - values[known, 0, 0, 0]
    assert np.sqrt((error**2).mean()) < 0.5 * values[known, 0, 0, 0].std()


def test_spread_and_correlation_are_those_of_the_process():
    rng, count, keep = np.random.default_rng(6), 4000, np.array([0.9, 0.5, 0.0])
    values = np.zeros((count, 1, 1, 3))
    for t in range(1, count):
        values[t, 0, 0] = keep * values[t - 1, 0, 0] + rng.normal(size=3)
    climate = learned(values, times_every(1.0, count), lags=4)
    np.testing.assert_allclose(climate.spread[0, 0], 1 / np.sqrt(1 - keep**2), rtol=0.1)
    np.testing.assert_allclose(climate.correlation[:, 0, 0], keep ** np.arange(1, 5)[:, None], atol=0.06)
    np.testing.assert_allclose(climate.correlation_at(8), climate.correlation[3].clip(min=0) ** 2, rtol=1e-6)


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(7)
    values = rng.normal(size=(60, 2, 3, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    times = times_every(MONTH, 60, gaps=(25,))
    whole = learned(values, times, lags=4)
    monkeypatch.setattr(climatology, "BLOCK_BYTES", 3 * 4 * 24)
    parts = learned(values, times, lags=4)
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(parts.arrays()[name], array, atol=1e-6, err_msg=name)


def test_pairs_never_cross_a_gap():
    times = times_every(MONTH, 40, gaps=(20,))
    rng = np.random.default_rng(8)
    values = rng.normal(size=(40, 1, 1, 1))
    climate = learned(values, times, lags=2)
    anomalies = values[:, 0, 0, 0] - climate.mean(times.season, times.hour)[:, 0, 0, 0]
    for lag in (1, 2):
        ends = np.array([t for t in range(lag, 40) if not t - lag < 20 <= t])
        a, b = anomalies[ends - lag], anomalies[ends]
        expected = (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())
        assert climate.correlation[lag - 1, 0, 0, 0] == pytest.approx(expected, abs=1e-5)


def test_only_the_stretch_is_read():
    values = np.random.default_rng(9).normal(size=(50, 1, 2, 2))
    times = times_every(MONTH, 50)
    clean = learn(FieldSpan(ArrayFields(values, times), 10, 40), 2)
    values[:10], values[40:] = 1e6, -1e6
    again = learn(FieldSpan(ArrayFields(values, times), 10, 40), 2)
    assert all((again.arrays()[name] == array).all() for name, array in clean.arrays().items())


def test_each_month_has_its_own_part_though_the_first_days_of_months_are_uneven():
    starts = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    days = (starts[None] + 365.0 * np.arange(3)[:, None]).ravel()
    times = times_every(MONTH, 36)
    times = type(times)(days, days / 365 % 1, days % 1, times.labels, MONTH, times.pieces)
    values = np.tile(np.arange(12.0), 3)[:, None, None, None] + np.zeros((1, 1, 1, 2))
    climate = learned(values, times)
    assert len(climate.bins) == 12
    np.testing.assert_allclose(climate.monthly_mean(times.season), values, atol=1e-6)


def test_a_climate_survives_as_arrays_and_refuses_what_does_not_fit():
    times = times_every(MONTH, 30)
    climate = learned(np.random.default_rng(10).normal(size=(30, 2, 3, 4)), times)
    arrays = climate.arrays()
    again = Climate.from_arrays(arrays)
    assert all((again.arrays()[name] == array).all() for name, array in arrays.items())
    assert again.harmonics.dtype == np.float32 and again.phase == climate.phase
    for name, wrong in (("bins", arrays["bins"][..., :2]), ("columns", arrays["columns"] + COLUMNS)):
        with pytest.raises(DataError, match=name):
            Climate.from_arrays({**arrays, name: wrong}, "climate.safetensors")
    with pytest.raises(DataError, match="spread"):
        Climate.from_arrays({**arrays, "spread": arrays["spread"] * 0})
    with pytest.raises(DataError, match="without harmonics"):
        Climate.from_arrays({name: array for name, array in arrays.items() if name != "harmonics"})


def test_progress_counts_both_passes():
    told = []
    learned(np.ones((30, 1, 2, 2)), times_every(MONTH, 30), progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (60, 60) and all(done <= of for done, of in told)


def warming(per_decade: float, years: int = 40) -> FieldSpan:
    """Months of noise on a mean that rises; one cell misses its first half."""
    times, rng = times_every(MONTH, 12 * years), np.random.default_rng(7)
    values = rng.normal(0, 1, (len(times), 1, 3, 4)) + per_decade * times.days[:, None, None, None] / 3652.5
    values[: len(times) // 2, 0, 1, 1] = np.nan
    return FieldSpan(ArrayFields(values, times), 0, len(times))


def test_with_a_half_life_the_last_years_count_most():
    stretch = warming(1.0)
    plain, recent = learn(stretch, 3), learn(stretch, 3, half_life=5.0)
    ages = (stretch.fields.times.days[-1] - stretch.fields.times.days) / 365.25
    weights, values = 0.5 ** (ages / 5.0), stretch.fields.read(0, len(stretch))[:, 0, 0, 0]
    basis = waves(stretch.fields.times.season, stretch.fields.times.hour)[:, plain.columns]
    wanted = np.linalg.lstsq(basis * np.sqrt(weights)[:, None], values * np.sqrt(weights), rcond=None)[0]
    np.testing.assert_allclose(recent.harmonics[:, 0, 0, 0], wanted, atol=1e-4)
    assert recent.harmonics[0].min() > 3 and plain.harmonics[0, 0, 0, 0] == pytest.approx(2, abs=0.2)
    np.testing.assert_array_equal(recent.bins, plain.bins)  # the means of months are those of all years


def test_the_half_life_is_told_by_the_last_fields():
    assert best_half_life(warming(1.0)) == min(climatology.HALF_LIVES)
    assert best_half_life(warming(0.0)) in (None, max(climatology.HALF_LIVES))
    assert best_half_life(warming(1.0, years=14)) is None  # too short to tell
