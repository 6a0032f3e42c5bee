"""The columns of a table and what their values look like. Refuses to know files, and what the columns are for."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from statistics import median

from weft.files.decoding import shown
from weft.files.pictures.formats import named_as_picture

LONGEST_LABEL = 60  # characters of a label in a column of another name
NEARLY_ALL = 0.9  # of the values of a column must look alike
PREFIX = 20  # characters; values that all begin with as many equal ones are codes or credits, not texts
LISTED = 20  # columns that a message lists
TRIED = 400  # values looked at to tell what a column holds
ABSENT = {"na", "n/a", "nan", "null", "none", "-", "?"}
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
DATE = re.compile(
    rf"\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}([T ]+\d.*)?|\d{{4}}-\d\d|\d{{1,2}}:\d\d(:\d\d.*)?"
    rf"|([a-z]{{3,9}}\.?,? )?(\d{{1,2}}[ -])?({MONTHS})[a-z]*\.?[ -](\d{{1,2}},? )?\d{{2,4}}( \d.*)?",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"[a-z]+://\S+|www\.\S+|\S+@\S+\.\w+|\S*[/\\]\S*\.\w{1,5}", re.IGNORECASE)
CODE = re.compile(r"(?=\S*\d)[\w.:#-]+")
HOLDS = {
    "empty": "blank", "number": "numbers", "date": "dates", "address": "paths or addresses",
    "picture": "names of pictures", "code": "codes", "label": "few different values", "text": "text", "other": "signs",
}  # fmt: skip


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


def first_named(names: Iterable[str | None], wanted: Iterable[str]) -> str | None:
    """The name of a column that is the earliest of some wanted ones, as names are compared."""
    known = {plain(name): name for name in reversed(list(names)) if name}
    return next((known[name] for name in wanted if name in known), None)


@dataclass(frozen=True)
class Column:
    """The values of a column in the rows that were looked at, blank ones left out."""

    place: int
    name: str | None
    values: tuple[str, ...]

    @cached_property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(set(self.values))

    @cached_property
    def length(self) -> float:
        """Characters of a typical value."""
        return median(map(len, self.values)) if self.values else 0.0

    @cached_property
    def words(self) -> float:
        """Words of a typical value; in scripts that do not part words, every second character counts as one."""
        sizes = [len(v.split()) if v.isascii() else max(len(v.split()), _dense(v) // 2) for v in self.values[:TRIED]]
        return median(sizes) if sizes else 0.0

    @cached_property
    def numbers(self) -> list[float]:
        """The values that are numbers."""
        return [value for text in self.values if (value := number(text)) is not None]

    @property
    def is_number(self) -> bool:
        """Nearly all are numbers, some with fractions: whole ones alone probably count the rows."""
        most = bool(self.values) and len(self.numbers) >= NEARLY_ALL * len(self.values)
        return most and not all(value.is_integer() for value in self.numbers)

    @property
    def is_class(self) -> bool:
        """Few different values, all short."""
        few = bool(self.values) and self.distinct * 2 <= len(self.values)
        return few and max(map(len, self.values)) <= LONGEST_LABEL

    @cached_property
    def looks(self) -> str:
        """What nearly all values look like, one of `HOLDS`."""
        some = [value for value in self.values[:TRIED] if value.casefold() not in ABSENT]
        for kind in ("picture", "number", "date", "address"):
            if some and sum(looks_like(kind, value) for value in some) >= NEARLY_ALL * len(some):
                return kind
        if not some:
            return "empty"
        if self.is_class:
            return "label"
        coded = sum(CODE.fullmatch(value) is not None for value in some) >= NEARLY_ALL * len(some)
        if coded or (self.distinct > 1 and len(some) > 2 and _shared_start(some) >= PREFIX):
            return "code"
        return "text" if sum(any(map(str.isalpha, value)) for value in some) * 2 > len(some) else "other"

    @property
    def called(self) -> str:
        """What to call the column on the command line: its name if that needs no quotes, else its number."""
        name = (self.name or "").strip()
        return name if name.replace("_", "").isalnum() and not name.isdecimal() else str(self.place + 1)

    def __str__(self) -> str:
        known = f"{self.place + 1}" + (f" {shown(self.name)!r}" if self.name else "")
        first = self.values[0] if self.values else ""
        seen = shown(first if len(first) <= 30 else first[:29] + "…")
        return f"{known} ({self.distinct:,} different in {len(self.values):,} rows, as {seen!r}; {HOLDS[self.looks]})"


def looks_like(kind: str, value: str) -> bool:
    """Whether one value is a number, a date, an address, or the name of a picture."""
    if kind == "number":
        return number(value.replace(",", "").strip("%$€£ ")) is not None
    if kind == "picture":
        return named_as_picture(value)
    return len(value) <= 300 and (DATE if kind == "date" else ADDRESS).fullmatch(value) is not None


def _shared_start(values: Sequence[str]) -> int:
    """With how many equal characters all values begin."""
    first, last = min(values), max(values)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))


def _dense(value: str) -> int:
    """Characters of scripts that do not set words apart: Chinese, Japanese, Thai and their neighbours."""
    return sum("\u0e00" <= c <= "\u0eff" or "\u3040" <= c <= "\u9fff" for c in value)


def columns_of(names: Sequence[str | None], rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns of some rows, which have as many cells as there are names."""
    cells = [[row[place].strip() for row in rows] for place in range(len(names))]
    return [Column(i, name, tuple(filter(None, cells[i]))) for i, name in enumerate(names)]


def listed(columns: Sequence[Column]) -> str:
    """Columns for a message, a line each."""
    more = f"\n     and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
    return "".join(f"\n     {column}" for column in columns[:LISTED]) + more
