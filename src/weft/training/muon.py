"""Muon: momentum whose matrix updates are made orthogonal (Jordan et al., 2024). Knows no model.

torch has `torch.optim.Muon`; this one differs in two ways that matter here: matrices of one shape go through the
Newton-Schulz iteration together, and the iteration runs in the precision that is fast on the device (torch's always
uses bf16, which is ten times slower than fp32 on a CPU without bf16 units).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from weft.training.shares import Share

# Five steps of x <- a x + b (x x^T) x + c (x x^T)^2 x with these numbers bring singular values near 1.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
OBLONG = 2.5  # longer side over shorter side, from which on iterating by Gram matrices takes fewer operations
GRAM_STEPS = (
    3  # at most, by one Gram matrix: each step makes the rounding error of its small eigenvalues a^2 times as large
)


def orthogonal(matrices: Float[Tensor, "M r c"], *, steps: int, dtype: torch.dtype) -> Float[Tensor, "M r c"]:
    """Each matrix with its singular values moved near one, keeping its singular vectors.

    Oblong matrices are iterated by their Gram matrices, which are smaller. bf16 has too few digits for these squares.
    """
    a, b, c = NEWTON_SCHULZ
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.mT if tall else matrices).to(dtype)
    x = x / x.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]
    if x.shape[2] >= OBLONG * x.shape[1] and dtype.itemsize >= torch.float32.itemsize:
        for made in range(0, steps, GRAM_STEPS):
            x = torch.bmm(_polynomial(torch.bmm(x, x.mT), min(GRAM_STEPS, steps - made)), x)
    else:
        for _ in range(steps):
            gram = torch.bmm(x, x.mT)
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def _polynomial(gram: Float[Tensor, "M r r"], steps: int) -> Float[Tensor, "M r r"]:
    """What `steps` of the iteration multiply x by, from g = x x^T alone: a step takes x to p x, and g to p g p."""
    a, b, c = NEWTON_SCHULZ
    product: Tensor | None = None
    for left in reversed(range(steps)):
        p = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        p.diagonal(dim1=1, dim2=2).add_(a)
        product = p if product is None else torch.bmm(p, product)
        if left:
            gram = torch.bmm(torch.bmm(p, gram), p)
    assert product is not None
    return product


@dataclass(frozen=True)
class Owners:
    """Processes that each hold some rows of every matrix; `rows` are those of the whole matrix, by the part's id."""

    share: Share
    rows: Mapping[int, int]


class Muon(torch.optim.Optimizer):
    """w <- (1 - lr * weight_decay) w - lr * sqrt(max(1, rows / columns)) * orthogonal(Nesterov momentum)."""

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        steps: int = 5,
        dtype: torch.dtype = torch.float32,
        owners: Owners | None = None,
    ):
        """Parameters are matrices, or convolutions with a row for each filter. `dtype` is that of the iteration.

        With `owners` they are parts of matrices, each of which is made orthogonal by one process.
        """
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.steps, self.dtype, self.owners = steps, dtype, owners
        self._turn = 0  # which process owns the next matrix

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One update of every matrix that has a gradient."""
        assert closure is None
        self._turn = 0
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[Tensor]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    shapes.setdefault((self._rows(p), *p.shape[1:]), []).append(p)
            for (rows, *_), same in shapes.items():
                self._update(same, rows, **{k: v for k, v in group.items() if k != "params"})

    def _rows(self, p: Tensor) -> int:
        """The rows of a whole matrix."""
        return len(p) if self.owners is None else self.owners.rows[id(p)]

    def _update(
        self, params: list[Tensor], rows: int, *, lr: float, momentum: float, weight_decay: float, **_: Any
    ) -> None:
        grads = [p.grad for p in params if p.grad is not None]
        for p in params:
            if not self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        buffers = [self.state[p]["momentum"] for p in params]
        torch._foreach_lerp_(buffers, grads, 1 - momentum)
        ahead = torch._foreach_lerp(grads, buffers, momentum)
        matrices = [one.flatten(1) for one in ahead]
        torch._foreach_mul_(params, 1 - lr * weight_decay)
        each = [update.view_as(p) for update, p in zip(self._orthogonal(matrices, rows), params, strict=True)]
        torch._foreach_add_(params, each, alpha=-lr * max(1.0, rows / matrices[0].shape[1]) ** 0.5)

    def _orthogonal(self, matrices: list[Tensor], rows: int) -> list[Tensor]:
        """The updates of matrices of one shape: together where they are whole, else each by one process."""
        if self.owners is None:
            together = orthogonal(torch.stack(matrices), steps=self.steps, dtype=self.dtype)
            return list(together.to(matrices[0].dtype).unbind(0))

        def compute(whole: Tensor) -> Tensor:
            return orthogonal(whole[None], steps=self.steps, dtype=self.dtype)[0].to(whole.dtype)

        first, self._turn = self._turn, self._turn + len(matrices)
        return self.owners.share.by_owners(matrices, rows, compute, first)
