"""Reading along edges: sums and attention over a list of edges, linear in their number, forward and backward.

Three primitives do all the work: products of the two ends of each edge, weighted sums over the edges of a token, and a
softmax over them. On CPUs and CUDA no vector is copied for each edge; other devices go through the edges in pieces.
"""

import warnings
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from weft.relations import EdgeList

SPARSE_DEVICES = ("cpu", "cuda")  # whose torch has the sparse products and sums that are used here
PIECE = 2**22  # numbers copied at once where vectors have to be copied for each edge


def edge_sum(x: Float[Tensor, "BN D"], weights: Float[Tensor, "E"], edges: EdgeList) -> Float[Tensor, "BN D"]:
    """For each token the sum of what it reads along its edges, each weighted; the weights themselves learn nothing."""
    return _EdgeSum.apply(x, weights, edges)


def edge_attention(
    q: Float[Tensor, "BN H d"],
    k: Float[Tensor, "BN G d"],
    v: Float[Tensor, "BN G e"],
    edges: EdgeList,
    *,
    factor: float,
    bias: Float[Tensor, "E H"] | None = None,
) -> Float[Tensor, "BN H e"]:
    """softmax(factor * q . k + bias) v over the edges of each token; a token without edges reads zero."""
    return _EdgeAttention.apply(q, k, v, bias, edges, factor)


def edge_weights(
    q: Float[Tensor, "BN H d"],
    k: Float[Tensor, "BN G d"],
    edges: EdgeList,
    *,
    factor: float,
    bias: Float[Tensor, "E H"] | None = None,
) -> Float[Tensor, "E H"]:
    """The attention weights along the edges; those of a token add up to 1."""
    scores = products(q, k, edges) * factor
    return softmax(scores if bias is None else scores + bias.to(scores.dtype), edges)


class _EdgeSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, edges: EdgeList) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(weights)
        return sums(weights[:, None], x[:, None], edges.key, edges.offsets)[:, 0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weights,), edges = ctx.saved_tensors, ctx.edges
        order, offsets = edges.by_key
        back = sums(weights[order][:, None], grads[0][:, None], edges.query[order], offsets)
        return back[:, 0], None, None


class _EdgeAttention(torch.autograd.Function):
    """With p the weights and g the gradient of the output o, that of the scores is p (g . v - g . o)."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, edges: EdgeList, factor: float
    ) -> Tensor:
        weights = edge_weights(q, k, edges, factor=factor, bias=bias)
        out = sums(weights, v, edges.key, edges.offsets)
        ctx.edges, ctx.factor, ctx.biased = edges, factor, None if bias is None else bias.dtype
        ctx.save_for_backward(q, k, v, weights, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, out = ctx.saved_tensors
        edges, grad = ctx.edges, grads[0]
        order, offsets = edges.by_key
        at = (grad * out).sum(-1)
        scores = weights * (products(grad, v, edges) - at[edges.query])
        to_queries = sums(scores, k, edges.key, edges.offsets) * ctx.factor
        to_keys = _grouped(sums(scores[order], q, edges.query[order], offsets), k.shape[1]) * ctx.factor
        to_values = _grouped(sums(weights[order], grad, edges.query[order], offsets), v.shape[1])
        return to_queries, to_keys, to_values, None if ctx.biased is None else scores.to(ctx.biased), None, None


def products(q: Float[Tensor, "BN H d"], k: Float[Tensor, "BN G d"], edges: EdgeList) -> Float[Tensor, "E H"]:
    """The products of the two ends of each edge, for each head; key heads may be shared by several query heads."""
    heads, shared = q.shape[1], q.shape[1] // k.shape[1]
    if q.device.type in SPARSE_DEVICES and len(edges):
        wide = torch.promote_types(q.dtype, torch.float32)
        pattern = _pattern(edges, wide)
        q, k = q.to(wide), k.to(wide)
        each = [torch.sparse.sampled_addmm(pattern, q[:, h], k[:, h // shared].T, beta=0.0) for h in range(heads)]
        return torch.stack([one.values() for one in each], 1)
    pieces = []
    for some in _pieces(len(edges), heads * q.shape[2]):
        ends = q[edges.query[some]], k.repeat_interleave(shared, 1)[edges.key[some]]
        pieces.append((ends[0] * ends[1]).sum(-1))
    return torch.cat(pieces)


def sums(
    weights: Float[Tensor, "E H"], x: Float[Tensor, "BN G d"], ends: Int[Tensor, "E"], offsets: Int[Tensor, "BN+1"]
) -> Float[Tensor, "BN H d"]:
    """The weighted sum over the edges of each token of the vectors at their other `ends`, for each head."""
    heads, shared = weights.shape[1], weights.shape[1] // x.shape[1]
    weights = weights.to(x.dtype)
    if x.device.type in SPARSE_DEVICES:
        each = [
            F.embedding_bag(
                ends,
                x[:, h // shared].contiguous(),
                offsets[:-1],
                mode="sum",
                per_sample_weights=weights[:, h].contiguous(),
            )
            for h in range(heads)
        ]
        return each[0][:, None] if heads == 1 else torch.stack(each, 1)
    owner = torch.repeat_interleave(
        torch.arange(len(offsets) - 1, device=x.device), offsets.diff(), output_size=len(ends)
    )
    out = x.new_zeros(len(offsets) - 1, heads, x.shape[2])
    for some in _pieces(len(ends), heads * x.shape[2]):
        out.index_add_(0, owner[some], weights[some, :, None] * x.repeat_interleave(shared, 1)[ends[some]])
    return out


def softmax(scores: Float[Tensor, "E H"], edges: EdgeList) -> Float[Tensor, "E H"]:
    """exp(score) over its sum along the edges of the same token."""
    largest = _segments(scores, edges, "max", float("-inf"))
    raised = (scores - largest[edges.query]).exp()
    return raised / _segments(raised, edges, "sum", 0.0)[edges.query]


def _segments(values: Float[Tensor, "E H"], edges: EdgeList, how: str, empty: float) -> Float[Tensor, "BN H"]:
    """The largest value or the sum over the edges of each token."""
    if values.device.type in SPARSE_DEVICES:
        return torch.segment_reduce(values, how, offsets=edges.offsets, axis=0, initial=empty, unsafe=True)
    out = values.new_full((edges.batch * edges.tokens, values.shape[1]), empty)
    rows = edges.query[:, None].expand_as(values)
    return out.scatter_reduce_(0, rows, values, {"max": "amax", "sum": "sum"}[how])


def _pattern(edges: EdgeList, dtype: torch.dtype) -> Tensor:
    """Zeros at the edges, as the sparse matrix that products are sampled at."""
    _be_quiet()
    size = (edges.batch * edges.tokens,) * 2
    zeros = torch.zeros(len(edges), dtype=dtype, device=edges.key.device)
    return torch.sparse_csr_tensor(edges.offsets, edges.key, zeros, size, check_invariants=False)


@lru_cache(maxsize=1)
def _be_quiet() -> None:
    """Suppress torch's warning, given once, that its sparse tensors are in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 1), check_invariants=False)


def _pieces(count: int, width: int) -> list[slice]:
    step = max(1, PIECE // max(width, 1))
    return [slice(start, start + step) for start in range(0, max(count, 1), step)]


def _grouped(t: Float[Tensor, "BN H d"], groups: int) -> Float[Tensor, "BN G d"]:
    """Summed over the heads that share a key head."""
    return t if t.shape[1] == groups else t.unflatten(1, (groups, -1)).sum(2)
