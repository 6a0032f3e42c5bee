"""Normalisation of each token by its own numbers, the same in training and evaluation; and gains for branches."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part
from weft.core import beside, native_training


class Norm(Part, nn.Module):
    """A token's numbers brought to a common scale."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of norm; `learned` adds a gain (and, for layer norm, an offset)."""

        learned: bool = True
        eps: float = 1e-5

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
        raise NotImplementedError


class LayerNorm(Norm):
    """(x - mean) / sqrt(variance + eps), times gain, plus offset (Ba et al., 2016)."""

    class Config(Norm.Config):
        """One fused kernel on every device, also without gain: the fastest norm on CPUs. `offsets` may be left out."""

        offsets: bool = True

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.dim, self.eps = dim, config.eps
        self.gain = nn.Parameter(torch.ones(dim)) if config.learned else None
        self.offset = nn.Parameter(torch.zeros(dim)) if config.learned and config.offsets else None

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
        if self.plain and native_training.ready(x):
            return native_training.layer_norm(x, self.eps)
        return F.layer_norm(x, (self.dim,), self.gain, self.offset, self.eps)

    @property
    def plain(self) -> bool:
        """Whether it has neither gain nor offset."""
        return self.gain is None and self.offset is None


class LayerScale(Part, nn.Module):
    """gain * x: how much a branch adds to each number of the stream, learned (Touvron et al., 2021)."""

    class Config(BaseConfig):
        """`init` is what all gains start with: a small one lets deep trunks begin near the identity."""

        init: float = 1e-5

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.gain = nn.Parameter(torch.full((dim,), config.init))

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
        return x * self.gain


class RmsNorm(Norm):
    """x / sqrt(mean(x^2) + eps), times gain (Zhang & Sennrich, 2019)."""

    class Config(Norm.Config):
        """Llama's norm."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.dim, self.eps = dim, config.eps
        self.gain = nn.Parameter(torch.ones(dim)) if config.learned else None

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
        return F.rms_norm(x, (self.dim,), self.gain, self.eps)


class OnePlusRmsNorm(Norm):
    """x / sqrt(mean(x^2) + eps), times 1 + excess: the gain is stored by how far it is above one, as in Gemma.

    Weight decay then pulls the gain to one, and small changes of it keep their digits in half precision.
    """

    class Config(Norm.Config):
        """Gemma's norm."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.dim, self.eps = dim, config.eps
        self.excess = nn.Parameter(torch.zeros(dim)) if config.learned else None

    def forward(self, x: Float[Tensor, "*lead D"]) -> Float[Tensor, "*lead D"]:
        return F.rms_norm(x, (self.dim,), None if self.excess is None else 1 + self.excess, self.eps)


class BatchNorm(nn.BatchNorm2d):
    """Each channel brought to a common scale over a batch (Ioffe and Szegedy, 2015): in training over all processes."""

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        if not (self.training and beside.others()):
            return super().forward(x)
        exact, places = x.float(), (0, 2, 3)
        many = exact.new_tensor([x.numel() / x.shape[1]])
        total = beside.summed(torch.cat([exact.sum(places), many]))
        count = total[-1]
        apart = exact - (mean := total[:-1] / count)[:, None, None]
        spread = beside.summed(apart.square().sum(places)) / count
        with torch.no_grad():
            self._follow(mean, spread * count / (count - 1).clamp(min=1))
        scale = self.weight / (spread + self.eps).sqrt()
        return (apart * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)

    def _follow(self, mean: Float[Tensor, "C"], spread: Float[Tensor, "C"]) -> None:
        """Keep running statistics for use."""
        assert self.running_mean is not None and self.running_var is not None and self.momentum is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(spread.to(self.running_var.dtype), self.momentum)
