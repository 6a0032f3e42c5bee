"""Transforms: what happens within a token. Knows nothing of other tokens."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least, part_name
from weft.core import native_training
from weft.core.linear import Out
from weft.errors import ConfigError

Activation = Literal["relu", "gelu", "gelu_tanh", "quick", "relu_squared", "silu", "sine", "tanh"]


class _ReluSquared(torch.autograd.Function):
    """With its gradient 2 max(x, 0) in one pass; autograd would take four."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = F.relu(x)
        ctx.save_for_backward(positive)
        return positive * positive

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        return torch.addcmul(grad.new_zeros(()), grad, positive, value=2)


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0)^2 (So et al., 2021)."""
    return native_training.relu_squared(x) if native_training.ready(x) else _ReluSquared.apply(x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),  # an approximation of gelu (Hendrycks and Gimpel, 2016)
    "relu_squared": relu_squared,
    "silu": F.silu,
    "sine": torch.sin,
    "tanh": torch.tanh,
}


def _silu(x: Tensor) -> Tensor:
    return x / torch.exp(-x).add_(1)


def _gelu_tanh(x: Tensor) -> Tensor:
    inner = (x * x * x).mul_(0.044715).add_(x).mul_((2 / torch.pi) ** 0.5)
    return inner.tanh_().add_(1).mul_(x).mul_(0.5)


# torch's own versions of these compute the last numbers of a tensor by another formula than the others, so that the
# last digit depends on what stands beside; its exp and tanh do not
SAME_AT_EVERY_PLACE: dict[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]] = {
    ACTIVATIONS["silu"]: _silu,
    ACTIVATIONS["gelu_tanh"]: _gelu_tanh,
    ACTIVATIONS["quick"]: lambda x: _silu(1.702 * x) / 1.702,
}


def same_at_every_place(act: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function in fp32, computed by one formula wherever a number stands in its tensor."""
    exact = SAME_AT_EVERY_PLACE.get(act)
    if exact is None:
        return act

    def same(x: Tensor) -> Tensor:
        return exact(x.float()).to(x.dtype)

    same.computes = act  # type: ignore[attr-defined]
    return same


class Transform(Part, nn.Module):
    """A network applied to each token by itself."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of transform."""

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        raise NotImplementedError


def check_hidden(config: Transform.Config, hidden: int, arithmetic: str) -> None:
    """Refuse a hidden width below 1, with the arithmetic that gave it."""
    if hidden < 1:
        problem = f"a hidden width of {arithmetic} = {hidden}; it must be at least 1"
        raise ConfigError(problem, where=f"{part_name(type(config))}.ratio", fix="use a larger ratio, as 4")


class Layer(Transform):
    """act(omega (W x + b)): one layer of a perceptron. With sines, a layer of SIREN (Sitzmann et al., 2020)."""

    class Config(Transform.Config):
        """`omega` is the frequency of sines: SIREN's weights are `omega` times smaller, and learn faster by it."""

        activation: Activation = "relu"
        omega: float = 1.0

        def check(self) -> None:
            at_least(self, 0, "omega")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.omega, self.act = config.omega, ACTIVATIONS[config.activation]

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        x = self.linear(x)
        return self.act(x if self.omega == 1 else self.omega * x)


class Pointwise(Transform):
    """act(x): a nonlinearity without weights, as between the layers of graph convolutions."""

    class Config(Transform.Config):
        """The function."""

        activation: Activation = "relu"

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.act = ACTIVATIONS[config.activation]

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        return self.act(x)


class Mlp(Transform):
    """W_2 act(W_1 x + b_1) + b_2."""

    class Config(Transform.Config):
        """`hidden` defaults to `ratio` times the width."""

        activation: Activation = "gelu"
        ratio: float = 4.0
        hidden: int | None = None
        offsets: bool = True

        def check(self) -> None:
            at_least(self, 1, "hidden")
            at_least(self, 0, "ratio")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        hidden = config.hidden or round(config.ratio * dim)
        check_hidden(config, hidden, f"ratio {config.ratio:g} x {dim}")
        self.up = nn.Linear(dim, hidden, bias=config.offsets)
        self.down = Out(hidden, dim, bias=config.offsets)
        self.act = ACTIVATIONS[config.activation]

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        return self.down(self.act(self.up(x)))


class Gated(Transform):
    """W_2 (act(W_g x) * W_1 x) (Shazeer, 2020); Llama's MLP with act = silu."""

    class Config(Transform.Config):
        """`hidden` defaults to two thirds of `ratio` times the width, rounded up to a multiple of 8."""

        activation: Activation = "silu"
        ratio: float = 4.0
        hidden: int | None = None
        offsets: bool = False

        def check(self) -> None:
            at_least(self, 1, "hidden")
            at_least(self, 0, "ratio")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        hidden = config.hidden or 8 * -(-round(config.ratio * dim * 2 / 3) // 8)
        check_hidden(config, hidden, f"2/3 x ratio {config.ratio:g} x {dim}")
        self.up = nn.Linear(dim, 2 * hidden, bias=config.offsets)  # gate and value in one product
        self.down = Out(hidden, dim, bias=config.offsets)
        self.act = ACTIVATIONS[config.activation]

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        gate, value = self.up(x).chunk(2, -1)
        return self.down(self.act(gate) * value)


class BoundedGated(Transform):
    """W_2 ((1 + v) * act(g)), where g = min(W_g x, limit) and v = W_1 x is kept within +-limit (gpt-oss, 2025)."""

    class Config(Transform.Config):
        """`hidden` defaults to two thirds of `ratio` times the width, rounded up to a multiple of 8."""

        activation: Activation = "quick"
        ratio: float = 4.0
        hidden: int | None = None
        offsets: bool = True
        limit: float = 7.0

        def check(self) -> None:
            at_least(self, 1, "hidden")
            at_least(self, 0, "ratio")
            if self.limit <= 0:
                raise ConfigError(f"must be above 0, found {self.limit}", where="BoundedGated.limit")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        hidden = config.hidden or 8 * -(-round(config.ratio * dim * 2 / 3) // 8)
        check_hidden(config, hidden, f"2/3 x ratio {config.ratio:g} x {dim}")
        self.up = nn.Linear(dim, 2 * hidden, bias=config.offsets)  # gate and value in one product
        self.down = Out(hidden, dim, bias=config.offsets)
        self.act, self.limit = ACTIVATIONS[config.activation], config.limit

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        gate, value = self.up(x).chunk(2, -1)
        value = value.clamp(-self.limit, self.limit)
        return self.down(self.act(gate.clamp(max=self.limit)) * (1 + value))
