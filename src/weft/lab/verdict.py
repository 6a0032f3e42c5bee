"""From the effects of several seeds to a number, its interval and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weft.lab.experiment import Claim

Word = Literal["holds", "does not hold", "not decided"]
# t of 95 % by degrees of freedom (Student, 1908); beyond the table a normal's 1.96 is near
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12)


@dataclass(frozen=True)
class Verdict:
    """The mean effect with its 95 % interval over seeds, and what follows for the claim."""

    mean: float
    low: float
    high: float
    seeds: int
    word: Word


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, and the 95 % interval of it by Student's t; without end where there is one value."""
    count, mean = len(values), math.fsum(values) / len(values)
    if count == 1:
        return mean, -math.inf, math.inf
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    t = T95[count - 2] if count - 2 < len(T95) else 1.96 * (1 + 1.2 / (count - 1))
    return mean, mean - t * spread, mean + t * spread


def judged(claim: Claim, effects: Sequence[float]) -> Verdict:
    """The verdict by the rule of the claim."""
    mean, low, high = interval(effects)
    word: Word = "holds" if low > claim.above else "does not hold" if high < claim.above else "not decided"
    return Verdict(mean, low, high, len(effects), word)
