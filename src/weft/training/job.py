"""A run to be trained and where it stands. Holds parts and numbers; the loop does the work."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from weft.batches.source import Source
from weft.config import check_fields
from weft.errors import ConfigError
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.training.parallel import Step
from weft.training.progress import Progress
from weft.training.schedule import Horizon
from weft.training.score import HeldOutScore
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.world import World

SCALED = ("scale", "sound_steps")  # of a state: what only runs in fp16 have


@dataclass
class State:
    """Where a run stands: all that a checkpoint holds besides tensors.

    `landing` is the share of the run that was done when patience ended and the rate began to fall to zero;
    `evaluate_every` is decided once, by the first end that the run had. A run by minutes measures its looks at held-out
    data: all took `look_seconds`, the last one `look_cost`, and each scores `probe` samples. `first_mean` is the mean
    of the first losses, `lowest_recent_mean` the lowest mean of recent ones, and `good_step` the step of the last
    checkpoint that was saved while the run did well. In fp16 `scale` is that of the loss, and `sound_steps` are those
    since it was changed.
    """

    step: int = 0
    seconds: float = 0.0
    horizon: Horizon = field(default_factory=lambda: Horizon(end=1))
    first_loss: float | None = None
    recent: list[float] = field(default_factory=list)
    lowest: float | None = None
    best: HeldOutScore | None = None
    best_step: int = 0
    waited: int = 0
    landing: float | None = None
    evaluate_every: int = 0
    averaged: int = 0
    look_seconds: float = 0.0
    look_cost: float = 0.0
    probe: int | None = None
    first_mean: float | None = None
    lowest_recent_mean: float | None = None
    good_step: int | None = None
    scale: float | None = None
    sound_steps: int = 0

    @property
    def left(self) -> float:
        """The share of a landing that is yet to come; 1 before it."""
        return 1.0 if self.landing is None else (1 - self.horizon.progress(self.step)) / (1 - self.landing)

    def to_json(self) -> dict[str, Any]:
        """Plain values; in formats without a scale also those of weft before it trained in fp16."""
        plain = asdict(self)
        return plain if self.scale is not None else {k: v for k, v in plain.items() if k not in SCALED}

    @staticmethod
    def from_json(data: Any, where: str = "state.json") -> "State":
        """What `to_json` gave; values of other types are refused."""
        try:
            best = data["best"]
            if isinstance(best, float):  # as runs noted it before classifiers were judged by their errors
                data = {"lowest": best, **data}
                best = {"loss": best}
            best = None if best is None else HeldOutScore(**best)
            data = {name: value for name, value in data.items() if name != "calmest"}  # earlier: a mean of few losses
            state = State(**{**data, "horizon": Horizon(**data["horizon"]), "best": best})
            check_fields(state, where)
            return state
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"not what weft wrote: {error!s:.100}", where=where) from None


@dataclass
class Job:
    """A run to be trained: the parts, the settings, and where notes and checkpoints go."""

    model: Model
    objective: Objective
    source: Source
    training: Training
    device: torch.device
    seconds: float | None  # the budget of a run by minutes
    note: Callable[[dict[str, Any]], None]
    # step, groups of tensors, state; last=True: no other follows; good= a step to keep; returns whether it was saved
    save: Callable[..., bool]
    show: Callable[[Model], None]  # draws what is worth seeing of the model
    progress: Progress
    stop: StopRequest
    world: World
    # renames checkpoints saved after that of a step; returns their new names, None where that one is not there
    set_aside: Callable[[int], list[str] | None] = lambda step: None
    scale: float = 1.0  # by which the loss of the present step is multiplied, in fp16
    unplaced: set[int] = field(default_factory=set)  # numbers of rows of which it was said that they draw by process

    def __post_init__(self) -> None:
        self.compute = Step(self.model, self.objective)


class Clock:
    """Seconds of training, earlier stretches of a resumed run included."""

    def __init__(self, before: float):
        self.before, self.start = before, time.monotonic()

    def now(self) -> float:
        """Seconds so far."""
        return self.before + time.monotonic() - self.start
