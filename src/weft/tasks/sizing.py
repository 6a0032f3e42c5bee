"""Sized to the budget: which model and batch reach the lowest held-out loss in a given time. Pure arithmetic.

The rules are fitted to measurements that docs/choices.md describes: at the end of a budget of C floating-point
operations, a model of N weights in its trunk has seen T = C / 6N tokens, and the loss is lowest where T / N is near
a ratio that depends on how much one token says.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from weft.models.zoo import Size

Rung = TypeVar("Rung")
EFFICIENCY = 0.5  # the share of the bare matrix-multiply rate that a training step reaches
FINE, COARSE = 4.0, 8.0  # tokens seen per weight: for characters and bytes, for word pieces
FINE_VOCAB = 1024
LADDER = (
    Size(dim=64, depth=2, heads=2, context=64),
    Size(dim=96, depth=3, heads=3, context=128),
    Size(dim=128, depth=4, heads=4, context=128),
    Size(dim=160, depth=4, heads=5, context=128),
    Size(dim=192, depth=4, heads=6, context=128),
    Size(dim=256, depth=5, heads=8, context=256),
    Size(dim=320, depth=6, heads=10, context=256),
    Size(dim=384, depth=8, heads=12, context=256),
    Size(dim=512, depth=10, heads=16, context=512),
    Size(dim=768, depth=12, heads=12, context=1024),
)
MANY_STEPS = 8000  # beyond this many steps larger batches learn as much from each token


@dataclass(frozen=True)
class Sized:
    """A size with the batch and dropout that go with it, and the tokens it should see."""

    size: Size
    batch: int
    dropout: float
    tokens: float


def trunk_weights(size: Size) -> float:
    """Weights in the trunk's matrices: 12 D^2 a layer."""
    return 12 * size.depth * size.dim**2


def step_operations(size: Size, vocab: int) -> float:
    """Floating-point operations to train on one token."""
    return 6 * (trunk_weights(size) + size.dim * vocab) + 12 * size.depth * size.dim * size.context


def nearest_rung(
    ladder: Sequence[Size], seen: Callable[[Size], float], weights: Callable[[Size], float], ratio: float
) -> Size:
    """The size that sees so many tokens for each of its weights as comes nearest to a ratio."""
    return min(ladder, key=lambda size: abs(math.log(seen(size) / weights(size) / ratio)))


def largest_rung(ladder: Sequence[Rung], fits: Callable[[Rung], bool]) -> Rung:
    """The last size that fits; the first where none does."""
    return next((size for size in reversed(ladder) if fits(size)), ladder[0])


def for_budget(work: float, vocab: int, data_tokens: int) -> Sized:
    """The rung of the ladder whose tokens per weight come nearest to the best ratio, for so many operations of work."""
    ratio = FINE if vocab <= FINE_VOCAB else COARSE

    def seen(size: Size) -> float:
        return EFFICIENCY * work / step_operations(size, vocab)

    size = nearest_rung(LADDER, seen, trunk_weights, ratio)
    return with_batch(size, seen(size), data_tokens)


def with_batch(size: Size, tokens: float, data_tokens: int) -> Sized:
    """Small batches learn more from each token until there are very many steps; repeated data wants dropout."""
    batch = max(4, 2048 // size.context)
    while tokens / (batch * size.context) > MANY_STEPS and batch < 512:
        batch *= 2
    epochs = tokens / max(1, data_tokens)
    return Sized(size, batch, dropout=0.0 if epochs < 8 else 0.1 if epochs < 30 else 0.2, tokens=tokens)
