"""What goes into a task and what comes out of it: a request, a plan in the making, a loaded run, measures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import torch

from weft.config import Config, from_json
from weft.errors import WeftError
from weft.files.dataset import Dataset
from weft.generate.compute import prepared
from weft.models.stream import Model, Stream
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline
from weft.tasks.codec import C, Codecs, codec_at
from weft.tasks.record import DataRecord
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.sized import SizedTraining
from weft.tasks.sizing import Sizing
from weft.training.folder import RunFolder
from weft.training.progress import Progress
from weft.training.schedule import Budget
from weft.training.world import World

P = TypeVar("P", bound=Config)
D = TypeVar("D", bound=Dataset[Any, Any])
E = TypeVar("E", bound="Encoded")
S = TypeVar("S", bound=SizedTraining)
Listen = Callable[[int, str], None]  # hears the pieces of a prediction as they are made, by row
Json = Mapping[str, Any]  # what config.json says
Prediction = dict[str, Any]  # plain values, as `--json` gives them


@dataclass(frozen=True)
class Loaded:
    """A run brought back from its folder. `config` is what config.json says."""

    folder: RunFolder
    config: Json
    model: Model
    codecs: Codecs
    data: DataRecord
    named: Mapping[str, str] = field(default_factory=dict)  # columns of tables that a user names, by their settings

    def codec(self, name: str, kind: type[C]) -> C:
        """The codec of one end, which must be of this kind."""
        found = self.codecs.get(name)
        if not isinstance(found, kind):
            problem = f"this run has no {kind.__name__} for its {name}"
            raise WeftError(
                problem,
                where=f"{self.folder.path}/config.json: codecs",
                fix="use it for the task that it was trained for",
            )
        return found

    @property
    def stream(self) -> Stream:
        """The run's model, which is one stream."""
        assert isinstance(self.model, Stream)
        return self.model

    def training(self, kind: type[P]) -> P:
        """The settings that the run was trained with, of this kind."""
        return from_json(self.config["training"], kind, where=f"{self.folder.path}/config.json: training")

    def usual(self, kind: type[P], use: Literal["predict", "embed"] = "predict") -> P:
        """The settings of a use where the user gives none: those that the makers of an imported model say."""
        return with_settings(kind(), self.config.get("imported", {}).get(use, {}))

    def reading(self, columns: Mapping[str, str]) -> "Loaded":
        """The run as it reads tables of which a user names some columns, by their settings."""
        return replace(self, named=columns)

    def computing(self, precision: str) -> "Loaded":
        """The run with its model in a precision of use; what it has learned stays as it is."""
        return self if precision == "fp32" else replace(self, model=prepared(self.model.eval(), precision))  # type: ignore[arg-type]

    @property
    def described(self) -> dict[str, Any]:
        """What a run that begins with this one's weights says of it: where it was, what it is, what it learned from."""
        digest = self.config["imported"].get("digest") if self.imported else self.config.get("fingerprint")
        where, kind = str(self.folder.path.absolute()), self.config.get("task")
        return {"run": where, "task": kind, "model": self.config.get("model_name"), "fingerprint": digest}

    @property
    def imported(self) -> bool:
        """Whether the model was trained elsewhere."""
        return "imported" in self.config


@dataclass(frozen=True)
class Request:
    """A user's wish to train, in the words of the command line."""

    sources: tuple[str, ...]  # none: the sample that ships for the task
    model: str | None
    preset: str | None
    budget: Budget
    valid: str | None
    settings: Mapping[str, object]
    device: torch.device
    origin: Loaded | None = None  # the run that this one starts from
    decoder: Loaded | None = None  # the run of a language model that the decoder begins with
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    world: World = field(default_factory=World)  # the processes that train together
    room: float | None = None  # bytes of memory of the devices that are planned for; None for those there are

    @property
    def runs(self) -> dict[str, Loaded]:
        """The runs whose weights this one begins with, by the word that named them."""
        return {word: run for word, run in (("from", self.origin), ("decoder", self.decoder)) if run is not None}

    @property
    def known(self) -> Codecs:
        """The codecs of these runs."""
        return {end: codec for run in self.runs.values() for end, codec in run.codecs.items()}

    @property
    def model_settings(self) -> dict[str, Any]:
        """The settings of parts of the model, by their paths in its config."""
        return {k.removeprefix("model."): v for k, v in self.settings.items() if k.startswith("model.")}

    @property
    def training_settings(self) -> dict[str, Any]:
        """All other settings."""
        return {k: v for k, v in self.settings.items() if not k.startswith("model.")}


class Encoded(Protocol):
    """Data as numbers, with what a plan and config.json say of it."""

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        ...

    @property
    def amounts(self) -> Mapping[str, float]:
        """Counts for config.json."""
        ...

    def lines(self) -> Mapping[str, str]:
        """The data in words, by name."""
        ...


@dataclass(frozen=True)
class Draft(Generic[D, E, S]):
    """A plan in the making: everything that is known before the model is."""

    request: Request
    data: D
    codecs: Codecs
    encoded: E
    training: S
    budget: Budget
    sizing: Sizing

    def codec(self, name: str, kind: type[C]) -> C:
        """The codec of one end."""
        return codec_at(self.codecs, name, kind)


@dataclass(frozen=True)
class Embedded:
    """Vectors, the name of what each is of, and its pixels where it is a picture."""

    names: Sequence[str]
    vectors: np.ndarray
    pixels: Callable[[int], np.ndarray | None] = lambda row: None


@dataclass(frozen=True)
class Measured:
    """An evaluation: how many examples, and the measures."""

    examples: int
    metrics: Mapping[str, float]
    more: Mapping[str, Any] = field(default_factory=dict)
    pictures: Callable[[], Mapping[str, bytes]] = dict  # draws them, by file name: many measures are never looked at
    tally: Tally | None = None  # the measure by which the run is set beside plain methods
    baselines: tuple[Baseline, ...] = ()  # plain methods that were measured along with it
    rows: Sequence[Any] | None = None  # the held-out rows that were measured, where some were left out
    counted: str = "example"  # what an example is: document, talk

    def beside(self, metrics: Mapping[str, float], more: Mapping[str, Any]) -> "Measured":
        """The same with further measures."""
        return replace(self, metrics={**self.metrics, **metrics}, more={**self.more, **more})
