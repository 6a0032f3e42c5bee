"""Task: the interface between what a user asks for and the parts that do it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from weft.config import Config, field_types
from weft.data.documents import Document
from weft.data.survey import Judgement, Survey
from weft.errors import ConfigError, WeftError, listed, nearest
from weft.models.stream import Model
from weft.training.folder import RunFolder
from weft.training.progress import Progress
from weft.training.run import Budget, Outcome, Work
from weft.training.settings import Training

Settings = TypeVar("Settings", bound=Config)


@dataclass(frozen=True)
class Request:
    """A user's wish to train, in the words of the command line."""

    sources: tuple[str, ...]  # none: the sample that ships for the task
    model: str | None
    preset: str | None
    budget: Budget
    valid: str | None
    settings: Mapping[str, Any]
    device: torch.device
    origin: "Loaded | None" = None  # the run that this one starts from
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))

    @property
    def model_settings(self) -> dict[str, Any]:
        """The settings of parts of the model, by their paths in its config."""
        return {k.removeprefix("model."): v for k, v in self.settings.items() if k.startswith("model.")}

    @property
    def training_settings(self) -> dict[str, Any]:
        """All other settings."""
        return {k: v for k, v in self.settings.items() if not k.startswith("model.")}


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
    model: Model


@dataclass(frozen=True)
class Measured:
    """An evaluation: how many examples, and the measures."""

    data: str
    examples: int
    metrics: Mapping[str, float]
    more: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # file name -> what it holds


@dataclass(frozen=True)
class Ending:
    """What a task has to say of a run that is trained: measures, and words and facts for the model card."""

    metrics: Mapping[str, float]
    summary: str
    use: str  # a command that uses the run
    facts: Mapping[str, str]
    unit: str  # what the loss is per
    sample: str = ""
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # for the run folder


@runtime_checkable
class View(Protocol):
    """Something to look at. It shows itself in a notebook."""

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """As a picture."""
        ...

    def page(self) -> bytes:
        """As an HTML page that needs nothing else."""
        ...

    def text(self) -> str:
        """In words and numbers, for a terminal."""
        ...

    def note(self) -> str | None:
        """What a user should know of the picture."""
        ...

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        ...


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
    looking: ClassVar[type[Config] | None] = None  # for a look inside
    takes: ClassVar[tuple[str, ...]] = ()  # other tasks whose runs can be started from
    streams: ClassVar[bool] = False  # whether a prediction can be shown as it is made

    def judge(self, survey: Survey) -> Judgement:
        """Whether the files are this task's data, by a survey of them."""
        raise NotImplementedError

    def plan(self, request: Request) -> Plan:
        """Read the data and decide everything that the user left open."""
        raise NotImplementedError

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        """The work of a run that was begun, to go on with."""
        raise NotImplementedError

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        """Measure a run that is trained."""
        raise NotImplementedError

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        """One object for each input."""
        raise NotImplementedError

    def shown(self, prediction: Mapping[str, Any]) -> str:
        """A prediction as plain text."""
        raise NotImplementedError

    def document(self, path: Path) -> Document | None:
        """A file whose texts are to be predicted in place, if the task can do that; otherwise each line is an input."""
        return None

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        """How well the run does on data."""
        raise NotImplementedError

    def vectors(self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any]) -> np.ndarray:
        """One vector for each input."""
        raise WeftError(f"a run of the task {self.name} gives no vectors", where="weft embed")

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        """What the model does inside with an input."""
        raise WeftError(f"there is nothing to look at yet for the task {self.name}", where="weft look")


def refuse_broken(names: Sequence[str], folder: Path) -> None:
    """Refuse to use a model with weights that are no numbers: whatever it says means nothing."""
    if names:
        raise WeftError(
            f"weights that are not finite numbers: {listed(names)}",
            where=str(folder),
            fix="fetch or train the model again; predict, evaluate, look, embed and export take it as it is with --broken, "
            "weft.load with broken=True",
        )


def with_settings(config: Settings, settings: Mapping[str, Any], *, prefix: str = "") -> Settings:
    """A config with the user's settings; unknown names are refused with the nearest known one."""
    for name, value in settings.items():
        head = name.split(".")[0]
        if head not in field_types(type(config)):
            fix = nearest(head, field_types(type(config)))
            raise ConfigError(f"unknown setting {prefix + name!r}", where="--set", fix=fix)
        try:
            config = config.set(name, value)
        except ConfigError as error:
            where = f"--set {prefix}{name}" if error.where in (name, head) else f"--set {prefix}{name}: {error.where}"
            raise ConfigError(error.problem, where=where, fix=error.fix) from None
    return config
