"""What people want to know of their data before they train: files, columns, scripts, pictures, first rows. No torch."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from typing import Any

from weft.amounts import amount
from weft.errors import DataError, listed
from weft.files.columns import HOLDS
from weft.files.dataset import Dataset
from weft.files.decoding import shown
from weft.files.languages import language
from weft.files.roles import Role
from weft.files.survey import FILES, Survey
from weft.files.workbooks import WORKBOOK, sheets_of

ROWS = 4  # first rows that are shown
WIDE = 100  # characters of a row that are shown
LETTERS = 20_000  # letters looked at to tell scripts
RARE = 0.01  # of the letters: scripts below this share are not named


@dataclass(frozen=True)
class ColumnFacts:
    """A column of a table: what its values look like, and its role in the task that was taken."""

    number: int
    name: str
    holds: str
    different: int
    rows: int
    example: str
    role: str = ""


@dataclass(frozen=True)
class DataFacts:
    """What a task's reader made of the files: notes with amounts, the rule of the split, first rows, pictures."""

    notes: tuple[str, ...] = ()
    held_out: str = ""
    first_rows: tuple[str, ...] = ()
    pictures: dict[str, Any] = field(default_factory=dict)


def files_in_words(survey: Survey) -> str:
    """How many files of which endings there are, and their size."""
    paths = [
        file
        for source in survey.sources
        for file in (source.files or ([source.path] if source.kind == "archive" else []))
    ]
    endings = Counter(ending or "no ending" for source in survey.sources for ending in source.endings.elements())
    size = sum(path.stat().st_size for path in paths if path.is_file())
    cut = any(len(source.names) >= FILES for source in survey.sources)
    kinds = ", ".join(f"{count:,} {ending}" for ending, count in endings.most_common(6))
    more = f" and {len(endings) - 6} other kinds" if len(endings) > 6 else ""
    sheets = [sheets_of(path) for path in paths if path.suffix.lower() == WORKBOOK]
    several = next((names for names in sheets if len(names) > 1), None)
    told = f"; the first sheet with rows is read, of {len(several)} ({listed(several)})" if several else ""
    files = f"the first {len(paths):,} files" if cut else f"{len(paths):,} file{'s' * (len(paths) != 1)}"
    return f"{files}, {amount(size)}: {kinds}{more}{told}"


def columns_of(survey: Survey, roles: Sequence[Role]) -> tuple[ColumnFacts, ...]:
    """The columns of the first table, with the one of some roles that each has."""
    table = next(iter(survey.tables), None)
    if table is None:
        return ()
    found = dict[int, str]()
    try:
        chosen = table.choose(roles, (None,) * len(roles), fix="") if roles else None
        found = {place: role.name for role, place in zip(roles, chosen.places, strict=True)} if chosen else {}
    except DataError:
        pass  # which reading the data says
    return tuple(
        ColumnFacts(
            c.place + 1, shown(c.name or ""), _holds(c.name, c.looks), c.distinct, len(c.values),
            _cut(c.values[0] if c.values else "", 40), found.get(c.place, ""),
        )
        for c in table.columns
    )  # fmt: skip


def _holds(name: str | None, looks: str) -> str:
    code = language(name) if looks == "text" else None
    return f"{HOLDS[looks]} in the language {code!r}" if code else HOLDS[looks]


def scripts_of(survey: Survey) -> dict[str, float]:
    """The scripts that texts are written in, by their share of the letters."""
    text = "".join(
        " ".join(
            value for column in table.columns if column.looks in ("text", "label") for value in column.values[:200]
        )
        for table in survey.tables
    )
    for source in survey.sources if not survey.tables else ():
        text += source.start[:LETTERS] if isinstance(source.start, str) else ""
    counts = Counter(_script(c) for c in islice(filter(str.isalpha, text), LETTERS))
    total = max(sum(counts.values()), 1)
    return {name: round(n / total, 3) for name, n in counts.most_common() if n >= RARE * total}


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "OTHER").split()[0]
    return {"CJK": "Han (Chinese characters)"}.get(name, name.capitalize())


def facts_of(data: Dataset[Any, Any]) -> DataFacts:
    """What a data set shows of itself."""
    return DataFacts(tuple(data.notes), data.rule, _first_rows(data.train), data.pictures_in_numbers())


def _first_rows(train: Any) -> tuple[str, ...]:
    """The first rows in words: of running text its first lines."""
    if hasattr(train, "pieces"):
        text = "".join(piece or "\n" for piece in islice(train.pieces(), 8))[:4000]
        return tuple(_cut(line) for line in islice(filter(str.strip, text.splitlines()), ROWS))
    if not isinstance(train, Sequence):
        return ()
    return tuple(_cut(row) for row in map(_row, train[:ROWS]) if row)


def _row(row: Any) -> str:
    """A row that holds texts or words, its parts side by side; nothing where it holds something else."""
    values = [getattr(row, one.name) for one in fields(row)] if is_dataclass(row) else []
    parts = [" ".join(value) if isinstance(value, tuple) else value for value in values if _is_text(value)]
    return " | ".join(parts)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(one, str) for one in value))


def _cut(text: str, most: int = WIDE) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"
