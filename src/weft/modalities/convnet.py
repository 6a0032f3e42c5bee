"""Tokens from a convolutional network: the grid of its features, a vector for each place. ResNets are such networks.

A ResNet is a stream whose embedder does all the work (`ConvEmbed`, no blocks); a hybrid ViT puts a trunk on top.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core.norms import BatchNorm
from weft.errors import ConfigError
from weft.modalities.image import PictureEmbed, to_multiple


class ConvNet(Part, nn.Module):
    """Pixels become a grid of features."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of network. `build(channels=)`."""

        @property
        def stride(self) -> int:
            """Pixels along a side of a feature."""
            raise NotImplementedError

        @property
        def middle(self) -> float:
            """The middle of what a feature sees, in shares of the side of its square of the picture."""
            return 0.5

        @property
        def outside(self) -> int:
            """The channels of the features."""
            raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.computes: torch.dtype | None = None  # the precision, where weights are rounded only while they are used

    @property
    def dtype(self) -> torch.dtype:
        """The precision in which the convolutions compute."""
        return self.computes or next(m.weight.dtype for m in self.modules() if isinstance(m, nn.Conv2d))

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C2 Y2 X2"]:
        raise NotImplementedError


class Convolution(nn.Sequential):
    """Convolve, then batch norm."""

    def __init__(self, inside: int, outside: int, kernel: int = 3, stride: int = 1):
        filters = nn.Conv2d(inside, outside, kernel, stride, padding=kernel // 2, bias=False)
        nn.init.kaiming_normal_(filters.weight, mode="fan_out", nonlinearity="relu")
        super().__init__(filters, BatchNorm(outside))


class Residual(Part, nn.Module):
    """relu(f(x) + x); where the shape changes, a convolution takes the place of the plain skip (He et al., 2016)."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of branch. `build(inside=, width=, stride=)`."""

        def outside(self, width: int) -> int:
            """The channels that leave a block of this width."""
            return width

    def __init__(self, branch: nn.Sequential, inside: int, outside: int, stride: int):
        super().__init__()
        self.branch = branch
        nn.init.zeros_(branch[-1][1].weight)  # type: ignore[index]  # starts as its skip
        changes = stride != 1 or inside != outside
        self.skip = Convolution(inside, outside, 1, stride) if changes else nn.Identity()

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C2 Y2 X2"]:
        return F.relu(self.branch(x) + self.skip(x))


class Basic(Residual):
    """Two 3x3 convolutions: ResNet-18 and -34."""

    class Config(Residual.Config):
        """Nothing to choose."""

    def __init__(self, config: Config, *, inside: int, width: int, stride: int = 1):
        branch = nn.Sequential(Convolution(inside, width, 3, stride), nn.ReLU(), Convolution(width, width))
        super().__init__(branch, inside, width, stride)


class Bottleneck(Residual):
    """1x1 to narrow, 3x3, 1x1 to widen: ResNet-50 and deeper."""

    class Config(Residual.Config):
        """`widen` is how much wider the stream is than the branch. `early` takes a stride in the first convolution."""

        widen: int = 4
        early: bool = False

        def outside(self, width: int) -> int:
            return self.widen * width

    def __init__(self, config: Config, *, inside: int, width: int, stride: int = 1):
        outside = config.outside(width)
        strides = (stride, 1) if config.early else (1, stride)
        narrow, middle = Convolution(inside, width, 1, strides[0]), Convolution(width, width, 3, strides[1])
        layers = [narrow, nn.ReLU(), middle, nn.ReLU()]
        super().__init__(nn.Sequential(*layers, Convolution(width, outside, 1)), inside, outside, stride)


STEM_STRIDES = {"small": 1, "folded": 2, "large": 4}


class ResNet(ConvNet):
    """Stages of residual blocks, each at half the resolution and with more channels than the one before."""

    class Config(ConvNet.Config):
        """`depths` blocks of `widths` channels in each stage.

        The stem is one 3x3 convolution for small pictures, the same on squares of 2x2 pixels (`folded`), or 7x7 at a
        quarter of the resolution for large ones, to `first` channels (by default the first width). Between stages the
        first block takes a stride of two, or (`pool`) a convolution and a maximum over 2x2 stand before the blocks,
        which then may be none. `halved`: the first stage too begins at half of the resolution that the stem leaves.
        """

        depths: tuple[int, ...] = (2, 2, 2, 2)
        widths: tuple[int, ...] = (64, 128, 256, 512)
        block: Residual.Config = Basic.Config()
        stem: Literal["small", "folded", "large"] = "large"
        first: int | None = None
        halved: bool = False
        between: Literal["stride", "pool"] = "stride"

        def check(self) -> None:
            at_least(self, 1, "first")
            if len(self.depths) != len(self.widths) or not self.depths:
                raise ConfigError(f"{len(self.depths)} depths and {len(self.widths)} widths", where="ResNet.depths")
            least = 0 if self.between == "pool" else 1
            if min(self.depths) < least or min(self.widths) < 1:
                problem = f"depths must be at least {least} and widths 1, found {self.depths} and {self.widths}"
                raise ConfigError(problem, where="ResNet")

        @property
        def stride(self) -> int:
            return STEM_STRIDES[self.stem] * 2 ** (len(self.depths) - 1 + self.halved)

        @property
        def middle(self) -> float:
            """An odd kernel with a stride stands on the first of the pixels that become one, a pool in their middle.

            ResNet-50: 0.5 / 32, all but the upper left corner of the square.
            """
            step = STEM_STRIDES[self.stem]
            seen = 1.0 if self.stem == "folded" else 0.5
            for _ in range(len(self.depths) - 1 + self.halved):
                seen += step / 2 if self.between == "pool" else 0.0
                step *= 2
            return seen / step

        @property
        def outside(self) -> int:
            return self.block.outside(self.widths[-1])

    def __init__(self, config: Config, *, channels: int):
        super().__init__()
        self.stride = config.stride
        first = config.first or config.widths[0]
        large = config.stem == "large"
        inside = 4 * channels if config.stem == "folded" else channels
        self.stem = nn.Sequential(Convolution(inside, first, 7 if large else 3, 2 if large else 1), nn.ReLU())
        if large:
            self.stem.append(nn.MaxPool2d(3, 2, padding=1))
        if config.stem == "folded":
            self.stem.insert(0, nn.PixelUnshuffle(2))
        self.stages, inside = nn.ModuleList(), first
        for i, (depth, width) in enumerate(zip(config.depths, config.widths, strict=True)):
            layers: list[nn.Module] = []
            halve = i > 0 or config.halved
            if halve and config.between == "pool":
                layers += [Convolution(inside, width), nn.MaxPool2d(2), nn.ReLU()]
                inside, halve = width, False
            for j in range(depth):
                layers.append(config.block.build(inside=inside, width=width, stride=2 if halve and j == 0 else 1))
                inside = config.block.outside(width)
            self.stages.append(nn.Sequential(*layers))

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C2 Y2 X2"]:
        x = self.stem(x.contiguous(memory_format=torch.channels_last))
        for stage in self.stages:
            x = stage(x)
        return x


class ConvEmbed(PictureEmbed):
    """The features of a convolutional network as tokens, projected to the width (unchanged where it is the same)."""

    class Config(PictureEmbed.Config):
        """`project` maps the features to the model's width; without it they must have that width.

        `filled`: pictures get zeros below and to the right up to a multiple of the stride; without it the network sees
        them as they are.
        """

        net: ConvNet.Config
        project: bool = True
        filled: bool = True

        @property
        def stride(self) -> int:
            return self.net.stride

        @property
        def middle(self) -> float:
            return self.net.middle

    config: Config

    def __init__(self, config: Config, *, dim: int):
        super().__init__(config, dim=dim)
        self.net = config.net.build(channels=config.channels).to(memory_format=torch.channels_last)
        features = config.net.outside
        if not config.project and features != dim:
            raise ConfigError(f"features of width {features} in a model of width {dim}", where="ConvEmbed.project")
        self.project = nn.Linear(features, dim) if config.project else nn.Identity()

    def features(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        pixels = to_multiple(pixels, self.config.stride) if self.config.filled else pixels
        grid = self.net(pixels.to(self.net.dtype)).flatten(2).mT
        return self.project(grid.to(self.project.weight.dtype) if isinstance(self.project, nn.Linear) else grid)
