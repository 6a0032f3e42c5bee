"""Muon: momentum whose matrix updates are made orthogonal (Jordan et al., 2024). Knows no model.

torch has `torch.optim.Muon`; this one differs in two ways that matter here: matrices of one shape go through the
Newton-Schulz iteration together, and the iteration runs in the precision that is fast on the device (torch's always
uses bf16, which is ten times slower than fp32 on a CPU without bf16 units).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from weft.training.owners import Owners

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
    x = (matrices.mT if tall else matrices).to(torch.float32 if dtype is torch.float16 else dtype)
    x = (x / x.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]).to(dtype)  # fp16 ends at 6e-8
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
        owners: Owners | None = None,
        rows: Mapping[int, int] | None = None,
    ):
        """Parameters are matrices, or convolutions with a row for each filter. `dtype` is that of the iteration.

        With `owners` each matrix is made orthogonal by one process. Parameters may be parts of matrices then; `rows`
        are those of the whole matrix, by the part's id.
        """
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.steps, self.dtype, self.owners, self.rows = steps, dtype, owners, rows or {}
        self._made: dict[int, Tensor] = {}  # the updates of the next step, by the id of what they update

    @torch.no_grad()
    def exchange(self) -> None:
        """Have the owners compute the updates of the next step. All waits for other processes are here.

        Nothing is changed: a process that leaves in such a wait has the weights and the momentum of the last step.
        """
        if self.owners is None:
            return
        self.owners.begin()
        for group, params in self._learning():
            rows = [self._rows(p) for p in params]
            for some in self.owners.portions([(r, p.shape[1:].numel()) for r, p in zip(rows, params, strict=True)]):
                grads, buffers = self._given(params[some])
                moved = torch._foreach_lerp(buffers, grads, 1 - group["momentum"])
                matrices = [one.flatten(1) for one in torch._foreach_lerp(grads, moved, group["momentum"])]
                made = self.owners.computed(matrices, rows[some], self._orthogonal)
                self._made |= {id(p): one for p, one in zip(params[some], made, strict=True)}

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One update of every matrix that has a gradient."""
        assert closure is None
        if not self._made:
            self.exchange()
        for group, params in self._learning():
            for same in _by_shape(params):
                self._update(same, group)
        self._made = {}

    def _learning(self) -> Iterator[tuple[dict[str, Any], list[Tensor]]]:
        """Each group, and those of its parameters that have a gradient."""
        for group in self.param_groups:
            yield group, [p for p in group["params"] if p.grad is not None]

    def _given(self, params: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The gradients of parameters, and their momentum."""
        for p in params:
            if not self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        return [p.grad for p in params if p.grad is not None], [self.state[p]["momentum"] for p in params]

    def _rows(self, p: Tensor) -> int:
        """The rows of a whole matrix."""
        return self.rows.get(id(p), len(p))

    def _update(self, params: list[Tensor], group: Mapping[str, Any]) -> None:
        """Update parameters of one shape."""
        grads, buffers = self._given(params)
        lr, momentum, rows = group["lr"], group["momentum"], self._rows(params[0])
        torch._foreach_lerp_(buffers, grads, 1 - momentum)
        if self.owners is None:
            made = self._orthogonal([one.flatten(1) for one in torch._foreach_lerp(grads, buffers, momentum)])
        else:
            made = [self._made[id(p)] for p in params]
        torch._foreach_mul_(params, 1 - lr * group["weight_decay"])
        each = [update.view_as(p) for update, p in zip(made, params, strict=True)]
        torch._foreach_add_(params, each, alpha=-lr * max(1.0, rows / params[0].shape[1:].numel()) ** 0.5)

    def _orthogonal(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """The updates of whole matrices; those of one shape are computed together."""
        found: dict[int, Tensor] = {}
        for same in _by_shape(matrices):
            together = orthogonal(torch.stack(same), steps=self.steps, dtype=self.dtype).to(same[0].dtype)
            found |= {id(one): made for one, made in zip(same, together.unbind(0), strict=True)}
        return [found[id(one)] for one in matrices]


def _by_shape(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    found: dict[torch.Size, list[Tensor]] = {}
    for one in tensors:
        found.setdefault(one.shape, []).append(one)
    return list(found.values())
