"""Times in every calendar and unit: seasons, gaps, order."""

from pathlib import Path

import numpy as np
import pytest
from helpers.grids import dataset, everything, numbers, opened, refused, written

from weft.domains.fields.reading.calendars import FileClock, gaps, read_clock, step_in_words, times_of
from weft.domains.fields.reading.following import following
from weft.domains.fields.reading.grid import Times
from weft.domains.fields.sample import SampleFields
from weft.errors import DataError


def times(values: list[float] | np.ndarray, units: str, calendar: str = "standard") -> Times:
    return times_of(*read_clock("time", np.asarray(values), {"units": units, "calendar": calendar}, "a.nc"))


def test_months_of_any_length_follow_each_other() -> None:
    starts = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
    monthly = times(starts, "days since 2001-01-01")
    assert monthly.pieces == ((0, 12),) and step_in_words(monthly.step) == "monthly"
    assert monthly.labels[0] == "2001-01" and monthly.labels[-1] == "2001-12"
    np.testing.assert_allclose(monthly.season, starts / 365)


@pytest.mark.parametrize(
    "calendar", ["standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "360_day", "all_leap", "julian"]
)
def test_the_same_share_of_the_year_is_the_same_season_in_every_calendar(calendar: str) -> None:
    days = {"360_day": 360, "all_leap": 366}.get(calendar, 365)
    shares = np.arange(8) / 8
    found = times(shares * days, "days since 2001-01-01", calendar)
    np.testing.assert_allclose(found.season, shares, atol=1e-7)
    np.testing.assert_allclose(found.hour, shares * days % 1, atol=1e-7)


def test_years_were_leap_years_by_the_calendar_of_their_time() -> None:
    for calendar, days in (("standard", 366), ("julian", 366), ("proleptic_gregorian", 365), ("noleap", 365)):
        np.testing.assert_allclose(times([0, 364], "days since 1500-01-01", calendar).season, [0, 364 / days])


@pytest.mark.parametrize(
    ("units", "factor"), [("hours since 2001-01-01", 24), ("hour since 2001-1-1 00:00", 24),
                          ("seconds since 2001-01-01", 86400),
                          ("minutes since 2001-01-01 02:00 +02:00", 1440), ("Days since 2001-01-01T00:00:00Z", 1)],
)  # fmt: skip
def test_units_and_time_zones_count_from_the_same_instant(units: str, factor: float) -> None:
    found = times(np.array([0, 0.25, 0.5]) * factor, units)
    assert found.labels == ("2001-01-01T00:00", "2001-01-01T06:00", "2001-01-01T12:00")
    assert found.step == pytest.approx(0.25)


def test_months_since_are_calendar_months() -> None:
    assert times([0, 1, 2, 13], "months since 2000-01-15").days.tolist() == [0, 31, 60, 397]
    assert times([1, 2], "years since 2000-01-01").days.tolist() == [366, 731]


def test_a_mean_year_may_be_dated_in_the_year_0() -> None:
    found = times(np.arange(12) * 730.485 + 366, "hour since 0000-01-01 00:00:00")
    assert found.labels[0] == "0000-01" and found.labels[-1] == "0000-12" and len(found.pieces) == 1


def test_dates_may_be_text() -> None:
    days, clock = read_clock("time", np.array([b"2001-01-01", b"2001-01-03T12:00"]), {}, "a.nc")
    assert days.tolist() == [0, 2.5] and clock.units == "days since 2001-01-01"


def test_numbers_without_units_count_steps() -> None:
    days, clock = read_clock("time", np.array([5, 6, 7]), {}, "a.nc")
    assert clock.origin is None and times_of(days, clock).labels == ("5", "6", "7")


@pytest.mark.parametrize(
    ("values", "units", "calendar", "words"),
    [
        ([0, 1], "fortnights since 2001-01-01", "standard", "counted in 'fortnight'"),
        ([0, 1], "days since yesterday", "standard", "'yesterday' is no date"),
        ([0, 1], "days since 2001-01-01", "mayan", "calendar 'mayan' is not known"),
        ([0, np.nan], "days since 2001-01-01", "standard", "time[1] is nan"),
    ],
)
def test_times_that_cannot_be_read_are_refused(values: list[float], units: str, calendar: str, words: str) -> None:
    with pytest.raises(DataError, match=words.replace("[", r"\[")):
        times(values, units, calendar)


def test_the_next_times_follow_the_calendar(tmp_path: Path) -> None:
    days = np.array([15, 45, 74, 105, 135, 166, 196, 227, 258, 288, 319, 349], np.float64)
    data = dataset().assign_coords(time=("time", days, {"units": "days since 2001-01-01", "calendar": "noleap"}))
    monthly = opened(written(tmp_path / "a.nc", data))
    assert following(monthly, 11, 3).days.tolist() == [380, 411, 439]
    daily = opened(written(tmp_path / "b.nc", dataset()))
    assert following(daily, 11, 2).labels == ("2001-01-13", "2001-01-14")
    longer, later = SampleFields(steps=6).times, following(SampleFields(steps=4), 3, 2)
    assert later.labels == longer.labels[4:] and later.days.tolist() == [2.0, 2.5]
    np.testing.assert_allclose(later.season, longer.season[4:])


@pytest.mark.parametrize("step", [30.4375, 30.0, 91.3125, 365.25])
def test_an_even_step_that_no_calendar_has_stays_even(tmp_path: Path, step: float) -> None:
    data = dataset().assign_coords(time=("time", np.arange(12) * step, {"units": "days since 2001-01-01"}))
    assert following(opened(written(tmp_path / "a.nc", data)), 11, 3).days == pytest.approx(step * np.arange(12, 15))
    years = dataset().assign_coords(time=("time", np.arange(12) * 365, {"units": "days since 1897-01-01"}))
    assert following(opened(written(tmp_path / "b.nc", years.isel(time=range(7)))), 6, 1).days.tolist() == [7 * 365]


def test_gaps_are_listed_and_part_the_times() -> None:
    found = times([0, 1, 2, 10, 11, 20], "days since 2001-01-01")
    assert found.pieces == ((0, 3), (3, 5), (5, 6)) and found.step == 1
    assert gaps(found) == ["2001-01-03 to 2001-01-11", "2001-01-12 to 2001-01-21"]


def test_times_out_of_order_are_sorted_and_repeated_ones_refused(tmp_path: Path) -> None:
    data = dataset().isel(time=[*range(6, 12), *range(6)])
    fields = opened(written(tmp_path / "a.nc", data))
    np.testing.assert_array_equal(everything(fields), everything(opened(written(tmp_path / "b.nc", dataset()))))
    assert "not in order and are sorted: a.nc" in fields.notes[0]
    message = refused(written(tmp_path / "c.nc", dataset().isel(time=[0, 1, 1, 2, 2, 3])))
    assert "2 times stand there twice: 2001-01-02" in message and "c.nc" in message


def test_files_are_joined_along_time_whatever_they_count_from(tmp_path: Path) -> None:
    first, second = dataset().isel(time=slice(0, 5)), dataset().isel(time=slice(5, None))
    hours = {"units": "hours since 2001-01-06", "calendar": "gregorian"}
    second = second.assign_coords(time=("time", np.arange(7) * 24, hours)).transpose("lat", "time", "lon")
    whole = opened(written(tmp_path / "whole.nc", dataset()))
    parts = opened(written(tmp_path / "z.nc", first), written(tmp_path / "a.nc", second))
    np.testing.assert_array_equal(everything(parts), everything(whole))
    assert parts.times.labels == whole.times.labels and parts.times.pieces == ((0, 12),)
    np.testing.assert_array_equal(parts.read(3, 8), everything(whole)[3:8])


def test_files_with_different_variables_are_merged_where_their_times_are_the_same(tmp_path: Path) -> None:
    one, two = written(tmp_path / "t.nc", dataset()), written(tmp_path / "q.nc", dataset(numbers(seed=3), name="q"))
    fields = opened(tmp_path)
    assert [layer.name for layer in fields.layers] == ["q", "t2m"]
    np.testing.assert_array_equal(everything(fields)[:, 1:], everything(opened(one)))
    np.testing.assert_array_equal(everything(opened(one, two, names=("q",))), everything(opened(two)))
    shorter = written(tmp_path / "r.nc", dataset(numbers(), name="r").isel(time=slice(0, 10)))
    assert "r lacks 2001-01-11, 2001-01-12" in refused(one, shorter)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.assign(t2m=d.t2m.assign_attrs(units="degC")), "units of t2m  K     degC"),
        (lambda d: d.isel(lat=slice(0, 5)), "cells  6 x 8 "),
        (lambda d: d.assign_coords(time=d.time.assign_attrs(calendar="noleap")), "calendar  standard  noleap"),
        (lambda d: d.assign_coords(lat=d.lat + 0.5), "rows  75 to -75 by 30"),
    ],
)
def test_files_that_differ_are_refused_with_a_table(change: object, words: str, tmp_path: Path) -> None:
    one = written(tmp_path / "a.nc", dataset().isel(time=slice(0, 6)))
    two = written(tmp_path / "b.nc", change(dataset().isel(time=slice(6, None))))  # type: ignore[operator]
    message = refused(one, two)
    assert "these files differ" in message and "a.nc" in message and words in message, message


@pytest.mark.parametrize(("days", "step", "pieces"), [
    ([0.0, 1.0, 3.0], 1.0, ((0, 2), (2, 3))),
    ([0.0, 1.0, 2.0, 10.0, 20.0], 1.0, ((0, 3), (3, 4), (4, 5))),
    ([0.0, 31.0, 59.0, 90.0], 30.0, ((0, 4),)),
])  # fmt: skip
def test_the_usual_step_is_one_that_is_there(
    days: list[float], step: float, pieces: tuple[tuple[int, int], ...]
) -> None:
    found = times_of(np.array(days), FileClock("", ""))
    assert (found.step, found.pieces) == (step, pieces)
