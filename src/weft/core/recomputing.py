"""Recomputing: blocks of which only the input is kept for the way back (activation checkpointing). Knows no block.

A pass makes some things once and all its layers use them: masks, biases, vectors of distances (`Scope.memo`). They are
kept, whichever block was the first to ask for them: a block that is computed again finds them made.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

_within: ContextVar[bool] = ContextVar("within what is computed again", default=False)


def recomputed(compute: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """compute(x), which is computed a second time on the way back, with the same random numbers: to the same bits."""

    def within(x: Tensor) -> Tensor:
        before = _within.set(True)
        try:
            return compute(x)
        finally:
            _within.reset(before)

    found: Tensor = checkpoint(within, x, use_reentrant=False)
    return found


@contextmanager
def kept() -> Iterator[None]:
    """What is made here is made once, also within what is computed again."""
    if not _within.get():
        yield
        return
    with saved_tensors_hooks(_same, _same):
        yield


def _same(tensor: Any) -> Any:
    return tensor
