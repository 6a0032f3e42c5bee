"""Tables of inputs: which columns an input is made of, found as training found them, and the row of each input.

A column is the one that the user names, else the one that the run learned from, else the one that training would take.
Refuses to know what an input is: `Task.from_row` makes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import DataError, WeftError
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.columns import listed, number
from weft.files.dataset import NUMBERED, Reader
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.known_roles import PICTURE, PICTURE_NAMES, QUESTION, TEXT
from weft.files.roles import Role, asked_column, known_as, matching
from weft.files.tables import Row, Table, as_cell, open_table
from weft.files.workbooks import WORKBOOK
from weft.tasks.asks import NOT_OF_AN_INPUT, Given, TableRow
from weft.tasks.request import Loaded

FILE = known_as("file", PICTURE_NAMES)
ROLES: Mapping[str, tuple[Role, ...]] = {  # of the columns of a row, by the kind of input that it holds
    "text": (TEXT,),
    "place": (TEXT,),
    "picture": (PICTURE,),
    "picture and question": (PICTURE, QUESTION),
    "file": (FILE,),
}


@dataclass(frozen=True)
class InputColumn:
    """A column that inputs are read from: `setting` names it, `known` is what the run learned from, if that is known.

    One that `may_lack` is left out where a table has none.
    """

    role: Role
    setting: str
    known: str | None = None
    may_lack: bool = False


def learned_columns(run: Loaded, *settings: str) -> tuple[str | None, ...]:
    """The columns that a run learned from, in the order of the settings that name them: as found, else as asked for.

    A column without a name is "column 2"; None where nobody knows, as of models from elsewhere.
    """
    asked, taken = run.config.get("training") or {}, run.data.taken or columns_in_order(run, *settings)
    return tuple(taken.get(setting) or asked.get(setting) for setting in settings)


def columns_in_order(run: Loaded, *settings: str) -> dict[str, str]:
    """The columns that a run of an earlier version learned from: it recorded them in the order of these settings."""
    return dict(zip(settings, run.data.columns, strict=False))


def by_name(column: str | None) -> str | None:
    """The name of a column that the run learned from; None of one that had only a number."""
    return None if column is None or NUMBERED.fullmatch(column) else column


@dataclass(frozen=True)
class InputRow:
    """A row of a table, and the places of the columns that the input is made of; None for one that is not there."""

    table: Table
    row: Row
    columns: tuple[InputColumn, ...]
    places: tuple[int | None, ...]

    @property
    def where(self) -> str:
        """Its file and line, for messages."""
        return self.table.where(self.row.line)

    def value(self, number: int = 0) -> Any:
        """What stands in one of the columns; in .jsonl and .parquet any value."""
        place = self.places[number]
        return None if place is None else self.table.value(self.row, place)

    def text(self, number: int = 0) -> str:
        """The text in one of the columns, without white space around it; a blank one is refused."""
        found = as_cell(self.value(number)).strip()
        if not found and self.places[number] is not None:
            name = self.columns[number].role.name
            raise DataError(f"no {name} in this row", where=self.where, fix=f"fill in the {name}, or delete the row")
        return found.replace("\r\n", "\n").replace("\r", "\n")

    def file(self, number: int = 0) -> Path:
        """The file that one of the columns names, beside the table or below its folder."""
        folder, name = self.table.path.parent, self.text(number)
        if "\0" in name or leads_out(folder / name, folder):
            problem = "the path has a NUL in it" if "\0" in name else f"the path {OUTSIDE}"
            raise DataError(problem, where=f"{self.where}: {shown(name)}", fix="name a file below the table's folder")
        return folder / name


@dataclass(frozen=True)
class InputTable:
    """A table of inputs, opened; `columns` are found in it at `places`."""

    table: Table
    columns: tuple[InputColumn, ...]
    places: tuple[int | None, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the table's columns are called, each in its own way."""
        found: list[str] = []
        for place, name in enumerate(self.table.names):
            called = name if name and name.strip() else f"column {place + 1}"
            found.append(free_name(called, found))
        return tuple(found)

    def inputs(self, read: Callable[[InputRow], Given]) -> Iterator[Given]:
        """What `read` makes of each row; an input with an error in place of its value where a row cannot be used."""
        for whole, row in self.rows():
            try:
                if isinstance(row, DataError):
                    raise row
                yield replace(read(row), rows=(whole,))
            except NOT_OF_AN_INPUT:
                raise
            except WeftError as error:
                yield Given(error, whole.where, (whole,))

    def rows(self) -> Iterator[tuple[TableRow, InputRow | DataError]]:
        """Every row that is not blank with all its cells; beside it what an input is made of, or what is wrong."""
        names, size, typed = self.names, len(self.table.columns), ending(self.table.path, (WORKBOOK,)) is not None
        for item in self.table.whole_rows():
            if isinstance(item, DataError):
                yield TableRow(item.where, names, (None,) * size), item
                continue
            row, wrong = item
            where = self.table.where(row.line)
            yield _whole(row, where, names, typed), wrong or InputRow(self.table, row, self.columns, self.places)


def _whole(row: Row, where: str, names: tuple[str, ...], typed: bool) -> TableRow:
    """All cells of a row; objects may have fields that those before them had not."""
    if isinstance(row.cells, dict):
        data = row.cells if row.whole is None else row.whole
        known = names if row.whole is None else tuple(data)
        more = tuple(name for name in data if name not in known)
        return TableRow(where, (*known, *more), tuple(data.get(name) for name in (*known, *more)))
    cells = [*row.cells, *[""] * (len(names) - len(row.cells))]
    return TableRow(where, names, tuple(map(_typed, cells[: len(names)]) if typed else cells[: len(names)]))


def _typed(cell: str) -> str | int | float:
    """The number that a cell of a workbook shows, where it is written as numbers are; 007 and 1e3 stay texts."""
    value = number(cell)
    whole = None if value is None or not value.is_integer() else int(value)
    return cell if value is None or cell not in (str(value), str(whole)) else value if whole is None else whole


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """A name that is not taken, with a number behind it where it must be."""
    others = (f"{wanted}_{number}" for number in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(name for name in others if name not in taken)


def opened(path: Path, columns: tuple[InputColumn, ...], reader: Reader[Any], asked: Mapping[str, str]) -> InputTable:
    """A table with the columns that inputs are made of; `asked` are those that the user named, by their settings."""
    roles = tuple(dict.fromkeys((*reader.roles, *(column.role for column in columns))))
    known = [asked.get(column.setting) or by_name(column.known) for column in columns]
    table = open_table(path, roles, known, doubtful=reader.doubtful)
    if table.columns and not table.header and not reader.doubtful:  # a header may name the input alone
        other = open_table(path, roles, [column.role.name for column in columns], doubtful=False)
        table = other if other.header else table
    if not table.columns:
        problem = next((fault.problem for fault in table.faults()), "no rows")
        raise DataError(problem, where=shown(path), fix="name a table that has rows")
    return found_in(table, columns, reader, asked)


def found_in(
    table: Table, columns: tuple[InputColumn, ...], reader: Reader[Any], asked: Mapping[str, str]
) -> InputTable:
    """A table that is open, with the columns that inputs are made of."""
    table = reader.named(table)
    return InputTable(table, columns, _places(table, columns, reader.roles, asked))


def _places(
    table: Table, columns: tuple[InputColumn, ...], roles: Sequence[Role], asked: Mapping[str, str]
) -> tuple[int | None, ...]:
    """The place of each column."""
    found = [_known_place(table, column, asked.get(column.setting)) for column in columns]
    for place, column in enumerate(columns):
        if found[place] is None:
            found[place] = _likely_place(table, column, roles, [one for one in found if one is not None])
        if found[place] is None and not column.may_lack:
            what = column.role.name
            problem = f"which column holds the {what} is not clear; its columns:{listed(table.columns)}"
            fix = f"say which column holds the {what}, by name or number: --set {column.setting}=…"
            raise DataError(problem, where=table.where(table.line), fix=fix)
    return tuple(found)


def _known_place(table: Table, column: InputColumn, asked: str | None) -> int | None:
    """The place of a column that was asked for, or that the run learned from."""
    where = table.where(table.line)
    if asked is not None:
        return asked_column(table.columns, asked, where)
    if column.known is None:
        return None
    for name in (column.known, column.role.name):
        if matches := matching(table.names, name):
            return matches[0]
    numbered = NUMBERED.fullmatch(column.known)
    if numbered and not any(table.names) and int(numbered[1]) <= len(table.columns):
        return int(numbered[1]) - 1
    if numbered or len(table.columns) == 1 or not any(table.names) or column.may_lack:
        return None
    names = ", ".join(repr(table.title(place)) for place in range(len(table.columns)))
    problem = f"no column {shown(column.known)!r}, from which the run learned; its columns: {names}"
    fix = f"say which column holds the {column.role.name}: --set {column.setting}=…"
    raise DataError(problem, where=where, fix=fix)


def _likely_place(table: Table, column: InputColumn, roles: Sequence[Role], taken: Sequence[int]) -> int | None:
    """The place of a column as training finds it: by its name, or by what it holds beside columns of other roles."""
    role, others = column.role, [other for other in roles if other.name != column.role.name]
    if named := [place for place in role.by_name(table.names) if place not in taken]:
        return named[0]
    claimed = {*taken, *(place for other in others for place in other.by_name(table.names)[:1])}
    free = [one for one in table.columns if one.place not in claimed]
    for other in (other for other in others if role.last and not other.last and len(free) > 1):
        held = other.by_content(free)[:1]
        free = [one for one in free if one.place not in held]
    if len(free) == 1 and not column.may_lack:
        return free[0].place
    return next(iter(role.by_content(free)), None)
