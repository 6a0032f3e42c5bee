"""Scores of fields, the baselines of forecasts and of gaps, against formulas of their own."""

import sys

import numpy as np
import pytest
from helpers.field_arrays import ArrayFields, times_every

from weft.domains.fields.measures.baselines import forecast_baselines, launches, scale_of
from weft.domains.fields.measures.dineof import dineof
from weft.domains.fields.measures.gap_baselines import between_cells
from weft.domains.fields.measures.model import baselines_of
from weft.domains.fields.measures.scores import FieldScores, Forecast, ensemble_crps, normal_crps
from weft.domains.fields.reading.climatology import learn
from weft.domains.fields.reading.gaps import blocks, hidden_at
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, FieldSpan

MONTH = 365 / 12
WORLD = FieldGrid(np.linspace(80, -80, 9), np.linspace(-180, 180, 12, endpoint=False), wraps=True)


def moving(count: int, keep: float, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Anomalies that keep a share of themselves at every step, with variance 1."""
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=shape)]
    for _ in range(count - 1):
        values.append(keep * values[-1] + np.sqrt(1 - keep**2) * rng.normal(size=shape))
    return np.stack(values)


def test_crps_of_a_normal_distribution_is_the_integral():
    from statistics import NormalDist

    grid = np.linspace(-30, 30, 200_001)
    for truth, mean, spread in ((0.3, 0.0, 1.0), (-2.0, 1.5, 0.7), (4.0, 3.9, 2.5)):
        below = np.array([NormalDist(mean, spread).cdf(x) for x in grid[::20]])
        integral = np.trapezoid((below - (grid[::20] >= truth)) ** 2, grid[::20])
        assert normal_crps(np.array(truth), np.array(mean), np.array(spread)) == pytest.approx(integral, abs=4e-3)
    assert normal_crps(np.array(2.0), np.array(0.5), np.array(0.0)) == 1.5


@pytest.mark.parametrize("fair", [True, False])
def test_crps_of_an_ensemble_is_the_mean_over_pairs(fair):
    rng = np.random.default_rng(1)
    members, truth = rng.normal(size=(5, 3)), rng.normal(size=3)
    pairs = np.abs(members[:, None] - members[None]).sum((0, 1)) / (20 if fair else 25)
    expected = np.abs(members - truth).mean(0) - pairs / 2
    np.testing.assert_allclose(ensemble_crps(truth, members, fair), expected, rtol=1e-12)
    np.testing.assert_allclose(ensemble_crps(truth, members[:1], fair), np.abs(members[0] - truth), rtol=1e-12)


def test_a_large_ensemble_scores_like_its_distribution():
    members = np.random.default_rng(2).normal(1.0, 2.0, 20_000)
    assert ensemble_crps(np.array(0.2), members) == pytest.approx(
        float(normal_crps(np.array(0.2), np.array(1.0), np.array(2.0))), rel=0.02
    )


def test_scores_of_a_map_with_equal_weights_are_the_plain_ones():
    rng = np.random.default_rng(3)
    truth, forecast, usual = rng.normal(size=(3, 2, 4, 5))
    scores = FieldScores(np.ones(4), ["a", "b"])
    scores.add(1, 0, truth, Forecast(forecast, np.full_like(truth, 0.5)), climatology=usual)
    for i, layer in enumerate("ab"):
        found = scores.table()[1][layer]
        error = forecast[i] - truth[i]
        assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
        assert found["bias"] == pytest.approx(error.mean())
        plain = np.corrcoef((forecast[i] - usual[i]).ravel(), (truth[i] - usual[i]).ravel())[0, 1]
        assert found["acc"] == pytest.approx(plain)
        assert found["spread_skill"] == pytest.approx(0.5 / found["rmse"])


def test_cells_count_by_their_area_and_unknown_ones_not_at_all():
    truth = np.zeros((1, 2, 2))
    truth[0, 0, 1] = np.nan
    scores = FieldScores(np.array([0.5, 1.5]), ["a"])
    scores.add(1, 0, truth, Forecast(np.array([[[4.0, 99.0], [1.0, 2.0]]])))
    assert scores.of(1)["rmse"] == pytest.approx(np.sqrt((0.5 * 16 + 1.5 * 1 + 1.5 * 4) / 3.5))
    scores.add(
        2, 0, truth, Forecast(np.array([[[4.0, 99.0], [1.0, 2.0]]])), only=np.array([[True, True], [False, False]])
    )
    assert scores.of(2)["rmse"] == pytest.approx(4.0)


def test_an_honest_ensemble_has_as_much_spread_as_error():
    rng, scores = np.random.default_rng(4), FieldScores(np.ones(20), ["a"])
    for start in range(20):
        drawn = rng.normal(size=(4, 1, 20, 20))  # three members and the truth are alike
        scores.add(1, start, drawn[3], Forecast(drawn[:3].mean(0), members=drawn[:3]))
    assert scores.of(1)["spread_skill"] == pytest.approx(1.0, abs=0.03)
    low, high = scores.intervals(1)["rmse"]
    assert low < scores.of(1)["rmse"] < high < 1.1 * low


def test_a_ratio_compares_the_same_starts():
    rng = np.random.default_rng(5)
    good, bad = FieldScores(np.ones(3), ["a"]), FieldScores(np.ones(3), ["a"])
    for start in range(12):
        truth, error = rng.normal(size=(2, 1, 3, 4))
        good.add(1, start, truth, Forecast(truth + error))
        if start:
            bad.add(1, start, truth, Forecast(truth + 2 * error))
    ratio, (low, high) = good.ratio(bad, 1)
    assert ratio == pytest.approx(0.5) and low == high == 0.5


def test_layers_of_several_units_are_added_in_units_of_their_spread():
    values = np.random.default_rng(6).normal(size=(30, 2, 3, 4)) * np.array([1.0, 100.0])[:, None, None]
    fields = ArrayFields(values, times_every(MONTH, 30))
    climate = learn(FieldSpan(fields, 0, 30), 1)
    assert scale_of(fields.layers, fields.grid, climate).tolist() == [1, 1]
    mixed = scale_of((FieldLayer("u", units="m/s"), FieldLayer("p", units="Pa")), fields.grid, climate)
    np.testing.assert_allclose(mixed, [1, 100], rtol=0.2)


def test_forecasts_reach_every_held_out_field_at_every_lead_and_cross_no_gap():
    fields = ArrayFields(np.zeros((30, 1, 2, 2)), times_every(1.0, 30, gaps=(24,)))
    found = launches(FieldSpan(fields, 20, 30), 3, history=2)
    reached = sorted((launch.start + lead, lead) for launch in found for lead in launch.leads)
    expected = [(at, lead) for at in range(20, 24) for lead in (1, 2, 3)]
    expected += [(at, lead) for at in range(25, 30) for lead in (1, 2, 3) if at - lead >= 25]
    assert reached == sorted(expected)
    assert len(launches(FieldSpan(fields, 20, 30), 3, most=4)) == 4


def test_damped_anomalies_beat_persistence_and_climatology_where_anomalies_fade():
    values = 10 + moving(700, 0.6, (1, 4, 6))
    values[:, 0, 0, 0] = np.nan
    fields = ArrayFields(values, times_every(1.0, 700))
    climate = learn(FieldSpan(fields, 0, 600), 3)
    test = FieldSpan(fields, 600, 700)
    scores = forecast_baselines(test, climate, launches(test, 3))
    rmse = {name: [scores[name].of(lead)["rmse"] for lead in (1, 2, 3)] for name in scores}
    keep = 0.6 ** np.arange(1, 4)
    np.testing.assert_allclose(rmse["damped"], np.sqrt(1 - keep**2), rtol=0.06)
    np.testing.assert_allclose(rmse["persistence"], np.sqrt(2 * (1 - keep)), rtol=0.06)
    assert all(
        damped < min(*others) for damped, *others in zip(rmse["damped"], rmse["persistence"], rmse["climatology"])
    )
    assert scores["damped"].of(1)["spread_skill"] == pytest.approx(1, abs=0.06)
    assert scores["damped"].of(1)["crps"] < scores["climatology"].of(1)["crps"]


def test_a_linear_inverse_model_knows_what_follows_elsewhere():
    """Two patterns that turn into each other: no cell can tell it from its own past."""
    rng, count = np.random.default_rng(3), 900
    patterns, state = rng.normal(size=(2, 1, 4, 6)), np.zeros((count, 2))
    turn = 0.97 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    for at in range(1, count):
        state[at] = turn @ state[at - 1] + 0.25 * rng.normal(size=2)
    values = 5 + np.tensordot(state, patterns, 1) + 0.1 * rng.normal(size=(count, 1, 4, 6))
    fields = ArrayFields(values, times_every(1.0, count))
    train, test = FieldSpan(fields, 0, 800), FieldSpan(fields, 800, 900)
    climate = learn(train, 3)
    scores = forecast_baselines(test, climate, launches(test, 3), train=train)
    weights = np.broadcast_to(fields.grid.weights[:, None], (4, 6))
    for lead in (1, 3):  # as good as one who knows the rule and the states, and damped anomalies know nothing
        known = state[800 - lead : 900 - lead] @ np.linalg.matrix_power(turn.T, lead)
        missed = (5 + np.tensordot(known, patterns, 1) - values[800:])[:, 0]
        ideal = np.sqrt((weights * missed**2).mean(0).sum() / weights.sum())
        assert scores["linear"].of(lead)["rmse"] == pytest.approx(ideal, rel=0.05)
        assert scores["damped"].of(lead)["rmse"] == pytest.approx(scores["climatology"].of(lead)["rmse"], rel=0.01)
    assert scores["linear"].of(1)["spread_skill"] == pytest.approx(1, abs=0.15)
    assert "linear" not in forecast_baselines(test, climate, launches(test, 3), train=FieldSpan(fields, 0, 150))


def test_damped_anomalies_from_recent_years_stand_beside_those_of_all_years():
    times = times_every(MONTH, 480)
    values = moving(480, 0.5, (1, 4, 6)) + times.days[:, None, None, None] / 1826
    fields = ArrayFields(values, times)
    train, test = FieldSpan(fields, 0, 420), FieldSpan(fields, 420, 480)
    normals, recent = learn(train, 3), learn(train, 3, half_life=5.0)
    scores = forecast_baselines(test, normals, launches(test, 3), recent=recent)
    assert scores["recent"].of(3)["rmse"] < scores["damped"].of(3)["rmse"]
    assert abs(scores["recent"].of(3)["bias"]) < 0.7 * abs(scores["damped"].of(3)["bias"])
    assert "recent" not in forecast_baselines(test, normals, launches(test, 3), recent=normals)
    linear, of_recent, of_all = (
        forecast_baselines(test, given, launches(test, 3), recent=more, train=train)["linear"].of(3)["rmse"]
        for given, more in ((normals, recent), (recent, None), (normals, None))
    )
    assert linear == of_recent != of_all  # the linear inverse model is of anomalies from recent years too


def test_errors_are_kept_by_row_of_the_grid():
    scores = FieldScores(np.array([1.0, 2.0, 1.0]), ["t"])
    truth, wrong = np.zeros((1, 3, 2)), np.array([[[1.0, 1.0], [2.0, 2.0], [np.nan, 4.0]]])
    for start in (0, 1):
        scores.add(1, start, truth, Forecast(wrong))
    rows = np.array([True, True, False])
    assert scores.rmse_of_rows(1, rows, np.ones(1)) == pytest.approx(np.sqrt((2 * 1 + 4 * 4) / 6))
    assert scores.rmse_of_rows(1, rows | True, np.ones(1)) == pytest.approx(scores.of(1)["rmse"])
    assert np.isnan(scores.rmse_of_rows(1, rows & False, np.ones(1)))


@pytest.mark.parametrize("known", [0.5, 1.0])
def test_blocks_hide_the_share_of_known_cells_and_only_these(known):
    mask = np.random.default_rng(7).random((40, 60)) < known
    hidden = blocks(mask, np.random.default_rng(8))
    assert not (hidden & ~mask).any()
    assert 0.3 <= hidden.sum() / mask.sum() < 0.3 + 64 / mask.sum()
    field = np.where(mask, 1.0, np.nan)[None]
    assert (hidden_at(field, 3) == hidden_at(field, 3)).all() and (hidden_at(field, 3) != hidden_at(field, 4)).any()


def test_interpolation_restores_a_plane_and_goes_around_the_globe():
    pytest.importorskip("scipy")
    y, x = np.meshgrid(np.arange(9.0), np.arange(12.0), indexing="ij")
    plane = np.stack([2 * y - 3 * x, y + x, y])
    holes = plane.copy()
    holes[:2, 3:6, 4:8] = np.nan
    holes[2, 2:4, 2:5] = np.nan
    flat = FieldGrid(WORLD.y, WORLD.x, "plane")
    np.testing.assert_allclose(between_cells(holes, flat), plane, atol=1e-9)
    ring = (y + (x + 6) % 12)[None]  # a plane across the seam, with its edge far from the hole
    holes = ring.copy()
    holes[:, :, [10, 11, 0, 1]] = np.nan
    np.testing.assert_allclose(between_cells(holes, WORLD), ring, atol=1e-9)


def test_interpolation_takes_the_nearest_where_there_is_no_triangle():
    pytest.importorskip("scipy")
    field = np.full((2, 9, 12), np.nan)
    field[0, 4, 0] = 7.0
    filled = between_cells(field, WORLD)
    assert (filled[0] == 7).all() and np.isnan(filled[1]).all()


def test_dineof_restores_fields_of_few_modes_and_counts_them():
    rng = np.random.default_rng(9)
    truth = 5 + rng.normal(size=(60, 3)) @ rng.normal(size=(3, 200))
    holes = truth.copy()
    holes[rng.random(truth.shape) < 0.3] = np.nan
    holes[:, 17] = np.nan
    found = dineof(holes, weights=rng.uniform(0.5, 1.5, 200))
    assert found.modes in (3, 4)  # the mean of the known values alone may add one
    kept = np.arange(200) != 17
    assert np.isnan(found.values[:, 17]).all()
    known = np.isfinite(holes)
    assert (found.values[known] == holes[known]).all()
    error = (found.values - truth)[:, kept]
    assert np.sqrt((error**2).mean()) < 0.01 * truth.std()


def test_dineof_adds_nothing_to_noise():
    rng = np.random.default_rng(10)
    noise = rng.normal(size=(40, 300))
    holes = np.where(rng.random(noise.shape) < 0.3, np.nan, noise)
    found = dineof(holes)
    assert found.modes == 0
    assert (dineof(noise).values == noise).all()


def test_the_table_of_baselines_has_the_promised_names_and_only_held_out_fields_count():
    pytest.importorskip("scipy")
    smooth = np.cos(np.linspace(0, 2 * np.pi, 24, endpoint=False)) * np.cos(np.linspace(-1, 1, 16))[:, None]
    values = moving(80, 0.8, (1, 1, 1)) * smooth + 0.05 * moving(80, 0.0, (1, 16, 24), seed=1)
    grid = FieldGrid(np.linspace(75, -75, 16), np.linspace(-180, 180, 24, endpoint=False), wraps=True)
    fields = ArrayFields(values, times_every(MONTH, 80), grid)
    train, test = FieldSpan(fields, 0, 60), FieldSpan(fields, 60, 80)
    climate = learn(train, 3)
    table = baselines_of(test, climate, leads=3, train=train)
    metrics = table.metrics()
    assert set(metrics) == {
        "persistence_rmse", "climatology_rmse", "monthly_rmse", "damped_rmse", "interpolation_rmse", "dineof_rmse",
    }  # fmt: skip
    assert metrics["dineof_rmse"] < metrics["interpolation_rmse"] < metrics["climatology_rmse"]
    assert list(table.by_lead()["damped"]) == [1, 2, 3]
    weights = np.stack([grid.weights[:, None] * gap.hidden for gap in table.gaps])
    usual = np.stack([climate.mean(fields.times.season[gap.time], 0.0)[0] for gap in table.gaps])
    squares = (np.stack([gap.truth[0] for gap in table.gaps]) - usual) ** 2
    by_hand = np.sqrt((weights * squares).sum() / weights.sum())
    assert table.filled["climatology"].of(0)["rmse"] == pytest.approx(by_hand, rel=1e-5)
    assert all(60 <= start + 1 < 80 for start in table.forecasts["damped"].starts(1))


def test_without_scipy_gaps_are_measured_beside_the_other_baselines(monkeypatch):
    values = np.random.default_rng(0).normal(size=(30, 1, 8, 16))
    fields = ArrayFields(values, times_every(1.0, 30))
    climate = learn(FieldSpan(fields, 0, 20))
    assert "interpolation_rmse" in baselines_of(FieldSpan(fields, 20, 30), climate, leads=1).metrics()
    monkeypatch.setitem(sys.modules, "scipy", None)
    found = baselines_of(FieldSpan(fields, 20, 30), climate, leads=1)
    assert set(found.filled) == {"climatology"} and "interpolation_rmse" not in found.metrics()
