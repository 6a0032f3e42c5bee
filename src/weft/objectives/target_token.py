"""Target token: each token of a target is predicted from the source and the true tokens before it."""

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from weft.data.batch import Batch, PaddedIds, Samples
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.objectives.objective import Loss, Objective, added


class TargetToken(Objective):
    """-sum log p(y_t | y_<t, x), teacher forcing: the decoder reads the true target, not its own predictions.

    In training the truth is softened: it counts 1 - `smoothing`, and all tokens alike share the rest (Szegedy et al.,
    2016; Vaswani et al., 2017). A model that is being evaluated is scored by the truth alone.
    """

    class Config(Objective.Config):
        """`smoothing` is the share of belief given to all tokens alike."""

        smoothing: float = 0.0

        def check(self) -> None:
            if not 0 <= self.smoothing < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")

    unit = "tokens"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Seq2Seq, batch: Batch[Any, PaddedIds]) -> Loss:
        return added([self.one(model, part) for part in batch.each])

    def one(self, model: Seq2Seq, part: Samples[Any, PaddedIds]) -> Loss:
        """The loss of samples that are computed at once. Logits are computed at real tokens only."""
        values, targets = logits(model, part)
        smoothing = self.config.smoothing if model.training else 0.0
        total = F.cross_entropy(values, targets, reduction="sum", label_smoothing=smoothing)
        return Loss(total, targets.numel())


def logits(model: Seq2Seq, part: Samples[Any, PaddedIds]) -> tuple[Tensor, Tensor]:
    """The logits of all real target tokens, row after row, and the tokens that are true there."""
    ids, real = part.wanted.ids, part.wanted.real[:, 1:]
    memory = model.memorise(part.given.raw())
    memory = memory if part.owner is None else memory.rows(part.owner)
    # The target is not masked: what stands behind a token is never read by it, padding included.
    x = model.target.encode(Text(ids[:, :-1]), memory=memory).x
    assert model.target.head is not None
    return model.target.head.values(x[real]), ids[:, 1:][real]
