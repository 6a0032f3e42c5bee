"""Which column of a table is the text and which the label. Knows names and what columns look like; refuses to know files.

A name decides where there is one. Otherwise the label is the column of few different short values, or of numbers with
fractions, and the text is the one that is clearly longer than all others.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from weft.data.decoding import shown
from weft.errors import DataError, nearest

TEXT = (
    "text", "sentence", "review", "question", "content", "comment", "body", "message", "tweet", "document", "utterance",
    "query", "description", "headline", "title",
)  # fmt: skip
LABEL = (
    "label", "class", "category", "sentiment", "target", "labels", "intent", "topic", "emotion", "polarity", "rating",
    "stars", "score", "gold",
)  # fmt: skip
SAY = "say which columns they are, by name or number: --set text_column=… --set label_column=…"
LONGEST = 60  # characters of a label that nobody named as one
NAME = re.compile(r"[^\W\d]\w*(?:[ .-]\w+){0,2}")
NUMBERS = 0.9  # of the values of a column of numbers are numbers


def number(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def plain(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def names_columns(cells: Sequence[str]) -> bool:
    """Whether a row names both a text and a label."""
    found = {plain(cell) for cell in cells}
    return bool(found & set(TEXT)) and bool(found & set(LABEL))


@dataclass(frozen=True)
class Column:
    """The values of a column in the rows that were looked at, blank ones left out."""

    place: int
    name: str | None
    values: tuple[str, ...]

    @cached_property
    def distinct(self) -> int:
        return len(set(self.values))

    @cached_property
    def length(self) -> float:
        """Characters of a typical value."""
        return median(map(len, self.values)) if self.values else 0.0

    @cached_property
    def numbers(self) -> list[float]:
        return [value for text in self.values if (value := number(text)) is not None]

    @property
    def is_number(self) -> bool:
        """Nearly all are numbers, some with fractions: whole ones that never repeat are more likely to count the rows."""
        most = bool(self.values) and len(self.numbers) >= NUMBERS * len(self.values)
        return most and not all(value.is_integer() for value in self.numbers)

    @property
    def is_class(self) -> bool:
        """Few different values, all short."""
        return bool(self.values) and self.distinct * 2 <= len(self.values) and max(map(len, self.values)) <= LONGEST

    def __str__(self) -> str:
        known = f"{self.place + 1}" + (f" {shown(self.name)!r}" if self.name else "")
        first = self.values[0] if self.values else ""
        seen = shown(first if len(first) <= 30 else first[:29] + "…")
        return f"{known} ({self.distinct:,} different in {len(self.values):,} rows, as {seen!r})"


def columns_of(names: Sequence[str | None], rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns of some rows, which have as many cells as there are names."""
    cells = [[row[place].strip() for row in rows] for place in range(len(names))]
    return [Column(i, name, tuple(filter(None, cells[i]))) for i, name in enumerate(names)]


def is_header(first: Sequence[str], rest: Sequence[Sequence[str]], asked: Sequence[str | None]) -> bool:
    """Whether a first row names columns, told by its words and by what stands below them."""
    wanted = {plain(name) for name in asked if name is not None and not name.isdecimal()}
    found = [plain(cell) for cell in first]
    if (wanted and wanted <= set(found)) or names_columns(first):
        return True
    if not rest or "" in found or len(set(found)) < len(found):
        return False
    below = columns_of(first, rest)
    if any(cell.strip() in column.values for cell, column in zip(first, below, strict=True)):
        return False  # a value like those below it
    if set(found) & {*TEXT, *LABEL}:
        return True
    if any(number(cell) is None and len(c.numbers) == len(c.values) > 0 for cell, c in zip(first, below, strict=True)):
        return True
    named = all(NAME.fullmatch(cell.strip()) for cell in first)
    return named and any(column.length > 4 * len(cell) for cell, column in zip(first, below, strict=True))


def choose(
    columns: Sequence[Column], text: str | None, label: str | None, *, where: str, firm: bool = True
) -> tuple[int, int]:
    """The places of the text and of the label: those asked for, else by name, else by content.

    Names that were asked for of other data (not `firm`) count where a column bears them.
    """
    if not firm:
        text, label = (name if has_column(columns, name) else None for name in (text, label))
    if len(columns) < 2:
        fix = "a text and its label need two columns: in .tsv a tab separates them, in .csv a comma"
        raise DataError(f"{len(columns)} column{'s' * (len(columns) != 1)}, expected at least 2", where=where, fix=fix)
    first = asked_column(columns, text, where) if text is not None else None
    second = asked_column(columns, label, where) if label is not None else None
    if first is not None and first == second:
        raise DataError(f"text and label are both column {first + 1}", where=where, fix="name two columns")
    if first is None:
        first = _named([column for column in columns if column.place != second], TEXT)
    if second is None:
        second = _named([column for column in columns if column.place != first], LABEL)
    if second is None:
        second = label_by_content([column for column in columns if column.place != first])
    if second is not None and first is None:
        first = text_by_content([column for column in columns if column.place != second])
    if first is None or second is None:
        unclear = "label" if second is None else "text"
        listed = "".join(f"\n     {column}" for column in columns)
        fix = SAY if firm else "give it a header line with the names text and label"
        raise DataError(f"which column holds the {unclear} is not clear; its columns:{listed}", where=where, fix=fix)
    return first, second


def label_by_content(columns: Sequence[Column]) -> int | None:
    """The one column that can only be a label. Of two columns in all, the one with far fewer different values will do."""
    classes = sorted((column for column in columns if column.is_class), key=lambda column: column.distinct)
    numbers = [column for column in columns if column.is_number and not column.is_class]
    if len(classes) == 2 == len(columns) and classes[0].distinct * 4 <= classes[1].distinct:
        return classes[0].place
    return (classes + numbers)[0].place if len(classes) + len(numbers) == 1 else None


def text_by_content(columns: Sequence[Column]) -> int | None:
    """The only column, or one whose values are twice as long as all others."""
    order = sorted(columns, key=lambda column: -column.length)
    clear = len(order) == 1 or order[0].length >= 2 * order[1].length
    return order[0].place if clear and order[0].length > 0 else None


def _named(columns: Sequence[Column], names: Sequence[str]) -> int | None:
    """The place of the column that bears the first of these names."""
    places = {plain(column.name): column.place for column in reversed(columns) if column.name}
    return next((places[name] for name in names if name in places), None)


def _matches(columns: Sequence[Column], name: str) -> list[int]:
    """The places of the columns that bear a name."""
    return [column.place for column in columns if column.name and plain(column.name) == plain(name)]


def has_column(columns: Sequence[Column], name: str | None) -> bool:
    """Whether one column, and no other, is meant by a name or a number from 1."""
    if name is None:
        return False
    return len(_matches(columns, name)) == 1 or _numbered(columns, name)


def _numbered(columns: Sequence[Column], name: str) -> bool:
    return name.isdecimal() and 1 <= int(name) <= len(columns)


def asked_column(columns: Sequence[Column], name: str, where: str) -> int:
    """The place of a column that was asked for by name or by number from 1."""
    matches = _matches(columns, name)
    if len(matches) == 1:
        return matches[0]
    if _numbered(columns, name):
        return int(name) - 1
    known = [shown(column.name) for column in columns if column.name]
    if matches:
        fix = f"name it by number: {' or '.join(str(i + 1) for i in matches)}"
        raise DataError(f"{len(matches)} columns are named {name!r}", where=where, fix=fix)
    found = f"its columns: {', '.join(map(repr, known))}" if known else f"it has {len(columns)} columns without names"
    hint = f"{nearest(name, known)}, or" if known else "give it a header line, or"
    fix = f"{hint} name it by number, from 1 to {len(columns)}"
    raise DataError(f"no column {name!r}; {found}", where=where, fix=fix)
