"""A survey of the sources that a user names: made once, asked by every reader. Refuses to know what they are for.

Needs neither torch nor numpy, so that a name that is not there, or data that fits no task, is said at once.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from weft.errors import DataError
from weft.files.bounds import link_leads_out
from weft.files.decoding import CHUNK, OtherEncoding, guessed_text, read_text, shown
from weft.files.decoding import kind as kind_of
from weft.files.finding import ending, is_pattern, is_run, matching, missing
from weft.files.foreign import Foreign
from weft.files.foreign_text import known_objects
from weft.files.grid_formats import is_store
from weft.files.json_values import first_table
from weft.files.known_roles import ALL
from weft.files.pictures.formats import is_archive
from weft.files.tables import Row, Table, is_list, is_table, open_table

FILES = 400  # files of a folder, pattern or archive that are looked at
OBJECTS = (".jsonl", ".json")
FIRST = 20  # objects of a file that are looked at for their form
TABLES = 5  # tables of a folder that are opened

Level = Literal["no", "possible", "sure"]
LEVELS: tuple[Level, ...] = ("no", "possible", "sure")


@dataclass(frozen=True)
class Judgement:
    """Whether data is of some kind, why, and, where it is only possible, the settings that would say so.

    It counts as true where it is sure. A `general` one is true of more special data as well: it gives way to a reader
    that knows more of the same files (`Reader.overrules`).
    """

    level: Level
    why: str = ""
    settings: str = ""
    general: bool = False

    def __bool__(self) -> bool:
        return self.level == "sure"


NO = Judgement("no")


def sure_if(is_so: bool, why: str) -> Judgement:
    """Sure where something is so, else no."""
    return Judgement("sure", why) if is_so else NO


class Surveyed:
    """One source: what it is, the files it stands for, and what the first of them hold. Looked at when asked, once."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @cached_property
    def kind(self) -> str:
        """One of file, store (zarr), archive, folder, pattern, missing, or what else it is: a named pipe, a device."""
        if not os.path.lexists(self.path):
            return "pattern" if is_pattern(self.path) else "missing"
        try:
            info = self.path.stat()
        except OSError:
            return "a broken link"
        if is_store(self.path):
            return "store"
        if stat.S_ISDIR(info.st_mode):
            return "folder"
        if not stat.S_ISREG(info.st_mode):
            return kind_of(info)
        return "archive" if is_archive(self.path) else "file"

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The file itself, or the first files in a folder and below it, or of a pattern; hidden ones are left out.

        A zarr store counts as one file, though it is a folder.
        """
        if self.kind in ("file", "store"):
            return (self.path,)
        starts: Iterable[Path] = [self.path] if self.kind == "folder" else []
        if self.kind == "pattern":
            try:
                _, starts = matching(self.path)
            except DataError:
                return ()  # the reader raises the error
        return tuple(islice((file for start in starts for file in _below(start)), FILES))

    @cached_property
    def names(self) -> list[str]:
        """The names of the files, or of the members of an archive."""
        if self.kind == "archive":
            from weft.files.pictures.archives import first_names

            return first_names(self.path, FILES)
        return [file.as_posix() for file in self.files]

    @cached_property
    def endings(self) -> Counter[str]:
        """How many files have each ending, in lower case and without .gz; those without one count under nothing."""
        return Counter(Path(name.lower().removesuffix(".gz")).suffix for name in self.names)

    def share(self, endings: Sequence[str]) -> float:
        """The share of the files that have one of some endings."""
        return sum(self.endings[ending] for ending in endings) / max(len(self.names), 1)

    @cached_property
    def start(self) -> str | DataError:
        """The beginning of the text of a file, or why it is no text.

        Text in another encoding is guessed at, so that its form is recognised; that it is not UTF-8 is said when it is
        read.
        """
        try:
            if self.kind != "file":
                raise DataError(f"expected a file, found {self.kind}", where=shown(self.path))
            return next(read_text(self.path), "")
        except OtherEncoding as error:
            return guessed_text(self.path, error.encoding) or error
        except DataError as error:
            return error

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """The first lines of the text of a file with their numbers; none where it is no text."""
        if isinstance(self.start, DataError):
            return []
        lines = self.start.removesuffix("\n").split("\n")
        whole = len(self.start) < CHUNK // 4  # else the last line may be cut
        return list(enumerate(lines if whole else lines[:-1], 1))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The file as a table, or the first tables in a folder or of a pattern that consist mostly of tables."""
        named = [file for file in self.files if is_table(file)]
        if len(named) * 2 <= len(self.files):
            return ()
        return tuple(table for file in named[:TABLES] for table in _preview(file))

    @cached_property
    def other_objects(self) -> Foreign | None:
        """The form of the objects in a file of JSON, where weft reads such objects in another one."""
        if self.kind != "file" or not ending(self.path, OBJECTS) or not self.tables:
            return None
        rows = (
            item.cells for table in _preview(self.path) for item in islice(table.rows(), FIRST) if isinstance(item, Row)
        )
        found = (known_objects(self.path, cells) for cells in rows if isinstance(cells, dict))
        return next(filter(None, found), None)


class Survey:
    """All sources that a user names; `said` are the options beside them, which a suggested command keeps."""

    def __init__(self, sources: Sequence[str | Path], said: Sequence[str] = ()):
        self.sources, self.said = tuple(Surveyed(source) for source in sources), tuple(said)

    def __str__(self) -> str:
        return ", ".join(shown(source.path) for source in self.sources)

    def check(self) -> None:
        """Refuse a name that is not there."""
        for source in self.sources:
            if source.kind == "missing":
                raise missing(source.path)

    @property
    def tables(self) -> list[Table]:
        """All tables that were opened."""
        return [table for source in self.sources for table in source.tables]

    def weakest(self, judge: Callable[[Surveyed], Judgement]) -> Judgement:
        """What is true of every source."""
        return weakest(map(judge, self.sources))


def weakest(judgements: Iterable[Judgement]) -> Judgement:
    """The least sure of some judgements; of none, no."""
    return min(judgements, key=lambda judgement: LEVELS.index(judgement.level), default=NO)


def _preview(path: Path) -> list[Table]:
    """A table by its first rows; none where it cannot be read, which its reader will say."""
    try:
        table = first_table(path, None, "") if is_list(path) else open_table(path, ALL)
    except (DataError, OSError):
        return []
    return [table] if table.columns else []


def _below(start: Path) -> Iterator[Path]:
    """The regular files at a place and below it, by name; without hidden ones, runs, links in circles or out of it."""
    entered, waiting = set[tuple[int, int]](), [start]
    while waiting:
        path = waiting.pop()
        if path != start and (path.name.startswith(".") or link_leads_out(path, start)):
            continue
        try:
            info = path.stat()
            if stat.S_ISREG(info.st_mode) or is_store(path):
                yield path
            elif stat.S_ISDIR(info.st_mode) and (info.st_dev, info.st_ino) not in entered and not is_run(path):
                entered.add((info.st_dev, info.st_ino))
                waiting.extend(path / name for name in sorted(os.listdir(path), reverse=True))
        except OSError:
            continue
