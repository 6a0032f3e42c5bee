"""The first guess of hidden cells: in time by the best linear estimate, in space by growing squares, and joined."""

import numpy as np
import pytest
import torch
from helpers.fields import GLOBE, codec_of, process, stretch_of
from helpers.tiny import close

from weft.domains.fields.codec.first_guess import (
    LEAST_VARIANCE,
    LEVELS,
    NEAR_SURE,
    Blend,
    first_guess,
    in_space,
    in_time,
)


def memory(*shape: int, keep: float = 0.8, lags: int = 6) -> torch.Tensor:
    """Correlations that fall by one factor, a little different in every cell."""
    factor = keep + 0.1 * torch.rand(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return torch.stack([factor**lag for lag in range(1, lags + 1)])


def cells(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def test_with_a_past_alone_the_guess_is_damped_anomaly_persistence():
    stretch = stretch_of(process(80))
    codec = codec_of(stretch, history=3, ahead=5)
    times, values = stretch.fields.times, stretch.fields.read(20, 28)
    season, hour = times.season[20:28], times.hour[20:28]
    anomalies = codec.anomalies(values, season, hour).swapaxes(0, 1)[None].astype(np.float32)
    shown = np.zeros(anomalies.shape, bool)
    shown[:, :, :3] = True
    given = codec.window(anomalies, shown, season[None], hour[None], np.arange(-2, 6)[None])
    guess = codec.values(given.values[0].numpy().swapaxes(0, 1), season, hour)
    climate = codec.climate
    for lead in range(1, 6):
        wanted = climate.damped(values[2], lead, (season[2], hour[2]), (season[2 + lead], hour[2 + lead]))
        np.testing.assert_allclose(guess[2 + lead], wanted, atol=1e-4)
        share = np.sqrt(np.clip(1 - climate.correlation_at(lead) ** 2, LEAST_VARIANCE, 1))
        np.testing.assert_allclose(
            codec.spreads(given.doubt[0, :, 2 + lead].numpy()), climate.spread * share, rtol=1e-3
        )


def test_between_two_known_fields_the_guess_is_the_kriging_estimate():
    values, known = cells(1, 2, 6, 3, 4), torch.zeros(1, 2, 6, 3, 4, dtype=torch.bool)
    known[:, :, [0, 4]] = True
    table = memory(2, 3, 4)
    guess, variance = in_time(values, known, torch.arange(6.0)[None].double(), table)
    for step, near, far in ((1, 1, 3), (2, 2, 2), (3, 3, 1)):
        a, b, both = table[near - 1], table[far - 1], table[3]
        for spot in np.ndindex(2, 3, 4):
            system = np.array([[1.0, both[spot]], [both[spot], 1.0]])
            weights = np.linalg.solve(system, [a[spot], b[spot]])
            wanted = weights @ [values[0, spot[0], t, spot[1], spot[2]] for t in (0, 4)]
            where = (0, spot[0], step, *spot[1:])
            assert float(guess[where]) == pytest.approx(wanted, abs=1e-12)
            assert float(variance[where]) == pytest.approx(1 - weights @ [a[spot], b[spot]], abs=1e-12)


def test_where_nothing_is_known_the_guess_is_the_climatology_with_all_its_spread():
    values, nothing = cells(2, 1, 4, 2, 3), torch.zeros(2, 1, 4, 2, 3, dtype=torch.bool)
    guess, variance = first_guess(
        values, nothing, torch.arange(4.0).expand(2, 4).double(), memory(1, 2, 3), Blend.of_time_alone(1), wraps=True
    )
    assert not guess.any() and (variance == 1).all()


def test_farther_from_what_is_known_the_guess_is_smaller_and_less_sure():
    values, known = torch.ones(1, 1, 20, 1, 1).double(), torch.zeros(1, 1, 20, 1, 1, dtype=torch.bool)
    known[:, :, 0] = True
    guess, variance = in_time(values, known, torch.arange(20.0)[None].double(), memory(1, 1, 1))
    assert (guess[0, 0, 1:].diff(dim=0) < 0).all() and (variance[0, 0, 1:].diff(dim=0) >= 0).all()
    assert (guess[0, 0, 1:] > 0).all()  # beyond the measured lags it goes on falling


def test_half_steps_have_correlations_between_those_of_whole_ones():
    values, known = torch.ones(1, 1, 3, 1, 1).double(), torch.zeros(1, 1, 3, 1, 1, dtype=torch.bool)
    known[:, :, 0] = True
    table = memory(1, 1, 1)
    guess, _ = in_time(values, known, torch.tensor([[0.0, 1.5, 2.0]]).double(), table)
    assert float(guess[0, 0, 1]) == pytest.approx(float(table[0] + table[1]) / 2, abs=1e-9)


def test_correlations_that_contradict_each_other_give_no_wild_guess():
    values, known = cells(1, 1, 5, 1, 4), torch.rand(1, 1, 5, 1, 4) < 0.5
    for level in (1.0, -1.0, 0.0, NEAR_SURE):
        guess, variance = in_time(
            values, known, torch.arange(5.0)[None].double(), torch.full((6, 1, 1, 4), level).double()
        )
        assert guess.isfinite().all() and guess.abs().max() < 2 * values.abs().max()
        assert ((variance >= LEAST_VARIANCE) & (variance <= 1)).all()


@pytest.mark.parametrize("shape", [(6, 8), (5, 7), (1, 9), (9, 1), (1, 1), (3, 200)])
@pytest.mark.parametrize("wraps", [True, False])
def test_known_cells_stay_and_constant_fields_are_filled_with_their_constant(shape, wraps):
    values = cells(2, *shape)
    known = torch.from_numpy(np.random.default_rng(1).random((2, *shape)) < 0.3)
    known[:, 0, 0] = True
    filled, level = in_space(values, known, wraps=wraps)
    assert torch.equal(filled[known], values[known]) and not level[known].any()
    assert (level[~known] > 0).all() and (level[~known] < LEVELS).all()
    constant, _ = in_space(torch.full_like(values, 2.5), known, wraps=wraps)
    assert close(constant, torch.full_like(values, 2.5), 1e-9)


def test_a_field_without_a_known_cell_has_the_last_level_and_others_beside_it_change_nothing():
    values = cells(2, 6, 8)
    known = torch.ones(2, 6, 8, dtype=torch.bool)
    known[0] = False
    known[1, 2:4, 3:6] = False
    filled, level = in_space(values, known, wraps=True)
    assert (level[0] == LEVELS).all() and not filled[0].any()
    alone, _ = in_space(values[1:], known[1:], wraps=True)
    assert torch.equal(alone[0], filled[1])


def test_filled_cells_are_continuous_over_the_seam_of_a_globe():
    wave = torch.cos(2 * torch.pi * torch.arange(8) / 8).double().expand(1, 4, 8).clone()
    known = torch.ones(1, 4, 8, dtype=torch.bool)
    known[..., [0, 7]] = False
    filled, _ = in_space(wave, known, wraps=True)
    turned, _ = in_space(wave.roll(4, -1), known.roll(4, -1), wraps=True)
    assert close(turned, filled.roll(4, -1), 1e-12)  # as in the middle of the map
    assert (filled - wave)[..., [0, 7]].abs().max() < 0.6
    apart, _ = in_space(wave, known, wraps=False)
    assert not close(apart, filled, 1e-3)


def test_hidden_values_and_nan_never_leak():
    stretch = stretch_of(process(40))
    codec = codec_of(stretch)
    rng = np.random.default_rng(0)
    anomalies = rng.normal(size=(2, 2, 5, *GLOBE.shape)).astype(np.float32)
    shown = rng.random(anomalies.shape) < 0.5
    when = (np.full((2, 5), 0.25), np.zeros((2, 5)), np.broadcast_to(np.arange(-2, 3), (2, 5)))
    given = codec.window(anomalies, shown, *when)
    for hidden in (np.nan, np.inf, 1e30):
        again = codec.window(np.where(shown, anomalies, np.float32(hidden)), shown, *when)
        assert torch.equal(again.values, given.values) and torch.equal(again.doubt, given.doubt)
    missing = codec.window(np.where(shown, anomalies, np.float32(np.nan)), np.ones_like(shown), *when)
    assert torch.equal(missing.known, given.known) and torch.equal(missing.values, given.values)
    assert given.values.isfinite().all() and given.doubt.isfinite().all()
    assert (given.doubt[~given.known] > 0).all() and not given.doubt[given.known].any()


def test_hidden_fields_before_and_behind_a_window_change_nothing():
    values, known = cells(1, 2, 5, 3, 4), torch.rand(1, 2, 5, 3, 4) < 0.5
    table, blend = memory(2, 3, 4), Blend.of_time_alone(2)
    guess, variance = first_guess(values, known, torch.arange(5.0)[None].double(), table, blend, wraps=True)
    wide = torch.cat([cells(1, 2, 2, 3, 4, seed=5), values, cells(1, 2, 1, 3, 4, seed=6)], 2)
    hidden = torch.zeros_like(wide, dtype=torch.bool)
    hidden[:, :, 2:7] = known
    more, doubt = first_guess(wide, hidden, torch.arange(-2.0, 6.0)[None].double(), table, blend, wraps=True)
    assert close(more[:, :, 2:7], guess, 1e-12) and close(doubt[:, :, 2:7], variance, 1e-12)


def test_a_blend_weighs_both_guesses_by_layer_and_distance():
    values, known = cells(1, 2, 3, 4, 6), torch.ones(1, 2, 3, 4, 6, dtype=torch.bool)
    known[:, :, 1, 1:3, 2:5] = False
    weights = torch.rand(3, 2, LEVELS + 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    blend, table, time = Blend(*weights), memory(2, 4, 6), torch.arange(3.0)[None].double()
    guess, variance = first_guess(values, known, time, table, blend, wraps=False)
    in_past, _ = in_time(values, known, time, table)
    around, level = in_space(values[0].flatten(0, 1), known[0].flatten(0, 1), wraps=False)
    for layer in range(2):
        here, at = around[layer * 3 + 1], level[layer * 3 + 1]
        wanted = weights[0, layer, at] * here + weights[1, layer, at] * in_past[0, layer, 1]
        assert close(guess[0, layer, 1][~known[0, layer, 1]], wanted[~known[0, layer, 1]], 1e-12)
        assert close(variance[0, layer, 1], weights[2, layer, at].clamp(LEAST_VARIANCE, 1.0), 1e-12)
