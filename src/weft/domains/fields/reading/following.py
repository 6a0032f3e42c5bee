"""The times after the last field of a file: steps in its own calendar, by month where its fields follow months."""

import numpy as np

from weft.domains.fields.reading.calendars import FileClock, months_after, times_of
from weft.domains.fields.reading.conventions import convention_of
from weft.domains.fields.reading.grid import Fields, Times

MONTHS = (
    (27.9, 31.6, 1),
    (88.9, 92.6, 3),
    (359.9, 366.1, 12),
)  # (least days, most days, months) of a step that is counted in months


MOST_EQUAL_MONTHS = 4  # steps in a row of one length that fields at the middle of months may have
SAME = 1e-3  # of a step, by which steps of one length may differ in a file
CHECKED = 60  # fields that tell whether steps follow the months


def following(fields: Fields, at: int, steps: int) -> Times:
    """The times of the fields that would follow field `at`, as many as there are steps."""
    clock = convention_of(fields).clock
    return times_of(days_after(fields.times, clock, at, steps), clock)


def days_after(times: Times, clock: FileClock, at: int, steps: int) -> np.ndarray:
    """Days, counted as in `times`."""
    start, counts = float(times.days[at]), np.arange(1, steps + 1)
    months = next((months for low, high, months in MONTHS if low <= times.step <= high), 0)
    if not months or clock.origin is None or _even(times, clock, at, months):
        return start + counts * times.step
    date = clock.date(start)
    return start + np.array([months_after(date, int(count) * months) for count in counts])


def _even(times: Times, clock: FileClock, at: int, months: int) -> bool:
    """Whether the fields around one are a fixed number of days apart that no calendar has, such as 30.4375."""
    start, stop = next((start, stop) for start, stop in times.pieces if start <= at < stop)
    days = times.days[start : min(stop, start + CHECKED)]
    steps = np.diff(days)
    if len(steps) <= MOST_EQUAL_MONTHS or np.ptp(steps) > SAME * times.step:
        return False
    date = clock.date(float(days[0]))
    monthly = np.array([months_after(date, count * months) for count in range(1, len(days))])
    return bool(np.abs(days[1:] - days[0] - monthly).max() > SAME * times.step)
