"""Shifts: a learned mix of each token with its neighbours in a line, before a mixer or a transform reads it."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core import native_training
from weft.core.cache import Slots
from weft.core.norms import LayerNorm, Norm
from weft.core.scope import Pass
from weft.tokens import Order


class Neighbours(Part, nn.Module):
    """A learned mix of each token with its neighbours, for streams in a line."""

    abstract = True

    class Config(BaseConfig):
        """Which neighbours."""

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        at: Pass,
        slots: Slots | None = None,
        name: str = "previous",
        norm: Norm | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """The mix of x, or of its norm where one is given; `slots` keep the last token under a `name`."""
        raise NotImplementedError


class TokenShift(Neighbours):
    """x + m * (x_previous - x): a learned mix with the token before, for streams in a line.

    Costs almost nothing and lets attention and MLP see pairs of neighbours. Where there is no token before, zero
    stands in its place.
    """

    class Config(Neighbours.Config):
        """The weights start at zero: each token is kept as it is."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(dim))

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        at: Pass,
        slots: Slots | None = None,
        name: str = "previous",
        norm: Norm | None = None,
    ) -> Float[Tensor, "B Q D"]:
        mix = self.mix.to(x.dtype)
        trains = _whole_lines(at) and slots is None and torch.is_grad_enabled()
        if trains and isinstance(norm, LayerNorm) and norm.plain and native_training.ready(x):
            return native_training.shift(x, mix, norm.eps)
        x = x if norm is None else norm(x)
        if trains:
            return native_training.shift(x, mix) if native_training.ready(x) else _LineShift.apply(x, mix)
        return torch.lerp(x, _previous(x, at, slots, name), mix.expand_as(x))


class NeighbourShift(Neighbours):
    """x + m * (x_previous - x) + n * (x_next - x): a learned mix with both neighbours, for streams read both ways.

    Where there is no such neighbour, or it may not be read, zero stands in its place.
    """

    class Config(Neighbours.Config):
        """The weights start at zero: each token is kept as it is."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.mix, self.mix_next = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        at: Pass,
        slots: Slots | None = None,
        name: str = "previous",
        norm: Norm | None = None,
    ) -> Float[Tensor, "B Q D"]:
        x = x if norm is None else norm(x)
        mixed = torch.lerp(x, _previous(x, at, slots, name), self.mix.to(x.dtype).expand_as(x))
        return mixed + self.mix_next.to(x.dtype) * (_next(x, at) - x)


class _LineShift(torch.autograd.Function):
    """x + m * (x_previous - x) along whole lines, with its gradient in half the passes that autograd would take."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mix: Tensor) -> Tensor:
        ctx.save_for_backward(x, mix)
        return torch.lerp(x, _behind(x, None), mix.expand_as(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, mix = ctx.saved_tensors
        to_x = grad * (1 - mix)
        to_x[:, :-1].addcmul_(grad[:, 1:], mix)  # as the token before the next one
        changes = torch.sub(x[:, :-1], x[:, 1:]).mul_(grad[:, 1:])
        return to_x, changes.sum((0, 1)) - (grad[:, 0] * x[:, 0]).sum(0)


def _whole_lines(at: Pass) -> bool:
    """Whether every token but the first has a token before it that it may read."""
    return at.own.queries.unpadded and at.own.queries.order is Order.LINE


def _behind(x: Float[Tensor, "B Q D"], last: Float[Tensor, "B 1 D"] | None) -> Float[Tensor, "B Q D"]:
    """All tokens one place later; `last` comes first, or zero."""
    return torch.cat([torch.zeros_like(x[:, :1]) if last is None else last, x[:, :-1]], 1)


def _previous(x: Tensor, at: Pass, slots: Slots | None, name: str) -> Tensor:
    """The token before each, zero where there is none that is real and of no higher rank."""
    last = slots.get(name) if slots is not None else None
    if slots is not None:
        slots.set(name, x[:, -1:])
    previous = _behind(x, last)
    if _whole_lines(at):
        return previous

    def make() -> Tensor:
        keys, queries = at.own.keys, at.own.queries
        new = queries.shape[1]
        valid = torch.cat([torch.zeros_like(keys.valid[:, :1]), keys.valid[:, :-1]], 1)[:, -new:]
        rank = torch.cat([keys.rank[:, :1], keys.rank[:, :-1]], 1)[:, -new:]
        return valid & (rank <= queries.rank)

    return previous.masked_fill(~at.own.memo("readable predecessor", make)[..., None], 0.0)


def _next(x: Tensor, at: Pass) -> Tensor:
    """The token behind each, zero where there is none that is real and of no higher rank."""

    def make() -> Tensor:
        tokens = at.own.queries
        valid = torch.cat([tokens.valid[:, 1:], torch.zeros_like(tokens.valid[:, :1])], 1)
        rank = torch.cat([tokens.rank[:, 1:], tokens.rank[:, :1]], 1)
        return valid & (rank <= tokens.rank)

    following = torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)
    return following.masked_fill(~at.own.memo("readable successor", make)[..., None], 0.0)
