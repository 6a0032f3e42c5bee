"""Tokens of a picture in stages: small patches are mixed, then merged two by two, and so on (Liu et al., 2021).

    56 x 56 places of width 96 -> mixed, merged -> 28 x 28 of 192 -> mixed, merged -> 14 x 14 of 384 ...

The last stage is the trunk of the stream, so that whatever is done with trunks is done with it.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import at_least
from weft.core.norms import LayerNorm, Norm
from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.image import Picture, PictureEmbed, cut, to_multiple
from weft.tokens import Tokens


class StagedEmbed(PictureEmbed):
    """Patches in stages; each has half the rows and columns of the one before it, and twice the width.

    Places are counted, never stretched: a larger picture has more of them.
    """

    class Config(PictureEmbed.Config):
        """`stages` are the trunks of all stages but the last, on patches of `patch` times `patch` pixels.

        `patch_norm` stands behind the patches, `merge_norm` ahead of the map that merges four places.
        """

        patch: int = 4
        stages: tuple[Trunk.Config, ...] = ()
        patch_norm: Norm.Config | None = LayerNorm.Config()
        merge_norm: Norm.Config = LayerNorm.Config()

        def check(self) -> None:
            super().check()
            at_least(self, 1, "patch")

        @property
        def stride(self) -> int:
            return self.patch * 2 ** len(self.stages)

    def __init__(self, config: Config, *, dim: int):
        super().__init__(config, dim=dim)
        width, left = divmod(dim, 2 ** len(config.stages))
        if left:
            problem = f"a width of {dim} cannot be halved {len(config.stages)} times"
            raise ConfigError(problem, where="StagedEmbed.stages")
        self.patch = config.patch
        self.project = nn.Linear(config.patch**2 * config.channels, width)
        nn.init.normal_(self.project.weight, std=self.project.in_features**-0.5)
        nn.init.zeros_(self.project.bias)
        self.patch_norm = config.patch_norm.build(dim=width) if config.patch_norm else None
        widths = [width * 2**i for i in range(len(config.stages))]
        self.stages = nn.ModuleList(stage.build(dim=one) for stage, one in zip(config.stages, widths, strict=True))
        self.merges = nn.ModuleList(Merge(config.merge_norm, one) for one in widths)

    def features(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        pixels = to_multiple(pixels, self.config.stride)
        rows, columns = (side // self.patch for side in pixels.shape[2:])
        x = self.project(cut(pixels, self.patch))
        x = x if self.patch_norm is None else self.patch_norm(x)
        for stage, merge in zip(self.stages, self.merges, strict=True):
            x = merge(stage(on_grid(x, rows, columns)).x, rows)
            rows, columns = rows // 2, columns // 2
        return x

    def coordinates(self, raw: Picture) -> dict[str, Float[Tensor, "#B N"]]:
        rows, columns = self.counted(raw)
        return {**super().coordinates(raw), **grid_coords(rows, columns, raw.pixels.device)}

    def counted(self, raw: Picture) -> tuple[int, int]:
        rows, columns = (math.ceil(side / self.config.stride) for side in raw.pixels.shape[2:])
        return rows, columns


class Merge(nn.Module):
    """W norm([x of four neighbours]): four places become one of twice the width."""

    def __init__(self, norm: Norm.Config, dim: int):
        super().__init__()
        self.norm = norm.build(dim=4 * dim)
        self.out = nn.Linear(4 * dim, 2 * dim, bias=False)
        nn.init.normal_(self.out.weight, std=0.02)

    def forward(self, x: Float[Tensor, "B N D"], rows: int) -> Float[Tensor, "B N2 D2"]:
        four = rearrange(x, "b (r p s q) d -> b (r s) (q p d)", r=rows // 2, p=2, q=2)
        return self.out(self.norm(four))


def on_grid(x: Float[Tensor, "B N D"], rows: int, columns: int) -> Tokens:
    """Tokens that fill a grid, row by row."""
    coords = {axis: c.expand(x.shape[:2]) for axis, c in grid_coords(rows, columns, x.device).items()}
    return Tokens.free(x, coords=coords, grid=(rows, columns))


def grid_coords(rows: int, columns: int, device: torch.device) -> dict[str, Float[Tensor, "1 N"]]:
    """Row and column of each place of a grid, counted from 0."""
    lines = (torch.arange(float(side), device=device) for side in (rows, columns))
    y, x = (t.flatten()[None] for t in torch.meshgrid(*lines, indexing="ij"))
    return {"row": y, "column": x}
