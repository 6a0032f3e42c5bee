"""Times that follow the last of some fields, or lie between two of them."""

import numpy as np

from weft.data.grids.calendars import times_of
from weft.data.grids.conventions import convention_of
from weft.data.grids.grid import Fields, Times

MONTH = (27.0, 32.0)  # days between the fields of neighbouring months
YEAR = 12  # months


def days_after(times: Times, end: int, steps: int) -> np.ndarray:
    """The days of the fields that follow field `end`: known ones where there are any, then by the usual step.

    Months are as long as they were a year before.
    """
    days = times.days[: end + 1].tolist()
    monthly = MONTH[0] <= times.step <= MONTH[1] and len(days) > YEAR
    for _ in range(steps):
        days.append(days[-1] + (days[-YEAR] - days[-YEAR - 1] if monthly else times.step))
    known = times.days[end + 1 : end + 1 + steps]
    if len(known) and np.allclose(known, days[end + 1 :][: len(known)], atol=times.step / 4):
        days[end + 1 : end + 1 + len(known)] = known.tolist()
    return np.array(days[end + 1 :])


def labels_of(fields: Fields, days: np.ndarray) -> tuple[str, ...]:
    """Times as people read them, in the calendar of some fields."""
    return times_of(days, convention_of(fields).clock).labels
