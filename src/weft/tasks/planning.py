"""What plans of all tasks share: which model is meant, what may be set, how long to train, and the plan in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from weft.core.trunk import MAX_DEPTH
from weft.data.split import HELD_OUT
from weft.errors import ConfigError, WeftError, nearest
from weft.models.stream import Model
from weft.models.zoo import Size
from weft.tasks.task import Request, with_settings
from weft.training.precision import Weights, pick_precision, product_rate
from weft.training.progress import count, duration
from weft.training.run import Budget, size_of
from weft.training.settings import Training

# What other people's checkpoints are used to (Devlin et al., 2019).
FOREIGN: dict[str, Any] = {"optimizer": "adamw", "lr": 1e-4, "weight_decay": 0.01}
QUICK_STEPS = 150  # of the preset that trains in seconds
# The size of a run by steps or epochs is that of five minutes on a usual processor, so that it is the same everywhere.
USUAL_SECONDS, USUAL_RATE = 300.0, 1e11


class SizedTraining(Training):
    """Settings of a training whose model is sized by the plan."""

    dropout: float | None = None
    dim: int | None = None
    depth: int | None = None
    heads: int | None = None

    about = {
        **Training.about,
        "dropout": "share of values dropped in training",
        "dim": "width of the model",
        "depth": "number of layers",
        "heads": "heads of attention in a layer",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("dim", 2**20), ("heads", 2**20), ("depth", MAX_DEPTH)):
            within(self, name, 1, most)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.dropout}", where="dropout")


class ReaderTraining(SizedTraining):
    """Settings of a training whose model reads text."""

    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None

    about = {
        **SizedTraining.about,
        "context": "tokens that the model reads at once",
        "tokenizer": "bytes, characters, bpe or the path of a tokenizer.json",
        "vocab": "size of a bpe vocabulary",
    }

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)


class RunningTraining(ReaderTraining):
    """Settings of a training on running text. Runs that began before `held_out` was known hold out a whole tenth."""

    held_out: int | None = None

    about = {
        **ReaderTraining.about,
        "held_out": f"the most bytes of text to hold out of a tenth; by default {HELD_OUT:,}",
    }

    def check(self) -> None:
        super().check()
        within(self, "held_out", 1, 2**40)


def with_bound(request: Request) -> Request:
    """A wish to train on running text, with the most bytes to hold out decided."""
    return replace(request, settings={"held_out": HELD_OUT, **request.settings})


class RowTraining(ReaderTraining):
    """Settings of a training on the rows of tables, of which some may be bad."""

    skip: float | None = None

    about = {
        **ReaderTraining.about,
        "skip": "bad rows to leave out before the data is refused: a number of rows, or a share below 1",
    }

    def check(self) -> None:
        super().check()
        if self.skip is not None and not (0 <= self.skip < 1 or self.skip == int(self.skip)):
            raise ConfigError(f"expected a number of rows, or a share below 1, found {self.skip}", where="skip")

    @property
    def allowed(self) -> int | float | None:
        """`skip` as the reader takes it."""
        return self.skip if self.skip is None or self.skip < 1 else int(self.skip)


def within(settings: Training, name: str, least: int, most: int) -> None:
    """Refuse a setting that is given and out of bounds."""
    value = getattr(settings, name)
    if value is not None and not least <= value <= most:
        raise ConfigError(f"expected from {least} to {most}, found {value}", where=name)


OF_A_TRUNK = ("dim", "depth", "heads", "dropout")
OF_A_READER = (*OF_A_TRUNK, "context", "tokenizer", "vocab")
Settings = TypeVar("Settings", bound=SizedTraining)


@dataclass(frozen=True)
class Catalogue:
    """The models of a task: by name, by preset, and the settings at which each learns fastest (docs/choices.md)."""

    models: Mapping[str, Callable[..., Any]]
    presets: Mapping[str, Any]
    default: str
    recipes: Mapping[str, Mapping[str, Any]]
    of_preset: Mapping[str, str]  # presets that mean another model than the default
    of_model: tuple[str, ...] = OF_A_READER  # settings that a run takes over from the one whose model it goes on with

    def model_name(self, request: Request) -> str:
        """The name of the model that is asked for, given or inherited."""
        was = None if request.origin is None else request.origin.config.get("model_name")
        name = request.model or was or self.of_preset.get(request.preset or "", self.default)
        if name not in self.models and name != was:
            fix = nearest(name, self.models)
            raise WeftError(f"there is no model {name!r} for this task", where="--model", fix=fix)
        if was is not None and name != was:
            raise WeftError(f"the run to start from is a {was}, not a {name}", where="--model", fix="leave it out")
        return name

    def record(self, task: str, request: Request) -> dict[str, Any]:
        """What config.json says of the request."""
        return {
            "task": task,
            "model_name": self.model_name(request),
            "preset": request.preset,
            "from": None if request.origin is None else str(request.origin.folder.path.absolute()),
        }

    def check(self, request: Request) -> None:
        """Refuse what cannot be meant, before any data is read."""
        if request.preset is not None and request.preset not in self.presets:
            fix = nearest(request.preset, self.presets)
            raise WeftError(f"there is no preset {request.preset!r}", where="--preset", fix=fix)
        if request.origin is None:
            return
        fixed = [name for name in request.settings if name in self.of_model or name.startswith("model.")]
        if fixed or request.preset is not None:
            names = ", ".join([*fixed, *(["preset"] if request.preset else [])])
            raise ConfigError(
                f"{names}: the model is that of the run to start from", where="--from", fix="leave it out"
            )

    def first_settings(self, request: Request, kind: type[Settings], kept: tuple[str, ...]) -> Settings:
        """The settings before anything is known of the data; `kept` are those of the run to start from, if any."""
        foreign = request.origin is not None and "imported" in request.origin.config
        settings = kind(**(FOREIGN if foreign else self.recipes.get(self.model_name(request), {})))
        if request.origin is not None:
            was = request.origin.config["training"]
            settings = settings.replace(**{name: was[name] for name in kept if name in was})
        return with_settings(settings, request.training_settings)


def first_weights(request: Request) -> Mapping[str, Tensor] | None:
    """The weights of the run to start from, if any."""
    return None if request.origin is None else Weights(request.origin.model, torch.float32).tensors()


def choose_budget(request: Request, minutes: float) -> Budget:
    """The user's, or some minutes that suit the amount of data."""
    if request.budget != Budget():
        return request.budget
    return Budget(steps=QUICK_STEPS) if request.preset == "tiny" else Budget(minutes=round(minutes, 1))


def work_of(request: Request, settings: Training, budget: Budget) -> float:
    """Floating-point operations that the budget is good for, at the bare rate of matrix products."""
    if budget.seconds is None:
        return USUAL_SECONDS * USUAL_RATE
    return budget.seconds * product_rate(request.device, pick_precision(settings.precision, request.device))


def fitted(size: Size, settings: ReaderTraining) -> Size:
    """A size with the user's numbers in place of its own."""
    given = {name: value for name in ("dim", "depth", "heads", "context") if (value := getattr(settings, name))}
    values = {"dim": size.dim, "depth": size.depth, "heads": size.heads, "context": size.context, **given}
    if "dim" in given and "heads" not in given:
        width = max(1, size.dim // size.heads)
        fitting = [h for h in range(1, values["dim"] + 1) if values["dim"] % h == 0 and values["dim"] // h % 2 == 0]
        values["heads"] = min(fitting or [1], key=lambda h: abs(values["dim"] / h - width))
    chosen = Size(**values)
    chosen.check()
    return chosen


def training_line(request: Request, settings: Training, budget: Budget, batch: str) -> str:
    """How long, where and how, in words."""
    precision = "bf16" if pick_precision(settings.precision, request.device) is torch.bfloat16 else "fp32"
    if budget.minutes is not None:
        length = duration(60 * budget.minutes)
    else:
        length = f"{budget.steps:,} steps" if budget.steps else f"{budget.epochs:g} epochs"
    return f"{length} on {request.device.type} in {precision}, {batch}, lr {settings.lr:g}"


def model_line(request: Request, name: str, shape: str, config: Model.Config) -> str:
    """Which model, in words."""
    start = "" if request.origin is None else f", from {request.origin.folder.path}"
    return f"{name}, {shape}, {count(size_of(config, training=True))} parameters{start}"
