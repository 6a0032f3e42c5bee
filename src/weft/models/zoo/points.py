"""Coordinate networks by their position code: coordinates in, the values of a field there out. No token reads another.

hash        vectors at the corners of grids of several resolutions, then layers of ReLU (Mueller et al., 2022)
fourier     sines and cosines of random frequencies, then layers of ReLU (Tancik et al., 2020)
siren       the coordinates, then layers of sines (Sitzmann et al., 2020)
harmonics   spherical harmonics of a place on the globe, then layers of sines (Russwurm et al., 2024)
raw         the coordinates, then layers of ReLU: learns fine detail last, or never
"""

from dataclasses import dataclass
from typing import Literal, get_args

from weft.core import Block, Layer, Plain, Pooled, ReluInit, SineInit, Trunk
from weft.core.transforms import Activation
from weft.errors import ConfigError
from weft.modalities.points import PointEmbed
from weft.models.stream import Stream
from weft.position import Code, Coordinates, Fourier, Harmonics, HashGrid, Joined
from weft.position.globe import DIRECTION

CodeName = Literal["hash", "fourier", "siren", "harmonics", "raw"]
CODES: tuple[str, ...] = get_args(CodeName)
OMEGA = {"siren": 30.0, "harmonics": 10.0}  # of layers of sines; harmonics are fine waves already
COARSE, LEVELS, LEVEL_WIDTH = 8, 8, 2  # of a hash code: cells of its coarsest grid, grids, numbers at a corner
TIME_WIDTH, TIME_SCALE = 32, 1.0  # of the code of time beside harmonics, and its typical waves over half the span


@dataclass(frozen=True)
class CoordinateSize:
    """The sizes of a coordinate network.

    `features` is the width of a Fourier code, `degree` that of harmonics, `cells` those of a hash code's finest grid.
    """

    dim: int
    depth: int
    features: int = 256
    degree: int = 20
    cells: int = 128

    def check(self) -> None:
        """Refuse what cannot be built."""
        for name in ("dim", "depth", "features", "degree", "cells"):
            if getattr(self, name) < 1:
                raise ConfigError(f"must be at least 1, found {getattr(self, name)}", where=name)


def field(
    size: CoordinateSize,
    axes: tuple[str, ...],
    *,
    outputs: int,
    code: CodeName,
    scale: float = 4.0,
    dropout: float = 0.0,
) -> Stream.Config:
    """A network over the coordinates of single points. `scale` is the typical number of waves of a Fourier code."""
    made, width = _code(size, axes, code, scale)
    activation: Activation = "sine" if code in ("siren", "harmonics") else "relu"
    sines = activation == "sine"
    frequency = OMEGA.get(code, 1.0)
    layer = Layer.Config(activation=activation, omega=frequency)
    return Stream.Config(
        dim=size.dim,
        embed=PointEmbed.Config(axes=axes, code=made, width=width, activation=activation, omega=frequency),
        trunk=Trunk.Config(
            depth=size.depth,
            block=Block.Config(transform=layer, wiring=Plain.Config(), dropout=dropout),
            norm=None,
            init=SineInit.Config(omega=frequency) if sines else ReluInit.Config(),
        ),
        head=Pooled.Config(first=True, std=(1 / size.dim) ** 0.5),
        outputs=outputs,
    )


def _code(size: CoordinateSize, axes: tuple[str, ...], code: CodeName, scale: float) -> tuple[Code.Config, int]:
    """The position code and its width. On a globe, all but harmonics take the unit vector in place of degrees."""
    globe = {"lat", "lon"} <= set(axes)
    others = tuple(axis for axis in axes if axis not in ("lat", "lon")) if globe else axes
    straight = (*DIRECTION, *others) if globe else axes
    if code == "hash":
        fine = max(COARSE, size.cells)
        return HashGrid.Config(axes=straight, levels=LEVELS, coarse=COARSE, fine=fine), LEVELS * LEVEL_WIDTH
    if code == "fourier":
        return Fourier.Config(axes=straight, scale=scale), size.features
    if code != "harmonics":
        return Coordinates.Config(axes=straight), len(straight)
    if not globe:
        raise ConfigError(
            "harmonics are waves on a globe, and there is no lat and lon", where="code", fix="use fourier"
        )
    waves = (size.degree + 1) ** 2
    if not others:
        return Harmonics.Config(), waves
    time = Fourier.Config(axes=others, scale=TIME_SCALE)
    return Joined.Config(codes=(Harmonics.Config(), time), widths=(waves, TIME_WIDTH)), waves + TIME_WIDTH
