"""Next token: each token of a text is predicted from those before it."""

from torch.nn import functional as F

from weft.data.windows import Windows
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective


class NextToken(Objective):
    """-sum log p(x_t | x_<t). Logits are computed only where they are scored."""

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "tokens"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Windows) -> Loss:
        x = model.encode(Text(batch.ids[:, :-1])).x
        targets = batch.ids[:, 1:]
        if batch.scored is None:
            x, targets = x.flatten(0, 1), targets.flatten()
        else:
            x, targets = x[batch.scored], targets[batch.scored]
        assert model.head is not None
        logits = model.head.values(x)
        return Loss(F.cross_entropy(logits, targets.long(), reduction="sum"), targets.numel())
