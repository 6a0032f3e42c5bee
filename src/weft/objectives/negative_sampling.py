"""NegativeSampling: words are distinguished from drawn words by their neighbours. Knows tables of rows, not texts."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.batches.words import BLOCK, WordLines, WordNeighbours
from weft.core.threads import each_on_one_thread
from weft.errors import ConfigError
from weft.models.word_vectors import WordVectors
from weft.objectives.objective import Loss, Objective
from weft.sending import on_host

TINIEST = 1e-30  # probabilities below it count as this one, so that no loss is infinite
PART = 32  # lines computed together on one thread of a processor
Contexts = Literal["skip-gram", "cbow"]


class NegativeSampling(Objective):
    """sum -log s(u.v) over neighbours, and -log s(-u.v) for `negatives` drawn words each; s is the logistic function.

    skip-gram: u is a word and v each of its neighbours (Mikolov et al., 2013). cbow: u is the mean of the neighbours'
    vectors and v the word itself. The words of a line share the drawn words, so that all scores are products of
    matrices (Ji et al., 2016); each is weighted to count like `negatives` words drawn for every pair.
    """

    class Config(Objective.Config):
        """`contexts` says what is predicted from what; `negatives` is the number of drawn words for each pair."""

        contexts: Contexts = "skip-gram"
        negatives: float = 5.0

        def check(self) -> None:
            if not self.negatives > 0:
                raise ConfigError(f"must be above 0, found {self.negatives}", where="negatives")

    unit = "pairs"

    def __init__(self, config: Config):
        self.config = config

    def __call__(self, model: WordVectors, batch: WordLines) -> Loss:
        words, neighbours = model.word(batch.given.rows), model.neighbour(batch.wanted.rows.rows)
        total, count = _Surprise.apply(words, neighbours, batch, self.config)
        return Loss(total, int(count) if total.device.type == "cpu" else self._pairs(on_host(batch.wanted)))

    def _pairs(self, wanted: WordNeighbours) -> int:
        """The number of things predicted, counted on the host: it does not wait for an accelerator."""
        near = wanted.near(BLOCK)
        return int((near if self.config.contexts == "skip-gram" else near.any(2)).sum())


class _Surprise(torch.autograd.Function):
    """The loss of lines and the number of pairs, with the gradient of the rows computed on the way.

    Lines are computed in parts of a fixed size, side by side, so that the order of sums does not depend on how many
    threads there are. Accelerators compute all lines at once.
    """

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, neighbours: Tensor, batch: WordLines, config: NegativeSampling.Config
    ) -> tuple[Tensor, Tensor]:
        u, v = words.detach(), neighbours.detach()
        size = PART if u.device.type == "cpu" else max(1, len(batch))
        parts = [batch[start : start + size] for start in range(0, len(batch), size)]
        found: dict[int, _Slopes] = {}

        def compute(i: int) -> None:
            with torch.no_grad():  # each thread has a switch of its own
                found[i] = _slopes(u, v, parts[i], config)

        each_on_one_thread(compute, range(len(parts)))
        done = [found[i] for i in range(len(parts))]
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(*_row_sums(u, v, parts, done))
        total, count = (torch.stack([getattr(one, name) for one in done]).sum() for name in ("total", "count"))
        ctx.mark_non_differentiable(count)
        return total, count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        words, neighbours = ctx.saved_tensors
        return words * gradients[0], neighbours * gradients[0], None, None


@dataclass(frozen=True)
class _Slopes:
    """The loss of a part, its number of pairs, and the gradients at its words, neighbours and drawn words."""

    total: Tensor
    count: Tensor
    words: Tensor
    neighbours: Tensor
    drawn: Tensor


def _slopes(
    u: Float[Tensor, "U D"], v: Float[Tensor, "V D"], batch: WordLines, config: NegativeSampling.Config
) -> _Slopes:
    """The loss of some lines and its gradients."""
    wanted, (lines, width) = batch.wanted, batch.given.places.shape
    places = wanted.rows.places
    near = wanted.near(BLOCK).to(u.dtype)
    many = near.sum(2, keepdim=True)
    blocks = _at(u, batch.given.places.reshape(-1, BLOCK))
    words, drawn = _at(v, places[:, :width].reshape(-1, BLOCK)), _at(v, places[:, width:])
    if config.contexts == "skip-gram":
        x, times = blocks, many
        positive, slope = _surprise(torch.bmm(x, words.mT), near, 1)
        to_x, to_words = torch.bmm(slope, words), torch.bmm(slope.mT, x)
    else:
        mean = near / many.clamp(min=1)
        x, times = torch.bmm(mean, blocks), (many > 0).to(near.dtype)
        positive, slope = _surprise((x * words).sum(2, keepdim=True), times, 1)
        to_x, to_words = slope * words, slope * x
    share = times.reshape(lines, width, 1) * (config.negatives / drawn.shape[1])
    x = x.reshape(lines, width, -1)
    negative, slope = _surprise(torch.bmm(x, drawn.mT), share, -1)
    to_x = to_x.reshape(lines, width, -1).baddbmm_(slope, drawn).reshape(blocks.shape)
    to_blocks = to_x if config.contexts == "skip-gram" else torch.bmm(mean.mT, to_x)
    return _Slopes(positive + negative, times.sum(), to_blocks, to_words, torch.bmm(slope.mT, x))


def _row_sums(u: Tensor, v: Tensor, parts: list[WordLines], slopes: list[_Slopes]) -> tuple[Tensor, Tensor]:
    """The gradients of the rows of both tables: those at all their places added up, part by part."""
    words, neighbours = torch.zeros_like(u), torch.zeros_like(v)
    for part, one in zip(parts, slopes, strict=True):
        own, other = part.given.places, part.wanted.rows.places
        width = own.shape[1]
        words.index_add_(0, own.flatten(), one.words.flatten(0, 1))
        neighbours.index_add_(0, other[:, :width].flatten(), one.neighbours.flatten(0, 1))
        neighbours.index_add_(0, other[:, width:].flatten(), one.drawn.flatten(0, 1))
    return words, neighbours


def _at(rows: Float[Tensor, "U D"], places: Int[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
    """The rows that stand at these places."""
    return rows.index_select(0, places.flatten()).reshape(*places.shape, -1)


def _surprise(
    scores: Float[Tensor, "R N M"], weights: Float[Tensor, "R N #M"], sign: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "R N M"]]:
    """The weighted sum of -log s(sign x score), and its derivative by each score; overwrites the scores."""
    chance = scores.mul_(sign).sigmoid_()
    total = (chance.clamp(min=TINIEST).log_() * weights).sum().neg_()
    return total, chance.sub_(1).mul_(weights * sign)
