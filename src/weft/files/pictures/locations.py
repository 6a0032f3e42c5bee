"""Where a picture can be read from, again and again. Knows bytes; refuses to know labels.

A place gives the content of a picture (what tells it from others) and decodes it. Archives and arrays have places of
their own beside the code that opens them.
"""

from __future__ import annotations

import hashlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import DataError
from weft.files.decoding import opened, shown
from weft.files.finding import ending
from weft.files.pictures.colour import Backing
from weft.files.pictures.decoding import Decoded, decode
from weft.files.pictures.formats import format_of, named_as_picture
from weft.files.pictures.regions import Question

if TYPE_CHECKING:
    from weft.files.survey import Survey

LARGEST = 256 * 2**20  # bytes of one picture's file
HEAD = 16  # bytes that tell a format
NO_PICTURE = "not a picture"
TABLES = (".csv", ".tsv", ".xlsx", ".jsonl", ".parquet")  # that may name pictures and classes
ARRAYS = (".npz", ".npy")  # that may hold pictures


class PictureLocation(ABC):
    """Where one picture is."""

    __slots__ = ()
    in_memory = False  # whether reading it again costs nothing

    @property
    @abstractmethod
    def where(self) -> str:
        """Its name for messages."""

    @property
    def file(self) -> tuple[Path, str] | None:
        """The file it stands in, and the name that it has in there; None where it stands in none."""
        return None

    @abstractmethod
    def content(self) -> bytes:
        """What makes the picture this one."""

    def decode(self, content: bytes, side: int | None, backing: Backing = "grey") -> Decoded:
        """The picture that the content is; `backing` is what is behind transparent pixels."""
        return decode(content, where=self.where, side=side, backing=backing)

    def read(self, side: int | None = None) -> Decoded:
        """The picture, read anew."""
        return self.decode(self.content(), side)


@dataclass(frozen=True, slots=True)
class FilePlace(PictureLocation):
    """A file of its own."""

    path: Path

    @property
    def where(self) -> str:
        return shown(self.path)

    @property
    def file(self) -> tuple[Path, str]:
        return self.path, ""

    def content(self) -> bytes:
        with opened(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST:
                raise too_large(size, self.where)
            try:
                return file.read(LARGEST)
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", where=self.where) from None


@dataclass(frozen=True, slots=True)
class MemoryPlace(PictureLocation):
    """Bytes that somebody has already, under a name for messages."""

    name: str
    data: bytes = field(repr=False)
    in_memory = True

    @property
    def where(self) -> str:
        return shown(self.name)

    def content(self) -> bytes:
        if len(self.data) > LARGEST:
            raise too_large(len(self.data), self.where)
        return self.data


@dataclass(frozen=True)
class Spotted:
    """A picture that a source holds: its path within it, and where that is."""

    parts: tuple[str, ...]
    place: PictureLocation


@dataclass(frozen=True)
class Listing:
    """The pictures that a source holds, in order of name, and what else there was: (name, reason).

    `others` are those of the skipped that can be read and are no pictures.
    """

    pictures: list[Spotted]
    skipped: list[tuple[str, str]]
    others: list[Spotted] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PictureEntry:
    """A picture to be read: its name, its class if it has one, metres per pixel if known, its side, its texts."""

    name: str
    place: PictureLocation
    label: str | None = None
    scale: float = math.nan
    held: bool = False
    captions: Sequence[str] = ()
    questions: Sequence[Question] = ()


@dataclass(frozen=True)
class Gathered:
    """What a source has to give: pictures, what is no picture of it, and what should have been one: (name, reason).

    `taken` are the columns of a table by the settings that name them.
    """

    entries: list[PictureEntry]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    bad: list[tuple[str, str]] = field(default_factory=list)
    taken: dict[str, str] = field(default_factory=dict)


def too_large(size: int, where: str) -> DataError:
    """The error for a file that is larger than any picture."""
    return DataError(f"{size:,} bytes, more than the {LARGEST:,} of the largest picture weft reads", where=where)


def leftover(name: str) -> str:
    """Why a name is never data, wherever it stands; nothing where it may be."""
    if name.startswith("."):
        return "hidden"
    return "left by the system" if name.lower() in ("thumbs.db", "desktop.ini", "__macosx", "ehthumbs.db") else ""


def has_picture(path: Path) -> bool:
    """Whether a file is a picture by its ending, else by its first bytes. Opens nothing that could make weft wait."""
    if named_as_picture(path.name):
        return True
    try:
        with opened(path) as file:
            return format_of(file.read(HEAD)) not in (None, "BMP")  # two letters are too little to go by
    except (DataError, OSError):
        return False


def is_one_picture(survey: Survey) -> bool:
    """Whether the data is one picture alone, which is no set of pictures."""
    source = survey.sources[0] if len(survey.sources) == 1 else None
    if source is None or source.kind != "file" or source.tables:
        return False
    other = ending(source.path, TABLES) is not None or source.path.suffix.lower() in ARRAYS
    return not other and has_picture(source.path)


def digest(content: bytes) -> bytes:
    """What tells a picture from others."""
    return hashlib.sha256(content).digest()
