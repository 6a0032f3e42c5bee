"""Muon: momentum whose matrix updates are made orthogonal (Jordan et al., 2024). Knows no model.

torch has `torch.optim.Muon`; this one differs in two ways that matter here: matrices of one shape go through the
Newton-Schulz iteration together, and the iteration runs in the precision that is fast on the device (torch's always
uses bf16, which is ten times slower than fp32 on a CPU without bf16 units).
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

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
    ):
        """Parameters are matrices, or convolutions with a row for each filter. `dtype` is that of the iteration."""
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.steps, self.dtype = steps, dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One update of every matrix that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    shapes.setdefault(p.shape, []).append(p)
            for same in shapes.values():
                self._update(same, **{k: v for k, v in group.items() if k != "params"})

    def _update(self, params: list[Tensor], *, lr: float, momentum: float, weight_decay: float, **_: Any) -> None:
        grads = [p.grad for p in params if p.grad is not None]
        for p in params:
            if not self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        buffers = [self.state[p]["momentum"] for p in params]
        torch._foreach_lerp_(buffers, grads, 1 - momentum)
        ahead = torch._foreach_lerp(grads, buffers, momentum)
        matrices = torch.stack([one.flatten(1) for one in ahead])
        updates = orthogonal(matrices, steps=self.steps, dtype=self.dtype).to(params[0].dtype)
        rows, columns = matrices.shape[1:]
        torch._foreach_mul_(params, 1 - lr * weight_decay)
        each = [update.view(params[0].shape) for update in updates.unbind(0)]
        torch._foreach_add_(params, each, alpha=-lr * max(1.0, rows / columns) ** 0.5)
