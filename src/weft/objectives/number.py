"""Number: one number for each sample, or several. Knows no modality."""

from typing import Any

from torch import nn

from weft.batches.samples import Batch, Numbers, Samples
from weft.objectives.objective import Loss, Objective, added


class Number(Objective):
    """sum (y - f(sample))^2, where y is on the scale of the codec: a model that always says the mean has a loss of 1.

    Where samples have several numbers, as colours do, the mean of their errors counts.
    """

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "samples"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[Any, Numbers]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: nn.Module, part: Samples[Any, Numbers]) -> Loss:
        """The loss of samples that are computed at once. Of a sample mixed of two the numbers are mixed too."""
        values, wanted = model(part.given.raw()), part.wanted
        truth = wanted.values
        values = values if truth.ndim > 1 else values[:, 0]
        if wanted.other is not None and wanted.share is not None:
            truth = wanted.other.lerp(truth, wanted.share.to(truth.dtype))
        errors = (values - truth.to(values.dtype)) ** 2
        return Loss((errors if errors.ndim == 1 else errors.mean(1)).sum(), len(wanted))
