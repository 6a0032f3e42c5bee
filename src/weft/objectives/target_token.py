"""Target token: each token of a target is predicted from the source and the true tokens before it."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor
from torch.nn import functional as F

from weft.data.bundles import PaddedIds
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.objectives.objective import Loss, Objective, added


@runtime_checkable
class Paired(Protocol):
    """Targets with what they answer: a row of `given` each, or the row that `owner` names."""

    @property
    def target(self) -> PaddedIds: ...

    @property
    def given(self) -> Any: ...

    @property
    def owner(self) -> Tensor | None: ...


@runtime_checkable
class Several(Protocol):
    """A batch in pieces, each computed by itself."""

    @property
    def each(self) -> Sequence[Paired]: ...


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

    def __call__(self, model: Seq2Seq, batch: Several) -> Loss:
        return added([self.one(model, bundle) for bundle in batch.each])

    def one(self, model: Seq2Seq, bundle: Paired) -> Loss:
        """The loss of one bundle. Logits are computed at real tokens only."""
        values, targets = logits(model, bundle)
        smoothing = self.config.smoothing if model.training else 0.0
        total = F.cross_entropy(values, targets, reduction="sum", label_smoothing=smoothing)
        return Loss(total, targets.numel())


def logits(model: Seq2Seq, bundle: Paired) -> tuple[Tensor, Tensor]:
    """The logits of all real target tokens, row after row, and the tokens that are true there."""
    ids, real = bundle.target.ids, bundle.target.real[:, 1:]
    memory = model.memorise(bundle.given)
    memory = memory if bundle.owner is None else memory.rows(bundle.owner)
    # The target is not masked: what stands behind a token is never read by it, padding included.
    x = model.target.encode(Text(ids[:, :-1]), memory=memory).x
    assert model.target.head is not None
    return model.target.head.values(x[real]), ids[:, 1:][real]
