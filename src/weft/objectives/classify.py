"""Classify: one class for each sample, or two where samples were mixed."""

from collections.abc import Iterable

from torch.nn import functional as F

from weft.data.images.batches import Labelled
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective, misses
from weft.objectives.sureness import soften


class Classify(Objective):
    """-sum log p(class | picture). A picture mixed of two counts for both classes, each by its share.

    In training the truth is softened: it counts 1 - `smoothing`, and all classes alike share the rest (Szegedy et al.,
    2016). A model that is being evaluated is scored by the truth alone.
    """

    class Config(Objective.Config):
        """`smoothing` is the share of belief given to all classes alike."""

        smoothing: float = 0.0

        def check(self) -> None:
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")

    unit = "pictures"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Labelled) -> Loss:
        logits = model(batch.picture)
        smoothing = self.config.smoothing if model.training else 0.0
        losses = F.cross_entropy(logits, batch.labels, reduction="none", label_smoothing=smoothing)
        if batch.mixed is not None:
            other = F.cross_entropy(logits, batch.mixed.labels, reduction="none", label_smoothing=smoothing)
            losses = other.lerp(losses, batch.mixed.share)
        return Loss(losses.sum(), len(batch), None if model.training else misses(logits, batch.labels))

    def calibrate(self, model: Stream, held_out: Iterable[Labelled]) -> None:
        """Lower the confidence to the accuracy on held-out pictures, where it is higher."""
        soften(model, ((model(batch.picture), batch.labels) for batch in held_out))
