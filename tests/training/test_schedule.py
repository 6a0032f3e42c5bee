"""When a run ends and how its rate moves: pure functions, continuous through every refit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.training.schedule import Horizon, rate

STEPS = st.integers(0, 10**9)


@given(st.integers(1, 10**6), STEPS, STEPS)
def test_progress_grows_from_zero_to_one_and_stays(end: int, a: int, b: int):
    horizon, (early, late) = Horizon(end=end), sorted((a, b))
    assert horizon.progress(0) == 0 and horizon.progress(end) == 1 and horizon.progress(end + a) == 1
    assert 0 <= horizon.progress(early) <= horizon.progress(late) <= 1


@given(st.integers(1, 10**6))
def test_progress_of_a_run_by_steps_is_the_share_of_steps(end: int):
    for step in (0, end // 3, end - 1):
        assert Horizon(end=end).progress(step) == pytest.approx(step / end)


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(-100, 5000)), max_size=6))
def test_a_refit_never_makes_progress_jump_or_turn_back(refits: list[tuple[int, int]]):
    horizon, step, before = Horizon(end=1000), 0, 0.0
    for ahead, end in refits:
        step += ahead
        here = horizon.progress(step)
        horizon = horizon.refit(step, end)
        assert horizon.progress(step) == pytest.approx(here) and horizon.end > step
        after = [horizon.progress(step + n) for n in (0, 1, 10, 10**6)]
        assert after == sorted(after) and after[-1] == 1 and after[0] >= before - 1e-12
        before = here


def test_three_numbers_are_all_that_a_checkpoint_needs():
    horizon = Horizon(end=100).refit(30, 80).refit(50, 200)
    again = Horizon(end=horizon.end, since=horizon.since, done=horizon.done)
    assert [horizon.progress(n) for n in range(250)] == [again.progress(n) for n in range(250)]


@given(STEPS, st.floats(0, 1), st.integers(0, 10**6))
def test_the_rate_is_never_negative_and_never_above_its_peak(step: int, progress: float, warmup: int):
    assert 0 <= rate(step, progress, warmup) <= 1


def test_the_rate_warms_up_in_a_line_and_falls_in_a_line_to_zero():
    horizon, warmup = Horizon(end=1000), 10
    rates = [rate(n, horizon.progress(n), warmup) for n in range(1001)]
    assert rates[0] == pytest.approx(0.1) and rates[4] == pytest.approx(0.5 * (1 - 0.004))
    assert max(rates) == rates[9] == pytest.approx(1 - 0.009)
    assert rates[500] == pytest.approx(0.5) and rates[1000] == 0
    falls = [a - b for a, b in zip(rates[9:], rates[10:], strict=False)]
    assert min(falls) == pytest.approx(max(falls)) and min(falls) > 0


def test_no_warm_up_and_one_longer_than_the_run_are_both_fine():
    assert rate(0, 0.0, 0) == 1
    short = Horizon(end=5)
    rates = [rate(n, short.progress(n), 100) for n in range(7)]
    assert all(0 < r < 0.05 for r in rates[:5]) and rates[5] == rates[6] == 0
