"""ConvNeXt: a convolutional network built like a transformer, of blocks that mix by depthwise convolutions."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import at_least
from weft.core.norms import LayerNorm, Norm
from weft.core.transforms import Mlp, Transform
from weft.errors import ConfigError
from weft.modalities.convnet import ConvNet


class ConvNext(ConvNet):
    """Stages of blocks; before each but the first, a norm and a convolution halve the resolution (Liu et al., 2022)."""

    class Config(ConvNet.Config):
        """`depths` blocks of `widths` channels in each stage, on patches of `patch` times `patch` pixels.

        `kernel` is the side of the depthwise convolutions. `layer_scale` is what the gains of the branches start with;
        None: branches have no gains. `norm` stands behind the patches, in every block and ahead of every halving.
        """

        depths: tuple[int, ...] = (3, 3, 9, 3)
        widths: tuple[int, ...] = (96, 192, 384, 768)
        patch: int = 4
        kernel: int = 7
        transform: Transform.Config = Mlp.Config()
        norm: Norm.Config = LayerNorm.Config(eps=1e-6)
        layer_scale: float | None = 1e-6

        def check(self) -> None:
            at_least(self, 1, "patch", "kernel")
            if len(self.depths) != len(self.widths) or not self.depths:
                raise ConfigError(f"{len(self.depths)} depths and {len(self.widths)} widths", where="ConvNext.depths")
            if min(self.depths) < 1 or min(self.widths) < 1:
                problem = f"depths and widths must be at least 1, found {self.depths} and {self.widths}"
                raise ConfigError(problem, where="ConvNext")
            if self.kernel % 2 == 0:
                raise ConfigError(f"must be odd, found {self.kernel}", where="ConvNext.kernel")

        @property
        def stride(self) -> int:
            return self.patch * 2 ** (len(self.depths) - 1)

        @property
        def outside(self) -> int:
            return self.widths[-1]

    def __init__(self, config: Config, *, channels: int):
        super().__init__()
        self.stem = _filters(channels, config.widths[0], config.patch)
        self.stem_norm = config.norm.build(dim=config.widths[0])
        self.stages = nn.ModuleList()
        for i, (depth, width) in enumerate(zip(config.depths, config.widths, strict=True)):
            halve = [ConvNextHalve(config, config.widths[i - 1], width)] if i else []
            self.stages.append(nn.Sequential(*halve, *(ConvNextBlock(config, width) for _ in range(depth))))

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C2 Y2 X2"]:
        x = over_channels(self.stem_norm, self.stem(x.contiguous(memory_format=torch.channels_last)))
        for stage in self.stages:
            x = stage(x)
        return x


class ConvNextBlock(nn.Module):
    """x + gain * mlp(norm(depthwise(x))): mixes places within a channel first, then channels within a place."""

    def __init__(self, config: ConvNext.Config, width: int):
        super().__init__()
        kernel = config.kernel
        self.mix = nn.Conv2d(width, width, kernel, padding=kernel // 2, groups=width)
        self.norm = config.norm.build(dim=width)
        self.transform = config.transform.build(dim=width)
        scale = config.layer_scale
        self.gain = None if scale is None else nn.Parameter(torch.full((width,), scale))
        for layer in (self.mix, *self.transform.modules()):
            if isinstance(layer, nn.Linear | nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.02)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        mixed = self.mix(x)
        branch = self.transform(self.norm(mixed.flatten(2).mT))
        branch = branch if self.gain is None else self.gain * branch
        return x + branch.mT.unflatten(2, mixed.shape[2:])


class ConvNextHalve(nn.Module):
    """Half the resolution: a norm of each place, then one vector for every 2 times 2 of them."""

    def __init__(self, config: ConvNext.Config, inside: int, outside: int):
        super().__init__()
        self.norm = config.norm.build(dim=inside)
        self.filters = _filters(inside, outside, 2)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C2 Y2 X2"]:
        return self.filters(over_channels(self.norm, x))


def over_channels(norm: nn.Module, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
    """The norm of each place over its channels."""
    return norm(x.movedim(1, -1)).movedim(-1, 1)


def _filters(inside: int, outside: int, step: int) -> nn.Conv2d:
    """One vector for every `step` times `step` places, side by side."""
    filters = nn.Conv2d(inside, outside, step, step)
    nn.init.normal_(filters.weight, std=0.02)
    if filters.bias is not None:
        nn.init.zeros_(filters.bias)
    return filters
