"""Tables: rows of .csv, .tsv, .jsonl, .json, .xlsx and .parquet. Knows separators, quotes, headers; not meanings.

In .tsv a quote is a character like any other and a row is a line. In .csv quotes are read strictly (RFC 4180): a quoted
field may hold separators and newlines, and one that is not closed is refused rather than left to swallow the next rows.
In .jsonl every line is an object, whose keys name the columns; the object in a field "translation" stands for the
whole. A .json file is a table where it is a list of objects. Files of text may be packed by gzip.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from weft.errors import DataError
from weft.files.columns import NEARLY_ALL, Column, columns_of
from weft.files.decoding import read_text, shown
from weft.files.finding import ending
from weft.files.gather import tried
from weft.files.json_lines import numbered, objects_on, read_string
from weft.files.parquet import parquet_count, parquet_rows
from weft.files.parquet_columns import PARQUET
from weft.files.roles import Choice, Role, binding, choose, is_header, may_lack_name, names_columns
from weft.files.workbooks import WORKBOOK, workbook_rows

ENDINGS = (".tsv", ".csv", ".jsonl", WORKBOOK, PARQUET)
LISTS = (".json",)  # tables where they hold a list of objects
LOOK = 2000  # rows looked at to find the columns
FIRST = 20  # rows looked at to find the separator of a .csv file
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
SHIFTED = "give every row the same columns; a separator inside a text shifts what follows it"


class Row(NamedTuple):
    """The line a row begins on and its cells: none where it is blank; in .jsonl the values by their names.

    `whole` is the row as its file has it, where the cells are less: the object around a translation.
    """

    line: int
    cells: list[str] | dict[str, Any]
    whole: Any = None


Item = Row | DataError
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """A table with its first rows looked at: `line` is that of the first row, which is the header if there is one."""

    path: Path
    columns: tuple[Column, ...]
    line: int
    header: bool
    separator: str | None  # None: rows are objects; "": cells that nothing separates, as in a workbook
    objects: str = ""  # what a line of JSON should be
    even: bool = True  # whether nearly all rows have as many columns as the first
    items: Iterator[Item] = field(repr=False, compare=False, default_factory=lambda: iter(()))
    unit: str = "line"  # what rows are counted in, for messages
    width: int = 0  # cells of a row where blank columns without a name stand behind the others

    @property
    def names(self) -> list[str | None]:
        """The names of the columns, None where nobody named them."""
        return [column.name for column in self.columns]

    @property
    def known(self) -> str:
        """How the columns are known, for notes: by a header or not."""
        return f"{self.unit} {self.line} names the columns" if self.header else "no header"

    def where(self, line: int) -> str:
        """A line of this file, for messages."""
        return f"{shown(self.path)}, {self.unit} {line}"

    def renamed(self, names: Sequence[str | None]) -> "Table":
        """The same table with other names for its columns."""
        columns = tuple(replace(c, name=name) for c, name in zip(self.columns, names, strict=True))
        return replace(self, columns=columns)

    def choose(self, roles: Sequence[Role], asked: Sequence[str | None], *, fix: str) -> Choice:
        """The column of each role."""
        return choose(self.columns, roles, self.wanted(asked), where=self.where(self.line), fix=fix)

    def rows(self) -> Iterator[Item]:
        """All rows, once. One with another number of columns is an error, not raised; blank ones are empty."""
        return (item if isinstance(item, DataError) else self._uneven(item) or item for item in self.items)

    def whole_rows(self) -> Iterator[tuple[Row, DataError | None] | DataError]:
        """The rows that are not blank, once, each with what is wrong with its columns; or why one cannot be read."""
        filled = (item for item in self.items if isinstance(item, DataError) or item.cells != [])
        return (item if isinstance(item, DataError) else (item, self._uneven(item)) for item in filled)

    def _uneven(self, row: Row) -> DataError | None:
        """The error for a row with another number of columns."""
        size = self.width or len(self.columns)
        if not row.cells or self.separator is None or len(row.cells) == size:
            return None
        found = f"{len(row.cells)} column{'s' * (len(row.cells) != 1)}"
        problem = f"{found}, expected {size} as in " + ("the header" if self.header else f"{self.unit} {self.line}")
        seen = "" if self.header else f": {excerpt(' | '.join(row.cells))}"
        return DataError(problem + seen, where=self.where(row.line), fix=SHIFTED)

    def each(self, read: Callable[[Row], T | None], *, even: bool = True) -> Iterator[T | DataError]:
        """What each row becomes that is not blank, or what is wrong with it; `even` rows have the columns of the first.

        A row has all its cells, whatever columns are taken from it, and its number. Of a table without columns nothing
        can be read, and only what is wrong with its rows comes.
        """
        items = self.rows() if even else self.items
        filled = (item for item in items if isinstance(item, DataError) or (item.cells != [] and self.columns))
        return tried(filled, read)

    def faults(self) -> Iterator[DataError]:
        """What is wrong with rows of which none can be read."""
        return (item for item in self.rows() if isinstance(item, DataError))

    def wanted(self, asked: Sequence[str | None]) -> list[str | None]:
        """The columns that are asked for; one that was only learned from, and is not here, is None."""
        return [binding(self.columns, name) for name in asked]

    def title(self, place: int) -> str:
        """What to call a column in a report: by its name, else by its number."""
        return (self.names[place] or f"column {place + 1}").strip()

    def record(self, row: Row) -> dict[str, str]:
        """All cells of a row as text, by the names of their columns, or their numbers where nobody named them."""
        names = (name or f"column {place + 1}" for place, name in enumerate(self.names))
        return {name: as_cell(self.value(row, place)).strip() for place, name in enumerate(names)}

    def text(self, row: Row, place: int) -> str:
        """The text in a column of a row; in .jsonl anything but a string is refused."""
        if isinstance(row.cells, list):
            return row.cells[place]
        return read_string(row.cells, self.names[place] or "", where=self.where(row.line), fix=self.objects)

    def value(self, row: Row, place: int) -> Any:
        """What stands in a column of a row; in .jsonl any value of JSON."""
        return row.cells[place] if isinstance(row.cells, list) else row.cells.get(self.names[place] or "")


def is_table(path: str | Path) -> bool:
    """Whether a file is a table by its name; a .json file where it begins with a list of objects."""
    return ending(path, ENDINGS) is not None or is_list(path)


def is_list(path: str | Path) -> bool:
    """Whether a .json file is a list of objects, by its beginning."""
    from weft.files.json_values import begins_objects

    return ending(path, LISTS) is not None and begins_objects(Path(path))


def rows_about(path: Path) -> int:
    """About how many rows a file has: of Parquet and workbooks exactly, else its lines, of which a row may take some.

    None of it is checked; 0 where it cannot be read.
    """
    kind = ending(path, (*ENDINGS, *LISTS))
    try:
        if kind == PARQUET:
            return parquet_count(path)
        if kind == WORKBOOK:
            return sum(1 for _ in workbook_rows(path))
        if path.name.lower().endswith(".gz"):
            return sum(piece.count("\n") for piece in read_text(path))
        with path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(2**20), b""))
    except (OSError, DataError):
        return 0


def excerpt(text: str) -> str:
    """The beginning of a text, for messages."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def as_cell(value: Any) -> str:
    """A value of JSON as a cell, a list of one text as that text; what cannot be a label or a text is blank."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def open_table(
    path: Path, roles: Sequence[Role], asked: Sequence[str | None] = (), *, objects: str = "", doubtful: bool = True
) -> Table:
    """Look at the first rows of a table, for columns of some roles; it has none where no row is filled and can be read.

    `objects` says what a line of JSON should be; without `doubtful`, a header must be one beyond doubt.
    """
    kind = ending(path, (*ENDINGS, *LISTS))
    if kind in LISTS:
        from weft.files.json_values import object_table

        return object_table(path, None, objects)
    separator = None if kind in (".jsonl", PARQUET) else "" if kind == WORKBOOK else _separator(path, roles)
    unit = "row" if kind in (WORKBOOK, PARQUET) else "line"
    items = _items(path, kind, separator, objects)
    sample: list[Item] = []
    seen = 0
    for item in items:
        sample.append(item)
        seen += isinstance(item, DataError) or bool(item.cells)
        if seen == LOOK:
            break
    rest = chain(sample, items)
    full = [item for item in sample if not isinstance(item, DataError) and item.cells]
    if not full:
        return Table(path, (), 1, False, separator, objects, items=rest, unit=unit)
    if separator is None:
        columns = columns_of_objects([item.cells for item in full if isinstance(item.cells, dict)])
        return Table(path, tuple(columns), full[0].line, False, None, objects, items=rest, unit=unit)
    rows = [list(item.cells) for item in full]
    titles = _titles(rows, roles, asked)
    full, rows = full[titles:], rows[titles:]
    width = len(rows[0])
    fitting = [cells for cells in rows if len(cells) == width]
    header = is_header(rows[0], fitting[1:], roles, asked, doubtful=doubtful)
    columns = columns_of(rows[0] if header else [None] * width, fitting[header:])
    while len(columns) > 1 and may_lack_name(columns[-1].name, columns[-1], len(fitting)):
        columns.pop()
    start = sample.index(full[0])
    rest = chain(sample[start + header :], items)
    even = len(fitting) >= NEARLY_ALL * len(rows)
    return Table(path, tuple(columns), full[0].line, header, separator, objects, even, rest, unit, width)


def _titles(rows: Sequence[Sequence[str]], roles: Sequence[Role], asked: Sequence[str | None]) -> int:
    """How many rows stand as a title above the header: rows of one cell before rows of several that begin with it."""
    filled = [sum(bool(cell.strip()) for cell in cells) for cells in rows]
    titles = next((place for place, count in enumerate(filled) if count > 1), 0)
    if not titles or any(count < 2 for count in filled[titles : titles + FIRST]):
        return 0
    below = [cells for cells in rows[titles + 1 :] if len(cells) == len(rows[titles])]
    return titles if is_header(rows[titles], below, roles, asked) else 0


def columns_of_objects(objects: Sequence[dict[str, Any]]) -> list[Column]:
    """The columns of objects of JSON, whose keys name them."""
    names = list(dict.fromkeys(key for data in objects for key in data))
    return columns_of(names, [[as_cell(data.get(key)) for key in names] for data in objects])


def _items(path: Path, kind: str | None, separator: str | None, objects: str) -> Iterator[Item]:
    """The rows of a file of some kind."""
    if kind == WORKBOOK:
        return (Row(number, cells) for number, cells in workbook_rows(path))
    if kind == PARQUET:
        return (_unwrapped(number, cells) for number, cells in parquet_rows(path))
    if separator is None:
        return tried(objects_on(numbered(path), path, objects), lambda one: _unwrapped(*one))
    return _cells(path, separator)


def _unwrapped(number: int, data: dict[str, Any]) -> Row:
    """A row of an object; the object in its field "translation" stands for the whole."""
    inner = data.get("translation")
    return Row(number, inner, data) if isinstance(inner, dict) else Row(number, data)


def _cells(path: Path, separator: str) -> Iterator[Row]:
    for line, cells in read_cells(path, separator):
        yield Row(line, cells if any(map(str.strip, cells)) else [])


def read_cells(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of every row; a row of several lines has the number of its first."""
    if ending(path, ENDINGS) == ".tsv":
        yield from ((number, line.split("\t")) for number, line in numbered(path))
        return
    reader = csv.reader((line + "\n" for _, line in numbered(path)), delimiter=separator, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _quote(path, number, reader.line_num, str(error)) from None
        yield number, cells


def _quote(path: Path, first: int, last: int, reason: str) -> DataError:
    """The error for quotes that cannot be paired; the csv module tells them apart by its words alone."""
    where, fix = f"{shown(path)}, line {first}", 'close it; inside quotes, write a quote twice: "He said ""yes"""'
    if "end of data" in reason or "field limit" in reason:
        return DataError(f"a quote is opened and not closed by line {last}", where=where, fix=fix)
    there = "" if first == last else f", which closes on line {last}"
    return DataError(f"text follows the end of a quoted field{there}: an open or a stray quote", where=where, fix=fix)


def _separator(path: Path, roles: Sequence[Role]) -> str:
    """The separator under which the first rows name columns, else agree on their number; a comma when in doubt."""
    if ending(path, ENDINGS) == ".tsv":
        return "\t"
    alike = []
    for separator in SEPARATORS:
        try:
            rows = [cells for _, cells in islice(read_cells(path, separator), FIRST) if cells]
        except DataError:
            continue  # the error is raised when the file is read
        if rows and len(rows[0]) > 1 and names_columns(rows[0], roles):
            return separator
        if rows and len(rows[0]) > 1 and len({len(cells) for cells in rows}) == 1:
            alike.append(separator)
    return alike[0] if alike else ","
