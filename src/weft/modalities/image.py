"""Picture tokens: a picture is cut into patches, and every patch is projected to a vector by one shared matrix.

`PictureEmbed` is what all tokens made of pictures share: numbers brought to a common scale, places, class tokens. What
turns pixels into a grid of vectors is left to its kinds: `PatchEmbed` here, a convolutional network in `convnet`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import at_least, below_one
from weft.core.cache import Slots
from weft.core.draws import dropout, unit
from weft.core.norms import Norm
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.position import Place
from weft.sending import sent_if_any
from weft.tokens import Tokens, join

MIN_KNOWN_SHARE = 0.5  # share of a patch's pixels that must be known for it to be read


@dataclass(frozen=True)
class Picture:
    """A batch of pictures of one shape, in numbers from 0 to 1.

    `missing` is true where a pixel has no known value; `metres` is the size of a pixel on the ground.
    """

    pixels: Float[Tensor, "B C Y X"]
    missing: Bool[Tensor, "B 1 Y X"] | None = None
    metres: Float[Tensor, "B"] | None = None

    def to(self, device: torch.device | str) -> "Picture":
        """The same on another device."""
        return Picture(*(sent_if_any(t, device) for t in (self.pixels, self.missing, self.metres)))  # type: ignore[arg-type]

    def raw(self) -> "Picture":
        """As an embedder takes it."""
        return self

    def __len__(self) -> int:
        return self.pixels.shape[0]

    def __getitem__(self, rows: slice) -> "Picture":
        return Picture(*(None if t is None else t[rows] for t in (self.pixels, self.missing, self.metres)))  # type: ignore[arg-type]


def joined(pictures: Sequence[Picture]) -> Picture:
    """Batches of pictures of one shape as one batch."""
    pixels = torch.cat([one.pixels for one in pictures])
    missing = [
        torch.zeros_like(one.pixels[:, :1], dtype=torch.bool) if one.missing is None else one.missing
        for one in pictures
    ]
    known = all(one.missing is None for one in pictures)
    metres = (
        None if pictures[0].metres is None else torch.cat([one.metres for one in pictures if one.metres is not None])
    )
    return Picture(pixels, None if known else torch.cat(missing), metres)


@dataclass(frozen=True)
class Sight:
    """The pictures that a model is made for: their size in pixels, channels, and the scale of their numbers."""

    height: int
    width: int
    channels: int = 3
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.25,)
    metres: float = 1.0  # of a pixel on the ground, typically


def cut(pixels: Float[Tensor, "B C Y X"], patch: int) -> Float[Tensor, "B N P"]:
    """Patches from left to right and top to bottom, each as one vector; what lies beyond the edge is zero."""
    return rearrange(to_multiple(pixels, patch), "b c (r p) (s q) -> b (r s) (p q c)", p=patch, q=patch)


def paste(patches: Shaped[Tensor, "B N P"], height: int, width: int, patch: int) -> Shaped[Tensor, "B C Y X"]:
    """Undoes `cut` for pictures of this height and width."""
    whole = rearrange(patches, "b (r s) (p q c) -> b c (r p) (s q)", r=-(-height // patch), p=patch, q=patch)
    return whole[:, :, :height, :width]


def to_multiple(pixels: Float[Tensor, "B C Y X"], step: int) -> Float[Tensor, "B C Y2 X2"]:
    """With zeros below and to the right, so that both sides are multiples of a step."""
    down, right = -pixels.shape[2] % step, -pixels.shape[3] % step
    return F.pad(pixels, (0, right, 0, down)) if down or right else pixels


class PictureEmbed(Embedder):
    """pixels -> a grid of vectors, each with its place, behind class tokens where they are wanted."""

    abstract = True

    class Config(Embedder.Config):
        """`grid` is the rows and columns of tokens that positions are learned for; other sizes are stretched over it.

        Then the edges of the picture lie on those of the grid; with `stretched` by "middles", the middles of the
        outermost tokens on those of the grid (Kim et al., 2021).

        `class_tokens` learned vectors stand in front: one for a class (Dosovitskiy et al., 2021), a second for what a
        teacher says of it (Touvron et al., 2021). `mean` and `std` bring the pixels of each channel to a common scale
        (one number stands for all channels). In training, `drop` leaves out that share of the tokens. `reference` is
        the size of a pixel in metres at which the axes `south` and `east` count tokens. `norm` is of the grid's vectors
        before their places are added, `last_norm` of all tokens with their places (Radford et al., 2021). With
        `hidden_token`, a learned vector stands for patches of which too few pixels are known (a mask token, Oquab et
        al., 2023); otherwise such patches are not read.
        """

        grid: tuple[int, ...]
        channels: int = 3
        place: Place.Config | None = None
        class_tokens: int = 0
        norm: Norm.Config | None = None
        last_norm: Norm.Config | None = None
        mean: tuple[float, ...] = (0.5,)
        std: tuple[float, ...] = (0.25,)
        reference: float = 1.0
        dropout: float = 0.0
        drop: float = 0.0
        stretched: Literal["edges", "middles"] = "edges"
        hidden_token: bool = False

        def check(self) -> None:
            at_least(self, 1, "channels")
            at_least(self, 0, "class_tokens")
            if len(self.grid) != 2 or min(self.grid) < 1:
                raise ConfigError(f"expected rows and columns, found {list(self.grid)}", where="grid")
            for name in ("mean", "std"):
                if len(getattr(self, name)) not in (1, self.channels):
                    problem = (
                        f"expected a number for each of {self.channels} channels, found {list(getattr(self, name))}"
                    )
                    raise ConfigError(problem, where=name)
            if min(self.std) <= 0 or self.reference <= 0:
                raise ConfigError("std and reference must be above 0", where="PictureEmbed")
            below_one(self, "dropout", "drop")

        @classmethod
        def today(cls, fields: dict[str, Any]) -> dict[str, Any]:
            if isinstance(one := fields.get("class_token"), bool):  # there was one at most
                return {**{k: v for k, v in fields.items() if k != "class_token"}, "class_tokens": int(one)}
            return fields

        @property
        def stride(self) -> int:
            """Pixels along a side of a token."""
            raise NotImplementedError

        @property
        def middle(self) -> float:
            """The middle of what a token sees, in shares of the side of its square of the picture."""
            return 0.5

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.config = config
        self.mean: Tensor
        self.scale: Tensor
        for name, values in (("mean", config.mean), ("scale", [1 / s for s in config.std])):
            self.register_buffer(name, torch.tensor(values)[:, None, None], persistent=False)
        self.place = config.place.build(dim=dim) if config.place else None
        self.norm = config.norm.build(dim=dim) if config.norm else None
        self.last_norm = config.last_norm.build(dim=dim) if config.last_norm else None
        first = config.class_tokens
        self.summary = nn.Parameter(torch.randn(1, first, dim) * 0.02) if first else None
        self.hidden = nn.Parameter(torch.zeros(1, dim)) if config.hidden_token else None

    def features(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        """The grid's vectors from normalised pixels, row by row."""
        raise NotImplementedError

    def forward(self, raw: Picture, *, slots: Slots | None = None) -> Tokens:
        return self.summarised(self.dropped(self.patches(raw)))

    def patches(self, raw: Picture) -> Tokens:
        """The tokens of the grid, without class tokens."""
        x, readable = self.features(self.normalised(raw)), self.readable(raw)
        if self.hidden is not None and readable is not None:
            x, readable = torch.where(readable[..., None], x, self.hidden), None
        if self.norm is not None:
            x = self.norm(x)
        coords = self.coordinates(raw)
        if self.place is not None:
            x = self.place(x, coords)
        x = dropout(x, self.config.dropout, self.training)
        coords = {axis: c.expand(x.shape[:2]) for axis, c in coords.items()}
        return Tokens.free(x, valid=readable, coords=coords, grid=self.counted(raw))

    def summarised(self, tokens: Tokens) -> Tokens:
        """Behind the class tokens, where there are any, and normed, where that is last."""
        if self.summary is not None:
            tokens = join(Tokens.free(self.summary.expand(tokens.shape[0], -1, -1)), tokens)
        return tokens if self.last_norm is None else tokens.with_x(self.last_norm(tokens.x))

    def normalised(self, raw: Picture) -> Float[Tensor, "B C Y X"]:
        """Pixels on a common scale; what is not known is zero, which is the mean."""
        pixels = raw.pixels
        if pixels.shape[1] != self.config.channels:
            raise ConfigError(f"a picture of {pixels.shape[1]} channels, and the model reads {self.config.channels}")
        pixels = (pixels - self.mean) * self.scale
        return pixels if raw.missing is None else pixels.masked_fill(raw.missing, 0.0)

    def readable(self, raw: Picture) -> Bool[Tensor, "B N"] | None:
        """Which patches have enough known pixels; None where nothing is missing."""
        if raw.missing is None:
            return None
        known = to_multiple((~raw.missing).to(raw.pixels.dtype), self.config.stride)
        share = F.avg_pool2d(known, self.config.stride).flatten(1)
        inside = F.avg_pool2d(to_multiple(torch.ones_like(raw.pixels[:1, :1]), self.config.stride), self.config.stride)
        return share >= MIN_KNOWN_SHARE * inside.flatten(1)

    def coordinates(self, raw: Picture) -> dict[str, Float[Tensor, "#B N"]]:
        """Where each token is: row and column of the grid that was learned; south and east in steps on the ground;
        down and across from -1 at one edge of the picture to 1 at the other.
        """
        step, (height, width) = self.config.stride, raw.pixels.shape[2:]
        lines = [torch.arange(math.ceil(side / step), device=raw.pixels.device) + 0.5 for side in (height, width)]
        y, x = (t.flatten()[None] for t in torch.meshgrid(*lines, indexing="ij"))
        row, column = (
            self._over_grid(line, places, side)
            for line, places, side in zip((y, x), self.config.grid, (height, width), strict=True)
        )
        ground = (
            torch.ones(1, 1, device=y.device) if raw.metres is None else raw.metres[:, None] / self.config.reference
        )
        ground = ground.nan_to_num(1.0)  # of unknown size: as usual
        down, across = (2 * line * step / side - 1 for line, side in ((y, height), (x, width)))
        ground_axes = {"south": y * ground, "east": x * ground}
        return {"row": row, "column": column, **ground_axes, "down": down, "across": across}

    def _over_grid(self, middles: Float[Tensor, "1 N"], places: int, side: int) -> Float[Tensor, "1 N"]:
        """Token centres as coordinates of the position grid, along a side of that many pixels."""
        if self.config.stretched == "edges":
            return middles * (places * self.config.stride / side) - 0.5
        last = math.ceil(side / self.config.stride) - 1
        return (middles - 0.5) * ((places - 1) / last if last else 0.0)

    def counted(self, raw: Picture) -> tuple[int, int] | None:
        """Rows and columns of the tokens, where the coordinates count them; None where they are stretched."""
        rows, columns = self.config.grid
        whole = raw.pixels.shape[2:] == (rows * self.config.stride, columns * self.config.stride)
        return (rows, columns) if whole else None

    def dropped(self, tokens: Tokens) -> Tokens:
        """In training, without a random share of the tokens: cheaper, and harder to learn by heart."""
        if not (self.training and self.config.drop):
            return tokens
        rows, length = tokens.shape
        chance = unit(rows, length, tokens.x.device)
        return tokens.take(chance.argsort(1)[:, : max(1, round((1 - self.config.drop) * length))])


class PatchEmbed(PictureEmbed):
    """x_i = W patch_i + b, patches of `patch` times `patch` pixels side by side (Dosovitskiy et al., 2021)."""

    class Config(PictureEmbed.Config):
        """`patch` is the side of a patch in pixels; without `offsets` there is no b."""

        patch: int = 16
        offsets: bool = True

        def check(self) -> None:
            super().check()
            at_least(self, 1, "patch")

        @property
        def stride(self) -> int:
            return self.patch

    def __init__(self, config: Config, *, dim: int):
        super().__init__(config, dim=dim)
        self.patch = config.patch
        self.project = nn.Linear(config.patch**2 * config.channels, dim, bias=config.offsets)
        nn.init.normal_(self.project.weight, std=self.project.in_features**-0.5)
        if config.offsets:
            nn.init.zeros_(self.project.bias)

    def features(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        return self.project(cut(pixels, self.patch))
