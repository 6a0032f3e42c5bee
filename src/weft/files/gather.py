"""Rows out of people's files: what each row becomes, and all that some files gave. Every reader takes rows this way.

A reader says how a row becomes a value; a bad row raises a `DataError`. What comes out of a file, in order, is a value,
or the error of a bad row (not raised: how many may be bad is decided where rows are gathered), or the word for a row
that its own file says is not to be used ("fuzzy"). Refuses to know what the values are.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from weft.errors import DataError
from weft.files.bad_rows import BadRows, Reasons, Skip
from weft.files.decoding import shown

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)


def tried(rows: Iterable[R | DataError], read: Callable[[R], T | None]) -> Iterator[T | DataError]:
    """What each row becomes, in order, or what is wrong with it; nothing for a row of which None is made."""
    for row in rows:
        try:
            value = row if isinstance(row, DataError) else read(row)
        except DataError as error:
            value = error
        if value is not None:
            yield value


def raising(rows: Iterable[T | DataError]) -> Iterator[T]:
    """Rows of which none may be bad: the first that is, is raised."""
    for row in rows:
        if isinstance(row, DataError):
            raise row
        yield row


@dataclass(frozen=True)
class Reading(Generic[T]):
    """How a file is read: its rows, the names of the columns that are taken, and what to tell people.

    `taken` are these names by the settings that ask for them, where a setting asks for each.

    Texts that run side by side stand in two files; all others in one.
    """

    files: tuple[Path, ...]
    rows: Iterable[T | DataError | str]
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)


class ReadFile(NamedTuple):
    """A file, or the folder of a class, that was read, and how many rows it gave."""

    path: Path
    rows: int


class Unreadable(NamedTuple):
    """What ended the rows of a file before their end."""

    error: DataError


def _to_the_end(rows: Iterable[T]) -> Iterator[T | Unreadable]:
    try:
        yield from rows
    except DataError as error:
        yield Unreadable(error)


class GrowingRows(Protocol[T_contra]):
    """Rows that are gathered: a list, or something that grows like one."""

    def append(self, row: T_contra, /) -> None: ...

    def __len__(self) -> int: ...

    def __delitem__(self, rows: slice, /) -> None: ...


class GatheredRows(Generic[T]):
    """The rows of one file after another, and what was wrong with others."""

    def __init__(
        self,
        skip: Skip = None,
        skipped: Iterable[tuple[str, str]] = (),
        files: int = 0,
        rows: "GrowingRows[T] | None" = None,
    ):
        """`rows` take what is gathered, where it is not to be held in memory."""
        self.rows: list[T] = []
        self.gathered: GrowingRows[T] = self.rows if rows is None else rows
        self.files: list[ReadFile] = []
        self.notes: list[str] = []
        self.skipped: Reasons = list(skipped)
        self.bad = BadRows(skip, files)

    def take(self, reading: Reading[T]) -> int:
        """Take all rows of a file; how many it gave. The first bad row is raised where none may be left out.

        A file that cannot be read to its end gives none.
        """
        before, words = len(self.gathered), Counter[str]()
        for row in _to_the_end(reading.rows):
            if isinstance(row, Unreadable):
                del self.gathered[before:]
                self.bad.take_file(row.error)
                return 0
            if isinstance(row, DataError):
                self.bad.take(row)
            elif isinstance(row, str):
                words[row] += 1
            else:
                self.gathered.append(row)
        count = len(self.gathered) - before
        self.files += [ReadFile(path, count) for path in dict.fromkeys(reading.files)]
        self.notes += reading.notes
        self.skipped += [
            (shown(path), f"{n} of its entries: {word}") for word, n in words.items() for path in reading.files[:1]
        ]
        return count

    def opened(self, read: Callable[[], Reading[Any]]) -> Reading[Any]:
        """How a file is read; one that cannot be opened has no rows, and is raised where no more may be left out."""
        try:
            return read()
        except DataError as error:
            self.bad.take_file(error)
            return Reading((), ())

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Files, entries and the first bad rows that were left out, with the reasons."""
        return (*self.skipped, *self.bad.listed())


def fingerprint(pieces: Iterable[str | bytes]) -> str:
    """The SHA-256 over texts in order, each with its length before it, and over bytes as they are."""
    total = hashlib.sha256()
    for piece in pieces:
        data = piece.encode("utf-8") if isinstance(piece, str) else piece
        total.update(b"%d:%b" % (len(data), data) if isinstance(piece, str) else data)
    return total.hexdigest()
