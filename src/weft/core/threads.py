"""How many threads suit a model: on a CPU, handing small products to several threads costs more than it gives."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from weft.core.adapters import Adapted
from weft.core.tables import RowTable


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
