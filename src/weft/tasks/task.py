"""Task: the interface between what a user asks for and the parts that do it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from weft.config import Config
from weft.training.folder import RunFolder
from weft.training.progress import Progress
from weft.training.run import Budget, Outcome, Work
from weft.training.settings import Training


@dataclass(frozen=True)
class Request:
    """A user's wish to train, in the words of the command line."""

    sources: tuple[str, ...]
    model: str | None
    preset: str | None
    budget: Budget
    valid: str | None
    settings: Mapping[str, Any]
    device: torch.device
    progress: Progress
    origin: "Loaded | None" = None  # the run that this one starts from


@dataclass(frozen=True)
class Plan:
    """What will be done: the work, and the lines that tell the user about it."""

    work: Work
    lines: Mapping[str, str]
    stem: str


@dataclass(frozen=True)
class Loaded:
    """A run brought back from its folder."""

    folder: RunFolder
    config: Mapping[str, Any]
    model: nn.Module


@dataclass(frozen=True)
class Measured:
    """An evaluation: how many examples, and the measures."""

    data: str
    examples: int
    metrics: Mapping[str, float]
    more: Mapping[str, Any] = field(default_factory=dict)


class Task:
    """One thing that can be trained and used."""

    name: ClassVar[str]
    summary: ClassVar[str]
    files: ClassVar[str]  # the data it takes, in a sentence
    models: ClassVar[Mapping[str, str]]  # name -> what it is
    presets: ClassVar[Mapping[str, str]]  # name -> its sizes
    sample: ClassVar[str]  # what is used when no data is named
    settings: ClassVar[type[Training]]  # for training
    use: ClassVar[type[Config]]  # for prediction

    def recognises(self, sources: Sequence[Path]) -> bool:
        """Whether the files look like this task's data."""
        raise NotImplementedError

    def samples(self) -> tuple[str, ...]:
        """The sources of the data that ships for this task."""
        raise NotImplementedError

    def plan(self, request: Request) -> Plan:
        """Read the data and decide everything that the user left open."""
        raise NotImplementedError

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        """The work of a run that was begun, to go on with."""
        raise NotImplementedError

    def finish(self, outcome: Outcome, config: Mapping[str, Any], progress: Progress) -> Mapping[str, Any]:
        """Measure, write card and pictures, put the weights in place; returns what `train` reports."""
        raise NotImplementedError

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        """One object for each input."""
        raise NotImplementedError

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        """How well the run does on data."""
        raise NotImplementedError
