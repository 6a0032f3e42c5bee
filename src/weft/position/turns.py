"""Rotary turns: queries and keys are turned by an angle that grows with the coordinate. Knows no modality."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.errors import ConfigError
from weft.position.codes import some_axes
from weft.tokens import axis_of


def turn(
    x: Float[Tensor, "B N H d"], cos: Float[Tensor, "B N 1 half"], sin: Float[Tensor, "B N 1 half"]
) -> Float[Tensor, "B N H d"]:
    """Each pair (x_i, x_{i + d/2}) turned by its angle."""
    if torch.compiler.is_exporting():  # in a graph, what is written in place becomes copies that are scattered
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return _Turn.apply(x, cos, sin)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, sign: int) -> Tensor:
    (a, b), out = x.chunk(2, -1), torch.empty_like(x)
    first, second = out.chunk(2, -1)
    torch.mul(a, cos, out=first).addcmul_(b, sin, value=-sign)
    torch.mul(b, cos, out=second).addcmul_(a, sin, value=sign)
    return out


class _Turn(torch.autograd.Function):
    """A turn's gradient is the turn back: four passes forward and four backward, where autograd would take three times as many."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(x, cos, sin, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turned(grad, cos, sin, -1), None, None


class Turn(Part, nn.Module):
    """The cosine and sine of each token's angles, ready for `turn`."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of turn."""

    def forward(
        self, coords: Mapping[str, Tensor], dtype: torch.dtype
    ) -> tuple[Float[Tensor, "B N 1 half"], Float[Tensor, "B N 1 half"]]:
        raise NotImplementedError


class Rotary(Turn):
    """Angles coordinate * base^(-i / (d/2)), so that q . k depends on the difference of places (Su et al., 2021).

    Several axes share the pairs evenly: pictures turn by row and by column.
    """

    class Config(Turn.Config):
        """`base` sets the slowest turn."""

        axes: tuple[str, ...] = ("position",)
        base: float = 10000.0

        def check(self) -> None:
            at_least(self, 1, "base")
            some_axes(self.axes, where="Rotary.axes")

    def __init__(self, config: Config, *, head_dim: int):
        super().__init__()
        share, rest = divmod(head_dim, 2 * len(config.axes))
        if share == 0 or rest:
            raise ConfigError(f"a head of width {head_dim} does not divide into pairs for {len(config.axes)} axes")
        self.axes = config.axes
        self.frequency: Tensor
        frequency = config.base ** (-torch.arange(share, dtype=torch.float64) / share)
        self.register_buffer("frequency", frequency.float(), persistent=False)

    def forward(
        self, coords: Mapping[str, Tensor], dtype: torch.dtype
    ) -> tuple[Float[Tensor, "B N 1 half"], Float[Tensor, "B N 1 half"]]:
        frequency = self.frequency.float()
        angles = torch.cat([axis_of(coords, axis)[..., None].float() * frequency for axis in self.axes], -1)[:, :, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)
