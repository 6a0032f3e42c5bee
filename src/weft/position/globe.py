"""Codes of places on a plane or a globe, beside `Fourier`: plain coordinates, spherical harmonics, codes joined."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.errors import ConfigError
from weft.position.codes import Code, some_axes
from weft.tokens import axis_of

MAX_DEGREE = 40  # of harmonics; beyond it the polynomials leave the range of single precision
DIRECTION = (
    "toward_0_0",
    "toward_0_90",
    "toward_90",
)  # axes of the unit vector from the globe's middle, by lat and lon


def direction(lat: Tensor, lon: Tensor) -> dict[str, Tensor]:
    """The unit vector from the middle of the globe to places in degrees: three coordinates without a seam or a pole."""
    theta, phi = torch.deg2rad(lat), torch.deg2rad(lon)
    level = theta.cos()
    return dict(zip(DIRECTION, (level * phi.cos(), level * phi.sin(), theta.sin()), strict=True))


class Coordinates(Code):
    """The coordinates as they are. A network over them learns fine detail last or never (Rahaman et al., 2019)."""

    class Config(Code.Config):
        """One number for each of the `axes`."""

        axes: tuple[str, ...]

        def check(self) -> None:
            some_axes(self.axes, where="Coordinates.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        if dim != len(config.axes):
            raise ConfigError(f"{len(config.axes)} coordinates are {len(config.axes)} numbers, found a width of {dim}")
        self.axes = config.axes

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        return torch.stack([axis_of(coords, axis) for axis in self.axes], -1).to(torch.float32)


class Harmonics(Code):
    """Real spherical harmonics Y_lm(lat, lon) for l = 0 ... L, the waves of a globe (Russwurm et al., 2024).

    There is no seam at the date line and no pinch at the poles. Each has a mean square of 1 over the globe:

        Y_lm = Q_lm(sin lat) cos^m(lat) cos(m lon),   Y_l-m with sin(m lon)
    """

    class Config(Code.Config):
        """`axes` are latitude and longitude in degrees. The width is (L + 1)^2."""

        axes: tuple[str, ...] = ("lat", "lon")

        def check(self) -> None:
            if len(self.axes) != 2:
                raise ConfigError(f"a globe has latitude and longitude, found {len(self.axes)}", where="Harmonics.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.axes, self.degree = config.axes, math.isqrt(dim) - 1
        if (self.degree + 1) ** 2 != dim or self.degree > MAX_DEGREE:
            problem = f"harmonics up to degree L have a width of (L + 1)^2, L at most {MAX_DEGREE}; found {dim}"
            raise ConfigError(problem, where="Harmonics", fix="use 16, 25, 36 … 441 …")
        self.order: Tensor
        self.register_buffer("order", torch.arange(self.degree + 1, dtype=torch.float32), persistent=False)
        for degree in range(2, self.degree + 1):
            ahead, behind = _recurrence(degree)
            self.register_buffer(f"ahead_{degree}", ahead, persistent=False)
            self.register_buffer(f"behind_{degree}", behind, persistent=False)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        lat, lon = (torch.deg2rad(axis_of(coords, axis).to(torch.float32)) for axis in self.axes)
        polynomials = self._polynomials(lat.sin()[..., None])
        level = lat.cos().clamp(min=0)[..., None] ** self.order
        angle = lon[..., None] * self.order
        cosine, sine = level * angle.cos(), level * angle.sin()
        parts = []
        for degree, found in enumerate(polynomials):
            parts.append(found * cosine[..., : degree + 1])
            parts.append(found[..., 1:] * sine[..., 1 : degree + 1])
        return torch.cat(parts, -1)

    def _polynomials(self, z: Float[Tensor, "B N 1"]) -> list[Tensor]:
        """Q_lm for m = 0 ... l, for each degree l, by the recurrence in l; the last two of each are new."""
        found = [torch.ones_like(z)]
        if self.degree:
            found.append(torch.cat([math.sqrt(3) * z, math.sqrt(3) * found[0]], -1))
        for degree in range(2, self.degree + 1):
            below, last = found[-1], found[-1][..., -1:]
            inner = getattr(self, f"ahead_{degree}") * (
                z * below[..., :-1] - getattr(self, f"behind_{degree}") * found[-2]
            )
            near = math.sqrt(2 * degree + 1) * z * last
            top = math.sqrt((2 * degree + 1) / (2 * degree)) * last
            found.append(torch.cat([inner, near, top], -1))
        return found


def _recurrence(degree: int) -> tuple[Tensor, Tensor]:
    """The factors a and b for m = 0 ... l - 2 in Q_lm = a (z Q_l-1,m - b Q_l-2,m)."""
    m, n = torch.arange(degree - 1, dtype=torch.float64), float(degree)
    ahead = ((4 * n**2 - 1) / (n**2 - m**2)).sqrt()
    behind = (((n - 1) ** 2 - m**2) / (4 * (n - 1) ** 2 - 1)).sqrt()
    return ahead.float(), behind.float()


class Joined(Code):
    """Several codes side by side: one of the place and one of the time, say."""

    class Config(Code.Config):
        """The `codes`, and the width of each."""

        codes: tuple[Code.Config, ...]
        widths: tuple[int, ...]

        def check(self) -> None:
            if not self.codes or len(self.codes) != len(self.widths):
                raise ConfigError("expected a width for each code", where="Joined.widths")
            for width in self.widths:
                if width < 1:
                    raise ConfigError(f"must be at least 1, found {width}", where="Joined.widths")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        if dim != sum(config.widths):
            raise ConfigError(f"codes of {' + '.join(map(str, config.widths))} numbers do not have a width of {dim}")
        pairs = zip(config.codes, config.widths, strict=True)
        self.codes = nn.ModuleList(code.build(dim=width) for code, width in pairs)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        return torch.cat([code(coords) for code in self.codes], -1)
