"""The last evaluation of a run by minutes keeps to its time: all rows where they fit, else some spread evenly."""

from collections.abc import Callable
from itertools import count

from weft.tasks.measuring import PROBED_ROWS, final_seconds, rows_in_time


def clock(each: float) -> Callable[[], float]:
    """A clock on which measuring the probed rows takes `each` seconds a row."""
    ticks = count()
    return lambda: next(ticks) * each * PROBED_ROWS


def test_rows_that_fit_the_time_are_all_measured():
    rows = list(range(1000))
    assert rows_in_time(rows, 10.0, len, clock(0.001)) == (rows, {})
    assert rows_in_time(rows, None, len, clock(1.0)) == (rows, {})


def test_of_more_rows_some_are_measured_spread_evenly_and_said():
    seen: list[int] = []
    found, note = rows_in_time(list(range(1000)), 10.0, lambda rows: seen.append(len(rows)), clock(0.1))
    assert seen == [PROBED_ROWS] and len(found) == 100 and found[0] == 0 and found[-1] == 999
    assert found == sorted(set(found)) and "100 of 1,000 held-out examples" in note["part"]


def test_never_fewer_rows_than_were_probed_are_measured():
    found, _ = rows_in_time(list(range(1000)), 1.0, len, clock(10.0))
    assert len(found) == PROBED_ROWS


def test_the_time_is_a_tenth_of_a_run_by_minutes_and_has_no_limit_elsewhere():
    assert final_seconds({"budget": {"minutes": 2.0}}) == 12.0
    assert final_seconds({"budget": {"minutes": None}}) is None
