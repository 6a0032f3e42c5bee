"""Adapters: small matrices that learn beside large ones that stay as they are. Knows no model.

A trunk with adapters keeps all weights under their names, and has two small matrices beside each map; `fold` adds them.
"""

from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.errors import ConfigError

M = TypeVar("M", bound=nn.Module)

# names of the linear maps in a trunk that can be adapted
MAPS = ("qkv", "q", "kv", "out", "up", "down")


class Adapted(nn.Module):
    """W x + b + scale * B A x: W and b stay, A and B learn. B starts at zero, so that nothing changes at first."""

    def __init__(self, plain: nn.Linear, *, rank: int, scale: float):
        super().__init__()
        self.kind, self.scale = type(plain), scale
        self.weight = plain.weight
        self.bias: nn.Parameter | None
        self.register_parameter("bias", plain.bias)
        self.a = nn.Parameter(plain.weight.new_empty(rank, plain.in_features))
        self.b = nn.Parameter(plain.weight.new_zeros(plain.out_features, rank))
        nn.init.normal_(self.a, std=plain.in_features**-0.5)

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead E"]:
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.a), self.b) * self.scale

    @torch.no_grad()
    def folded(self) -> nn.Linear:
        """The plain map with the same values: W + scale * B A."""
        rows, columns = self.weight.shape
        plain = self.kind(columns, rows, bias=False, device="meta")
        plain.weight = nn.Parameter(torch.addmm(self.weight, self.b, self.a, alpha=self.scale))
        plain.register_parameter("bias", self.bias)
        return plain.train(self.training)


class LowRank(Part):
    """W + (alpha / rank) B A in place of W, with A and B of a low rank: LoRA (Hu et al., 2022)."""

    class Config(BaseConfig):
        """`maps` are the linear maps of the trunk that are adapted, by their names."""

        rank: int = 8
        alpha: float = 16.0
        maps: tuple[str, ...] = MAPS

        def check(self) -> None:
            at_least(self, 1, "rank")
            if self.alpha <= 0:
                raise ConfigError(f"must be above 0, found {self.alpha}", where="LowRank.alpha")

    def __init__(self, config: Config):
        self.config = config

    def apply(self, trunk: nn.Module) -> None:
        """Put adapters beside the maps of a trunk. All other weights of the trunk are frozen."""
        config, found = self.config, set()
        trunk.requires_grad_(False)
        for module in list(trunk.modules()):
            for name, child in list(module.named_children()):
                if name in config.maps and isinstance(child, nn.Linear):
                    setattr(module, name, Adapted(child, rank=config.rank, scale=config.alpha / config.rank))
                    found.add(name)
        unknown = sorted(set(config.maps) - found - set(MAPS))
        if unknown or not found:
            problem = f"has no linear maps {', '.join(unknown or config.maps)}"
            raise ConfigError(f"this trunk {problem}", where="LowRank.maps", fix=f"leave it out for {', '.join(MAPS)}")


def fold(model: M) -> M:
    """The same model, in place, with every adapter added to the matrix beside it."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Adapted):
                setattr(module, name, child.folded())
    return model


def adapters(model: nn.Module) -> dict[str, Tensor]:
    """The small matrices of a model by name: everything that was learned, as all other weights are frozen."""
    found = {name: module for name, module in model.named_modules() if isinstance(module, Adapted)}
    return {f"{name}.{part}": getattr(m, part).detach() for name, m in found.items() for part in ("a", "b")}
