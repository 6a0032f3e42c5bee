"""A task in plain words: what a list of tasks, a wrong name and an early error need. Imports no torch."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.data.datasets.dataset import Reader
from weft.tasks.settings import SizedTraining

if TYPE_CHECKING:
    from weft.tasks.task import Task


@dataclass(frozen=True)
class Card:
    """A task as people meet it. `home` and `reads` name the classes of the task and of its reader."""

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
    asks: str = ""  # what the command line needs beside the example

    @cached_property
    def task(self) -> "Task[Any, Any, Any]":
        """The task itself."""
        return _named(f"weft.tasks.{self.home}")

    @cached_property
    def reader(self) -> Reader[Any]:
        """What reads its data."""
        return _named(f"weft.data.datasets.{self.reads}")


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)()
