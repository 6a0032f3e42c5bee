"""RowSgd: stochastic gradient descent on the rows of tables that a step has read. Knows gradients, no model."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class RowSgd(torch.optim.Optimizer):
    """w_r <- w_r - lr g_r, where g_r is the sum of the gradients of row r, with a norm of at most `clip`.

    Sums and not means: a row is read by a few samples of a step, and a mean over all samples would let its rate depend
    on their number. Only rows that very many samples share are clipped. There is no state to keep.
    """

    def __init__(self, tables: Iterable[Tensor], lr: float, clip: float):
        """`clip` is 0 where no gradient is scaled down."""
        super().__init__(tables, {"lr": lr, "clip": clip})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update the rows with gradients."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is None:
                    continue
                values = row_values(table.grad)
                if group["clip"]:
                    norms = torch.linalg.vector_norm(values, dim=1, keepdim=True)
                    values = values * (group["clip"] / norms.clamp(min=group["clip"]))
                if table.grad.is_sparse:
                    table.index_add_(0, table.grad._indices()[0], values, alpha=-group["lr"])
                else:
                    table.add_(values, alpha=-group["lr"])


def row_values(gradient: Tensor) -> Tensor:
    """The numbers of a gradient: those of its rows where it is sparse."""
    return gradient._values() if gradient.is_sparse else gradient


def with_each_row_once(gradient: Tensor) -> Tensor:
    """A gradient whose rows are different ones. Parts of a step that read the same row are added up."""
    if not gradient.is_sparse:
        return gradient
    rows = gradient._indices()[0]
    ordered = len(rows) < 2 or bool((rows[1:] > rows[:-1]).all())
    return gradient if ordered else gradient.coalesce()
