"""When the fields of a file are: days from its origin in its own calendar, seasons, hours, gaps.

Calendars are read by cftime. Months of 28 to 31 days, seasons and years count as steps of one length.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from weft.domains.fields.reading.grid import Times
from weft.errors import DataError, listed

CALENDARS = {
    "standard": "standard",
    "gregorian": "standard",
    "proleptic_gregorian": "proleptic_gregorian",
    "noleap": "noleap",
    "365_day": "noleap",
    "all_leap": "all_leap",
    "366_day": "all_leap",
    "360_day": "360_day",
    "julian": "julian",
}
YEAR_DAYS = {"noleap": 365, "all_leap": 366, "360_day": 360}
UNIT_DAYS = {"day": 1.0, "d": 1.0, "hour": 1 / 24, "hr": 1 / 24, "h": 1 / 24, "minute": 1 / 1440, "min": 1 / 1440,
             "second": 1 / 86400, "sec": 1 / 86400, "s": 1 / 86400, "millisecond": 1 / 86400e3, "msec": 1 / 86400e3,
             "microsecond": 1 / 86400e6, "week": 7.0}  # fmt: skip
LIKE_MONTHS = ((27.9, 31.6), (88.9, 92.6), (359.9, 366.1))  # days of months, seasons and years
SAME_STEP = 0.02  # by which share the time between two fields may differ from the usual
MOST_DAYS = 1e8  # from the origin of a calendar


@dataclass(frozen=True)
class FileClock:
    """How a file counts time. Without an `origin` it counts steps that have no dates."""

    units: str  # as the file writes them; "days since" its origin where it writes no numbers
    calendar: str
    origin: Any = None  # a cftime date
    unit_days: float = 1.0  # days in one of the file's units
    cyclic: bool = False  # the times are those of one mean year
    first: float = 0.0  # the number that the file writes at the origin

    def date(self, days: float) -> Any:
        """The date that lies `days` after the origin, to the second."""
        return self.origin + datetime.timedelta(seconds=round(float(days) * 86400))

    def numbers(self, days: np.ndarray) -> np.ndarray:
        """Days as the numbers that the file writes."""
        return np.round(
            np.asarray(days, np.float64) / self.unit_days + self.first, 8
        )  # what division adds is less than that

    def shifted(self, other: "FileClock") -> float:
        """The days from this clock's origin to the other's."""
        if self.origin is None or other.origin is None:
            return 0.0
        gap = other.origin - self.origin
        return gap.days + gap.seconds / 86400 + gap.microseconds / 86400e6


def read_clock(
    name: str, values: np.ndarray, attributes: Mapping[str, Any], where: str
) -> tuple[np.ndarray, FileClock]:
    """The days of some times after the origin of the file's clock, and the clock."""
    import cftime

    units, calendar = str(attributes.get("units", "")).strip(), _calendar(attributes, where)
    cyclic = "modulo" in attributes or "climatology" in attributes
    if values.dtype.kind in "SUOM":
        dates = [_parsed(name, value, index, where) for index, value in enumerate(np.atleast_1d(values))]
        days = np.array(cftime.date2num(dates, f"days since {dates[0]:%Y-%m-%d}", calendar), np.float64)
        origin = cftime.num2date(0, f"days since {dates[0]:%Y-%m-%d}", calendar)
        return days, FileClock(f"days since {dates[0]:%Y-%m-%d}", calendar, origin, 1.0, cyclic)
    numbers = _numbers(name, values, where)
    match = re.fullmatch(r"(\w+?)s?\s+since\s+(.+)", units, re.IGNORECASE)
    if match is None:
        if name.lower() in ("month", "months") and numbers.min() >= 1 and numbers.max() <= 12:
            origin = cftime.datetime(1, 1, 1, calendar="360_day")
            return (numbers - 0.5) * 30, FileClock(units, "360_day", origin, 30.0, True, 0.5)
        return numbers, FileClock(units, "", None, 1.0, cyclic)
    if calendar == "standard" and re.match(r"0+-", match[2]):
        calendar = "proleptic_gregorian"  # a mean year that is dated 0, which the standard calendar does not have
    unit, origin = match[1].lower(), _origin(match[2], calendar, f"{where}, units of {name}")
    written = f"days since {origin.isoformat(sep=' ')}"
    if unit in ("month", "year"):
        months = numbers * (12 if unit == "year" else 1)
        _within(name, months * 30, where)
        return np.array([months_after(origin, count) for count in months]), FileClock(
            written, calendar, origin, 1.0, cyclic
        )
    if unit not in UNIT_DAYS:
        raise DataError(f"times are counted in {match[1]!r}", where=where, fix=f"known units: {', '.join(UNIT_DAYS)}")
    return _within(name, numbers * UNIT_DAYS[unit], where), FileClock(units, calendar, origin, UNIT_DAYS[unit], cyclic)


def times_of(days: np.ndarray, clock: FileClock) -> Times:
    """Times that ascend, with their seasons, hours, labels and gaps."""
    step, pieces = _steps(days)
    if clock.origin is None:
        zeros = np.zeros(len(days))
        return Times(days, zeros, zeros, tuple(f"{day:g}" for day in days), step, pieces)
    dates = [clock.date(day) for day in days]
    hour = np.array([(date.hour * 3600 + date.minute * 60 + date.second) / 86400 for date in dates])
    lengths = np.array([_year_days(date, clock.calendar) for date in dates])
    season = (np.array([date.dayofyr - 1 for date in dates]) + hour) / lengths
    return Times(days, season, hour, _labels(dates), step, pieces)


def gaps(times: Times) -> list[str]:
    """Each place where the next field does not follow by one step, in words."""
    edges = [(stop - 1, stop) for _, stop in times.pieces[:-1]]
    return [f"{times.labels[before]} to {times.labels[after]}" for before, after in edges]


def step_in_words(step: float) -> str:
    """The usual time between two fields, as an adjective."""
    known = {"hourly": (0.04, 0.043), "daily": (0.99, 1.01), "monthly": (27.9, 31.6), "yearly": (359, 367)}
    for word, (low, high) in known.items():
        if low <= step <= high:
            return word
    return f"{step * 24:.3g}-hourly" if step < 1 else f"{step:.3g}-daily"


def same_step(usual: float, steps: np.ndarray) -> np.ndarray:
    """Which times between fields, in days, are the usual step: months, seasons and years need not be equally long."""
    same = np.abs(steps - usual) <= SAME_STEP * usual
    for low, high in LIKE_MONTHS:
        if low <= usual <= high:
            same |= (low <= steps) & (steps <= high)
    return same


def _calendar(attributes: Mapping[str, Any], where: str) -> str:
    said = str(attributes.get("calendar", "standard")).strip().lower() or "standard"
    if said not in CALENDARS:
        raise DataError(f"the calendar {said!r} is not known", where=where, fix=f"known: {', '.join(CALENDARS)}")
    return CALENDARS[said]


def date_of(text: str, calendar: str) -> Any:
    """A date; None where cftime is not installed."""
    try:
        return _origin(text, calendar, "")
    except ImportError:
        return None


def _within(name: str, days: np.ndarray, where: str) -> np.ndarray:
    """Days that a calendar can date."""
    if np.abs(days).max(initial=0) > MOST_DAYS:
        at = int(np.abs(days).argmax())
        raise DataError(f"{name}[{at}] is {days[at]:g} days from the origin of its calendar", where=where)
    return days


def _numbers(name: str, values: np.ndarray, where: str) -> np.ndarray:
    if values.dtype.kind not in "iuf":
        raise DataError(f"{name} holds {values.dtype}; expected times", where=where)
    numbers = np.atleast_1d(values).astype(np.float64)
    if not np.isfinite(numbers).all():
        at = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"{name}[{at}] is {numbers[at]}; expected a time", where=where, fix="repair the time axis")
    return numbers


def _origin(text: str, calendar: str, where: str) -> Any:
    """The date from which a file counts."""
    import cftime

    try:
        return cftime.num2date(0, f"days since {text}", calendar)
    except (ValueError, TypeError, OverflowError) as error:
        fix = "write it as in 'hours since 1970-01-01 00:00:00'"
        raise DataError(f"{text!r} is no date ({error})", where=where, fix=fix) from None


def months_after(origin: Any, months: float) -> float:
    """The days from a date to some calendar months later; a fraction is that share of the month begun."""

    def start(count: int) -> float:
        year, month = divmod(origin.month - 1 + count, 12)
        later = origin.replace(year=origin.year + year, month=month + 1, day=1)
        return (later - origin.replace(day=1)).total_seconds() / 86400

    whole = int(np.floor(months))
    return start(whole) + (months - whole) * (start(whole + 1) - start(whole))


def _parsed(name: str, value: Any, index: int, where: str) -> datetime.datetime:
    """A time that a file writes as text or as a date of numpy's."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.strip().rstrip("\0")[:26]
    try:
        date = datetime.datetime.fromisoformat(text)
    except ValueError:
        fix = "write dates as in 2001-12-31T06:00"
        raise DataError(f"{name}[{index}] is {text[:40]!r}, no date", where=where, fix=fix) from None
    return date.astimezone(datetime.UTC).replace(tzinfo=None) if date.tzinfo else date


def _year_days(date: Any, calendar: str) -> int:
    if calendar in YEAR_DAYS:
        return YEAR_DAYS[calendar]
    year = date.year
    leap = year % 4 == 0 and (calendar == "julian" or year % 100 != 0 or year % 400 == 0)
    leap |= calendar == "standard" and year < 1582 and year % 4 == 0
    return 366 if leap else 365


def _labels(dates: Sequence[Any]) -> tuple[str, ...]:
    """Dates as short as they can be while no two are the same."""
    for form in ("%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"):
        labels = tuple(_formatted(date, form) for date in dates)
        if len(set(labels)) == len(labels) and len(labels) > 1:
            return labels
    return tuple(_formatted(date, "%Y-%m-%dT%H:%M") for date in dates)


def _formatted(date: Any, form: str) -> str:
    parts = {"%Y": f"{date.year:04d}", "%m": f"{date.month:02d}", "%d": f"{date.day:02d}",
             "%H": f"{date.hour:02d}", "%M": f"{date.minute:02d}", "%S": f"{date.second:02d}"}  # fmt: skip
    return re.sub("%[YmdHMS]", lambda match: parts[match[0]], form)


def _steps(days: np.ndarray) -> tuple[float, tuple[tuple[int, int], ...]]:
    """The usual time between two fields, and the stretches without a gap. One field alone: a step of 1."""
    if len(days) < 2:
        return 1.0, ((0, len(days)),)
    steps = np.diff(days)
    usual = float(np.quantile(steps, 0.5, method="lower"))  # a step that is there, not one between two
    regular = same_step(usual, steps)
    cuts = [0, *(int(at) + 1 for at in np.flatnonzero(~regular)), len(days)]
    return float(steps[regular].mean()), tuple(pairwise(cuts))


def refuse_repeated(labels: Sequence[str], days: np.ndarray, where: str) -> None:
    """Refuse times of which two are the same."""
    twice = np.flatnonzero(np.diff(days) <= 0)
    if len(twice):
        problem = f"{len(twice)} times stand there twice: {listed([labels[int(at)] for at in twice])}"
        raise DataError(problem, where=where, fix="keep one field for each time")
