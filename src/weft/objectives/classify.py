"""Classify: one class for each sample, or two where samples were mixed. Knows no modality.

`soften` makes its probabilities calibrated and leaves its answers as they are (Guo et al., 2017).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.batches.samples import Batch, Classes, Samples
from weft.core.heads import FirstAndMean, Pooled
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective, added, misses

MIN_FACTOR = 0.02  # the smallest factor that logits are multiplied by
MIN_HELD_OUT = 20  # held-out samples; with fewer the model stays as it is


def soften(model: Stream, answers: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Scale down the logits of an overconfident model, by one factor on its last map; returns the factor.

    `answers` are batches of logits for held-out samples, with their true classes. A model is never made surer.
    """
    head = model.head
    if not isinstance(head, Pooled | FirstAndMean):
        return 1.0
    held_out = [(logits.cpu(), targets.cpu()) for logits, targets in answers]
    factor = 1.0
    if sum(len(targets) for _, targets in held_out) >= MIN_HELD_OUT:
        logits, targets = (torch.cat(part) for part in zip(*held_out, strict=True))
        factor = best_factor(logits, targets)
    if factor < 1:
        with torch.no_grad():
            head.out.weight.mul_(factor)
            head.out.bias.mul_(factor)
    return factor


def best_factor(logits: Float[Tensor, "B C"], targets: Int[Tensor, "B"]) -> float:
    """The factor from `MIN_FACTOR` to 1 on the logits with the lowest loss, which has one minimum: found by thirds."""
    logits, targets, low, high = logits.cpu().double(), targets.cpu(), MIN_FACTOR, 1.0
    for _ in range(40):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if F.cross_entropy(a * logits, targets) <= F.cross_entropy(b * logits, targets):
            high = b
        else:
            low = a
    return high if high < 0.999 else 1.0


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
        smoothing, weights = self.config.smoothing, self.config.weights
        given = torch.tensor(weights, dtype=logits.dtype, device=logits.device) if weights else None
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
