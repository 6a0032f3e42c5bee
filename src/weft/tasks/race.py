"""A race: the models of a task that a card names are each trained for a short while, and the best one gets the rest.

Whoever plans gives a function that trains a model within a budget and scores it on data that measures nothing later.
Knows budgets, names and scores; refuses to know data and models.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from weft.amounts import counted, duration
from weft.errors import WeftError
from weft.files.dataset import Dataset
from weft.training.schedule import Budget
from weft.training.score import HeldOutScore

RACE_SHARE = 0.4  # of the budget, for all short runs together
LEAST_SECONDS, LEAST_STEPS = 2.0, 20  # of a short run: less says nothing
JUDGED_EVERY = 5  # of the rows to train on every fifth judges a race, where no other rows may

D = TypeVar("D", bound=Dataset[Any, Any])


@dataclass(frozen=True)
class Race:
    """How models did in short runs of `each`, best first; `failed` says why others could not be trained.

    Of the budget that was `asked`, `left` is for the model that won.
    """

    asked: Budget
    each: Budget
    left: Budget
    scores: Mapping[str, HeldOutScore]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def winner(self) -> str:
        """The name of the model that did best."""
        return next(iter(self.scores))

    def record(self) -> dict[str, Any]:
        """What config.json says of it."""
        scores = {name: {"loss": score.loss, "errors": score.errors} for name, score in self.scores.items()}
        budgets = {"asked": self.asked, "each": self.each}
        said = {"scores": scores, "failed": {**self.failed}, "said": self.in_words()}
        return {**{name: vars(budget) for name, budget in budgets.items()}, **said}

    def in_words(self) -> str:
        """Which model won and by what, for people."""
        first, *others = (f"{name} {_in_words(score)}" for name, score in self.scores.items())
        behind = "".join(f", {other}" for other in others)
        lost = f"; not tried: {', '.join(self.failed)}" if self.failed else ""
        return f"{first}{behind} in validation after {length(self.each)} each{lost} (another: --model NAME)"


def race(
    names: Sequence[str], budget: Budget, score: Callable[[str, Budget], HeldOutScore], clock: Callable[[], float]
) -> Race:
    """Train and score each model with an equal share of the budget. A model that is refused loses."""
    each, began = share_of(budget, RACE_SHARE / len(names)), clock()
    scores, errors = dict[str, HeldOutScore](), dict[str, WeftError]()
    for name in names:
        try:
            scores[name] = score(name, each)
        except WeftError as error:
            errors[name] = error
    if not scores:
        raise next(iter(errors.values()))
    if budget.minutes is None:
        left = share_of(budget, 1 - RACE_SHARE)
    else:  # what a model takes to be made and measured is time of the race too
        minutes = (clock() - began) / 60
        left = Budget(minutes=max(budget.minutes - minutes, budget.minutes / 2))
    failed = {name: error.problem for name, error in errors.items()}
    return Race(budget, each, left, ordered(scores), failed)


def ordered(scores: Mapping[str, HeldOutScore]) -> dict[str, HeldOutScore]:
    """The scores, best first; of equal ones the earlier stays in front."""
    found = list(scores.items())
    for i in range(1, len(found)):
        while i and found[i][1].beats(found[i - 1][1]):
            found[i - 1], found[i] = found[i], found[i - 1]
            i -= 1
    return dict(found)


def share_of(budget: Budget, share: float) -> Budget:
    """A part of a budget, in the unit that it has."""
    if budget.steps is not None:
        return Budget(steps=max(1, int(share * budget.steps)))
    return Budget(**{name: share * value for name, value in vars(budget).items() if value is not None})


def affordable(budget: Budget, models: int) -> bool:
    """Whether a budget is long enough for a race of some models."""
    each = share_of(budget, RACE_SHARE / models)
    if each.seconds is not None:
        return each.seconds >= LEAST_SECONDS
    return (each.steps or each.epochs or 0) >= LEAST_STEPS


def length(budget: Budget) -> str:
    """A budget in words."""
    if budget.seconds is not None:
        return duration(budget.seconds)
    return counted(budget.steps, "step") if budget.steps else counted(budget.epochs or 0.0, "epoch")


def some_rows_apart(data: D) -> D | None:
    """The rows to train on as data of its own: every fifth of them judges. None where they are no rows."""
    rows = data.train
    if not isinstance(rows, Sequence) or len(rows) < 2 * JUDGED_EVERY:
        return None
    learned = [row for i, row in enumerate(rows) if i % JUDGED_EVERY != JUDGED_EVERY - 1]
    return replace(data, train=learned, held_out=list(rows[JUDGED_EVERY - 1 :: JUDGED_EVERY]))


def _in_words(score: HeldOutScore) -> str:
    return f"loss {score.loss:.3g}" if score.errors is None else f"{1 - score.errors:.1%}"


wall_clock = time.monotonic
