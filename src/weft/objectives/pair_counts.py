"""PairCount: how often two words stand near each other, from their vectors. Knows tables of rows, not texts."""

from weft.batches.words import WordPairs
from weft.models.word_vectors import WordVectors
from weft.objectives.objective import Loss, Objective


class PairCount(Objective):
    """sum f(x) (u_i.v_j + a_i + b_j - log x)^2 over pairs of words that are near x times (Pennington et al., 2014)."""

    class Config(Objective.Config):
        """Nothing to choose: the weights f are those of the samples."""

    unit = "pairs"
    comparable = False  # pairs that a small held-out text happens to have are not a sample of those learned

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: WordVectors, batch: WordPairs) -> Loss:
        first, wanted = batch.given, batch.wanted
        second = wanted.rows
        u = model.word(first.rows).index_select(0, first.places)
        v = model.neighbour(second.rows).index_select(0, second.places)
        bias = model.word_bias(first.rows).index_select(0, first.places)
        other = model.neighbour_bias(second.rows).index_select(0, second.places)
        missed = (u * v).sum(-1) + (bias + other)[:, 0] - wanted.logs
        return Loss((wanted.weights * missed**2).sum(), len(batch))
