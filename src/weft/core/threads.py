"""How many threads suit a model: on a CPU, handing small products to several threads costs more than it gives."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn

from weft.core.adapters import Adapted
from weft.core.tables import RowTable

T = TypeVar("T")


@contextmanager
def suited_threads(model: nn.Module, *, small: int) -> Iterator[None]:
    """One thread while computing with a model of fewer than `small` weights in matrices, all threads otherwise.

    The rule depends on the model alone, so that the same run always computes in the same order. A user who sets
    OMP_NUM_THREADS overrides it.
    """
    weights = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear | Adapted | RowTable))
    before = torch.get_num_threads()
    if weights >= small or "OMP_NUM_THREADS" in os.environ:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def each_on_one_thread(work: Callable[[T], object], parts: Iterable[T]) -> None:
    """Do independent parts of a work side by side, each on one thread: no thread waits for another within a product.

    Faster than products on several threads where parts are small, and far faster where others use the machine too.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        for part in parts:
            work(part)
        return
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(work, parts):
                pass
    finally:
        torch.set_num_threads(threads)
