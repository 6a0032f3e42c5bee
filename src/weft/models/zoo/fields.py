"""Models for fields in space and time: tokens of `swift` hold all times of a window, those of `atmorep` a few."""

from collections.abc import Callable
from dataclasses import dataclass

from weft.core import Attention, Block, Dot, LayerNorm, Mlp, PerToken, SilentInit, Trunk
from weft.errors import ConfigError
from weft.modalities.field import AXES, CYCLES, FieldEmbed
from weft.models.stream import Stream
from weft.position import Add, Fourier, Learned, Near, Sinusoidal, Sum

NEAREST = 0.4  # width of the narrowest neighbourhood of a head, in distances between tokens
PLACE_SCALE, CYCLE_SCALE = (
    1.0,
    0.3,
)  # typical frequencies of the codes, over the unit sphere and the circle of a year or day


@dataclass(frozen=True)
class FieldSize:
    """The sizes of a model: `patch` cells along a side of a token, which sees `halo` more on every side."""

    dim: int
    depth: int
    heads: int
    patch: int = 8
    halo: int = 2
    apart: float = 0.25  # from one token to the next, in units of the grid's half extent

    def check(self) -> None:
        """Refuse heads that do not divide the width."""
        if self.dim % self.heads:
            raise ConfigError(f"a width of {self.dim} does not divide into {self.heads} heads", where="heads")


def swift(
    size: FieldSize, *, layers: int, times: int, wraps: bool, span: int | None = None, dropout: float = 0.0
) -> Stream.Config:
    """Every token holds all times of a window, so there are few of them; normalised queries and keys, squared ReLU."""
    norm = LayerNorm.Config(learned=False)
    mix = Attention.Config(heads=size.heads, qk_norm=norm, score=Dot.Config(temperature=0.9), offsets=False)
    block = Block.Config(
        mix=mix, transform=Mlp.Config(activation="relu_squared", offsets=False), norm=norm, dropout=dropout
    )
    trunk = Trunk.Config(depth=size.depth, block=block, norm=norm, init=SilentInit.Config(), bias=_near(size))
    return _stream(size, trunk, _embed(size, layers, times, wraps, span or times))


def atmorep(
    size: FieldSize, *, layers: int, times: int, wraps: bool, span: int | None = None, dropout: float = 0.0
) -> Stream.Config:
    """A token for each small place and `span` times (by default 1): pre-norm, GELU (Lessig et al., 2023)."""
    block = Block.Config(
        mix=Attention.Config(heads=size.heads, qk_norm=LayerNorm.Config()), transform=Mlp.Config(), dropout=dropout
    )
    trunk = Trunk.Config(depth=size.depth, block=block, bias=_near(size))
    return _stream(size, trunk, _embed(size, layers, times, wraps, span or 1))


def _near(size: FieldSize) -> Near.Config:
    """The first head reads the layers and times of its own place, the next more and more of the globe, the last all."""
    return Near.Config(axes=AXES, nearest=NEAREST * size.apart, farthest=1.0)


def _embed(size: FieldSize, layers: int, times: int, wraps: bool, span: int) -> FieldEmbed.Config:
    code = Sum.Config(
        codes=(
            Fourier.Config(axes=AXES, scale=PLACE_SCALE),
            Fourier.Config(axes=CYCLES, scale=CYCLE_SCALE, seed=1),
            Sinusoidal.Config(axes=("time",), base=100.0),
            Learned.Config(axis="layer", size=layers, std=0.5),
        )
    )
    return FieldEmbed.Config(
        layers=layers,
        times=times,
        patch=size.patch,
        span=span,
        halo=size.halo,
        wraps=wraps,
        place=Add.Config(code=code),
    )


def _stream(size: FieldSize, trunk: Trunk.Config, embed: FieldEmbed.Config) -> Stream.Config:
    """The head begins with nothing: an untrained model gives the first guess."""
    return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=PerToken.Config(offsets=True, std=0.0))


FIELD_MODELS: dict[str, Callable[..., Stream.Config]] = {"swift": swift, "atmorep": atmorep}
