"""Share: which rows of every weight a process holds, and how whole tensors are made of the parts.

Rows are cut into equal parts, one behind another; the last ones are shorter, or empty, as `torch.chunk` cuts them. What
an update rule remembers of a weight is cut as the weight is. Knows tensors and processes, no model.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from weft.training.world import World


def rows_of(count: int, part: int, parts: int) -> slice:
    """Which of `count` rows are in one of some parts."""
    each = -(-count // parts)
    return slice(min(count, part * each), min(count, (part + 1) * each))


class Share:
    """Part `part` of `parts`. Processes whose numbers follow one another share weights; groups of them are replicas."""

    def __init__(self, world: World, *, parts: int):
        self.world, self.parts = world, parts
        self.part, self.replica, self.replicas = world.rank % parts, world.rank // parts, world.size // parts
        self._mesh: Any = None

    @property
    def divided(self) -> bool:
        """Whether this process holds a part alone."""
        return self.parts > 1

    def meet(self, device: torch.device) -> Any:
        """Connect with the processes that share weights, and with those that hold the same part; gives the mesh."""
        from torch.distributed.device_mesh import init_device_mesh

        names = ("replica", "part")
        self._mesh = init_device_mesh(device.type, (self.replicas, self.parts), mesh_dim_names=names)
        return self._mesh["part"]

    def rows(self, count: int) -> slice:
        """The rows of this process."""
        return rows_of(count, self.part, self.parts)

    def of(self, whole: Tensor) -> Tensor:
        """The part of a whole tensor."""
        return whole[self.rows(len(whole))] if self.divided and whole.ndim else whole

    def sum(self, number: float) -> float:
        """A number of each part, added up over the parts; of replicas one is counted."""
        return self.world.add(number if self.replica == 0 else 0.0)[0]

    def whole(self, part: Tensor, rows: int) -> Tensor:
        """The whole tensor of this process's part, in all processes."""
        if not self.divided:
            return part
        padded = self._padded(part, rows)
        found = padded.new_empty(self.parts * len(padded), *part.shape[1:])
        with self.world.together():
            dist.all_gather_into_tensor(found, padded, group=self._group)
        return found[:rows]

    def tensor(self, part: Tensor, shape: torch.Size) -> Tensor:
        """The part as torch's distributed checkpoints know it: with its place in the whole."""
        from torch.distributed.tensor import DTensor, Shard

        stride = torch.empty(shape, device="meta").stride()
        return DTensor.from_local(part, self._mesh["part"], [Shard(0)], run_check=False, shape=shape, stride=stride)

    def by_owners(
        self, parts: Sequence[Tensor], rows: int, compute: Callable[[Tensor], Tensor], first: int
    ) -> list[Tensor]:
        """compute(whole) of each of some matrices of `rows` rows, as parts again.

        Each process holds one whole matrix at a time: they take turns, beginning with the process `first`.
        """
        found: list[Tensor] = []
        with self.world.together():
            for start in range(0, len(parts), self.parts):
                some = parts[start : start + self.parts]
                owners = [(first + start + i) % self.parts for i in range(len(some))]
                own = [self._gathered(part, rows, owner) for owner, part in zip(owners, some, strict=True)]
                made = [None if whole is None else compute(whole) for whole in own]
                found += [
                    self._scattered(whole, part, rows, owner)
                    for owner, whole, part in zip(owners, made, some, strict=True)
                ]
        return found

    def _gathered(self, part: Tensor, rows: int, owner: int) -> Tensor | None:
        """The whole matrix, in the process that owns it."""
        padded = self._padded(part, rows)
        every = [torch.empty_like(padded) for _ in range(self.parts)] if owner == self.part else None
        dist.gather(padded, every, group=self._group, group_dst=owner)
        return None if every is None else torch.cat(every)[:rows]

    def _scattered(self, whole: Tensor | None, part: Tensor, rows: int, owner: int) -> Tensor:
        """The part of this process of the matrix that its owner has."""
        found = torch.empty_like(self._padded(part, rows))
        cuts = [rows_of(rows, i, self.parts) for i in range(self.parts)]
        every = None if whole is None else [self._padded(whole[cut], rows) for cut in cuts]
        dist.scatter(found, every, group=self._group, group_src=owner)
        return found[: len(part)]

    def add_up(self, tensor: Tensor) -> None:
        """The sum over the replicas, in place."""
        with self.world.together():
            dist.all_reduce(tensor, group=self._mesh["replica"].get_group())

    def _padded(self, part: Tensor, rows: int) -> Tensor:
        """A part with as many rows as the first one, which no other exceeds."""
        each = -(-rows // self.parts)
        if len(part) == each:
            return part.contiguous()
        return torch.cat([part, part.new_zeros(each - len(part), *part.shape[1:])])

    @property
    def _group(self) -> Any:
        return self._mesh["part"].get_group()
