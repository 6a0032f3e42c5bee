"""A task in plain words: what a list of tasks, a wrong name and an early error need. Imports no torch."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.files.dataset import Reader
from weft.tasks.settings.sized import SizedTraining

if TYPE_CHECKING:
    from weft.tasks.task import Task


@dataclass(frozen=True)
class Pretrained:
    """A model to start from, by its short name for `weft import`, where there are fewer rows to train on."""

    name: str
    rows: int
    settings: str = ""

    def advice(self, rows: int) -> str:
        """What to say for this many rows; nothing where they suffice."""
        if rows >= self.rows:
            return ""
        start = f"weft import {self.name} --out runs/{self.name}, then add --from runs/{self.name}{self.settings}"
        return f"{rows:,} rows are few: a pretrained model may help ({start}; docs/pretrained.md)"


@dataclass(frozen=True)
class Card:
    """A task as people meet it. `home` and `reads` are the paths of the classes of the task and of its reader."""

    name: str
    summary: str
    files: str  # the data it takes
    sample: str  # what is used when no data is named
    example: str  # an input to try
    home: str
    reads: str
    training: type[SizedTraining]
    models: Mapping[str, str]
    presets: Mapping[str, str]
    races: tuple[str, ...] = ()  # models that are each tried for a while where none is named (`Task.rehearsal`)
    asks: str = ""  # what the command line needs beside the example
    learns_from: tuple[str, ...] = ()  # other tasks whose files it can learn from, when it is named
    adopts_files: bool = False  # whether models in single files of other tools become its runs
    pretrained: "Pretrained | None" = None  # what to start from where data is little
    seldom: bool = False  # whether files that could be its data seldom are: it is then named last
    listed: int = 1000  # lists of tasks are sorted by it; those of equal number stay as they are

    @cached_property
    def task(self) -> "Task[Any, Any, Any]":
        """The task itself."""
        return _made(self.home)

    @cached_property
    def reader(self) -> Reader[Any]:
        """What reads its data."""
        return _made(self.reads)


def _made(path: str) -> Any:
    """An object of the class at a dotted path, whose module is imported."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)()
