"""Dataset: rows to train on and rows held out, and what people should know of them. Reader: makes one from files."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from weft.config import Config, field_types
from weft.errors import DataError, WeftError
from weft.files.decoding import shown
from weft.files.roles import LearnedColumn, Role
from weft.files.survey import NO, Judgement, Survey, Surveyed
from weft.files.tables import Table

T = TypeVar("T")
H = TypeVar("H")
Count = Callable[[int, int], None]  # hears how many of how many files are read
D = TypeVar("D", bound="Dataset[Any, Any]")
S = TypeVar("S", bound=Config)
NUMBERED = re.compile(r"column (\d+)")  # what a column is called that nobody named


@dataclass(frozen=True, kw_only=True)
class Dataset(Generic[T, H]):
    """What was read.

    `rule` says how held-out rows were chosen: in short up to the first colon or bracket, in full behind it. `described`
    names the data in a sentence; `notes` are lines for people, the first with the amount; `skipped` lists what was left
    out and why; `amounts` are counts for config.json; `taken` are columns of tables by the settings that name them.
    """

    train: T
    held_out: H
    fingerprint: str
    rule: str
    described: str
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    amounts: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)

    def example(self) -> str | None:
        """A held-out input to try a model with, as a user types it; None where it stands in no file of its own."""
        return None

    def pictures_in_numbers(self) -> dict[str, Any]:
        """How many pictures there are to train on, of which sizes, classes and kinds; empty for other data."""
        return {}

    def contact_sheet(self, title: str, format: str) -> bytes:
        """Some of the pictures side by side, as a picture of the format .png or .svg; refused for other data."""
        raise no_pictures()


class Reader(ABC, Generic[D]):
    """Reads one kind of data.

    `sample` names a run on the data that ships with weft. `roles` are what columns of its tables are for, and with
    `doubtful` their first row may be a header by its shape alone. `leaves_out` says whether bad rows may be left out,
    as the setting skip allows. `overrules` are readers of more general data: what they judge in general gives way
    where this one is sure, and all that they judge where it refuses a file.
    """

    sample: ClassVar[str]
    roles: ClassVar[tuple[Role, ...]] = ()
    doubtful: ClassVar[bool] = True
    leaves_out: ClassVar[bool] = True
    overrules: ClassVar[tuple[type["Reader[Any]"], ...]] = ()

    def judge(self, survey: Survey) -> Judgement:
        """Whether the files are data of this kind. By default never: someone has to ask for the task."""
        return NO

    def named(self, table: Table) -> Table:
        """A table with the names that its columns have by more than a header."""
        return table

    def refusal(self, source: Surveyed) -> DataError | None:
        """The error for text that this reader knows, in a file that it does not take as it is; or None."""
        return None

    @abstractmethod
    def read(self, sources: Sequence[str], valid: str | None, asked: Any, count: Count | None = None) -> D:
        """The rows in files, split; with no sources, the sample that ships. `asked` are the settings of a training."""


def as_learned(asked: S, taken: Mapping[str, str]) -> S:
    """Settings of a training to read other files by: columns that were `taken`, or else asked for, need not be there.

    A column without a name is "column 2" and is left to the usual choice, unless it was asked for by its number.
    """
    known = {name: value for name in field_types(type(asked)) if is_column(name) and (value := getattr(asked, name))}
    known |= {name: column for name, column in taken.items() if not NUMBERED.fullmatch(column)}
    return asked.replace(**{name: LearnedColumn(value) for name, value in known.items() if isinstance(value, str)})


def is_column(setting: str) -> bool:
    """Whether a setting of a training names a column of tables."""
    return setting.endswith(("_column", "_columns"))


def no_pictures() -> WeftError:
    """The error for data of which pictures are to be shown and that has none."""
    return WeftError("this data has no pictures to show", where="-o", fix="leave -o out: first rows are printed")


def held_in(name: str) -> str:
    """The rule where a file of its own is held out."""
    return f"the file {shown(name)}"


def stem(sources: Sequence[str], sample: str) -> str:
    """A name for a run on these files."""
    if not sources:
        return sample
    name = Path(sources[0]).absolute().name
    return name.removesuffix(".gz").split(".")[0] or sample
