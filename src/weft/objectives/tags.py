"""Tags: one tag for each word, read off its first token."""

from torch import Tensor
from torch.nn import functional as F

from weft.data.bundles import Microbatches
from weft.data.tagged.batches import TaggedBundle
from weft.models.stream import Stream
from weft.objectives.objective import Loss, Objective, added, misses


class Tags(Objective):
    """-sum log p(tag | word in its sentence). Values are computed at the first token of each word only."""

    class Config(Objective.Config):
        """Nothing to choose."""

    unit = "words"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: Stream, batch: Microbatches[TaggedBundle]) -> Loss:
        return added([self.one(model, bundle) for bundle in batch.each])

    def one(self, model: Stream, bundle: TaggedBundle) -> Loss:
        """The loss of one bundle."""
        values, tags = word_values(model, bundle), bundle.tags[bundle.real]
        return Loss(
            F.cross_entropy(values, tags, reduction="sum"),
            tags.numel(),
            None if model.training else misses(values, tags),
        )


def word_values(model: Stream, bundle: TaggedBundle) -> Tensor:
    """The values of all words, sentence after sentence."""
    assert model.head is not None
    x = model.encode(bundle.text.text()).x
    firsts = x.gather(1, bundle.places[..., None].expand(-1, -1, x.shape[-1]))
    return model.head.values(firsts[bundle.real])
