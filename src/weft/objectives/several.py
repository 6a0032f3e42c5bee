"""Several: any number of labels for each sample, each yes or no by itself. Knows no modality."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from weft.batches.samples import Batch, Numbers, Samples
from weft.errors import ConfigError
from weft.objectives.objective import Loss, Objective, added


class Several(Objective):
    """-sum over samples of the mean over labels of log p(yes or no | sample): binary cross-entropy.

    In training the truth is smoothed towards a half, and a yes counts by the weight of its label.
    """

    class Config(Objective.Config):
        """`smoothing` (label smoothing) is the share of probability spread over yes and no; `weights` are of a yes."""

        smoothing: float = 0.0
        weights: tuple[float, ...] = ()

        def check(self) -> None:
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")
            if any(not 0 < weight < float("inf") for weight in self.weights):
                raise ConfigError("every label needs a weight above 0", where="weights")

    unit = "samples"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[Any, Numbers]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: nn.Module, part: Samples[Any, Numbers]) -> Loss:
        """The loss of samples that are computed at once; an answer is right where all its labels are."""
        logits = model(part.given.raw())
        truth = part.wanted.values.to(logits.dtype)
        if not model.training:
            wrong = int(((logits > 0) != (truth > 0.5)).any(1).sum())
            losses = F.binary_cross_entropy_with_logits(logits, truth, reduction="none")
            return Loss(losses.mean(1).sum(), len(truth), wrong)
        weights = torch.tensor(self.config.weights, dtype=logits.dtype, device=logits.device)
        smooth = truth * (1 - self.config.smoothing) + self.config.smoothing / 2
        given = weights if self.config.weights else None
        losses = F.binary_cross_entropy_with_logits(logits, smooth, reduction="none", pos_weight=given)
        return Loss(losses.mean(1).sum(), len(truth))
