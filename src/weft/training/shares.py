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

# torch 2.13 has new names for both, and warns of the old ones
gather_all: Callable[..., Any] = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
add_and_scatter: Callable[..., Any] = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


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
        self._groups: tuple[Any, Any] = (None, None)  # of the replicas of this part, and of the parts of this replica

    @property
    def divided(self) -> bool:
        """Whether this process holds a part alone."""
        return self.parts > 1

    def meet(self, device: torch.device) -> Any:
        """Connect with the processes that share weights, and with those that hold the same part; gives the mesh."""
        from torch.distributed.device_mesh import init_device_mesh

        names = ("replica", "part")
        self._mesh = init_device_mesh(device.type, (self.replicas, self.parts), mesh_dim_names=names)
        self._groups = self._mesh.get_group("replica"), self._mesh.get_group("part")
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
            gather_all(found, padded, group=self._groups[1])
        return found[:rows]

    def tensor(self, part: Tensor, shape: torch.Size) -> Tensor:
        """The part as torch's distributed checkpoints know it: with its place in the whole."""
        from torch.distributed.tensor import DTensor, Shard

        stride = torch.empty(shape, device="meta").stride()
        return DTensor.from_local(part, self._mesh["part"], [Shard(0)], run_check=False, shape=shape, stride=stride)

    def swap(self, sent: Tensor, given: Sequence[int], taken: Sequence[int]) -> Tensor:
        """What the processes that share weights send to this one.

        `given` and `taken` are how many numbers go to each process and come from it.
        """
        found = sent.new_empty(sum(taken))
        dist.all_to_all_single(found, sent, list(taken), list(given), group=self._groups[1])
        return found

    def every(self, own: Tensor) -> Tensor:
        """As many numbers of each process that holds the same part, one behind another."""
        found = own.new_empty(self.replicas * len(own))
        gather_all(found, own, group=self._groups[0])
        return found

    def copy(self, numbers: Tensor, replica: int) -> None:
        """The numbers of one of the processes that hold the same part, in place, in all of them."""
        dist.broadcast(numbers, group=self._groups[0], group_src=replica)

    def add_up(self, tensor: Tensor) -> None:
        """The sum over the replicas, in place."""
        with self.world.together():
            dist.all_reduce(tensor, group=self._groups[0])

    def _padded(self, part: Tensor, rows: int) -> Tensor:
        """A part with as many rows as the first one, which no other exceeds."""
        each = -(-rows // self.parts)
        if len(part) == each:
            return part.contiguous()
        return torch.cat([part, part.new_zeros(each - len(part), *part.shape[1:])])
