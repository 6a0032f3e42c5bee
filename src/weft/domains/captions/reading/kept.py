"""Many rows about pictures, which are not held in memory: read into a mapped file once, and found again.

Each row is a text of JSON: where it stands, the picture, what is said or asked; or what is wrong with it. In memory
stands the number of a row. Refuses to know in which files such rows are, and where the pictures are.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from weft.domains.captions.reading.about import AboutPicture
from weft.errors import DataError
from weft.files.gather import Reading
from weft.files.kept_rows import kept_rows
from weft.files.pictures.regions import Question
from weft.files.text_rows import GrowingTexts, TextRows
from weft.storage.prepared import StagedEntry

S = TypeVar("S")
Row = AboutPicture | DataError


@dataclass(frozen=True)
class KeptRows:
    """The rows of one file: those from `start` to `stop` of a mapped file."""

    rows: TextRows[Row]
    start: int
    stop: int

    def __iter__(self) -> Iterator[Row]:
        return self.rows.part(self.start, self.stop)


class KeptSaid(Sequence[S], Generic[S]):
    """What some rows say about a picture, read where it is looked at."""

    __slots__ = ("numbers", "of", "rows")

    def __init__(
        self, rows: TextRows[Row], numbers: "array[int]", of: Callable[[Iterable[AboutPicture]], tuple[S, ...]]
    ):
        self.rows, self.numbers, self.of = rows, numbers, of

    def _all(self) -> tuple[S, ...]:
        found = [self.rows.at(number) for number in self.numbers]
        return self.of(row for row in found if isinstance(row, AboutPicture))

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, place: int) -> S: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[S]: ...
    def __getitem__(self, place: int | slice) -> S | Sequence[S]:
        return self._all()[place]

    def __iter__(self) -> Iterator[S]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())


def kept_readings(
    kind: str, paths: Sequence[Path], asked: Any, read: Callable[[], Iterable[Reading[AboutPicture]]]
) -> Iterable[Reading[AboutPicture]]:
    """How files are read, as `read` says: many rows out of a mapped file, which is kept for the next time."""

    def make(staged: StagedEntry) -> None:
        growing, files = GrowingTexts[Row](staged, 1, _written), list[tuple[str, int, dict[str, str]]]()
        for reading in read():
            (path,), before = reading.files, len(growing)
            for row in reading.rows:
                assert not isinstance(row, str)
                growing.append(row)
            files.append((str(path), len(growing) - before, dict(reading.taken)))
        growing.finished(_row)
        staged.values["files"] = files

    entry = kept_rows(kind, paths, [asked], make)
    if entry is None:
        yield from read()
        return
    rows, start = TextRows.of(entry, _row), 0
    for path, count, taken in entry.values["files"]:
        yield Reading((Path(path),), KeptRows(rows, start, start + count), taken=taken)
        start += count


def _written(row: Row) -> tuple[str]:
    if isinstance(row, DataError):
        return (json.dumps({"problem": row.problem, "where": row.where, "fix": row.fix}),)
    asked = row.question
    question = None if asked is None else [asked.text, asked.answers, asked.kind]
    return (json.dumps([row.at, row.picture, row.captions, question]),)


def _row(text: str) -> Row:
    found = json.loads(text)
    if isinstance(found, dict):
        return DataError(found["problem"], where=found["where"], fix=found["fix"])
    at, picture, captions, question = found
    asked = None if question is None else Question(question[0], tuple(question[1]), question[2])
    return AboutPicture(at, picture, tuple(captions), asked)
