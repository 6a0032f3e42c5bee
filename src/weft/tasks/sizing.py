"""Which rung of a ladder of sizes suits the time that there is: guessed from the speed of products, then timed.

guessed     the recipe's efficiency x the rate of matrix products; a rung is chosen
timed       the rate that training steps of that rung reach; one rung up or down, where another fits it better
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from weft.amounts import count, duration
from weft.training.precision import pick_precision, product_rate
from weft.training.schedule import Budget

# The size of a run by steps or epochs is that of five minutes on a usual processor, so that it is the same everywhere.
USUAL_SECONDS, USUAL_RATE = 300.0, 1e11
SHORTEST_TIMED = 30.0  # seconds of a run below which the guess must do: timing a few steps would take too much of it

Sz = TypeVar("Sz")
Seen = Callable[[Sz], float]  # the tokens, pictures or other units that a model of a size sees in its budget


@dataclass(frozen=True)
class Rung:
    """The place of a size on its ladder, from 0, and the operations of one epoch with it."""

    index: int
    of: int
    round_operations: float


class Sizing:
    """The choice of a size. `seconds` is None for runs by steps or epochs, whose size does not depend on the machine.

    `rate` is the number of floating-point operations a second that training reaches, `products` that of bare products.
    The choice is noted as `rung`; one that was made earlier, `first`, is left by one rung at most.
    """

    def __init__(self, seconds: float | None, rate: float, products: float | None = None, first: Rung | None = None):
        self.seconds, self.rate, self.products, self.first = seconds, rate, products, first
        self.rung: Rung | None = None  # None: nothing was chosen, as a preset or another run says the size

    @staticmethod
    def guessed(
        budget: Budget, efficiency: float, device: torch.device, precision: str, processes: float = 1.0
    ) -> "Sizing":
        """By the rate of matrix products, a share of which (`efficiency`) training reaches.

        `processes` compute at once: those that train together, as far as the machine has processors for them.
        """
        if budget.seconds is None:
            return Sizing(None, efficiency * USUAL_RATE)
        products = product_rate(device, pick_precision(precision, device))
        return Sizing(budget.seconds, efficiency * products * processes, products)

    def timed(self, rounds_a_second: float) -> "Sizing":
        """By the measured speed of training with the chosen rung, in epochs a second."""
        assert self.rung is not None
        return Sizing(self.seconds, rounds_a_second * self.rung.round_operations, self.products, self.rung)

    @property
    def operations(self) -> float:
        """Floating-point operations that training may take."""
        return (USUAL_SECONDS if self.seconds is None else self.seconds) * self.rate

    @property
    def worth_timing(self) -> bool:
        """Whether one of several rungs was chosen by a guess, for a run that is long enough to check it."""
        return self.rung is not None and self.rung.of > 1 and (self.seconds or 0.0) >= SHORTEST_TIMED

    def choose(
        self,
        ladder: Sequence[Sz],
        cost: Callable[[Sz], float],
        amount: float,
        rule: Callable[[Sequence[Sz], Seen[Sz]], Sz],
    ) -> Sz:
        """A size of the ladder by a rule. `cost` is the operations to train on one unit of data; `amount` its units."""
        index = ladder.index(rule(ladder, lambda size: self.operations / cost(size)))
        if self.first is not None:
            index = min(max(index, self.first.index - 1), self.first.index + 1)
        self.rung = Rung(index, len(ladder), cost(ladder[index]) * amount)
        return ladder[index]

    def record(self) -> dict[str, Any] | None:
        """What config.json says of the choice, if the speed of the machine decided it."""
        if self.rung is None or self.rung.of == 1 or self.seconds is None or self.products is None:
            return None
        return {
            "rate": float(f"{self.rate:.4g}"),
            "product_rate": float(f"{self.products:.4g}"),
            "rung": self.rung.index + 1,
            "of": self.rung.of,
            "timed": self.first is not None,
            "moved": 0 if self.first is None else self.rung.index - self.first.index,
        }

    def in_words(self) -> str:
        """The choice for people, if the speed of the machine decided it."""
        said = self.record()
        if said is None:
            return ""
        how = {1: ", one up from the first guess", -1: ", one down from the first guess", 0: ""}[said["moved"]]
        speed = f"{count(self.rate)}FLOP/s" if said["timed"] else f"about {count(self.rate)}FLOP/s, not timed"
        return f"for {duration(self.seconds or 0.0)} at {speed}: size {said['rung']} of {said['of']}{how}"
