"""World: the processes that train together. One process is a world of one; the loop is the same."""

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor

from weft.errors import ConfigError


class World:
    """Rank and size, and the few things that processes must agree on."""

    def __init__(self, rank: int = 0, size: int = 1):
        self.rank, self.size = rank, size

    @staticmethod
    def join(device: torch.device) -> "World":
        """The world that torchrun started, if it did."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return World()
        if not dist.is_initialized():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        return World(dist.get_rank(), dist.get_world_size())

    @property
    def first(self) -> bool:
        """Whether this process writes the run folder and speaks."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """The part of this process of a batch of `count` samples."""
        if count % self.size:
            low, high = count - count % self.size, count + self.size - count % self.size
            raise ConfigError(
                f"a batch of {count} does not divide among {self.size} processes",
                where="batch",
                fix=f"set batch={low or high} or batch={high}",
            )
        each = count // self.size
        return slice(self.rank * each, (self.rank + 1) * each)

    def add(self, *numbers: float) -> list[float]:
        """Each number summed over the processes."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()

    def add_gradients(self, params: Iterable[Tensor]) -> None:
        """Gradients summed over the processes, in place."""
        if self.size > 1:
            for p in params:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                dist.all_reduce(p.grad)

    def agree(self, *numbers: float) -> list[float]:
        """The first process's numbers, in all processes."""
        if self.size == 1:
            return list(numbers)
        values = torch.tensor(numbers, dtype=torch.float64)
        dist.broadcast(values, 0)
        return values.tolist()

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            dist.barrier()
