"""Operators of training in native code, with their gradients. Callers ask `ready` first, and can do it in torch too.

They compute in fp32 on CPUs. Threads are those of torch, and their number changes no digit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from weft.native import TrainingKind, TrainingOp, library

QUERIES, APART = 32, 16  # of kernels/reading.h: queries in a block, and numbers between two rows of scores
HEAD_MULTIPLE = 16  # widths of heads that vectors of every instruction set fill
NO_NORM = -1.0
Drop = Callable[[Tensor, Tensor, int, float], Tensor]
LONGEST = 1024  # tokens: the scratch of longer lines does not stay in a processor's cache
SHORTEST_PLAIN = 96  # tokens, from which on causal lines without norms and turns are read faster than by torch


def ready(x: Tensor) -> bool:
    """Whether native operators may take this tensor: gradients are wanted of plain fp32 numbers side by side on a CPU.

    Graphs that are compiled, traced or transformed are made of torch's operators.
    """
    return (
        torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
        and not torch._C._are_functorch_transforms_active()
        and type(x) is Tensor
        and x.dtype is torch.float32
        and x.device.type == "cpu"
        and x.requires_grad
        and x.is_contiguous()
        and x.numel() > 0
        and library() is not None
    )


def fits(tokens: int, width: int) -> bool:
    """Whether `read` takes lines of this length and heads of this width."""
    return tokens <= LONGEST and width % HEAD_MULTIPLE == 0


def pays(tokens: int, *, causal: bool, prepared: bool) -> bool:
    """Whether `read` is faster than torch: where it also norms or turns, else for long causal lines (docs/speed.md)."""
    return prepared or (causal and tokens >= SHORTEST_PLAIN)


def _run(
    kind: TrainingKind,
    size: tuple[int, ...],
    data: tuple[Tensor, ...],
    number: tuple[float, ...] = (),
    scratch: int = 0,
) -> None:
    """Compute one operation; `scratch` floats for each thread."""
    native, threads = library(), torch.get_num_threads()
    assert native is not None
    room = torch.empty(threads * scratch)
    op = TrainingOp(kind, threads, scratch, size, number, tuple(t.data_ptr() for t in data), room.data_ptr())
    native.train(op)


def _differentiable(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor
) -> tuple[Tensor | None, ...]:
    """Gradients that have gradients themselves, by torch's operators; None of inputs that need none."""
    with torch.enable_grad():
        wanted = [t for t in inputs if t.requires_grad]
        found = iter(torch.autograd.grad(function(*inputs), wanted, grad, create_graph=True))
    return tuple(next(found) if t.requires_grad else None for t in inputs)


class _NativeReluSquared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        _run(TrainingKind.RELU_SQUARED_FORWARD, (x.numel(),), (x, y))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            return 2 * grad * torch.where(y > 0, y, 1).sqrt() * (y > 0)  # the root's own gradient is infinite at zero
        grad = grad.contiguous()
        to_x = torch.empty_like(grad)
        _run(TrainingKind.RELU_SQUARED_BACKWARD, (y.numel(),), (y, grad, to_x))
        return to_x


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0)^2. What it gives is all that its gradient needs, and the layer behind keeps that anyway."""
    return _NativeReluSquared.apply(x)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, key: Tensor, limit: int, scale: float, plain: Drop) -> Tensor:
        ctx.save_for_backward(key)
        ctx.how = limit, scale, plain
        return _drop(x, key, limit, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (key,), (limit, scale, plain) = ctx.saved_tensors, ctx.how
        if torch.is_grad_enabled():
            return plain(grad, key, limit, scale), None, None, None, None
        return _drop(grad.contiguous(), key, limit, scale), None, None, None, None


def _drop(x: Tensor, key: Tensor, limit: int, scale: float) -> Tensor:
    y = torch.empty_like(x)
    _run(TrainingKind.DROPOUT, (x.numel(), x.numel() // len(key)), (x, key.contiguous(), y), (float(limit), scale))
    return y


def dropped(x: Tensor, key: Int[Tensor, "R 2"], limit: int, scale: float, plain: Drop) -> Tensor:
    """The numbers of x times `scale`, without those whose 16 bits are below `limit`; `plain` is the same in torch.

    For the way back the bits are drawn again, and nothing is kept.
    """
    return _Dropped.apply(x, key, limit, scale, plain)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        y = torch.empty_like(x)
        _run(TrainingKind.NORM_FORWARD, (x.numel() // x.shape[-1], x.shape[-1]), (x, y), (eps,))
        ctx.save_for_backward(x)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *_differentiable(lambda t: F.layer_norm(t, t.shape[-1:], eps=ctx.eps), (x,), grad), None
        grad, to_x = grad.contiguous(), torch.empty_like(x)
        _run(TrainingKind.NORM_BACKWARD, (x.numel() // x.shape[-1], x.shape[-1]), (x, grad, to_x), (ctx.eps,))
        return to_x, None


def layer_norm(x: Float[Tensor, "*lead D"], eps: float) -> Float[Tensor, "*lead D"]:
    """(x - mean) / sqrt(variance + eps)."""
    return _Norm.apply(x, eps)


class _Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mix: Tensor, eps: float) -> Tensor:
        y = torch.empty_like(x)
        _run(TrainingKind.SHIFT_FORWARD, tuple(x.shape), (x, mix, y), (eps,), scratch=3 * x.shape[-1])
        ctx.save_for_backward(x, mix)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mix = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *_differentiable(lambda t, m: _shifted(t, m, ctx.eps), (x, mix), grad), None
        grad, to_x, to_mix = grad.contiguous(), torch.empty_like(x), x.new_empty(len(x), x.shape[-1])
        data = (x, mix, grad, to_x, to_mix)
        _run(TrainingKind.SHIFT_BACKWARD, tuple(x.shape), data, (ctx.eps,), scratch=3 * x.shape[-1])
        return to_x, to_mix.sum(0), None


def _shifted(x: Tensor, mix: Tensor, eps: float) -> Tensor:
    """The same by torch's operators."""
    normed = x if eps < 0 else F.layer_norm(x, x.shape[-1:], eps=eps)
    return normed + mix * (torch.cat([torch.zeros_like(normed[:, :1]), normed[:, :-1]], 1) - normed)


def shift(x: Float[Tensor, "B N D"], mix: Float[Tensor, "D"], eps: float = NO_NORM) -> Float[Tensor, "B N D"]:
    """N + mix (n_previous - n) along whole lines; n is x, or its layer norm with `eps`; before the first is zero."""
    return _Shift.apply(x, mix, eps)


@dataclass(frozen=True)
class Heads:
    """How lines are read: `heads` of queries and `groups` of keys of `width` numbers; the factor is on scores."""

    heads: int
    groups: int
    width: int
    causal: bool
    eps: float
    factor: float


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, cos: Tensor, sin: Tensor, how: Heads) -> Tensor:
        rows, tokens, _ = qkv.shape
        out, logs = qkv.new_empty(rows, tokens, how.heads * how.width), qkv.new_empty(rows, how.heads, tokens)
        panels, across, work = _scratch(how, tokens)
        scratch = 3 * panels + (how.width + QUERIES) * across + QUERIES * how.width + work
        _run(
            TrainingKind.READ_FORWARD, _sizes(qkv, cos, how), (qkv, cos, sin, out, logs), (how.eps, how.factor), scratch
        )
        ctx.save_for_backward(qkv, cos, sin, logs)
        ctx.how = how
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (qkv, cos, sin, logs), how = ctx.saved_tensors, ctx.how
        if torch.is_grad_enabled():
            return *_differentiable(lambda t: _read(t, cos, sin, how), (qkv,), grad), None, None, None
        grad, to_qkv = grad.contiguous(), torch.empty_like(qkv)
        panels, across, work = _scratch(how, qkv.shape[1])
        scratch = 6 * panels + 2 * (how.width + QUERIES) * across + work
        data = (qkv, cos, sin, grad, logs, to_qkv)
        _run(TrainingKind.READ_BACKWARD, _sizes(qkv, cos, how), data, (how.eps, how.factor), scratch)
        return to_qkv, None, None, None


def _scratch(how: Heads, tokens: int) -> tuple[int, int, int]:
    """Floats of a head's tokens in whole blocks, of a line of them on its side, and of one token's work."""
    padded = -(-tokens // QUERIES) * QUERIES
    return padded * how.width, padded + APART, 3 * how.width


def _sizes(qkv: Tensor, cos: Tensor, how: Heads) -> tuple[int, ...]:
    rows, tokens, _ = qkv.shape
    return (rows * how.groups, rows, tokens, how.heads, how.groups, how.width, int(how.causal), cos.shape[-1])


def _read(qkv: Tensor, cos: Tensor, sin: Tensor, how: Heads) -> Tensor:
    """The same by torch's operators."""
    half, each = cos.shape[-1], qkv.unflatten(-1, (-1, how.width))

    def placed(x: Tensor) -> Tensor:
        x = x if how.eps < 0 else F.layer_norm(x, x.shape[-1:], eps=how.eps)
        a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1).transpose(1, 2)

    q, k, v = each.split([how.heads, how.groups, how.groups], 2)
    k, v = (t.repeat_interleave(how.heads // how.groups, 1) for t in (placed(k), v.transpose(1, 2)))
    scores = how.factor * placed(q) @ k.mT
    if how.causal:
        scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def read(
    qkv: Float[Tensor, "B N E"], cos: Float[Tensor, "B N 1 half"], sin: Float[Tensor, "B N 1 half"], how: Heads
) -> Float[Tensor, "B N D"]:
    """Attention within whole lines: each query reads all tokens, or those up to its own where `causal`.

    `qkv` holds all heads. Queries and keys are normalised, unless `eps` is `NO_NORM`, and turned.
    """
    return _Read.apply(qkv, cos, sin, how)
