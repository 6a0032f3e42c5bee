"""Sums and rows over the processes of a step, with gradients. Knows torch's collectives, and no model.

The loss of a step is the sum of the losses of all processes. The gradient of what one process gave is therefore the
sum of the gradients that all have at it.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from weft.training.world import World


class OtherProcesses:
    """The processes of a world, asked within a step: `core.beside`."""

    def __init__(self, world: World):
        self.world = world

    def summed(self, t: Tensor) -> Tensor:
        """The sum of the tensors of all processes."""
        found: Tensor = _Sum.apply(t, self.world)
        return found

    def gathered(self, rows: Tensor) -> tuple[Tensor, int]:
        """The rows of all processes by rank, and where the own ones begin."""
        with self.world.together():
            counts = [int(one) for one in _of_all(torch.tensor([len(rows)], device=rows.device), self.world)]
        found: Tensor = _GatheredRows.apply(rows, self.world, counts)
        return found, sum(counts[: self.world.rank])


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor, world: World) -> Tensor:
        ctx.world = world
        return _added(t, world)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _added(grad, ctx.world), None


class _GatheredRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, world: World, counts: list[int]) -> Tensor:
        ctx.world, ctx.start, ctx.count = world, sum(counts[: world.rank]), len(rows)
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        with world.together():
            each = _of_all(padded, world)
        return torch.cat([one[:count] for one, count in zip(each, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _added(grad, ctx.world)[ctx.start : ctx.start + ctx.count], None, None


def _added(t: Tensor, world: World) -> Tensor:
    total = t.detach().clone(memory_format=torch.contiguous_format)
    with world.together():
        dist.all_reduce(total)
    return total


def _of_all(t: Tensor, world: World) -> list[Tensor]:
    each = [torch.empty_like(t) for _ in range(world.size)]
    dist.all_gather(each, t)
    return each
