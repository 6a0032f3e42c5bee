"""How well held-out data is predicted, and which weights are better by it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class HeldOutScore:
    """The mean loss, and the share of `count` answers that were wrong, where answers are right or wrong.

    Where they are, fewer wrong ones are better, and among equals a lower loss: a classifier goes on getting better for
    a while after it has become too sure of itself, which a loss punishes.
    """

    loss: float
    errors: float | None = None
    count: int = 0

    def beats(self, other: "HeldOutScore") -> bool:
        """Whether this score is better."""
        if self.errors is None or other.errors is None:
            return self.loss < other.loss
        return (self.errors, self.loss) < (other.errors, other.loss)

    def clearly_beats(self, other: "HeldOutScore") -> bool:
        """Whether this score is better by more than chance: by one standard error of the wrong answers."""
        if self.errors is None or other.errors is None or not other.count:
            return self.loss < other.loss
        return self.errors < other.errors - math.sqrt(other.errors * (1 - other.errors) / other.count)
