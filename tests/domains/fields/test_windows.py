"""Windows of fields: never across a gap, history before a stretch never scored, the same in whatever batch."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from helpers.field_arrays import ArrayFields, times_every
from helpers.fields import GLOBE, plain_codec, process, stretch_of

from weft.batches.ahead import Ahead
from weft.domains.fields.encoded import windows
from weft.domains.fields.encoded.hiding import Hiding
from weft.domains.fields.encoded.windows import Anomalies, FieldWindows, WindowReader, moments
from weft.domains.fields.reading.grid import FieldSpan

HISTORY, AHEAD = 3, 2


def counted(count: int = 30, gaps: tuple[int, ...] = ()) -> FieldSpan:
    """Fields that hold the number of their time."""
    values = np.broadcast_to(np.arange(count, dtype=np.float32)[:, None, None, None], (count, 2, *GLOBE.shape))
    return stretch_of(values, gaps=gaps)


def source(train: FieldSpan, held_out: FieldSpan, *, seed: int = 0, purpose="all") -> FieldWindows:
    codec = plain_codec(history=HISTORY, ahead=AHEAD)
    hiding = Hiding((2, HISTORY + AHEAD, *GLOBE.shape), HISTORY, purpose)
    return FieldWindows(train, held_out, codec, hiding, fingerprint="f", seed=seed)


def same(one, other) -> bool:
    return all(
        torch.equal(getattr(a, name), getattr(b, name))
        for a, b in ((one.given, other.given), (one.wanted, other.wanted))
        for name in vars(a)
    )


def test_windows_never_cross_a_gap():
    stretch = counted(30, gaps=(10, 11, 20))
    reader = WindowReader(stretch, plain_codec())
    assert reader.ends.tolist() == [*range(9), *range(11, 19), *range(20, 29)]
    for end in reader.ends:
        values, _, _ = reader.read(int(end))
        low, high = next((a, b) for a, b in ((0, 10), (11, 20), (20, 30)) if a <= end < b)
        wanted = np.arange(end - HISTORY + 1, end + AHEAD + 1)
        inside = (wanted >= low) & (wanted < high)
        assert (values[:, inside] == wanted[inside][None, :, None, None]).all() and np.isnan(values[:, ~inside]).all()


def test_what_lies_behind_a_stretch_is_not_known():
    whole = counted(30)
    values, _, _ = WindowReader(FieldSpan(whole.fields, 0, 20), plain_codec()).read(19)
    assert (values[:, HISTORY - 1] == 19).all() and np.isnan(values[:, HISTORY:]).all()


def test_fields_before_a_stretch_are_history_and_never_scored():
    whole = counted(30)
    held_out = FieldSpan(whole.fields, 20, 30)
    reader = WindowReader(held_out, plain_codec())
    assert reader.ends.tolist() == list(range(19, 29))
    fed = source(FieldSpan(whole.fields, 0, 20), held_out)
    seen = np.zeros(30, bool)
    for batch in fed.held_out():
        truth = batch.wanted.values[batch.wanted.scored]
        assert truth.min() >= 20
        seen[truth.unique().long().numpy()] = True
        assert batch.given.values[batch.given.known].min() < 20 or truth.min() >= 21
    assert seen[20:].all()


def test_training_scores_its_own_fields_alone():
    whole = counted(30)
    fed = source(FieldSpan(whole.fields, 0, 20), FieldSpan(whole.fields, 20, 30))
    batch = fed.batch(np.arange(2 * fed.per_epoch))
    assert fed.per_epoch == 19 and batch.wanted.values[batch.wanted.scored].max() == 19
    assert not (batch.wanted.scored & batch.given.known).any()
    rows = batch.given.time.eq(0)  # the last field of each history
    assert rows.sum() == 2 * fed.per_epoch


def test_each_epoch_meets_every_window_once_in_an_order_of_its_own():
    fed = source(counted(20), counted(20))
    ends = fed.order.rows(np.arange(3 * fed.per_epoch)).reshape(3, -1)
    assert (np.sort(ends, 1) == np.arange(fed.per_epoch)).all() and (ends[0] != ends[1]).any()


def test_batches_are_the_same_wherever_they_are_cut():
    values = process(40)
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    stretch = stretch_of(values, gaps=(13,))
    fed, again = source(stretch, stretch), source(stretch, stretch)
    whole = fed.batch(np.arange(12))
    for low, high in ((7, 12), (0, 5), (5, 7)):
        assert same(again.batch(np.arange(low, high)), whole[low:high])
    assert not same(source(stretch, stretch, seed=1).batch(np.arange(12)), whole)


def test_what_is_held_out_is_always_the_same():
    stretch = stretch_of(process(40))
    one, other = source(stretch, stretch), source(stretch, stretch, seed=5)
    one.batch(np.arange(8))
    first, second = list(one.held_out()), list(other.held_out())
    assert len(first) == len(second) == 10 and all(same(a, b) for a, b in zip(first, second, strict=True))
    few = list(one.held_out(most=3))
    assert sum(map(len, few)) == 6 and sum(map(len, one.held_out(most=1000))) == 39


def test_missing_values_are_hidden_and_never_scored():
    values = process(30)
    values[:, :, 2, 3:6] = np.nan
    batch = source(stretch_of(values), stretch_of(values)).batch(np.arange(10))
    assert not batch.given.known[..., 2, 3:6].any() and not batch.wanted.scored[..., 2, 3:6].any()
    assert batch.given.values.isfinite().all() and batch.wanted.values.isfinite().all()
    assert batch.wanted.scored.any(dim=(1, 2, 3, 4)).all()


def test_rows_count_by_their_area():
    batch = source(counted(), counted()).batch(np.arange(3))
    np.testing.assert_allclose(batch.wanted.weights.numpy(), np.tile(GLOBE.weights, (3, 1)), rtol=1e-6)


class CountedReads(ArrayFields):
    """Fields that remember which times were read."""

    def read(self, start, stop):
        self.__dict__.setdefault("asked", []).append((start, stop))
        return super().read(start, stop)


def test_fields_that_were_read_are_kept_within_bounds_and_right_after_they_were_let_go(monkeypatch):
    codec, values = plain_codec(), process(40)
    fields = CountedReads(values, times_every(1.0, 40), GLOBE)
    monkeypatch.setattr(windows, "KEPT_BYTES", 8 * values[0].nbytes)
    kept = Anomalies(fields, codec)
    rng = np.random.default_rng(0)
    for first in rng.integers(0, 35, 60):
        times = range(int(first), int(first) + 5)
        np.testing.assert_array_equal(kept[times], values[times.start : times.stop])
        assert len(kept._kept) <= 8
    before = len(fields.asked)
    kept[times]
    assert len(fields.asked) == before  # nothing is read twice in a row
    monkeypatch.setattr(windows, "KEPT_BYTES", 0)
    assert len(Anomalies(fields, codec)[range(5)]) == 5  # a window always finds room


def test_threads_may_read_at_once(monkeypatch):
    values = process(60)
    monkeypatch.setattr(windows, "KEPT_BYTES", 6 * values[0].nbytes)
    kept = Anomalies(ArrayFields(values, times_every(1.0, 60), GLOBE), plain_codec())

    def read(seed: int) -> None:
        for first in np.random.default_rng(seed).integers(0, 55, 150):
            np.testing.assert_array_equal(kept[range(first, first + 5)], values[first : first + 5])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(4))) == [None] * 4


def test_reading_ahead_gives_the_same_batches(monkeypatch):
    stretch = stretch_of(process(40))
    monkeypatch.setattr(windows, "KEPT_BYTES", 0)
    plain, ahead = source(stretch, stretch), Ahead(source(stretch, stretch))
    for step in range(6):
        indices = np.arange(4 * step, 4 * step + 4)
        assert same(ahead.batch(indices), plain.batch(indices))


def test_seasons_and_hours_go_on_before_the_first_and_behind_the_last_field():
    times = times_every(0.25, 20, first=100.0)
    season, hour = moments(times, np.arange(-3, 24))
    days = 100 + 0.25 * np.arange(-3, 24)
    np.testing.assert_allclose(season, days / 365 % 1, atol=1e-9)
    np.testing.assert_allclose(hour, days % 1, atol=1e-9)


def test_one_dated_field_goes_on_through_day_and_year_and_one_without_a_date_does_not():
    season, hour = moments(times_every(0.25, 1, first=100.25), np.arange(5))
    np.testing.assert_allclose(hour, [0.25, 0.5, 0.75, 0.0, 0.25], atol=1e-9)
    assert season[4] - season[0] == pytest.approx(1 / 365, rel=0.01)
    undated = times_every(1.0, 1)
    assert not any(part.any() for part in moments(undated, np.arange(5)))


def test_half_steps_have_the_fields_at_even_places():
    reader = WindowReader(counted(10), plain_codec())
    values, season, _ = reader.spaced(2, 6, -1)
    known = np.isfinite(values).all(axis=(0, 2, 3))
    assert known.tolist() == [False, True, False, True, False]
    assert (values[:, 1] == 2).all() and (values[:, 3] == 3).all()
    np.testing.assert_allclose(season * 365, [1.5, 2.0, 2.5, 3.0, 3.5], atol=1e-9)


def test_the_piece_in_the_middle_of_a_window_is_known():
    reader = WindowReader(counted(20, gaps=(10,)), plain_codec())
    values, _, _ = reader.around(8)  # fields 8 to 12, the gap before 10: the middle is 10
    assert np.isnan(values[:, :2]).all() and (values[0, 2:, 0, 0] == [10, 11, 12]).all()
    values, _, _ = reader.around(-2)
    assert np.isnan(values[:, :2]).all() and (values[0, 2:, 0, 0] == [0, 1, 2]).all()
