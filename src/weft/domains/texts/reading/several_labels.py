"""Tables in which a text has any number of labels: lists, labels with a sign between them, or a column for each.

    {"text": "…", "labels": ["sport", "money"]}       lists in .jsonl, .json and .parquet
    text,tags                                          a;b or a|b in one column
    text,toxic,obscene,threat                          0 or 1 in a column for each label

Refuses to judge or count rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from weft.errors import DataError
from weft.files.columns import LONGEST_LABEL, Column, plain
from weft.files.json_lines import kind
from weft.files.known_roles import LABEL, TEXT, holds_text
from weft.files.labels import joined
from weft.files.tables import LOOK, Row, Table, as_cell

SIGNS = (";", "|")
PARTED_SHARE = 0.05  # of the cells, at least, have more than one label
REPEATED = 3  # times that a label stands in a column, at least, on average
FLAGS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True, "": False}
FEWEST_FLAGS = 2  # columns of 0 and 1
OBJECT = 'write {"text": "…", "labels": ["…", "…"]} on every line'


class LabelCells(ABC):
    """Where the labels of a row stand."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the column, or the names of the columns."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The same for people."""

    @abstractmethod
    def read(self, table: Table, row: Row) -> str:
        """The labels of a row, joined."""


@dataclass(frozen=True)
class LabelList(LabelCells):
    """A column of lists."""

    place: int
    name: str

    @property
    def title(self) -> str:
        return self.name

    @property
    def words(self) -> str:
        return f"lists of labels in {self.title!r}"

    def read(self, table: Table, row: Row) -> str:
        found = table.value(row, self.place)
        values = found if isinstance(found, list) else [] if found is None else [found]
        odd = next((one for one in values if not isinstance(one, str | int | float)), None)
        if odd is not None:
            raise DataError(f'the field "{self.title}" has {kind(odd)} in it', where=table.where(row.line), fix=OBJECT)
        return joined(as_cell(one).strip() for one in values)


@dataclass(frozen=True)
class Parted(LabelCells):
    """A column with a sign between labels."""

    place: int
    name: str
    sign: str

    @property
    def title(self) -> str:
        return self.name

    @property
    def words(self) -> str:
        return f"labels in {self.title!r}, with {self.sign!r} between them"

    def read(self, table: Table, row: Row) -> str:
        return joined(part.strip() for part in as_cell(table.value(row, self.place)).split(self.sign))


@dataclass(frozen=True)
class Flags(LabelCells):
    """Columns of 0 and 1, each named by its label."""

    places: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        return ",".join(self.names)

    @property
    def words(self) -> str:
        return f"0 or 1 in {len(self.names)} columns, each a label"

    def read(self, table: Table, row: Row) -> str:
        found = list[str]()
        for place, name in zip(self.places, self.names, strict=True):
            cell = as_cell(table.value(row, place)).strip().lower()
            if cell not in FLAGS:
                problem = f"expected 0 or 1 in the column {name!r}, found {cell[:40]!r}"
                raise DataError(problem, where=table.where(row.line), fix="correct it, or delete the row")
            found += [name] if FLAGS[cell] else []
        return joined(found)


def peeked(table: Table) -> tuple[Table, list[Row]]:
    """A table with its first rows, which are not lost to it."""
    first = list(islice(table.items, LOOK))
    return replace(table, items=chain(first, table.items)), [item for item in first if isinstance(item, Row)]


def several_in(table: Table, rows: Sequence[Row], label: str | None, *, asked: bool = False) -> LabelCells | None:
    """Where the labels of a table stand, if a text may have several; with `asked`, a user says that it may.

    `label` names the column, or several columns with commas between them; `rows` are the first of the table.
    """
    names = [plain(name or "") for name in table.names]
    if label is not None and "," in label and label not in table.names:
        wanted = [plain(part) for part in label.split(",")]
        if all(one in names for one in wanted):
            return _flags(table, [names.index(one) for one in wanted])
    columns = [
        column
        for column in table.columns
        if (LABEL.means(column.name or "") is not None if label is None else _is(column, label))
    ]
    for column in columns or (table.columns if label is None else ()):
        values = [table.value(row, column.place) for row in rows]
        if _are_lists(values, table.columns, column) or (asked and any(isinstance(one, list) for one in values)):
            return LabelList(column.place, table.title(column.place))
    for column in columns or (table.columns if label is None else ()):
        if (sign := _sign(column, asked)) is not None:
            return Parted(column.place, table.title(column.place), sign)
    if columns or table.names.count(None) == len(table.names):
        return None
    flags = [column for column in table.columns if column.values and {*map(str.lower, column.values)} <= FLAGS.keys()]
    varied = sum(column.distinct > 1 for column in flags)
    texts = any(holds_text(column) and column not in flags for column in table.columns)
    return _flags(table, [column.place for column in flags]) if varied >= FEWEST_FLAGS and texts else None


def _flags(table: Table, places: Sequence[int]) -> Flags:
    return Flags(tuple(places), tuple(table.title(place) for place in places))


def _is(column: Column, label: str) -> bool:
    return label in (column.name, str(column.place + 1)) or plain(column.name or "") == plain(label)


def _are_lists(values: Sequence[Any], columns: Sequence[Column], column: Column) -> bool:
    """Whether values are lists of texts, some of several or of none; one text of each row is a class."""
    lists = [one for one in values if isinstance(one, list)]
    plain_texts = all(isinstance(one, str) and len(one) <= LONGEST_LABEL for some in lists for one in some)
    return bool(lists) and 2 * len(lists) > len(values) and plain_texts and any(len(one) != 1 for one in lists)


def _sign(column: Column, asked: bool) -> str | None:
    """The sign between the labels in the cells of a column; None where each cell is one label."""
    for sign in (*SIGNS, ",") if asked else SIGNS:
        several = sum(sign in value for value in column.values)
        parts = [part.strip() for value in column.values for part in value.split(sign)]
        few = len(set(parts)) * REPEATED <= len(parts) and max(map(len, parts), default=0) <= LONGEST_LABEL
        if several and (asked or (several >= PARTED_SHARE * len(column.values) and few and len(set(parts)) > 1)):
            return sign
    return SIGNS[0] if asked else None


def text_column(table: Table, asked: str | None, fix: str) -> int:
    """The column of the texts."""
    (place,), _ = table.choose((TEXT,), (asked,), fix=fix)
    return place
