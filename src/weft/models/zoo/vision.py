"""Models for pictures by name: `vit`, the paper's; `vit-hybrid`, on convolutional features; `resnet`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from weft.core import Attention, Block, Mlp, Pooled, Trunk
from weft.errors import ConfigError
from weft.modalities.bands import TwoBands
from weft.modalities.convnet import Basic, Bottleneck, ConvEmbed, ResNet
from weft.modalities.image import PatchEmbed, PictureEmbed, Sight
from weft.models.autoencoder import Autoencoder
from weft.models.distilled import Balanced, Distilled, Projector
from weft.models.stream import Stream
from weft.position import Add, Grid, Sinusoidal

GROUND = ("south", "east")  # axes of places in metres
POSITION_STD = 0.3  # of position codes at the start, where patches have 1: fainter codes are learned late


@dataclass(frozen=True)
class VisionSize:
    """The sizes that a preset or a plan fixes: of the trunk, of a patch in pixels, and of a convolutional network."""

    dim: int
    depth: int
    heads: int = 1
    patch: int = 16
    net: ResNet.Config = field(default_factory=ResNet.Config)

    def check(self) -> None:
        """Refuse what cannot be built, with the arithmetic."""
        for name, least in (("dim", 1), ("depth", 0), ("heads", 1), ("patch", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"must be at least {least}, found {getattr(self, name)}", where=name)
        if self.dim % self.heads:
            problem = f"a width of {self.dim} does not divide into {self.heads} heads"
            raise ConfigError(
                problem, where="heads", fix=f"--set dim={self.heads * max(1, round(self.dim / self.heads))}"
            )


def vit(
    size: VisionSize,
    sight: Sight,
    *,
    outputs: int | None,
    dropout: float = 0.0,
    drop: float = 0.0,
    summary: str = "class",
) -> Stream.Config:
    """The Vision Transformer (Dosovitskiy et al., 2021): y = LN(z_L^0) of a class token, or the mean of all tokens."""
    embed = _seen(PatchEmbed.Config(grid=(1, 1), patch=size.patch, dropout=dropout, drop=drop), sight)
    return _transformer(size, embed, outputs, summary)


def vit_hybrid(
    size: VisionSize,
    sight: Sight,
    *,
    outputs: int | None,
    dropout: float = 0.0,
    drop: float = 0.0,
    summary: str = "class",
) -> Stream.Config:
    """The same on the features of a ResNet: one token for each place of its grid."""
    embed = _seen(ConvEmbed.Config(grid=(1, 1), net=size.net, dropout=dropout, drop=drop), sight)
    return _transformer(size, embed, outputs, summary)


def resnet(
    size: VisionSize,
    sight: Sight,
    *,
    outputs: int | None,
    dropout: float = 0.0,
    drop: float = 0.0,
    summary: str = "mean",
) -> Stream.Config:
    """A ResNet (He et al., 2016): the network makes the features, and their mean decides. No transformer at all."""
    embed = _seen(ConvEmbed.Config(grid=(1, 1), net=size.net, project=False, dropout=dropout, drop=drop), sight)
    head = None if outputs is None else Pooled.Config()
    trunk = Trunk.Config(depth=0, norm=None)
    return Stream.Config(dim=size.net.outside, embed=embed, trunk=trunk, head=head, outputs=outputs)


Embed = TypeVar("Embed", bound=PictureEmbed.Config)


def _seen(embed: Embed, sight: Sight) -> Embed:
    """An embedder made for such pictures."""
    grid = (-(-sight.height // embed.stride), -(-sight.width // embed.stride))
    return embed.replace(grid=grid, channels=sight.channels, mean=sight.mean, std=sight.std)


def _transformer(size: VisionSize, embed: PictureEmbed.Config, outputs: int | None, summary: str) -> Stream.Config:
    """A trunk over the tokens of a picture, with learned places and a class token or none."""
    first = summary == "class"
    code = Grid.Config(rows=embed.grid[0], columns=embed.grid[1], std=POSITION_STD)
    block = Block.Config(mix=Attention.Config(heads=size.heads), transform=Mlp.Config(), dropout=embed.dropout)
    return Stream.Config(
        dim=size.dim,
        embed=embed.replace(place=Add.Config(code=code), class_tokens=int(first)),
        trunk=Trunk.Config(depth=size.depth, block=block),
        head=None if outputs is None else Pooled.Config(first=first),
        outputs=outputs,
    )


def mae(
    size: VisionSize, sight: Sight, *, outputs: None = None, dropout: float = 0.0, drop: float = 0.0
) -> Stream.Config:
    """The encoder of a masked autoencoder (He et al., 2022): a ViT with sines and cosines of row and column."""
    return _sinusoidal(size, sight, dropout, ("row", "column"))


def scale_mae(
    size: VisionSize, sight: Sight, *, outputs: None = None, dropout: float = 0.0, drop: float = 0.0
) -> Stream.Config:
    """`mae` with places on the ground (Reed et al., 2023): coordinates are in metres, for pixels of any size."""
    return _sinusoidal(size, sight, dropout, GROUND)


def _sinusoidal(size: VisionSize, sight: Sight, dropout: float, axes: tuple[str, ...]) -> Stream.Config:
    config = vit(size, sight, outputs=None, dropout=dropout)
    place = Add.Config(code=Sinusoidal.Config(axes=axes))
    return config.replace(embed=config.embed.replace(place=place, reference=sight.metres))


def autoencoder(encoder: Stream.Config) -> Autoencoder.Config:
    """A masked autoencoder around an encoder: the decoder has half its width and a third of its depth.

    Around an encoder with places on the ground it is Scale-MAE, whose decoder makes two frequency bands.
    """
    heads = max(1, encoder.trunk.all_blocks()[0].mix.heads // 2)  # type: ignore[union-attr]
    dim = max(8, encoder.dim // 2 // (4 * heads) * 4 * heads)
    block = Block.Config(mix=Attention.Config(heads=heads), transform=Mlp.Config())
    depth = max(1, len(encoder.trunk.all_blocks()) // 3)
    place = encoder.embed.place  # type: ignore[attr-defined]
    decoder = Trunk.Config(depth=depth, block=block)
    bands = TwoBands.Config() if place.code.axes == GROUND else None
    return Autoencoder.Config(encoder=encoder, decoder=decoder, dim=dim, place=place, summarised=True, bands=bands)


def distilled(student: Stream.Config) -> Distilled.Config:
    """DINO around a student (Caron et al., 2021), for runs of minutes: a quick teacher with balanced answers."""
    projector = Projector.Config(outputs=256)
    return Distilled.Config(student=student, projector=projector, momentum=0.97, balance=Balanced.Config())


VISION_MODELS: dict[str, Callable[..., Stream.Config]] = {"vit": vit, "vit-hybrid": vit_hybrid, "resnet": resnet}

RESNETS = {
    "resnet18": ResNet.Config(depths=(2, 2, 2, 2)),
    "resnet34": ResNet.Config(depths=(3, 4, 6, 3)),
    "resnet50": ResNet.Config(depths=(3, 4, 6, 3), block=Bottleneck.Config()),
}


def small_net(width: int, depths: tuple[int, ...] = (0, 1, 0, 1)) -> ResNet.Config:
    """A residual network for small pictures that learns in minutes: few layers, twice as wide at each halving."""
    widths = tuple(width * 2**i for i in range(len(depths)))
    return ResNet.Config(depths=depths, widths=widths, block=Basic.Config(), stem="small", between="pool")


def folded_net(width: int, halvings: int) -> ResNet.Config:
    """The cheapest: squares of 2x2 pixels; then a convolution and a maximum over 2x2 for each further halving."""
    widths = tuple(width * 2**i for i in range(1, halvings))
    return ResNet.Config(
        depths=(0,) * len(widths), widths=widths, first=width, stem="folded", halved=True, between="pool"
    )
