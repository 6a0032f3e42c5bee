"""Number: one number for each text."""

import numpy as np
from torch import Tensor

from weft.data.bundles import Microbatches
from weft.data.labelled.batches import LabelledBundle
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective, added


class Number(Objective):
    """sum ((y - mean) / spread - f(text))^2: the model learns numbers around 0, whatever the user's unit.

    A model that always says the mean has a loss of 1.
    """

    class Config(Objective.Config):
        """Mean and standard deviation of the numbers that are trained on."""

        mean: float = 0.0
        spread: float = 1.0

        def check(self) -> None:
            if not 0 < self.spread < float("inf") or not abs(self.mean) < float("inf"):
                raise ConfigError(f"must be above 0 and finite, found {self.spread}", where="spread")

        def restored(self, values: Tensor) -> Tensor:
            """The model's output in the user's unit."""
            return values.double() * self.spread + self.mean

    unit = "texts"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Microbatches[LabelledBundle]) -> Loss:
        return added([self.one(model, bundle) for bundle in batch.each])

    def one(self, model: Stream, bundle: LabelledBundle) -> Loss:
        """The loss of one bundle."""
        predicted = model(bundle.text.text())[:, 0]
        wanted = (bundle.targets.double() - self.config.mean) / self.config.spread
        return Loss(((predicted - wanted.to(predicted.dtype)) ** 2).sum(), len(wanted))


def standardised(targets: np.ndarray) -> Number.Config:
    """The objective for numbers like these."""
    return Number.Config(mean=float(targets.mean()), spread=float(targets.std()) or 1.0)
