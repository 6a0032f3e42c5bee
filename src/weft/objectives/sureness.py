"""Temperature scaling of a classifier: its answers stay, its probabilities become calibrated (Guo et al., 2017)."""

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from weft.core.heads import FirstAndMean, Pooled
from weft.models.stream import Stream

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
    logits, low, high = logits.double(), MIN_FACTOR, 1.0
    for _ in range(40):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if F.cross_entropy(a * logits, targets) <= F.cross_entropy(b * logits, targets):
            high = b
        else:
            low = a
    return high if high < 0.999 else 1.0
