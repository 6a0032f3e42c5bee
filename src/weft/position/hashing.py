"""HashGrid: learned vectors at the corners of grids of several resolutions, found by a hash where a grid is large.

Knows coordinates from -1 to 1; refuses to know what they are of.
"""

import itertools
from collections.abc import Mapping
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import at_least
from weft.errors import ConfigError
from weft.position.codes import Code, some_axes
from weft.tokens import axis_of

FACTORS = (1, 2_654_435_761, 805_459_861, 3_674_653_429)  # of the hash, one an axis, as published
SUMMING_DEVICES = ("cpu", "cuda")  # whose torch adds up weighted rows of a table without a copy of each


class HashGrid(Code):
    """At each resolution the vectors of the corners around a place, mixed in proportion; all resolutions side by side.

    Grids of more corners than a table has `rows` share them by a hash (Mueller et al., 2022). What few corners learn
    changes nothing far away, so that fine detail is learned in few steps.
    """

    class Config(Code.Config):
        """`levels` grids with from `coarse` to `fine` cells along each axis, whose coordinates run from -1 to 1.

        The width of the code is shared equally by the levels. Vectors start evenly within `spread`.
        """

        axes: tuple[str, ...]
        levels: int = 8
        coarse: int = 8
        fine: int = 128
        rows: int = 2**15
        spread: float = 0.1

        def check(self) -> None:
            some_axes(self.axes, where="HashGrid.axes")
            at_least(self, 1, "levels", "coarse", "rows")
            if len(self.axes) > len(FACTORS):
                raise ConfigError(
                    f"at most {len(FACTORS)} axes, found {len(self.axes)}", where="HashGrid.axes", fix="use Fourier"
                )
            if self.fine < self.coarse:
                problem = f"the finest grid has {self.fine} cells, fewer than the coarsest, {self.coarse}"
                raise ConfigError(problem, where="HashGrid.fine")

        def cells(self) -> tuple[int, ...]:
            """Cells along an axis at each level, evenly spread by their ratio."""
            growth = (self.fine / self.coarse) ** (1 / max(1, self.levels - 1))
            return tuple(round(self.coarse * growth**level) for level in range(self.levels))

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        if dim % config.levels:
            raise ConfigError(f"a width of {dim} is not shared equally by {config.levels} levels")
        self.axes = config.axes
        cells = config.cells()
        corners = [(side + 1) ** len(config.axes) for side in cells]
        sizes = [min(count, config.rows) for count in corners]
        steps = [[(side + 1) ** axis for axis in range(len(config.axes))] for side in cells]
        self.cells: Tensor
        self.sizes: Tensor
        self.first: Tensor
        self.factors: Tensor
        self.hashed: Tensor
        self.register_buffer("cells", torch.tensor(cells), persistent=False)
        self.register_buffer("sizes", torch.tensor(sizes), persistent=False)
        self.register_buffer("first", torch.tensor([sum(sizes[:i]) for i in range(len(sizes))]), persistent=False)
        hashed = [count > config.rows for count in corners]
        factors = [list(FACTORS[: len(step)]) if far else step for step, far in zip(steps, hashed, strict=True)]
        self.register_buffer("factors", torch.tensor(factors), persistent=False)
        self.register_buffer("hashed", torch.tensor(hashed), persistent=False)
        self.table = nn.Embedding(sum(sizes), dim // config.levels)
        nn.init.uniform_(self.table.weight, -config.spread, config.spread)

    def forward(self, coords: Mapping[str, Tensor]) -> Float[Tensor, "B N D"]:
        place = torch.stack([axis_of(coords, axis) for axis in self.axes], -1).to(self.table.weight.dtype)
        rows, weights = self.corners(place.flatten(0, -2))
        return mixed(self.table.weight, rows, weights).view(*place.shape[:-1], -1)

    def corners(self, place: Float[Tensor, "P A"]) -> tuple[Int[Tensor, "P L C"], Float[Tensor, "P L C"]]:
        """The rows of the corners around each place at each level, and the share of each corner."""
        within = ((place + 1) / 2).clamp(0, 1)[:, None] * self.cells[:, None]  # P L A
        low = torch.minimum(within.floor(), (self.cells - 1)[:, None].to(within.dtype))
        above = within - low
        shares, parts = (1 - above, above), (low.long() * self.factors, (low.long() + 1) * self.factors)
        rows, weights = list[Tensor](), list[Tensor]()
        for corner in itertools.product((0, 1), repeat=place.shape[-1]):
            rows.append(self._rows([parts[side][..., axis] for axis, side in enumerate(corner)]))
            weights.append(reduce(torch.mul, [shares[side][..., axis] for axis, side in enumerate(corner)]))
        return torch.stack(rows, -1), torch.stack(weights, -1)

    def _rows(self, parts: list[Tensor]) -> Int[Tensor, "P L"]:
        """The row of a corner: its number in the grid, or its hash."""
        number, found = parts[0], parts[0]
        for part in parts[1:]:
            number, found = number + part, found ^ part
        return self.first + torch.where(self.hashed, found % self.sizes, number)


def mixed(
    table: Float[Tensor, "R F"], rows: Int[Tensor, "P L C"], weights: Float[Tensor, "P L C"]
) -> Float[Tensor, "P LF"]:
    """At each level the sum of the corners' vectors by their weights; all levels side by side.

    Where a place itself is to have a gradient, or a graph is traced, torch's own operators compute it.
    """
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing()
    if not traced and table.device.type in SUMMING_DEVICES and not weights.requires_grad:
        return _Mixed.apply(table, rows, weights).flatten(1)
    return (table[rows] * weights[..., None]).sum(-2).flatten(1)


class _Mixed(torch.autograd.Function):
    """The gradient of the table is added up column by column: four times as fast as by rows, of which many repeat."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weights)
        ctx.shape = table.shape
        flat = rows.flatten(0, 1)
        found = F.embedding_bag(flat, table, mode="sum", per_sample_weights=weights.flatten(0, 1).to(table.dtype))
        return found.view(*rows.shape[:2], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, weights = ctx.saved_tensors
        flat, each = rows.flatten(), grads[0][..., None, :] * weights[..., None]
        columns = [
            grads[0].new_zeros(ctx.shape[0]).scatter_add_(0, flat, each[..., column].flatten())
            for column in range(ctx.shape[1])
        ]
        return torch.stack(columns, 1), None, None
