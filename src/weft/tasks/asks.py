"""What a task asks for and what it gives: the kinds of both, an input as a value, an answer. Opens no file.

A value is what an input holds, never the name of something that holds it:

str            a text, or numbers in words (a place, a list of vectors)
Content        bytes as a file has them, with the ending that says how they are to be read
np.ndarray     the pixels of a picture, bytes (height, width, 1 or 3)
Questioned     a picture or a passage, and a question about it
Spot           a place by its coordinates
Turns          a talk so far, to which an answer is wanted
Opened         what `given` opened for a user who named it, in a type of the domain
WeftError      why an input that was named cannot be used
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weft.config import Config
from weft.errors import ConfigError, Interrupted, StorageError, WeftError
from weft.files.ways import WAYS
from weft.tasks.request import Prediction

Use = Literal["predict", "look", "embed"]
NOT_OF_AN_INPUT = (ConfigError, StorageError, Interrupted)  # errors that every input would meet


@dataclass(frozen=True)
class Asks:
    """A kind of input: `called` is its name for people, `endings` those of files that hold one."""

    kind: Literal["text", "picture", "picture and question", "place", "file"]
    called: str
    endings: tuple[str, ...] = ()
    lines: bool = False  # each line of a file that is named is an input
    several: bool = False  # a look takes several at once
    may_lack: bool = False  # there is an answer without any


@dataclass(frozen=True)
class Gives:
    """A kind of answer: whether it can be heard as it is made, the endings of files that it can be written to, and its
    columns in a table.
    """

    kind: Literal[
        "text", "choices", "ranking", "labels", "number", "tags", "tree", "numbers", "vector", "picture", "fields",
        "table",
    ]  # fmt: skip
    streams: bool = False
    continues: bool = True  # whether what streams goes on with the input, which is then shown before it
    endings: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # that an answer adds to a table of inputs; `Task.cells` fills them


@dataclass(frozen=True)
class Content:
    """What a file holds: its bytes, and the ending of its name in small letters (.png, .nc)."""

    data: bytes = field(repr=False)
    ending: str


@dataclass(frozen=True)
class Spot:
    """A place: a coordinate for each axis of the run's."""

    coordinates: tuple[float, ...]


@dataclass(frozen=True)
class Opened:
    """What was opened for a user who named it: pictures of an album, graphs, fields."""

    what: Any


@dataclass(frozen=True)
class Questioned:
    """A picture, or a passage of text, and a question about it."""

    about: "Content | np.ndarray | Opened | str"
    question: str


@dataclass(frozen=True)
class Turns:
    """A talk so far: who says what, as (role, text); roles are system, user and assistant."""

    said: tuple[tuple[str, str], ...]


Value = str | Content | np.ndarray | Questioned | Spot | Turns | Opened | WeftError


@dataclass(frozen=True)
class TableRow:
    """A row of a user's table: its file and line, and the cells of all columns in their order."""

    where: str
    names: tuple[str, ...]
    cells: tuple[Any, ...]

    @property
    def values(self) -> dict[str, Any]:
        """The cells by the names of their columns."""
        return dict(zip(self.names, self.cells, strict=True))


@dataclass(frozen=True)
class Given:
    """One input. `name` labels its answer and is never opened; pictures without one are numbered.

    `rows` are those of a table that the input was read from: one, or several that make up one input.
    """

    value: Value
    name: str = ""
    rows: tuple[TableRow, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What is answered to an input, which is given by its number; one input may have several answers.

    `files` are what can be written of it, made when asked for, by file name; a table holds all answers of a batch and
    stands with the first. With an `error` there are no values. `given` is the input, where `ask` gave the answer.
    """

    input: int
    values: Prediction = field(default_factory=dict)
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    error: WeftError | None = None
    given: Given | None = None


@dataclass(frozen=True)
class Ways:
    """How what a user names is opened: for which use and settings, how far links may lead, how text is decoded.

    `columns` are those of tables that the user named, by their settings (text_column).
    """

    use: Use = "predict"
    how: Config | None = None
    outside: bool = False
    encoding: str | None = None
    header: bool | None = None
    endings: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def reading(self) -> dict[str, Any]:
        """How files are read."""
        return {name: getattr(self, name) for name in WAYS}


def texts_of(inputs: Sequence[Given]) -> list[str]:
    """The texts of inputs, which must be texts."""
    found = []
    for one in inputs:
        if not isinstance(one.value, str):
            raise unlike(one, "a text")
        found.append(one.value)
    return found


def only_text(inputs: Sequence[Given]) -> str:
    """The one text that is looked at."""
    return texts_of([only_one(inputs, "a text")])[0]


def only_one(inputs: Sequence[Given], called: str) -> Given:
    """The one input that is looked at."""
    if len(inputs) != 1:
        problem = f"expected {called}, found {len(inputs) or 'none'}"
        raise WeftError(problem, where="weft look", fix="give one input")
    return inputs[0]


def unlike(one: Given, expected: str) -> WeftError:
    """The error for an input of another kind."""
    kinds = {str: "a text", np.ndarray: "a picture", Content: "bytes", Questioned: "a question about something"}
    kind = next((words for known, words in kinds.items() if isinstance(one.value, known)), "another kind of input")
    return WeftError(f"expected {expected}, found {kind}", where=one.name[:60])


@contextmanager
def in_a_file(one: Given, content: Content) -> Iterator[Path]:
    """Bytes as a file in a private folder, for libraries that read files alone; errors name the input, not the file."""
    with tempfile.TemporaryDirectory(prefix="weft-given-") as folder:
        path = Path(folder) / f"input{content.ending}"
        path.write_bytes(content.data)
        try:
            yield path
        except WeftError as error:
            said = (text.replace(str(path), one.name or "input") for text in (error.problem, error.where, error.fix))
            error.problem, error.where, error.fix = error.args = tuple(said)
            raise
