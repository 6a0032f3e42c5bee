"""World: the processes that train together. One process is a world of one; the loop is the same.

The first process plans, writes the run folder and speaks. Whatever could differ between processes (a clock, a signal, a
measurement) is decided by one number or text that all of them agree on.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import torch
import torch.distributed as dist
from torch import Tensor

from weft.errors import ConfigError, Interrupted, WeftError


class World:
    """Rank and size, and the few things that processes must agree on."""

    def __init__(self, rank: int = 0, size: int = 1, device: torch.device | None = None):
        self.rank, self.size = rank, size
        self.device = device if device is not None and device.type == "cuda" else torch.device("cpu")
        self._joined = False

    @staticmethod
    def join(device: torch.device) -> "World":
        """The world that torchrun started, if it did."""
        found = os.environ.get("WORLD_SIZE", "1")
        if found == "1":
            return World()
        joined = not dist.is_initialized()
        try:
            if joined:
                dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        except (ValueError, RuntimeError) as error:
            fix = "start the processes with torchrun, or unset WORLD_SIZE"
            raise WeftError(f"the {found} processes cannot meet: {error}", where="WORLD_SIZE", fix=fix) from None
        world = World(dist.get_rank(), dist.get_world_size(), device)
        world._joined = joined
        return world

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._joined and kind is None:  # after an error the others are waiting, and notice the lost connection
            dist.destroy_process_group()

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
                fix=f"set batch={low} or batch={high}" if low else f"set batch={high}",
            )
        each = count // self.size
        return slice(self.rank * each, (self.rank + 1) * each)

    def add(self, *numbers: float) -> list[float]:
        """Each number summed over the processes."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        with _together():
            dist.all_reduce(total)
        return total.tolist()

    def add_gradients(self, params: Iterable[Tensor]) -> None:
        """Gradients summed over the processes, in place."""
        if self.size > 1:
            with _together():
                for p in params:
                    if p.grad is None:
                        p.grad = torch.zeros_like(p)
                    elif p.grad.is_sparse:  # not every backend adds up rows that differ between processes
                        p.grad = p.grad.to_dense()
                    dist.all_reduce(p.grad)

    def copy(self, tensors: Iterable[Tensor]) -> None:
        """The first process's tensors, in place, in all processes."""
        if self.size > 1:
            with _together():
                for tensor in tensors:
                    dist.broadcast(tensor, 0)

    def agree(self, number: float) -> float:
        """The first process's number, in all processes."""
        if self.size == 1:
            return number
        value = torch.tensor([number], dtype=torch.float64, device=self.device)
        with _together():
            dist.broadcast(value, 0)
        return float(value)

    def tell(self, text: str = "") -> str:
        """The first process's text, in all processes. Until it speaks the others wait."""
        if self.size == 1:
            return text
        data = torch.frombuffer(bytearray(os.fsencode(text) + b"."), dtype=torch.uint8).to(self.device)
        length = int(self.agree(len(data)))
        data = data if self.first else torch.empty(length, dtype=torch.uint8, device=self.device)
        with _together():
            dist.broadcast(data, 0)
        return os.fsdecode(bytes(data.tolist())[:-1])


@contextmanager
def _together() -> Iterator[None]:
    """A step that all processes must take together: if one is gone, the others leave too."""
    try:
        yield
    except RuntimeError as error:
        raise Interrupted(f"another process of this run has ended: {str(error).splitlines()[0]:.200}") from None
