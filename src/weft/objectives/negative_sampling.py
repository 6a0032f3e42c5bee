"""NegativeSampling: words are told from others by the words around them. Knows tables of rows; refuses to know texts."""

from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.data.words.batch import WordLines
from weft.data.words.lines import BLOCK
from weft.errors import ConfigError
from weft.models.word_vectors import WordVectors
from weft.objectives.objective import Loss, Objective

TINIEST = 1e-30  # probabilities below it count as this one, so that no loss is infinite
Contexts = Literal["skip-gram", "cbow"]


class NegativeSampling(Objective):
    """sum -log s(u.v) over neighbours, and as much for `negatives` drawn words each: -log s(-u.v), s the logistic function.

    skip-gram: u is a word and v each of its neighbours (Mikolov et al., 2013). cbow: u is the mean of the neighbours' vectors
    and v the word itself. The words of a line share the drawn words, so that all scores are products of matrices
    (Ji et al., 2016); each is weighted to count like `negatives` words drawn for every pair.
    """

    class Config(Objective.Config):
        """`contexts` says what is predicted from what; `negatives` is the number of drawn words that count for each pair."""

        contexts: Contexts = "skip-gram"
        negatives: float = 5.0

        def check(self) -> None:
            if not self.negatives > 0:
                raise ConfigError(f"must be above 0, found {self.negatives}", where="negatives")

    unit = "pairs"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: WordVectors, batch: WordLines) -> Loss:
        wanted, (lines, width) = batch.wanted, batch.given.places.shape
        near = wanted.near(BLOCK).to(model.word.weight.dtype)
        many = near.sum(2, keepdim=True)
        x = _at(model.word(batch.given.rows), batch.given.places)
        rows, places = model.neighbour(wanted.rows.rows), wanted.rows.places
        words, drawn = _at(rows, places[:, :width].reshape(-1, BLOCK)), _at(rows, places[:, width:])
        blocks = x.reshape(-1, BLOCK, x.shape[-1])
        if self.config.contexts == "skip-gram":
            times, positive = many, _surprise(blocks, words, near, 1)
        else:
            x = (near / many.clamp(min=1)) @ blocks
            times = (many > 0).to(near.dtype)
            positive = _surprise(
                x.reshape(-1, 1, x.shape[-1]), words.reshape(-1, 1, x.shape[-1]), times.reshape(-1, 1, 1), 1
            )
        share = times.reshape(lines, width, 1) * (self.config.negatives / drawn.shape[1])
        negative = _surprise(x.reshape(lines, width, -1), drawn, share, -1)
        return Loss(positive + negative, int(times.sum()))


def _at(rows: Float[Tensor, "U D"], places: Int[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
    """The rows that stand at these places."""
    return rows.index_select(0, places.flatten()).reshape(*places.shape, -1)


class _Surprise(torch.autograd.Function):
    """sum w -log s(sign x.y) over pairs of rows of x and y, with its gradient computed on the way.

    One pass over the scores instead of one for each of five operations: most of a step's time goes there.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, weights: Tensor, sign: int) -> Tensor:
        chance = torch.bmm(x, y.mT).mul_(sign).sigmoid_()
        total = (chance.clamp(min=TINIEST).log_() * weights).sum().neg_()
        ctx.save_for_backward(x, y, chance.sub_(1).mul_(weights).mul_(sign))
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, y, slope = ctx.saved_tensors
        slope = slope * gradients[0]
        return torch.bmm(slope, y), torch.bmm(slope.mT, x), None, None


def _surprise(
    x: Float[Tensor, "R N D"], y: Float[Tensor, "R M D"], weights: Float[Tensor, "R N #M"], sign: int
) -> Float[Tensor, ""]:
    """The weighted sum of -log s(sign x.y)."""
    return _Surprise.apply(x, y, weights, sign)
