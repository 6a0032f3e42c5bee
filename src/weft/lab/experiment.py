"""What an experiment is: a claim in words, a function that measures one seed, and the rule of the verdict."""

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.config import Config, field_types
from weft.errors import WeftError, nearest

CLAIMS = (
    "scale", "temperature", "order", "heads", "square", "distance", "fourier", "data", "pretraining", "norms", "longer",
    "memorise", "shots", "missing", "soup",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, what is compared, and the rule of the verdict, written down before anything is measured.

    The claim holds where the whole interval of the effect over seeds lies above `above`, and does not hold where it
    lies below. `seconds` is about what one seed takes on one core, `first` the number of the first seed: where a
    measure was chosen after some seeds had been seen, they are not used again.
    """

    id: str
    name: str
    says: str
    source: str
    compared: str
    effect: str
    above: float
    x: str
    y: str
    seconds: float
    seeds: int = 3
    first: int = 0
    log: bool = False
    note: str = ""

    @property
    def rule(self) -> str:
        """The rule of the verdict in words."""
        return f"holds if the 95 % interval over seeds lies above {self.above:g}, does not hold if it lies below"


@dataclass(frozen=True, kw_only=True)
class SeedOutcome:
    """What one seed gave: the effect, the lines of the figure as points (x, y), and its seconds of processor time."""

    effect: float
    lines: Mapping[str, Sequence[tuple[float, float]]]
    facts: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class Experiment(ABC):
    """A claim, the settings of its measurement, and the measurement of one seed. Each final class is one small file."""

    claim: ClassVar[Claim]
    Settings: ClassVar[type[Config]]

    @abstractmethod
    def measure(self, how: Any, seed: int) -> SeedOutcome:
        """What one seed gives."""

    @property
    def told(self) -> str:
        """What the experiment is about, in a few sentences."""
        return (sys.modules[type(self).__module__].__doc__ or "").strip()

    @property
    def takes_data(self) -> bool:
        """Whether it can be run on one's own files."""
        return "data" in field_types(self.Settings)


def experiment(word: str) -> Experiment:
    """The experiment of a name such as `heads`, or of an id such as D4."""
    for one in experiments() if word.upper().startswith("D") and word[1:].isdigit() else ():
        if one.claim.id == word.upper():
            return one
    if word.lower() not in CLAIMS:
        near = nearest(word.lower(), CLAIMS)
        raise WeftError(f"no claim is called {word!r}", where="weft lab", fix=near or "`weft lab` lists them")
    found = importlib.import_module(f"weft.lab.claims.{word.lower()}")
    made: Experiment = getattr(found, f"{word.capitalize()}Experiment")()
    return made


def experiments() -> list[Experiment]:
    """All of them, in the order of their ids."""
    return [experiment(name) for name in CLAIMS]
