"""What is computed beside: sums and rows over all processes of a training step, with their gradients.

A loss or a norm that looks at the whole batch asks here, and knows no processes. Training says what stands beside
(`training/world`); where nothing does, a process is alone, and every answer is what it gave.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Shaped
from torch import Tensor


@runtime_checkable
class Others(Protocol):
    """The processes that compute a step together: each calls the same in the same order."""

    def summed(self, t: Tensor) -> Tensor:
        """The sum of the tensors that all processes give, which have one shape."""
        ...

    def gathered(self, rows: Tensor) -> tuple[Tensor, int]:
        """The rows of all processes by rank, and where the own ones begin."""
        ...


_others: ContextVar[Others | None] = ContextVar("the processes beside", default=None)


@contextmanager
def standing(others: Others | None) -> Iterator[None]:
    """What is computed within is a part of a step that others compute too."""
    before = _others.set(others)
    try:
        yield
    finally:
        _others.reset(before)


def others() -> bool:
    """Whether other processes compute the same step."""
    return _others.get() is not None


def summed(t: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """The sum of the tensors of all processes."""
    found = _others.get()
    return t if found is None else found.summed(t)


def gathered(rows: Shaped[Tensor, "R *any"]) -> tuple[Shaped[Tensor, "S *any"], int]:
    """The rows of all processes by rank, and where the own ones begin."""
    found = _others.get()
    return (rows, 0) if found is None else found.gathered(rows)


def mean(rows: Float[Tensor, "R *any"]) -> Float[Tensor, "*any"]:
    """The mean of the rows of all processes."""
    if not others():
        return rows.mean(0)
    return summed(rows.sum(0)) / summed(rows.new_tensor(float(len(rows))))
