"""Attention kernels: plain functions of q, k, v and a scope. Several kernels, one law.

The law: every kernel equals `explicit`, and a query with nothing to read reads zero. `attend` picks the kernel from
stated facts; the caller never chooses. Shared key heads (G < H) are read in groups, never copied.
"""

from collections.abc import Callable, Sequence

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from weft.core.edges import edge_attention
from weft.core.rules import Rule
from weft.core.scope import Scope, Shape
from weft.core.scores import ScoreOf

# On a CPU three plain operations (matmul, softmax, matmul) beat the fused kernel in two cases: training with few scores
# a head, and reading a long past with one query.
PLAIN_SCORES_BF16, PLAIN_SCORES_FP32 = (
    256 * 256,
    32 * 32,
)  # queries times keys of a head, up to which plain operations are faster
PLAIN_PAST = 512  # keys that one query reads, above which plain operations are faster

BiasOf = Callable[[Scope], Tensor]
Read = Callable[[Tensor, Tensor, Tensor, Scope], tuple[Tensor, Tensor | None]]  # q, k, v -> their sum, known weights


def attend(
    q: Float[Tensor, "B H Q d"],
    k: Float[Tensor, "B G K d"],
    v: Float[Tensor, "B G K e"],
    scope: Scope,
    *,
    rules: tuple[Rule, ...] = (),
    factor: float = 1.0,
    bias: BiasOf | None = None,
) -> Float[Tensor, "B H Q e"]:
    """softmax(factor * q . k + bias) v over the keys in scope, by the fastest kernel that fits."""
    shape = scope.shape(rules)
    if shape is Shape.BAND:
        return band(q, k, v, scope, rules=rules, factor=factor, bias=bias)
    if shape is Shape.EDGES:
        return along_edges(q, k, v, scope, rules=rules, factor=factor, bias=bias)
    if not scope.keys.unpadded:  # what stands at padding must not matter, not even NaN
        gone = ~scope.keys.valid[:, None, :, None]
        k, v = k.masked_fill(gone, 0.0), v.masked_fill(gone, 0.0)
    if q.device.type == "cpu" and _plain_is_faster(q, k):
        return written_out(q, k, v, additive(scope, shape, rules, bias, q), factor, scope, shape, rules)
    return fused(q, k, v, scope, shape, rules=rules, factor=factor, bias=bias)


def without_padding(
    q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B G K d"], v: Float[Tensor, "B G K e"], scope: Scope, read: Read
) -> tuple[Float[Tensor, "B H Q e"], Float[Tensor, "B H Q K"] | None]:
    """What `read` gives for neighbouring rows with the same padding at a time, cut to their real tokens.

    The sums of a row then have one order, whatever rows stand beside it. Weights are returned only without padding.
    """
    groups = scope.apart()
    if groups is None:
        return read(q, k, v, scope)
    out = q.new_zeros(*q.shape[:3], v.shape[-1])
    for group in groups:
        rows, keys = group.rows, group.keys
        some = (q[rows, :, group.queries], k[rows, :, keys], v[rows, :, keys])
        out[rows, :, group.queries] = read(*some, group.scope)[0]
    return out, None


def explicit(
    q: Float[Tensor, "B H Q d"],
    k: Float[Tensor, "B G K d"],
    v: Float[Tensor, "B G K e"],
    scope: Scope,
    *,
    rules: tuple[Rule, ...] = (),
    score: ScoreOf,
    bias: BiasOf | None = None,
) -> Float[Tensor, "B H Q e"]:
    """The definition: any score, weights in full. The measure of all other kernels, and the only one for `Additive`."""
    return weighted(weigh(q, k, scope, rules=rules, score=score, bias=bias), v, scope)


def weighted(weights: Float[Tensor, "B H Q K"], v: Float[Tensor, "B G K e"], scope: Scope) -> Float[Tensor, "B H Q e"]:
    """The sum of the values by their weights."""
    if not scope.keys.unpadded:
        v = v.masked_fill(~scope.keys.valid[:, None, :, None], 0.0)
    return weights.to(v.dtype) @ repeat_heads(v, weights.shape[1])


def weigh(
    q: Float[Tensor, "B H Q d"],
    k: Float[Tensor, "B G K d"],
    scope: Scope,
    *,
    rules: tuple[Rule, ...] = (),
    score: ScoreOf,
    bias: BiasOf | None = None,
    sinks: Float[Tensor, "H"] | None = None,
    heads: Sequence[int] | None = None,
    closed: Bool[Tensor, "B h Q K"] | None = None,
) -> Float[Tensor, "B h Q K"]:
    """The attention weights themselves; rows with nothing to read are zero.

    `sinks` are a score for each head that takes its part of the softmax without a value. `heads` are some of them,
    for which `score` is; `closed` are further pairs that may not be read.
    """
    k = repeat_heads(k, q.shape[1])
    chosen = slice(None) if heads is None else list(heads)
    scores = score(q[:, chosen], k[:, chosen])
    if bias is not None:
        added = bias(scope).to(scores.dtype)
        scores = scores + (added if added.shape[1] == 1 else added[:, chosen])
    sinks = None if sinks is None else sinks[chosen]
    if scope.shape(rules) is Shape.ALL and closed is None:
        return _softmax(scores, sinks)
    mask = scope.mask(rules) if closed is None else scope.mask(rules) & ~closed
    # the smallest finite number keeps an empty row free of NaN, forward and backward; it is then set to zero
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return _softmax(scores, sinks).masked_fill(~mask, 0.0)


def _softmax(scores: Float[Tensor, "B H Q K"], sinks: Float[Tensor, "H"] | None) -> Float[Tensor, "B H Q K"]:
    """The softmax over the keys and, where there is one, the head's sink."""
    if sinks is None:
        return scores.softmax(-1)
    column = sinks.to(scores.dtype)[None, :, None, None].expand(*scores.shape[:3], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1]


def written_out(
    q: Float[Tensor, "B H Q d"],
    k: Float[Tensor, "B G K d"],
    v: Float[Tensor, "B G K e"],
    added: Tensor | None,
    factor: float,
    scope: Scope,
    shape: Shape,
    rules: tuple[Rule, ...],
) -> Float[Tensor, "B H Q e"]:
    """matmul, softmax, matmul in the input's precision: the fastest way for short sequences on CPUs."""
    groups, queries = k.shape[1], q.shape[2]
    if groups == q.shape[1]:
        scores = torch.matmul(q * factor, k.transpose(2, 3))
        out = torch.matmul((scores if added is None else scores + added).softmax(-1), v)
        return _nothing_is_zero(out, scope, shape, rules)
    q, k, v = (rearrange(t, "b (g r) n d -> (b g) (r n) d", g=groups) for t in (q, k, v))
    if added is None:
        scores = torch.bmm(q * factor, k.transpose(1, 2))
    else:
        rows = added.expand(added.shape[0], added.shape[1], added.shape[2], added.shape[3])
        scores = _plus(torch.bmm(q * factor, k.transpose(1, 2)), rows, groups)
    out = torch.bmm(scores.softmax(-1), v)
    out = rearrange(out, "(b g) (r n) d -> b (g r) n d", g=groups, n=queries)
    return _nothing_is_zero(out, scope, shape, rules)


def fused(
    q: Float[Tensor, "B H Q d"],
    k: Float[Tensor, "B G K d"],
    v: Float[Tensor, "B G K e"],
    scope: Scope,
    shape: Shape,
    *,
    rules: tuple[Rule, ...],
    factor: float,
    bias: BiasOf | None,
) -> Float[Tensor, "B H Q e"]:
    """Torch's scaled_dot_product_attention; where the scope is causal, without a bias, by its flag and no mask."""
    causal = shape is Shape.CAUSAL and bias is None
    added = None if causal else additive(scope, shape, rules, bias, q)
    shared = k.shape[1] != q.shape[1]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=causal, scale=factor, enable_gqa=shared)
    if added is None and q.device.type == "cpu":  # torch's CPU kernel reads zeros for a query of NaN: let NaN surface
        probe = 0 * q.detach().sum(-1, keepdim=True)
        out = out + probe if out.requires_grad else out.add_(probe)
    return _nothing_is_zero(out, scope, shape, rules)


def band(
    q: Float[Tensor, "B H N d"],
    k: Float[Tensor, "B G N d"],
    v: Float[Tensor, "B G N e"],
    scope: Scope,
    *,
    rules: tuple[Rule, ...],
    factor: float,
    bias: BiasOf | None,
) -> Float[Tensor, "B H N e"]:
    """Windows along a line or tiles of a grid, cut into local blocks: time and memory grow linearly, backward too."""
    fold, inner = scope.fold(rules), scope.folded(rules)
    assert fold is not None
    q = fold.queries(q.transpose(1, 2)).transpose(1, 2)
    k, v = (fold.keys(t.transpose(1, 2)).transpose(1, 2) for t in (k, v))
    out = attend(q, k, v, inner, rules=rules, factor=factor, bias=bias)
    return fold.unfold(out.transpose(1, 2), scope.queries.shape[1]).transpose(1, 2)


def along_edges(
    q: Float[Tensor, "B H N d"],
    k: Float[Tensor, "B G N d"],
    v: Float[Tensor, "B G N e"],
    scope: Scope,
    *,
    rules: tuple[Rule, ...],
    factor: float,
    bias: BiasOf | None,
) -> Float[Tensor, "B H N e"]:
    """Reading along a list of edges: time and memory grow linearly with the edges, backward too."""
    edges = scope.edges(rules)
    assert edges is not None
    added = None if bias is None else bias(scope.along(rules))[:, :, 0, 0]
    flat_q, flat_k, flat_v = (rearrange(t, "b h n d -> (b n) h d") for t in (q, k, v))
    out = edge_attention(flat_q, flat_k, flat_v, edges, factor=factor, bias=added)
    return rearrange(out, "(b n) h d -> b h n d", b=q.shape[0])


def additive(
    scope: Scope, shape: Shape, rules: tuple[Rule, ...], bias: BiasOf | None, like: Tensor
) -> Float[Tensor, "#B #H Q K"] | None:
    """The tensor added to the scores: the bias, and a very low number where reading is not allowed."""
    closed_to = torch.finfo(like.dtype).min / 2  # finite, and stays so when a score is added
    if shape is Shape.ALL:
        return None if bias is None else bias(scope).to(like.dtype)

    def make() -> Tensor:
        if shape is Shape.CAUSAL:
            n = scope.queries.shape[1]
            mask = torch.ones(1, 1, n, n, dtype=torch.bool, device=like.device).tril()
        else:
            mask = scope.mask(rules)
        return torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, closed_to)

    closed = scope.memo(("additive", rules, like.dtype), make)
    return closed if bias is None else bias(scope).to(like.dtype).masked_fill(closed != 0, closed_to)


def _plain_is_faster(q: Tensor, k: Tensor) -> bool:
    queries, keys = q.shape[-2], k.shape[-2]
    if torch.is_grad_enabled():
        return queries * keys <= (PLAIN_SCORES_BF16 if q.dtype is torch.bfloat16 else PLAIN_SCORES_FP32)
    return queries == 1 and keys > PLAIN_PAST


def _nothing_is_zero(out: Tensor, scope: Scope, shape: Shape, rules: tuple[Rule, ...]) -> Tensor:
    return out.masked_fill(scope.starved(rules), 0.0) if shape is Shape.MASK else out


def _plus(scores: Float[Tensor, "BG RQ K"], added: Float[Tensor, "#B #H Q K"], groups: int) -> Tensor:
    """Scores + added, where the scores' rows hold the heads of a group."""
    if added.shape[0] == added.shape[1] == 1 and scores.shape[1] == added.shape[2]:
        return scores + added[0]
    n = added.shape[2]
    apart = rearrange(scores, "(b g) (r n) k -> b (g r) n k", g=groups, n=n) + added
    return rearrange(apart, "b (g r) n k -> (b g) (r n) k", g=groups)


def repeat_heads(t: Float[Tensor, "B G K d"], heads: int) -> Float[Tensor, "B H K d"]:
    """Key heads repeated for each of the query heads that share them."""
    return t if t.shape[1] == heads else t.repeat_interleave(heads // t.shape[1], 1)
