"""Text class: one class for each text."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.data.bundles import Microbatches
from weft.data.labelled.batches import LabelledBundle
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective, added, misses
from weft.objectives.sureness import soften


class TextClass(Objective):
    """-sum log p(class | text).

    In training the truth is softened by `smoothing` (Szegedy et al., 2016), and a text counts by the weight of its class.
    A model that is being evaluated is scored by the truth alone, all texts alike.
    """

    class Config(Objective.Config):
        """`smoothing` is the share of belief given to all classes alike; `weights` has one for each class, or none."""

        smoothing: float = 0.0
        weights: tuple[float, ...] = ()

        def check(self) -> None:
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")
            if any(not 0 < weight < float("inf") for weight in self.weights):
                raise ConfigError("every class needs a weight above 0", where="weights")

    unit = "texts"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Microbatches[LabelledBundle]) -> Loss:
        return added([self.one(model, bundle) for bundle in batch.each])

    def one(self, model: Stream, bundle: LabelledBundle) -> Loss:
        """The loss of one bundle."""
        logits, targets = model(bundle.text.text()), bundle.targets
        if not model.training:
            return Loss(F.cross_entropy(logits, targets, reduction="sum"), len(targets), misses(logits, targets))
        weights: Tensor | None = None
        if self.config.weights:
            weights = torch.tensor(self.config.weights, dtype=logits.dtype, device=logits.device)
        smoothing = self.config.smoothing
        total = F.cross_entropy(logits, targets, weights, reduction="sum", label_smoothing=smoothing)
        return Loss(total, len(targets))

    def calibrate(self, model: Stream, held_out: Iterable[Microbatches[LabelledBundle]]) -> None:
        """Lower the confidence to the accuracy on held-out texts, where it is higher."""
        soften(model, ((model(bundle.text.text()), bundle.targets) for batch in held_out for bundle in batch.each))


def balanced(counts: Sequence[int]) -> tuple[float, ...]:
    """Weights with which all classes count alike in all, whatever their sizes; over the texts their mean is 1."""
    if not counts or min(counts) < 1:
        raise ConfigError("every class needs a text to have a weight", where="weights")
    return tuple(sum(counts) / (len(counts) * count) for count in counts)
