"""Classify: one class for each sample, or two where samples were mixed. Knows no modality."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.batches.samples import Batch, Classes, Samples
from weft.errors import ConfigError
from weft.objectives.objective import Loss, Objective, added, misses
from weft.objectives.sureness import soften


class Classify(Objective):
    """-sum log p(class | sample). A sample mixed of two counts for both classes, each by its share.

    In training the truth is smoothed: it counts 1 - `smoothing`, and all classes alike share the rest (Szegedy et al.,
    2016), and a sample counts by the weight of its class. A model that is being evaluated is scored by the truth alone.
    """

    class Config(Objective.Config):
        """`smoothing` (label smoothing) is the share of probability spread over all classes; `weights` are by class."""

        smoothing: float = 0.0
        weights: tuple[float, ...] = ()

        def check(self) -> None:
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")
            if any(not 0 < weight < float("inf") for weight in self.weights):
                raise ConfigError("every class needs a weight above 0", where="weights")

    unit = "samples"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[Any, Classes]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: nn.Module, part: Samples[Any, Classes]) -> Loss:
        """The loss of samples that are computed at once."""
        logits, wanted = model(part.given.raw()), part.wanted
        if not model.training:
            total = F.cross_entropy(logits, wanted.labels, reduction="sum")
            return Loss(total, len(wanted), misses(logits, wanted.labels))
        losses = self._losses(logits, wanted.labels)
        if wanted.other is not None and wanted.share is not None:
            losses = self._losses(logits, wanted.other).lerp(losses, wanted.share)
        return Loss(losses.sum(), len(wanted))

    def _losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        weights = torch.tensor(self.config.weights, dtype=logits.dtype, device=logits.device)
        smoothing = self.config.smoothing
        given = weights if self.config.weights else None
        return F.cross_entropy(logits, labels, given, reduction="none", label_smoothing=smoothing)

    def calibrate(self, model: Any, held_out: Iterable[Batch[Any, Classes]]) -> None:
        """Let the probabilities be no surer than answers to held-out samples are right."""
        parts = (part for batch in held_out for part in batch.each)
        soften(model, ((model(part.given.raw()), part.wanted.labels) for part in parts))


def balanced(counts: Sequence[int]) -> tuple[float, ...]:
    """Weights with which all classes count alike, however many samples each has; over the samples their mean is 1."""
    if not counts or min(counts) < 1:
        raise ConfigError("every class needs a sample to have a weight", where="weights")
    return tuple(sum(counts) / (len(counts) * count) for count in counts)
