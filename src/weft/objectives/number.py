"""Number: one number for each sample. Knows no modality."""

from typing import Any

from torch import nn

from weft.data.batch import Batch, Numbers, Samples
from weft.objectives.objective import Loss, Objective, added


class Number(Objective):
    """sum (y - f(sample))^2, where y is on the scale of the codec: a model that always says the mean has a loss of 1."""

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "samples"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[Any, Numbers]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: nn.Module, part: Samples[Any, Numbers]) -> Loss:
        """The loss of samples that are computed at once. Of a sample mixed of two the numbers are mixed too."""
        values, wanted = model(part.given.raw())[:, 0], part.wanted
        truth = wanted.values
        if wanted.other is not None and wanted.share is not None:
            truth = wanted.other.lerp(truth, wanted.share.to(truth.dtype))
        return Loss(((values - truth.to(values.dtype)) ** 2).sum(), len(wanted))
