"""Field tokens: a small neighbourhood in space and time of one layer (a variable at a level) is projected to a vector.

Every cell comes with its first guess, how uncertain the guess is, and whether the cell is known. So a forecast, a gap,
a missing variable and a state between two times are one thing: cells that are not known.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import at_least
from weft.core.cache import Slots
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.position import Place
from weft.sending import sent
from weft.tokens import Tokens

CHANNELS = 3  # of a cell: its value or first guess, whether it is known, how uncertain the guess is
WIDEST = 5.0  # how far a spread may move from that of the first guess, as a logarithm
AXES = ("east", "north", "up")  # of a place as a point in space
CYCLES = ("season_cos", "season_sin", "hour_cos", "hour_sin")


@dataclass(frozen=True)
class FieldWindow:
    """A batch of windows in space and time. Numbers are differences from the climatology over the layer's spread.

    `values` are those of known cells and the first guess elsewhere; `doubt` is the standard deviation of the guess, 0
    where a cell is known. `season` and `hour` are shares of the year and the day. `place` is where each cell is, as a
    point on the unit sphere or on a plane, and `time` when each field is, in steps from the last known one.
    """

    values: Float[Tensor, "B V T Y X"]
    known: Bool[Tensor, "B V T Y X"]
    doubt: Float[Tensor, "B V T Y X"]
    season: Float[Tensor, "B T"]
    hour: Float[Tensor, "B T"]
    time: Float[Tensor, "B T"]
    place: Float[Tensor, "B 3 Y X"]

    def to(self, device: torch.device | str) -> "FieldWindow":
        """The same on another device."""
        return FieldWindow(*(sent(getattr(self, one.name), device) for one in fields(self)))

    def raw(self) -> "FieldWindow":
        """As an embedder takes it."""
        return self

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, rows: slice) -> "FieldWindow":
        return FieldWindow(*(getattr(self, one.name)[rows] for one in fields(self)))


@dataclass(frozen=True)
class Normal:
    """A normal distribution for every cell."""

    mean: Float[Tensor, "B V T Y X"]
    spread: Float[Tensor, "B V T Y X"]


class FieldEmbed(Embedder):
    """x = W neighbourhood + code of its place and time, for neighbourhoods of one layer side by side."""

    class Config(Embedder.Config):
        """A token has `span` time steps of `patch` times `patch` cells, and sees `halo` more cells on every side.

        `layers` and `times` are the layers and time steps of a window; `wraps`: its last column touches the first.
        """

        layers: int
        times: int
        patch: int = 8
        span: int = 1
        halo: int = 0
        wraps: bool = False
        place: Place.Config | None = None

        def check(self) -> None:
            at_least(self, 1, "layers", "times", "patch", "span")
            at_least(self, 0, "halo")
            if self.times % self.span:
                problem = f"{self.times} time steps do not divide into tokens of {self.span}"
                raise ConfigError(problem, where="FieldEmbed.span")

        @property
        def size(self) -> int:
            """Two numbers for each cell and time of a token: mean and spread, both as changes of the first guess."""
            return 2 * self.span * self.patch**2

        def grid(self, shape: tuple[int, int]) -> tuple[int, int, int, int]:
            """Layers, times, rows and columns of the tokens of fields with this many rows and columns of cells."""
            rows, columns = (-(-side // self.patch) for side in shape)
            return self.layers, self.times // self.span, rows, columns

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.config = config
        side = config.patch + 2 * config.halo
        self.project = nn.Linear(CHANNELS * config.span * side**2, dim)
        nn.init.normal_(self.project.weight, std=self.project.in_features**-0.5)
        nn.init.zeros_(self.project.bias)
        self.place = config.place.build(dim=dim) if config.place else None

    def forward(self, raw: FieldWindow, *, slots: Slots | None = None) -> Tokens:
        x = self.project(self.neighbourhoods(raw))
        coords = self.coordinates(raw)
        if self.place is not None:
            x = self.place(x, coords)
        return Tokens.free(x, coords=coords)

    def neighbourhoods(self, raw: FieldWindow) -> Float[Tensor, "B N P"]:
        """What each token is made of, layer by layer, time by time, row by row."""
        config = self.config
        if raw.values.shape[1:3] != (config.layers, config.times):
            found = " and ".join(map(str, raw.values.shape[1:3]))
            problem = f"a window of {found} layers and times; the model reads {config.layers} and {config.times}"
            raise ConfigError(problem, where="FieldEmbed")
        cells = torch.stack([raw.values, raw.known.to(raw.values.dtype), raw.doubt], 2)  # B V C T Y X
        side = config.patch + 2 * config.halo
        patches = self._padded(cells.flatten(0, 3)).unfold(1, side, config.patch).unfold(2, side, config.patch)
        sizes = {"b": len(raw), "v": config.layers, "c": CHANNELS, "s": config.span}
        return rearrange(patches, "(b v c t s) y x p q -> b (v t y x) (c s p q)", **sizes)

    def coordinates(self, raw: FieldWindow) -> Mapping[str, Float[Tensor, "B N"]]:
        """Where and when each token is: its layer, the middle of its cells as a point, its time, season and hour."""
        config, rows = self.config, len(raw)
        layers, times, high, wide = config.grid((raw.values.shape[3], raw.values.shape[4]))
        shape = (rows, layers, times, high, wide)
        spot = F.avg_pool2d(self._padded_edge(raw.place), config.patch)  # B 3 R S
        found = {name: spot[:, None, None, i].expand(shape) for i, name in enumerate(AXES)}
        layer = torch.arange(layers, device=raw.values.device)
        found["layer"] = layer[None, :, None, None, None].expand(shape)
        for name, of_time in self._moments(raw).items():
            found[name] = of_time[:, None, :, None, None].expand(shape)
        return {name: values.flatten(1) for name, values in found.items()}

    def _moments(self, raw: FieldWindow) -> dict[str, Float[Tensor, "B M"]]:
        """The time of each token, and the point of its season and hour on a circle."""
        last = slice(self.config.span - 1, None, self.config.span)
        season, hour = (2 * math.pi * cycle[:, last] for cycle in (raw.season, raw.hour))
        circle = (season.cos(), season.sin(), hour.cos(), hour.sin())
        return {"time": raw.time[:, last], **dict(zip(CYCLES, circle, strict=True))}

    def distribution(self, raw: FieldWindow, out: Float[Tensor, "B N O"]) -> Normal:
        """The head's numbers as a distribution: the first guess, moved and widened in units of its own uncertainty."""
        config = self.config
        layers, times, rows, columns = config.grid((raw.values.shape[3], raw.values.shape[4]))
        sizes = {"v": layers, "t": times, "y": rows, "x": columns, "s": config.span, "p": config.patch, "o": 2}
        whole = rearrange(out.float(), "b (v t y x) (o s p q) -> o b v (t s) (y p) (x q)", **sizes)
        move, widen = whole[..., : raw.values.shape[3], : raw.values.shape[4]]
        spread = raw.doubt * (WIDEST * torch.tanh(widen / WIDEST)).exp()
        return Normal(raw.values + raw.doubt * move, spread)

    def _padded(self, cells: Float[Tensor, "M Y X"]) -> Float[Tensor, "M Y2 X2"]:
        """With a halo, in whole patches: around the globe where columns wrap, else with zeros, which are not known."""
        config = self.config
        down, right = (-side % config.patch for side in cells.shape[1:])
        halo = config.halo
        if config.wraps:
            wide = cells.shape[2]  # a token may be wider than the globe: then it goes round more than once
            cells = cells[:, :, torch.arange(-halo, wide + right + halo, device=cells.device) % wide]
        else:
            cells = F.pad(cells, (halo, halo + right))
        return F.pad(cells, (0, 0, halo, halo + down))

    def _padded_edge(self, place: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B 3 Y2 X2"]:
        down, right = (-side % self.config.patch for side in place.shape[2:])
        return F.pad(place, (0, right, 0, down), mode="replicate") if down or right else place
