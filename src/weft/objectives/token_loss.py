"""Token loss: -log p of classes of tokens, from the content ahead of a head. Whole, or in chunks of tokens.

Logits of a large vocabulary are the largest tensor of a step, and three of their size are alive at once. In chunks they
never are: the loss of some tokens is computed with its gradients, and the logits are gone before the next ones come.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from weft.core.heads import PerToken
from weft.objectives.objective import misses

CHUNK_LOGITS = 2**24  # of a chunk: 67 MB in fp32, and twice that while its gradient is made
MANY_LOGITS = 2**27  # of a step, from which on chunks are worth it: 0.5 GB in fp32, three times over
ROWS_AT_ONCE = 4096  # of the head's gradient, which are added up in fp32 where weights are in half precision


@dataclass(frozen=True)
class Scored:
    """The sum of the losses of some tokens; `wrong` is the number whose likeliest class is not the true one."""

    total: Float[Tensor, ""]
    wrong: int | None


def chunk_for(vocabulary: int, tokens: int) -> int | None:
    """The number of tokens whose logits should be computed at once; None for all of them."""
    return max(1, CHUNK_LOGITS // vocabulary) if vocabulary * tokens >= MANY_LOGITS else None


def token_loss(
    head: Any,
    x: Float[Tensor, "T D"],
    targets: Int[Tensor, "T"],
    *,
    smoothing: float = 0.0,
    chunk: int | None = None,
    judged: bool = False,
) -> Scored:
    """-sum log p(target | token), by the logits that a head gives of x; `judged` counts wrong answers too.

    With `chunk` it is the same to rounding, and logits are computed of that number of tokens at a time.
    """
    if chunk is None or len(x) <= chunk or not chunkable(head):
        logits = head.values(x)
        total = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        return Scored(total, misses(logits, targets) if judged else None)
    x = head.ahead(x)
    how = _How(chunk, smoothing, head.cap, torch.is_grad_enabled(), judged)
    total, wrong = _Chunked.apply(x, head.out.weight, head.out.bias, targets, how)
    return Scored(total, int(wrong) if judged else None)


def chunkable(head: Any) -> bool:
    """Whether a head's logits can be computed in chunks: its last map is plain."""
    return isinstance(head, PerToken) and type(head.out) is nn.Linear


@dataclass(frozen=True)
class _How:
    """What stands beside the tensors: the tokens at once, label smoothing, the bound of logits, and what is wanted."""

    chunk: int
    smoothing: float
    cap: float | None
    learns: bool
    judged: bool


class _Gradients:
    """The gradients of x, W and b, added up chunk by chunk; those of half precision in fp32. None where not needed."""

    def __init__(self, x: Tensor, w: Tensor, needed: tuple[bool, ...]):
        exact = torch.promote_types(x.dtype, torch.float32)
        self.x = torch.empty_like(x) if needed[0] else None
        self.w = torch.zeros(w.shape, dtype=exact, device=w.device) if needed[1] else None
        self.b = torch.zeros(len(w), dtype=exact, device=w.device) if needed[2] else None

    def add(self, rows: slice, x: Tensor, w: Tensor, grad: Float[Tensor, "C V"]) -> None:
        """Add what the gradient of the logits of some rows gives."""
        if self.b is not None:
            self.b += grad.sum(0)
        grad = grad.to(x.dtype)
        if self.x is not None:
            torch.mm(grad, w, out=self.x[rows])
        if self.w is not None and self.w.dtype is x.dtype:
            self.w.addmm_(grad.T, x[rows])
        elif self.w is not None:
            for start in range(0, len(w), ROWS_AT_ONCE):
                some = slice(start, start + ROWS_AT_ONCE)
                self.w[some] += grad[:, some].T @ x[rows]


class _Chunked(torch.autograd.Function):
    """The sum of cross-entropies of W x + b, whose gradients are made beside it, chunk after chunk.

    d loss / d logits is p - truth: no more than p is needed for it, which the loss needs too. So nothing is computed
    twice, and no logits are kept.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, how: _How
    ) -> tuple[Tensor, Tensor]:
        x, w, b = x.contiguous(), weight.to(x.dtype), None if bias is None else bias.to(x.dtype)  # a tied one is fp32
        learns = how.learns and any(ctx.needs_input_grad[:3])
        made = _Gradients(x, w, ctx.needs_input_grad[:3]) if learns else None
        total = x.new_zeros((), dtype=torch.promote_types(x.dtype, torch.float32))
        wrong = targets.new_zeros(())
        for start in range(0, len(x), how.chunk):
            rows = slice(start, start + how.chunk)
            truth = targets[rows, None]
            logits = F.linear(x[rows], w, b).to(total.dtype)
            if how.cap is not None:
                logits = logits.div_(how.cap).tanh_().mul_(how.cap)
            if how.judged:
                wrong += (logits.argmax(-1, keepdim=True) != truth).sum()
            logs = logits.log_softmax(-1)
            total -= (1 - how.smoothing) * logs.gather(1, truth).sum()
            if how.smoothing:
                total -= how.smoothing / len(w) * logs.sum()
            if made is not None:
                bound = None if how.cap is None else logits.div_(how.cap).square_().neg_().add_(1)  # tanh' = 1 - tanh^2
                del logits
                made.add(rows, x, w, _of_logits(logs, truth, how.smoothing, bound))
        ctx.made, ctx.dtypes = made, (weight.dtype, None if bias is None else bias.dtype)
        ctx.mark_non_differentiable(wrong)
        return total, wrong

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        made, (w_type, b_type) = ctx.made, ctx.dtypes
        ctx.made = None  # large, and multiplied in place: there is no second way back
        if made is None:
            raise RuntimeError("the gradients of a loss in chunks are used up: it can be differentiated once")
        to_x = None if made.x is None else made.x.mul_(grad.to(made.x.dtype))
        to_w = None if made.w is None else made.w.mul_(grad).to(w_type)
        to_b = None if made.b is None else made.b.mul_(grad).to(b_type)
        return to_x, to_w, to_b, None, None


def _of_logits(
    logs: Float[Tensor, "C V"], truth: Int[Tensor, "C 1"], smoothing: float, bound: Float[Tensor, "C V"] | None
) -> Float[Tensor, "C V"]:
    """P - truth, in place of log p; `bound` is the derivative of what bounds logits."""
    grad = logs.exp_()
    if smoothing:
        grad -= smoothing / grad.shape[1]
    grad.scatter_add_(1, truth, torch.full_like(truth, -(1 - smoothing), dtype=grad.dtype))
    return grad if bound is None else grad.mul_(bound)
