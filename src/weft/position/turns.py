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
from weft.position.stretches import Stretch
from weft.tokens import axis_of


def turn(
    x: Float[Tensor, "B N H d"], cos: Float[Tensor, "B N 1 half"], sin: Float[Tensor, "B N 1 half"]
) -> Float[Tensor, "B N H d"]:
    """Each pair (x_i, x_{i + half}) turned by its angle; what stands behind the pairs is left as it is."""
    if torch.compiler.is_exporting():  # in a graph, what is written in place becomes copies that are scattered
        a, b, rest = _halves(x, cos)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, *([rest] if rest.shape[-1] else [])], -1)
    return _Turn.apply(x, cos, sin)


def _halves(x: Tensor, cos: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first and second numbers of the pairs, and what is not turned."""
    half = cos.shape[-1]
    return x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]


def _turned(x: Tensor, cos: Tensor, sin: Tensor, sign: int) -> Tensor:
    (a, b, rest), out = _halves(x, cos), torch.empty_like(x)
    first, second, unturned = _halves(out, cos)
    torch.mul(a, cos, out=first).addcmul_(b, sin, value=-sign)
    torch.mul(b, cos, out=second).addcmul_(a, sin, value=sign)
    unturned.copy_(rest)
    return out


class _Turn(torch.autograd.Function):
    """A turn's gradient is the turn back: four passes forward and four backward, a third of what autograd takes."""

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

    Several axes divide the pairs evenly: pictures turn by row and by column.
    """

    class Config(Turn.Config):
        """`base` sets the slowest turn; d is the `share` of a head's width, at its front, that is turned.

        A `stretch` slows turns down for texts longer than those that a model first learned from. `speed` multiplies
        all angles: 2 pi where a coordinate counts whole turns.
        """

        axes: tuple[str, ...] = ("position",)
        base: float = 10000.0
        share: float = 1.0
        stretch: Stretch | None = None
        speed: float = 1.0

        def check(self) -> None:
            at_least(self, 1, "base")
            some_axes(self.axes, where="Rotary.axes")
            if not 0 < self.share <= 1:
                raise ConfigError(f"must be above 0 and at most 1, found {self.share}", where="Rotary.share")

        def width(self, head_dim: int) -> int:
            """How many numbers of a head are turned."""
            return int(head_dim * self.share)

    def __init__(self, config: Config, *, head_dim: int):
        super().__init__()
        width = config.width(head_dim)
        pairs, rest = divmod(width, 2 * len(config.axes))
        if pairs == 0 or rest:
            part = f"a head of width {head_dim}" if config.share == 1 else f"a width of {width} in heads of {head_dim}"
            raise ConfigError(f"{part} does not divide into pairs for {len(config.axes)} axes")
        self.axes = config.axes
        self.frequency: Tensor
        frequency = config.base ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
        self.gain = 1.0
        if config.stretch is not None:
            frequency, self.gain = config.stretch.slowed(frequency, config.base), config.stretch.gain
        self.register_buffer("frequency", (frequency * config.speed).float(), persistent=False)

    def forward(
        self, coords: Mapping[str, Tensor], dtype: torch.dtype
    ) -> tuple[Float[Tensor, "B N 1 half"], Float[Tensor, "B N 1 half"]]:
        frequency = self.frequency.float()
        angles = torch.cat([axis_of(coords, axis)[..., None].float() * frequency for axis in self.axes], -1)[:, :, None]
        cos, sin = angles.cos(), angles.sin()
        if self.gain != 1:
            cos, sin = cos * self.gain, sin * self.gain
        return cos.to(dtype), sin.to(dtype)
