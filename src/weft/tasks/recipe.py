"""Recipe: the models of a task by name, their sizes, and the learning rates at which each learns fastest."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from weft.errors import ConfigError, WeftError, nearest
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.tasks.preset import Preset
from weft.tasks.request import Request
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.sized import SizedTraining
from weft.training.schedule import Budget

QUICK_STEPS = 150  # of the preset that trains in seconds
OF_A_TRUNK = ("dim", "depth", "heads", "dropout")
OF_A_READER = (*OF_A_TRUNK, "context", "tokenizer", "vocab", "symbols")

Sz = TypeVar("Sz")
M = TypeVar("M", bound=Model.Config)


@dataclass(frozen=True)
class TokensPerWeight:
    """The rung of a ladder whose tokens seen for each weight come nearest to a ratio, or are `at_least` that many."""

    ratio: float
    at_least: bool = False

    def choose(self, ladder: Sequence[Sz], seen: Callable[[Sz], float], weights: Callable[[Sz], float]) -> Sz:
        """`seen` gives the tokens that a size sees in its budget, `weights` the weights in its trunk."""
        if self.at_least:
            return largest(ladder, lambda size: seen(size) >= self.ratio * weights(size))
        return min(ladder, key=lambda size: abs(math.log(seen(size) / weights(size) / self.ratio)))


@dataclass(frozen=True)
class MinEpochs:
    """Chooses the largest size that reaches this many epochs in its budget, or sees `enough` samples."""

    epochs: float
    enough: float = math.inf

    def choose(self, ladder: Sequence[Sz], seen: Callable[[Sz], float], samples: float) -> Sz:
        """`seen` gives the samples that a size sees in its budget."""
        return largest(ladder, lambda size: seen(size) >= min(self.epochs * samples, self.enough))


@dataclass(frozen=True)
class Dropout:
    """Dropout by the epochs of a run: `few`, more, or `many`. Without it, repeated data is learned by heart."""

    shares: tuple[float, float, float]
    few: float = 3.0
    many: float = 20.0

    def of(self, epochs: float) -> float:
        """The share for a number of epochs."""
        return self.shares[(epochs >= self.few) + (epochs >= self.many)]


def largest(ladder: Sequence[Sz], fits: Callable[[Sz], bool]) -> Sz:
    """The last size that fits; the first where none does."""
    return next((size for size in reversed(ladder) if fits(size)), ladder[0])


@dataclass(frozen=True)
class Recipe(Generic[Sz]):
    """`rates` are the settings at which each model learns fastest (docs/choices.md), `preset_settings` the presets'.

    A preset says a size and nothing else: the model is `default` with it and without it.

    With --from, the settings in `fixed` are those of the other run's model, and those in `kept` are taken over unless
    the user says otherwise. `frozen` are the parts that --set freeze=true leaves as they are. `efficiency` is the share
    of the rate of bare matrix products that a training step reaches, by which a size is first guessed.
    """

    models: Mapping[str, Callable[..., Any]]
    presets: Mapping[str, Sz]
    default: str
    rates: Mapping[str, Mapping[str, Any]]
    fixed: tuple[str, ...] = OF_A_READER
    kept: tuple[str, ...] = OF_A_READER
    frozen: tuple[str, ...] = ("embed", "trunk")
    efficiency: float = 0.5
    preset_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def model_name(self, request: Request) -> str:
        """The name of the model that is asked for, or of the run to start from."""
        was = None if request.origin is None else str(request.origin.config.get("model_name"))
        if was is not None and request.model not in (None, was):
            problem = f"the run to start from is a {was}, not a {request.model}"
            raise WeftError(problem, where="--model", fix="leave it out")
        name = was or request.model or self.default
        if was is None and name not in self.models:
            raise WeftError(
                f"there is no model {name!r} for this task", where="--model", fix=nearest(name, self.models)
            )
        return name

    def check(self, request: Request) -> None:
        """Refuse what cannot be meant, before any data is read."""
        if request.preset is not None and request.preset not in self.presets:
            fix = nearest(request.preset, self.presets)
            raise WeftError(f"there is no preset {request.preset!r}", where="--preset", fix=fix)
        if request.origin is None:
            return
        given = [name for name in request.settings if name in self.fixed or name.startswith("model.")]
        if given or request.preset is not None:
            names = ", ".join([*given, *(["preset"] if request.preset else [])])
            problem = f"{names}: the model is that of the run to start from"
            raise ConfigError(problem, where="--from", fix="leave it out")


AnyRecipe = Recipe[Any]


def choose_budget(request: Request, minutes: float) -> Budget:
    """The user's, or some minutes that suit the amount of data."""
    if request.budget != Budget():
        return request.budget
    return Budget(steps=QUICK_STEPS) if request.preset == "tiny" else Budget(minutes=round(minutes, 1))


def sized(preset: Preset) -> Size:
    """The size of a preset."""
    return Size(dim=preset.dim, depth=preset.depth, heads=preset.heads, context=preset.context)


def with_own_numbers(size: Size, training: SizedTraining) -> Size:
    """A size with the user's numbers in place of its own."""
    names = ("dim", "depth", "heads", "context")
    given = {name: value for name in names if (value := getattr(training, name, None))}
    values = {**{name: getattr(size, name) for name in names}, **given}
    if "dim" in given and "heads" not in given:
        values["heads"] = heads_for(values["dim"], size.dim // size.heads, even=True)
    chosen = Size(**values)
    chosen.check()
    return chosen


def heads_for(dim: int, head_dim: int, *, even: bool = False) -> int:
    """The number of heads that divides a width into heads nearest to `head_dim`; of an `even` width where asked for."""
    fitting = [h for h in range(1, dim + 1) if dim % h == 0 and not (even and dim // h % 2)]
    return min(fitting or [1], key=lambda h: abs(dim / h - max(1, head_dim)))


def with_model_settings(config: M, request: Request) -> M:
    """A model's config with the user's settings of its parts."""
    return with_settings(config, request.model_settings, prefix="model.")


def check_vocabulary(config: Stream.Config, vocab: int, where: str = "model.embed") -> None:
    """Refuse a vocabulary that was set for the model alone."""
    if config.embed.size != vocab:
        problem = f"the tokenizer has {vocab} tokens, the model {config.embed.size}"
        raise ConfigError(
            problem,
            where=f"--set {where}.vocab",
            fix="leave it out, or train a tokenizer: --set tokenizer=bpe --set vocab=8000",
        )
