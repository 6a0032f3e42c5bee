"""RowTable: a table of vectors of which each step reads and changes few rows. Knows rows; refuses to know words."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class RowTable(nn.Module):
    """Vectors by number. Its gradient is sparse: it holds the rows that were read, and no others.

    So a step costs what it reads, however large the table is. `training.row_sgd` updates such tables.
    """

    def __init__(self, rows: int, dim: int):
        super().__init__()
        self.sparse = True  # not where processes add up gradients
        self.weight = nn.Parameter(torch.zeros(rows, dim))

    def forward(self, rows: Int[Tensor, "U"]) -> Float[Tensor, "U D"]:
        """The vectors of these rows. Name each row once: the gradient then needs no sorting."""
        return F.embedding(rows, self.weight, sparse=self.sparse)
