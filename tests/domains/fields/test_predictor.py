"""Fields predicted by a model: rolled forward, filled, between two times; and what happens where it diverges."""

import numpy as np
import pytest
import torch
from helpers.field_arrays import ArrayFields, times_every
from helpers.fields import GLOBE, codec_of, field_model, plain_codec, process, stretch_of

from weft.domains.fields.predictor import FARTHEST, FieldPredictor, Noise
from weft.domains.fields.reading.grid import FieldSpan
from weft.errors import WeftError

HISTORY, AHEAD = 3, 2
SEED = 4


def small_model(scale: float = 0.02, **options) -> torch.nn.Module:
    """A model whose head says a little."""
    model = field_model(times=HISTORY + AHEAD, wraps=True, patch=3, **options).float()
    with torch.no_grad():
        for weight in model.head.parameters():
            weight.mul_(scale)
    return model


def with_gaps(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[np.random.default_rng(SEED).random(values.shape) < 0.3] = np.nan
    values[:, 1, 2, 3] = np.nan  # never known
    return values


@pytest.fixture(scope="module")
def gappy() -> FieldSpan:
    return stretch_of(with_gaps(process(30)))


@pytest.fixture(scope="module")
def predictor(gappy: FieldSpan) -> FieldPredictor:
    return FieldPredictor(small_model(), codec_of(gappy, HISTORY, AHEAD))


def said(predictor: FieldPredictor, bias: float) -> FieldPredictor:
    """The same, whose head moves every cell by this many spreads of its guess."""
    model = small_model(0.0)
    with torch.no_grad():
        model.head.out.bias[: model.config.embed.size // 2] = bias
    return FieldPredictor(model, predictor.codec)


def test_rolling_forward_is_feeding_back_by_hand(predictor, gappy):
    codec, times = predictor.codec, gappy.fields.times
    rolled = predictor.roll(gappy, 19, 5)
    values = codec.anomalies(gappy.fields.read(17, 20), times.season[17:20], times.hour[17:20]).astype(np.float32)
    known, fields = values, []
    for first in (17, 19, 21):
        window = np.concatenate([known, np.full((AHEAD, *known.shape[1:]), np.nan, np.float32)]).swapaxes(0, 1)[None]
        when = slice(first, first + HISTORY + AHEAD)
        mean, _ = predictor.predict(window, np.isfinite(window), times.season[None, when], times.hour[None, when])
        ahead = mean[0, :, HISTORY:].swapaxes(0, 1).copy()
        ahead[:, predictor.never] = np.nan
        fields.append(ahead)
        known = np.concatenate([known, ahead])[-HISTORY:]
    wanted = np.concatenate(fields)[:5]
    wanted = codec.values(wanted, times.season[20:25], times.hour[20:25])
    np.testing.assert_allclose(rolled.mean, wanted, rtol=1e-5, atol=1e-5)
    assert rolled.members is None and rolled.diverged is None and len(rolled.spread) == 5


def test_one_member_is_the_same_each_time_and_leads_do_not_depend_on_the_horizon(predictor, gappy):
    long = predictor.roll(gappy, 15, 7)
    again = predictor.roll(gappy, 15, 7, seed=9)
    np.testing.assert_array_equal(long.mean, again.mean)
    np.testing.assert_allclose(predictor.roll(gappy, 15, 3).mean, long.mean[:3], rtol=1e-5, atol=1e-5)


def test_members_are_drawn_by_the_seed(predictor, gappy):
    one, same, other = (predictor.roll(gappy, 15, 3, members=2, seed=seed).members for seed in (1, 1, 2))
    assert one.shape == (2, 3, 2, *GLOBE.shape) and not np.array_equal(one[0], one[1], equal_nan=True)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other, equal_nan=True)


def test_members_have_the_spread_of_the_model(predictor, gappy):
    known = ~predictor.never
    many, alone = predictor.roll(gappy, 15, 3, members=48, seed=1), predictor.roll(gappy, 15, 3)
    ratio = many.members[:, 0].std(0)[known] / many.spread[0][known]
    assert 0.85 < np.median(ratio) < 1.15 and ratio.min() > 0.6 and ratio.max() < 1.5
    np.testing.assert_allclose(many.spread[:AHEAD], alone.spread[:AHEAD], rtol=1e-4)  # within one window
    later = many.spread[AHEAD][known] > alone.spread[AHEAD][known]
    assert later.mean() > 0.9  # then they start from members that differ


def test_random_fields_have_variance_one_and_last():
    codec = plain_codec()
    noise = Noise(codec, 400, 0)
    first, second = next(noise), next(noise)
    assert abs(first.var() - 1) < 0.05 and abs((first * second).mean() - 0.8) < 0.08


def test_cells_without_a_value_at_any_time_stay_missing(predictor, gappy):
    rolled = predictor.roll(gappy, 20, 3, members=3)
    for values in (rolled.mean, rolled.spread, rolled.members):
        missing = np.isnan(values)
        assert missing[..., 1, 2, 3].all() and missing.sum() == missing[..., 1, 2, 3].size


def test_a_forecast_that_diverges_ends_before_the_lead_at_which_it_does(predictor, gappy):
    rolled = said(predictor, 15.0).roll(gappy, 20, 12)
    assert rolled.diverged is not None and 1 < rolled.diverged < 12
    assert len(rolled.mean) == len(rolled.spread) == rolled.diverged - 1
    farthest = predictor.codec.climate.spread.max() * FARTHEST * 2
    assert np.isfinite(rolled.mean[:, ~predictor.never]).all() and np.nanmax(np.abs(rolled.mean)) < farthest
    with_members = said(predictor, 15.0).roll(gappy, 20, 12, members=3)
    assert with_members.members.shape[1] == with_members.diverged - 1


@pytest.mark.parametrize("bias", [1e6, float("inf"), float("nan")])
def test_what_diverges_at_once_gives_no_field(predictor, gappy, bias):
    for members in (1, 3):
        rolled = said(predictor, bias).roll(gappy, 20, 4, members=members)
        assert rolled.diverged == 1 and len(rolled.mean) == len(rolled.spread) == 0


def test_values_that_are_no_numbers_are_never_written_into_gaps(predictor, gappy):
    for use in (said(predictor, float("nan")).filled, said(predictor, float("inf")).between):
        with pytest.raises(WeftError, match="not finite"):
            list(use(gappy))


def test_filled_fields_keep_what_was_known_to_the_last_digit(predictor, gappy):
    found = list(predictor.filled(gappy))
    assert [at for at, _, _ in found] == list(range(30))
    given = gappy.fields.read(0, 30)
    for at, field, spread in found:
        known = np.isfinite(given[at])
        np.testing.assert_array_equal(field[known], given[at][known])
        assert not spread[known].any()
        gaps = ~known & ~predictor.never
        assert np.isfinite(field[gaps]).all() and (spread[gaps] > 0).all()
        assert np.isnan(field[predictor.never & ~known]).all()


def test_a_value_where_none_was_known_in_training_is_kept(predictor, gappy):
    values = gappy.fields.read(0, 30)
    values[4, 1, 2, 3] = 12.5
    later = stretch_of(values)
    fields = {at: (field, spread) for at, field, spread in predictor.filled(later)}
    assert fields[4][0][1, 2, 3] == 12.5 and fields[4][1][1, 2, 3] == 0
    assert np.isnan(fields[5][0][1, 2, 3])


def test_a_part_of_the_fields_is_filled_as_in_the_whole_of_them(predictor, gappy):
    some = FieldSpan(gappy.fields, 10, 20)
    assert [at for at, _, _ in predictor.filled(some)] == list(range(10, 20))
    field, spread = predictor.fill(gappy, 12)
    assert np.isfinite(field[~predictor.never]).all() and field.shape == spread.shape == (2, *GLOBE.shape)


def test_hidden_cells_are_filled_without_being_seen(predictor, gappy):
    block = np.zeros((2, *GLOBE.shape), bool)
    block[:, 1:4, 2:6] = True
    field, spread = predictor.fill(gappy, 12, lambda at: block)
    changed = gappy.fields.read(0, 30)
    changed[:, block] = 1e4
    again, _ = FieldPredictor(predictor.model, predictor.codec).fill(stretch_of(changed), 12, lambda at: block)
    np.testing.assert_array_equal(field, again)
    assert (spread[block & ~predictor.never] > 0).all()


def test_windows_of_gaps_in_time_are_filled_for_themselves(predictor):
    values = with_gaps(process(30))
    apart = stretch_of(values, gaps=(14,))
    found = [at for at, _, _ in predictor.filled(apart)]
    assert found == list(range(30))
    assert {at for at, _, _ in predictor.between(apart)} == {at + 0.5 for at in range(29) if at != 13}


def test_states_between_two_fields_lie_between_them_where_they_change_evenly():
    line = np.linspace(-1.5, 1.5, 12)[:, None, None, None] * np.ones((1, 2, *GLOBE.shape))
    stretch = stretch_of(line)
    predictor = FieldPredictor(small_model(0.0), plain_codec(history=HISTORY, ahead=AHEAD, keep=0.98))
    found = list(predictor.between(stretch))
    assert [at for at, _, _ in found] == [at + 0.5 for at in range(11)]
    for at, field, spread in found:
        middle = (line[int(at)] + line[int(at) + 1]) / 2
        np.testing.assert_allclose(field, middle, atol=0.02)
        assert (spread < 0.2).all() and (spread > 0).all()


def test_one_field_is_enough_for_a_forecast_and_the_horizon_is_free(predictor):
    one = FieldSpan(ArrayFields(process(1), times_every(1.0, 1), GLOBE), 0, 1)
    rolled = predictor.roll(one, 0, 40)
    assert len(rolled.mean) == 40 and rolled.diverged is None
    assert np.isfinite(rolled.mean[:, ~predictor.never]).all()
    late = predictor.roll(stretch_of(process(30)), 29, 9)
    assert len(late.mean) == 9


def test_a_silent_model_forecasts_damped_anomalies(predictor, gappy):
    silent = said(predictor, 0.0)
    climate, times = predictor.codec.climate, gappy.fields.times
    whole = stretch_of(process(30))
    rolled, now = silent.roll(whole, 10, AHEAD), (times.season[10], times.hour[10])
    for lead in (1, 2):
        then = (times.season[10 + lead], times.hour[10 + lead])
        wanted = climate.damped(whole.fields.read(10, 11)[0], lead, now, then)
        np.testing.assert_allclose(rolled.mean[lead - 1][~predictor.never], wanted[~predictor.never], atol=1e-3)


def test_progress_counts_up_to_all_fields(predictor, gappy):
    for use in (predictor.filled, predictor.between):
        counts = []
        list(use(gappy, counts.append))
        assert counts == sorted(counts) and counts[-1] in (29, 30)
