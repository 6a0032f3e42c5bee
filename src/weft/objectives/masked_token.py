"""Masked token: hidden tokens of a text are guessed from all the others."""

from torch.nn import functional as F

from weft.data.masking import Masked
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective


class MaskedToken(Objective):
    """-sum log p(x_t | the text with x_t hidden), over the hidden tokens (Devlin et al., 2019).

    Logits are computed only there.
    """

    class Config(Objective.Config):
        """Nothing to choose: which tokens are hidden is the data's affair."""

    unit = "hidden tokens"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Masked) -> Loss:
        assert model.head is not None
        logits = model.head.values(model.encode(batch.text()).x[batch.hidden])
        targets = batch.truth[batch.hidden]
        return Loss(F.cross_entropy(logits, targets, reduction="sum"), targets.numel())
