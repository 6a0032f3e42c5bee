"""Linear maps by what they do for the residual stream, and how their weights start."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part

SMALL_PRODUCT = 16**3  # rows times inputs times outputs, up to which torch has another kernel for bf16


class Out(nn.Linear):
    """A linear map that writes into the residual stream; many initialisations treat these maps specially."""


def linear(
    x: Float[Tensor, "*lead D"], weight: Float[Tensor, "E D"], bias: Float[Tensor, "E"] | None
) -> Float[Tensor, "*lead E"]:
    """W x + b; in use, few rows in bf16 get the sums that they would get among many.

    For one row, and for small products, torch has kernels that add in another order, and bf16 makes a step of 0.4 % of
    the last digit. So few rows get rows of zeros beside them. Rows that do not lie one behind the other are copied
    first: otherwise the offsets would be added after rounding, and a single row always lies so.
    """
    if x.dtype is not torch.bfloat16 or torch.is_grad_enabled():
        return F.linear(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])
    missing = max(2, SMALL_PRODUCT // weight.numel() + 1) - len(rows)
    many = rows if missing <= 0 else F.pad(rows, (0, 0, 0, missing))
    return F.linear(many, weight, bias)[: len(rows)].reshape(*x.shape[:-1], -1)


class RowwiseLinear(nn.Linear):
    """A linear map in bf16 whose values for a row do not depend on the number of rows."""

    def __init__(self, layer: nn.Linear):
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        return linear(x, self.weight, self.bias)


class Init(Part):
    """How the matrices of a trunk start."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of initialisation."""

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        """Set all matrices and biases of the trunk's linear maps."""
        raise NotImplementedError


class Gpt2Init(Init):
    """N(0, std^2), and std / sqrt(2 * depth) for maps that write to the stream (Radford et al., 2019)."""

    class Config(Init.Config):
        """GPT-2's initialisation."""

        std: float = 0.02

    def __init__(self, config: Config):
        self.std = config.std

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        for layer in trunk.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=self.std / (2 * depth) ** 0.5 if isinstance(layer, Out) else self.std)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class SilentInit(Init):
    """Maps that write to the stream start at zero, so every block starts as the identity; others at gain/sqrt(D)."""

    class Config(Init.Config):
        """Learns fastest in weft's measurements of time to loss."""

        gain: float = 0.6

    def __init__(self, config: Config):
        self.gain = config.gain

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        for layer in trunk.modules():
            if isinstance(layer, nn.Linear):
                std = 0.0 if isinstance(layer, Out) else self.gain * layer.in_features**-0.5
                nn.init.normal_(layer.weight, std=std)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class XavierInit(Init):
    """Uniform with variance 2 / (inputs + outputs) (Glorot and Bengio, 2010), as the original transformer starts."""

    class Config(Init.Config):
        """Nothing to choose."""

    def __init__(self, config: Config):
        self.config = config

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        for layer in trunk.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class SineInit(Init):
    """Uniform within sqrt(6 / D) / omega: sines of omega (W x + b) keep their spread (Sitzmann et al., 2020)."""

    class Config(Init.Config):
        """`omega` is the frequency of the layers."""

        omega: float = 30.0

    def __init__(self, config: Config):
        self.omega = config.omega

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        for layer in trunk.modules():
            if isinstance(layer, nn.Linear):
                bound = (6 / layer.in_features) ** 0.5 / self.omega
                nn.init.uniform_(layer.weight, -bound, bound)
                if layer.bias is not None:
                    nn.init.uniform_(layer.bias, -(layer.in_features**-0.5), layer.in_features**-0.5)


class ReluInit(Init):
    """N(0, 2 / D), which keeps the spread of numbers through layers of ReLU (He et al., 2015)."""

    class Config(Init.Config):
        """Nothing to choose."""

    def __init__(self, config: Config):
        self.config = config

    def apply(self, trunk: nn.Module, *, depth: int) -> None:
        for layer in trunk.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
