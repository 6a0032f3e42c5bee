"""When a run ends and how its learning rate moves. Pure functions of the step and a few recorded numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.batches.source import Source
    from weft.training.settings import Training


@dataclass(frozen=True)
class Horizon:
    """The line from a known point (step, progress) to the end of the run.

    A run by steps has one horizon from start to end. A run by minutes is fitted anew as its speed is learned; each fit
    starts where the last one stands, so progress never jumps, and the three numbers are all that a checkpoint needs.
    """

    end: int
    since: int = 0
    done: float = 0.0

    def progress(self, step: int) -> float:
        """The share of the run that is done at a step, from 0 to 1."""
        if step >= self.end:
            return 1.0
        return self.done + (1 - self.done) * (step - self.since) / (self.end - self.since)

    def refit(self, step: int, end: int) -> "Horizon":
        """The same progress now, another end."""
        return Horizon(end=max(end, step + 1), since=step, done=self.progress(step))


def rate(step: int, progress: float, warmup: int, falls: str = "linear", left: float = 1.0) -> float:
    """The factor on the learning rates: up in a line over `warmup` steps, then down.

    `linear` falls in a line to zero at the end; `inverse-sqrt` falls with the root of the step and knows no end
    (Vaswani et al., 2017), unless a run is to end early, with the share `left` of its last stretch to come.
    """
    up = min(1.0, (step + 1) / max(1, warmup))
    return up * (1 - progress) if falls == "linear" else left * min(up, (max(1, warmup) / (step + 1)) ** 0.5)


@dataclass(frozen=True)
class Budget:
    """How long to train: exactly one of the three."""

    steps: int | None = None
    minutes: float | None = None
    epochs: float | None = None

    def __post_init__(self) -> None:
        given = {k: v for k, v in vars(self).items() if v is not None}
        if len(given) > 1:
            raise ConfigError(f"give one of steps, minutes and epochs, not {' and '.join(given)}")
        for name, value in given.items():
            kind, described = (int, "a whole number") if name == "steps" else (int | float, "a number")
            if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < 1e12:
                raise ConfigError(f"expected {described} above 0, found {value!r}", where=name)

    @property
    def seconds(self) -> float | None:
        """The time of a run by minutes."""
        return None if self.minutes is None else 60 * self.minutes

    def horizon(self, source: "Source", training: "Training", step_seconds: Callable[[], float]) -> Horizon:
        """From the first step to the last."""
        if self.steps is not None:
            return Horizon(end=self.steps)
        if self.epochs is not None:
            return Horizon(end=_steps(self.epochs, source, training))
        assert self.seconds is not None
        return Horizon(end=int(min(max(1, int(self.seconds / step_seconds())), most_steps(source, training))))


def most_steps(source: "Source", training: "Training") -> float:
    """The steps after which a run by minutes ends at the latest; infinite where nothing says so."""
    return math.inf if training.most_epochs is None else _steps(training.most_epochs, source, training)


def _steps(epochs: float, source: "Source", training: "Training") -> int:
    return max(1, round(epochs * source.per_epoch / training.batch))
