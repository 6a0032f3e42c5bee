"""Tables of places: coordinates and a value in each row. Knows columns and degrees; judges no values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.amounts import beyond_globe, day
from weft.domains.places.reading.rows import GLOBE, FoundPlaces, PlaceRows
from weft.domains.places.settings import PlaceTraining
from weft.errors import DataError
from weft.files.columns import ABSENT, NEARLY_ALL, Column, number, plain
from weft.files.decoding import shown
from weft.files.gather import GatheredRows, Reading, raising, tried
from weft.files.known_roles import LAT, LON, PLACED, TIME, VALUE
from weft.files.labels import kind_of
from weft.files.roles import Role, known_as
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.files.tables import Row, Table, as_cell, is_table, open_table

SAY = "say which columns they are, by name or number: --set lat_column=… --set lon_column=… --set value_column=…"
POINT = "(?:coord(?:inate)?s?|centroid|cent(?:er|re)|pos(?:ition)?|utm)"  # a word beside x or y
EAST = re.compile(rf"(?:.*_)?(?:x|easting|east|utm_?e)(?:_?{POINT})?|{POINT}_?x")
NORTH = re.compile(rf"(?:.*_)?(?:y|northing|north|utm_?n)(?:_?{POINT})?|{POINT}_?y")
TOO_ALIKE = 0.9  # correlation from which on two columns are measures of one thing, not a place
OBJECT = 'write {"lat": 48.1, "lon": 11.6, "value": 3.2} on every line'


def is_places_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return path.is_file() and is_table(path)


class _Row(NamedTuple):
    """A place with what is known there as it is written, "" for nothing, and where it stands."""

    place: tuple[float, ...]
    value: str
    line: str


@dataclass
class Coordinates:
    """The coordinates in a row of a table; `dates` is set where one is a date."""

    table: Table
    places: Sequence[int]
    axes: Sequence[str]
    dates: bool = False

    def of(self, row: Row) -> tuple[float, ...]:
        """The number of each axis; what is none, or beyond the globe, is refused."""
        return tuple(self._axis(row, place, axis) for place, axis in zip(self.places, self.axes, strict=False))

    def with_value(self, row: Row) -> _Row:
        """The same with the value, whose column is the last."""
        value = as_cell(self.table.value(row, self.places[-1])).strip()
        return _Row(self.of(row), value, self.table.where(row.line))

    def _axis(self, row: Row, place: int, axis: str) -> float:
        text = as_cell(self.table.value(row, place)).strip()
        value = number(text)
        if value is None and axis == "time" and (value := day(text)) is not None:
            self.dates = True
        wrong = f"the coordinate {axis} is {text[:40]!r}, which is not a number"
        problem = wrong if value is None else beyond_globe(axis, value)
        if problem or value is None:
            raise DataError(problem or "", where=self.table.where(row.line), fix="correct it, or delete the row")
        return value


def read_tables(paths: Sequence[Path], asked: PlaceTraining) -> FoundPlaces:
    """All rows of some tables. A row whose coordinates cannot be used is bad; one without a value is left out."""
    gathered, dates = GatheredRows[_Row](asked.allowed), False
    columns: tuple[str, ...] = ()
    axes: tuple[str, ...] = GLOBE
    for path in paths:
        roles, names, axes = _roles(asked)
        table = open_table(path, roles, names, objects=OBJECT)
        if not table.columns:
            gathered.take(Reading((path,), table.faults()))
            continue
        if asked.plane_columns is None and asked.time_column is None and _named_time(table, names):
            roles, names, axes = (*roles[:-1], TIME, roles[-1]), (*names[:-1], None, names[-1]), (*GLOBE, "time")
        places = table.choose(roles, names, fix=SAY).places
        columns, found = tuple(map(table.title, places)), Coordinates(table, places, axes)
        note = f"{shown(path)}: {', '.join(columns[:-1])} are the place, {columns[-1]} is the value"
        gathered.take(Reading((path,), table.each(found.with_value), columns, (note,)))
        dates = dates or found.dates
    return _places(gathered, axes, columns, dates, asked)


def read_coordinates(path: Path, asked: PlaceTraining, axes: tuple[str, ...]) -> np.ndarray:
    """(N, A) the places of a table to predict at; columns may have other names than in the training data."""
    roles, names, _ = _roles(asked)
    chosen = tuple(map(place_role, axes))
    known = {role.name: name for role, name in zip(roles, names, strict=True)}
    given = tuple(known.get(role.name) for role in chosen)
    table = open_table(path, chosen, given, objects=OBJECT)
    if not table.columns:
        raise DataError("no rows", where=shown(path), fix=f"give a table with the columns {', '.join(axes)}")
    fix = f"name the columns {', '.join(axes)} in the first line"
    places = table.choose(chosen, given, fix=fix).places
    found = list(raising(table.each(Coordinates(table, places, axes).of)))
    return np.array(found, np.float64).reshape(-1, len(axes))


def place_role(axis: str) -> Role:
    """What the column of an axis is for."""
    return {"lat": LAT, "lon": LON, "time": TIME}.get(axis) or known_as(axis, (axis,))


def _roles(asked: PlaceTraining) -> tuple[tuple[Role, ...], tuple[str | None, ...], tuple[str, ...]]:
    """The roles that columns are needed for, those that were asked for, and the axes of the place."""
    if asked.plane_columns is not None:
        kind = type(asked.plane_columns)  # of a column that was learned from, or asked for
        given = [kind(name.strip()) for name in asked.plane_columns.split(",") if name.strip()]
        axes = tuple("xyz"[i] if len(given) <= 3 else f"x{i + 1}" for i in range(len(given)))
        roles = tuple(known_as(axis, ()) for axis in axes)
        return (*roles, VALUE), (*given, asked.value_column), axes
    if asked.time_column is not None:
        names = (asked.lat_column, asked.lon_column, asked.time_column, asked.value_column)
        return (LAT, LON, TIME, VALUE), names, (*GLOBE, "time")
    return PLACED, (asked.lat_column, asked.lon_column, asked.value_column), GLOBE


def _named_time(table: Table, names: Sequence[str | None]) -> bool:
    """Whether a column that nobody asked for as the value is the time by its name, and the table has room for one."""
    found = TIME.by_name(table.names)
    asked = {(name or "").casefold() for name in names}
    return bool(found) and len(table.columns) > 3 and (table.names[found[0]] or "").casefold() not in asked


def _places(
    gathered: GatheredRows[_Row], axes: tuple[str, ...], columns: tuple[str, ...], dates: bool, asked: PlaceTraining
) -> FoundPlaces:
    filled = [row.value for row in gathered.rows if row.value and row.value.casefold() not in ABSENT]
    kind = asked.labels or kind_of(filled)

    def read(row: _Row) -> tuple[tuple[float, ...], float | str] | None:
        value: float | str | None = number(row.value) if kind == "numbers" else row.value
        if not row.value or (value is None and row.value.casefold() in ABSENT):  # as a class, NA may be Namibia
            return None
        if value is None:
            problem = f"the value {row.value[:40]!r} is not a number, as the others are"
            raise DataError(problem, where=row.line, fix="correct it, or delete the row")
        return row.place, value

    before = gathered.bad.count
    kept = list(gathered.bad.without(tried(gathered.rows, read)))
    gathered.bad.check(len(kept))
    notes = list(gathered.notes)
    if blank := len(gathered.rows) - len(kept) - (gathered.bad.count - before):
        notes.append(f"rows without a value, left out: {blank:,}")
    if gathered.bad.count:
        notes.append(f"bad rows, left out: {gathered.bad.count:,}")
    where = np.array([place for place, _ in kept], np.float64).reshape(-1, len(axes))
    return FoundPlaces(
        rows=PlaceRows(where, np.array([value for _, value in kept], np.float64 if kind == "numbers" else np.str_)),
        axes=axes,
        kind=kind,
        value=columns[-1] if columns else "value",
        dates=dates,
        columns=columns,
        notes=tuple(notes),
        skipped=gathered.left_out,
    )


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are tables with a place on the globe in each row, or a grid over latitude and longitude."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    from weft.domains.places.reading.grids import judge_grid

    return weakest(map(judge_table, source.tables)) if source.tables else judge_grid(source)


def judge_table(table: Table) -> Judgement:
    """Sure where columns are named as latitude and longitude and one other can be the value alone."""
    found = [role.by_name(table.names) for role in (LAT, LON)]
    if not table.even:
        return NO
    if not all(found):
        return _judge_plane(table)
    lat, lon = (table.columns[places[0]] for places in found)
    if not all(_within(column, axis) for column, axis in ((lat, "lat"), (lon, "lon"))):
        return NO
    why = f"places on the globe (columns {lat.called} and {lon.called})"
    try:
        value = table.columns[table.choose(PLACED, (None,) * 3, fix=SAY).places[-1]]
    except DataError:
        others = [column for column in table.columns if column.values and column not in (lat, lon)]
        ask = f"--set value_column={_likely(others) or 'COLUMN'}"
        return Judgement("possible", f"{why}, and columns that could be the value there", ask) if others else NO
    return Judgement("sure", f"{why} with a value each (column {value.called})")


def _likely(others: Sequence[Column]) -> str:
    """What to call the column that is most likely the value: numbers with fractions, then classes, then numbers."""
    kinds = [[c for c in others if c.is_number], [c for c in others if c.is_class],
             [c for c in others if c.looks == "number"]]  # fmt: skip
    return next((found[-1].called for found in kinds if found), "")


def _judge_plane(table: Table) -> Judgement:
    """Possible where two columns are named as x and y, and their numbers are places: no pair twice, not one measure."""
    named = [[c for c in table.columns if axis.fullmatch(plain(c.name or ""))] for axis in (EAST, NORTH)]
    if [len(found) for found in named] != [1, 1]:
        return NO
    (x,), (y,) = named
    rows = list(zip(x.numbers, y.numbers, strict=False))
    others = [c for c in table.columns if c not in (x, y) and c.values]
    numeric = len(x.numbers) == len(x.values) == len(y.values) == len(y.numbers) > 2
    if not numeric or not _likely(others) or len(set(rows)) < NEARLY_ALL * len(rows) or min(x.distinct, y.distinct) < 3:
        return NO
    if abs(np.corrcoef(np.array(rows).T)[0, 1]) >= TOO_ALIKE:
        return NO
    ask = f"--set plane_columns={x.called},{y.called} --set value_column={_likely(others)}"
    return Judgement("possible", f"places in a plane (columns {x.called} and {y.called}), with a value each", ask)


def _within(column: Column, axis: str) -> bool:
    """Whether nearly all values of a column are degrees."""
    good = [value for value in column.numbers if beyond_globe(axis, value) is None]
    return bool(column.values) and len(good) >= 0.9 * len(column.values)
