"""Span: where an answer stands in a text, by its first and its last token."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from weft.batches.samples import Batch, PaddedIds, Samples, Spans
from weft.objectives.objective import Loss, Objective, added


class Span(Objective):
    """-sum (log p(first token) + log p(last token)) / 2, each over all tokens of a row (Devlin et al., 2019)."""

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "questions"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: nn.Module, batch: Batch[PaddedIds, Spans]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: Any, part: Samples[PaddedIds, Spans]) -> Loss:
        """The loss of samples that are computed at once."""
        logits = model(part.given.raw()).masked_fill(~part.given.real[..., None], float("-inf"))
        targets = torch.stack([part.wanted.first, part.wanted.last], -1)
        total = F.cross_entropy(logits, targets, reduction="sum") / 2
        wrong = None if model.training else int((logits.argmax(1) != targets).any(-1).sum())
        return Loss(total, len(targets), wrong)
