"""Position codes: coordinates become vectors, and the vectors join the content. Knows axes by name only.

A `Code` turns coordinates into vectors; a `Place` says how code and content meet: added or concatenated.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.errors import ConfigError
from weft.tokens import axis_of


def some_axes(axes: tuple[str, ...], *, where: str) -> None:
    """Refuse a code of no axes."""
    if not axes:
        raise ConfigError("at least one axis is needed, found none", where=where)


class Code(Part, nn.Module):
    """A vector for each place."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of position code."""

        def limit(self) -> int | None:
            """The number of places that the code can tell apart, or None if there is no such limit."""
            return None

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        raise NotImplementedError


class Learned(Code):
    """A table with one learned vector a place: exact, but nothing beyond its end."""

    class Config(Code.Config):
        """`size` rows for places along `axis`; vectors start with standard deviation `std`.

        Place 0 is row `start`: RoBERTa and BART keep the first two rows for other uses.
        """

        size: int
        start: int = 0
        axis: str = "position"
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 1, "size")
            at_least(self, 0, "start")
            if self.start >= self.size:
                raise ConfigError(f"row {self.start} is beyond a table of {self.size}", where="Learned.start")

        def limit(self) -> int | None:
            return self.size - self.start

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.axis, self.start, self.places = config.axis, config.start, config.limit()
        self.table = nn.Embedding(config.size, dim)
        nn.init.normal_(self.table.weight, std=config.std)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        place = axis_of(coords, self.axis).clamp(min=0).long()
        try:
            return self.table(place + self.start if self.start else place)
        except IndexError:
            raise ConfigError(
                f"a learned table of {self.places} places has none for place {int(place.max())}",
                where=f"coordinate {self.axis!r}",
                fix="use shorter inputs, a larger table, or codes that go on: Sinusoidal",
            ) from None


class Grid(Code):
    """A learned vector for each place of a grid; between the places, those around are mixed in proportion.

    So pictures of another size than the grid was learned for find their codes: whoever gives the coordinates stretches
    them over the grid (Dosovitskiy et al., 2021). Beyond the edge the code of the edge is used.
    """

    class Config(Code.Config):
        """`rows` times `columns` places; vectors start with standard deviation `std`.

        `mixed` is how places around are weighed: linear with two along each axis, cubic with four (Keys, 1981), or
        smoothed: cubic, over as many more places as the picture has fewer than the grid; or smoothed linear likewise.
        """

        rows: int
        columns: int
        axes: tuple[str, ...] = ("row", "column")
        std: float = 0.02
        mixed: Literal["linear", "cubic", "smoothed", "smoothed linear"] = "linear"

        def check(self) -> None:
            at_least(self, 1, "rows", "columns")
            if len(self.axes) != 2:
                raise ConfigError(f"a grid has two axes, found {len(self.axes)}", where="Grid.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.axes, self.rows, self.columns = config.axes, config.rows, config.columns
        self.beside = _cubic if config.mixed == "cubic" else _linear
        self.smoothed = config.mixed in SMOOTHING
        self.kernel = SMOOTHING.get(config.mixed, _cubic_kernel)
        self.table = nn.Embedding(config.rows * config.columns, dim)
        nn.init.normal_(self.table.weight, std=config.std)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        row, column = (axis_of(coords, axis).to(self.table.weight.dtype) for axis in self.axes)
        if self.smoothed:
            down, across = _smooth(row, self.rows, self.kernel), _smooth(column, self.columns, self.kernel)
            table = self.table.weight.view(self.rows, self.columns, -1)
            return torch.einsum("bnr,bnc,rcd->bnd", down, across, table)
        columns = self.beside(column, self.columns)
        return sum(
            (down * across)[..., None] * self.table(y * self.columns + x)
            for y, down in self.beside(row, self.rows)
            for x, across in columns
        )


CUBIC_SLOPE = -0.75  # of the cubic kernel one place away from its middle


def _cubic(place: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    """Two grid places on each side of each coordinate, with their weights for cubic interpolation."""
    below, found = place.floor(), []
    for step in (-1, 0, 1, 2):
        away = (place - below - step).abs()
        near = ((CUBIC_SLOPE + 2) * away - (CUBIC_SLOPE + 3)) * away * away + 1
        far = ((CUBIC_SLOPE * away - 5 * CUBIC_SLOPE) * away + 8 * CUBIC_SLOPE) * away - 4 * CUBIC_SLOPE
        found.append(((below + step).clamp(0, size - 1).long(), near if step in (0, 1) else far))
    return found


SMOOTH_SLOPE = -0.5  # the same of the kernel that smooths


def _smooth(place: Float[Tensor, "B N"], size: int, kernel: Callable[[Tensor], Tensor]) -> Float[Tensor, "B N S"]:
    """The weights of all grid places for each coordinate: a kernel, as wide as a step between coordinates.

    The first of these lies half a step from the edge, which says how long a step is.
    """
    step = (2 * place.amin(1, keepdim=True) + 1).clamp(min=1.0)[..., None]
    weights = kernel((torch.arange(size, device=place.device) - place[..., None]).abs() / step)
    return weights / weights.sum(-1, keepdim=True)


def _cubic_kernel(away: Tensor) -> Tensor:
    """The weight of a place so many steps away: a cubic curve over two steps on each side."""
    near = ((SMOOTH_SLOPE + 2) * away - (SMOOTH_SLOPE + 3)) * away * away + 1
    far = ((SMOOTH_SLOPE * away - 5 * SMOOTH_SLOPE) * away + 8 * SMOOTH_SLOPE) * away - 4 * SMOOTH_SLOPE
    return torch.where(away < 1, near, torch.where(away < 2, far, torch.zeros_like(away)))


def _linear_kernel(away: Tensor) -> Tensor:
    """The same: a straight line over one step on each side."""
    return (1 - away).clamp(min=0.0)


SMOOTHING: dict[str, Callable[[Tensor], Tensor]] = {"smoothed": _cubic_kernel, "smoothed linear": _linear_kernel}


def _linear(place: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    """The grid places on both sides of each coordinate, with their weights for linear interpolation."""
    place = place.clamp(0, size - 1)
    below = place.floor()
    above = (below + 1).clamp(max=size - 1)
    return [(below.long(), 1 - (place - below)), (above.long(), place - below)]


class Sinusoidal(Code):
    """sin and cos of the coordinate at frequencies 1 ... 1/base (Vaswani et al., 2017); axes share the width."""

    class Config(Code.Config):
        """Each axis has a block of the width; `base` is the longest wavelength over 2 pi, `start` the first place."""

        axes: tuple[str, ...] = ("position",)
        base: float = 10000.0
        start: float = 0.0

        def check(self) -> None:
            at_least(self, 1, "base")
            some_axes(self.axes, where="Sinusoidal.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.axes, self.start = config.axes, config.start
        self.frequency: Tensor
        share, rest = divmod(dim, 2 * len(config.axes))
        if share == 0 or rest:
            raise ConfigError(f"a width of {dim} does not divide into sine and cosine for {len(config.axes)} axes")
        frequency = config.base ** (-torch.arange(share, dtype=torch.float64) / share)
        self.register_buffer("frequency", frequency.float(), persistent=False)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        angles = [(axis_of(coords, axis)[..., None] + self.start) * self.frequency for axis in self.axes]
        return torch.cat([part for angle in angles for part in (angle.sin(), angle.cos())], -1)


class Fourier(Code):
    """sin and cos of 2 pi B x for random B ~ N(0, scale^2) over all axes at once (Tancik et al., 2020)."""

    class Config(Code.Config):
        """`scale` is the typical frequency: larger resolves finer detail."""

        axes: tuple[str, ...]
        scale: float = 1.0
        seed: int = 0

        def check(self) -> None:
            some_axes(self.axes, where="Fourier.axes")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        if dim % 2:
            raise ConfigError(f"Fourier codes need an even width, found {dim}")
        self.axes = config.axes
        self.directions: Tensor
        generator = torch.Generator().manual_seed(config.seed)
        directions = torch.randn(len(config.axes), dim // 2, generator=generator) * config.scale * 2 * math.pi
        self.register_buffer("directions", directions)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        place = torch.stack([axis_of(coords, axis) for axis in self.axes], -1).to(self.directions.dtype)
        angle = place @ self.directions
        return torch.cat([angle.sin(), angle.cos()], -1)


class Sum(Code):
    """The sum of several codes: where something is, when, and what kind of thing it is."""

    class Config(Code.Config):
        """The codes, each of the whole width."""

        codes: tuple[Code.Config, ...]

        def check(self) -> None:
            if not self.codes:
                raise ConfigError("at least one code is needed, found none", where="Sum.codes")

        def limit(self) -> int | None:
            return min((limit for code in self.codes if (limit := code.limit()) is not None), default=None)

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.codes = nn.ModuleList(code.build(dim=dim) for code in config.codes)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        return sum(code(coords) for code in self.codes)


class Place(Part, nn.Module):
    """How position codes meet the content."""

    abstract = True

    class Config(BaseConfig):
        """The ways to join a code to the content."""

        code: Code.Config

    def forward(self, x: Float[Tensor, "B N D"], coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        raise NotImplementedError


class Add(Place):
    """x + code."""

    class Config(Place.Config):
        """Adds the code."""

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.code = config.code.build(dim=dim)

    def forward(self, x: Float[Tensor, "B N D"], coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        return x + self.code(coords).to(x.dtype)


class Concatenate(Place):
    """W [x, code]: content and code side by side, projected back to the width."""

    class Config(Place.Config):
        """`width` is the code's own width."""

        width: int = 32

        def check(self) -> None:
            at_least(self, 1, "width")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.code = config.code.build(dim=config.width)
        self.project = nn.Linear(dim + config.width, dim)

    def forward(self, x: Float[Tensor, "B N D"], coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        return self.project(torch.cat([x, self.code(coords).to(x.dtype)], -1))
