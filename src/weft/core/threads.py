"""How many threads suit a model: on a CPU, handing small products to several threads costs more than it gives."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TypeVar

import torch
from torch import nn

from weft.core.adapters import Adapted

T = TypeVar("T")
_allowed: ContextVar[int] = ContextVar("allowed", default=1)  # threads that `suited_threads` found and left idle


# Threads stay behind when a process forks, and whatever asked for them in the child would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def suited_threads(model: nn.Module, *, small: int) -> Iterator[None]:
    """One thread while computing with a model of fewer than `small` weights in matrices, all threads otherwise.

    Tables are no matrices: their rows are read, not multiplied. The rule depends on the model alone, so that the same
    run always computes in the same order. A user who sets OMP_NUM_THREADS overrides it. `each_on_one_thread` may still
    use the threads that are left idle here.
    """
    weights = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear | Adapted))
    before = torch.get_num_threads()
    if weights >= small or "OMP_NUM_THREADS" in os.environ:
        yield
        return
    idle = _allowed.set(max(before, _allowed.get()))
    try:
        with one_thread():
            yield
    finally:
        _allowed.reset(idle)


def allowed_threads() -> int:
    """The threads that may compute, those included that `suited_threads` left idle."""
    return max(torch.get_num_threads(), _allowed.get())


def each_on_one_thread(work: Callable[[T], object], parts: Iterable[T]) -> None:
    """Do independent parts of a work side by side, each on one thread: no thread waits for another within a product.

    Faster than products on several threads where parts are small, and far faster where others use the machine too: the
    caller's thread works as well, and takes the parts that no other thread has begun.
    """
    left, taking = list(parts)[::-1], Lock()

    def work_on() -> None:
        while True:
            with taking:
                if not left:
                    return
                part = left.pop()
            try:
                work(part)
            except BaseException:
                left.clear()
                raise

    others = min(allowed_threads(), len(left)) - 1
    # MKL keeps a number of threads for each thread: without the initializer, new ones would compute on all of them.
    pool = ThreadPoolExecutor(max(1, others), initializer=torch.set_num_threads, initargs=(1,))
    with one_thread(), pool:
        waiting = [pool.submit(work_on) for _ in range(others)]
        work_on()
        for one in waiting:
            one.result()
