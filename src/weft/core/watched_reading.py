"""One call of attention whose weights are changed or kept: `Unread` and `Pinned` in place of the softmax.

Only heads that are changed are computed again, with their weights written out; all others keep the kernel's bits.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from weft.core import kernels, recording
from weft.core.changes import Pinned
from weft.core.edges import edge_weights, sums
from weft.core.inside import Inside, wanted
from weft.core.recording import Reading
from weft.core.scope import Scope
from weft.errors import ConfigError
from weft.relations import EdgeList

if TYPE_CHECKING:
    from weft.core.attention import Attention


def watched_reading(
    attention: "Attention", reading: Reading, out: Float[Tensor, "M H Q e"], inside: Inside | None
) -> Float[Tensor, "M H Q e"]:
    """What the heads read, with the changes of this layer; the reading is handed to whoever records."""
    name = "read" if attention.cross else "mix"
    shared = reading.scope.queries.shape[0] // len(out)  # rows that share a memory are queries of one row
    out = rearrange(out, "m h (f q) e -> (m f) h q e", f=shared)
    if inside is not None and inside.changes:
        if heads := inside.reweighed(name, attention.heads):
            edges = reading.scope.edges(attention.rules) if attention.score.factor is not None else None
            if edges is None:
                reading = _with_rows_apart(reading, shared)
                out, reading = _written_out(attention, reading, out, inside, heads, name)
            else:
                out, reading = _along_edges(attention, reading, out, inside, heads, edges)
        out = inside.heads(name, out)
    if (recorder := recording.active()) is not None and "readings" in recorder.kinds:
        reading = replace(reading, out=out)
        recorder.keep(reading)
        if inside is not None:
            inside.keep(name, reading)
    return rearrange(out, "(m f) h q e -> m h (f q) e", f=shared)


def _with_rows_apart(reading: Reading, shared: int) -> Reading:
    """The reading with a row of the memory for each row that reads it."""
    if shared == 1:
        return reading
    scope, q = reading.scope, rearrange(reading.q, "m h (f q) d -> (m f) h q d", f=shared)
    rows = torch.arange(len(q), device=q.device) // shared
    apart = Scope(scope.queries, scope.keys.rows(rows), ranked=scope.ranked, bias=scope.bias)
    known = None if reading.known is None else rearrange(reading.known, "m h (f q) k -> (m f) h q k", f=shared)
    return replace(reading, q=q, k=reading.k[rows], v=reading.v[rows], scope=apart, known=known)


def _written_out(
    attention: "Attention", reading: Reading, out: Tensor, inside: Inside, heads: tuple[int, ...], name: str
) -> tuple[Tensor, Reading]:
    """What is read by weights that are written out, in the heads that are changed."""
    scope, queries, chosen = reading.scope, inside.queries(), list(heads)
    keys = inside.keys(name, scope.keys if attention.cross else None)
    closed = torch.stack([inside.closed(name, head, keys) for head in heads], 1)
    weights = attention.weights(reading.q, reading.k, scope, heads=heads, closed=closed)
    readable = scope.mask(attention.rules)[:, 0]
    for place, head in enumerate(heads):
        for change in inside.pinned(name, head):
            new = _pattern(change, inside, name, head, queries, keys, readable, weights.dtype)
            where = inside.where(change, weights)[:, :, None]
            weights[:, place] = torch.where(where, new.to(weights.dtype), weights[:, place])
    read = kernels.weighted(weights, kernels.repeat_heads(reading.v, attention.heads)[:, chosen], scope)
    where = torch.stack([inside.rows(name, head, out).expand(queries.shape) for head in heads], 1)[..., None]
    mixed = out.clone()
    mixed[:, chosen] = torch.where(where, read.to(out.dtype), out[:, chosen])
    if recording.active() is not None:
        own = reading.weights(heads=heads)
        reading = replace(reading, changed=(heads, torch.where(where, weights, own)))
    return mixed, reading


def _pattern(
    change: Pinned,
    inside: Inside,
    name: str,
    head: int,
    queries: Tensor,
    keys: Tensor,
    readable: Tensor,
    dtype: torch.dtype,
) -> Float[Tensor, "B Q K"]:
    """The weights that a change asks for; what may not be read has none."""
    if change.weights is None:
        found = inside.recorded_weights(change, name, head)
        if found.shape[1:] != readable.shape[1:] or len(found) not in (1, len(readable)):
            problem = f"the other input has weights of {tuple(found.shape[1:])}, this one {tuple(readable.shape[1:])}"
            raise ConfigError(problem, where="Pinned.of", fix="take an input with as many tokens")
        return found.expand(readable.shape) * readable
    if name == "read" and change.weights in ("previous", "itself"):
        raise ConfigError(f"a memory has no token that is {change.weights}", where="Pinned.weights", fix="use uniform")
    found = (wanted(change.weights, queries[:, :, None], keys[:, None, :]) & readable).to(dtype)
    return found / found.sum(-1, keepdim=True).clamp(min=1)


def _along_edges(
    attention: "Attention", reading: Reading, out: Tensor, inside: Inside, heads: tuple[int, ...], edges: EdgeList
) -> tuple[Tensor, Reading]:
    scope, bias, numbers = reading.scope, attention.bias_of(reading.scope), inside.queries()
    added = None if bias is None else bias(scope.along(attention.rules))[:, :, 0, 0]
    q, k, v = (rearrange(t, "b h n d -> (b n) h d") for t in (reading.q, reading.k, reading.v))
    own = edge_weights(q, k, edges, factor=attention.score.factor or 1.0, bias=added)
    at_query, at_key = (numbers.flatten()[ends] for ends in (edges.query, edges.key))
    weights, rows = own.clone(), torch.zeros(*numbers.shape, attention.heads, dtype=torch.bool, device=out.device)
    for head in heads:
        gone = cut_edges(inside, head, edges, numbers)
        if gone.any():
            weights[:, head] = _renewed(weights[:, head].masked_fill(gone, 0.0), edges)
        for change in inside.pinned("mix", head):
            if change.weights is None:
                problem = "the weights of another input do not fit another list of edges"
                raise ConfigError(problem, where="Pinned.of", fix="use uniform, or cut edges by Unread")
            asked = _renewed(wanted(change.weights, at_query, at_key).to(weights.dtype), edges)
            where = inside.where(change, out).expand(numbers.shape).flatten()[edges.query]
            weights[:, head] = torch.where(where, asked, weights[:, head])
        rows[:, :, head] = inside.rows("mix", head, out).expand(numbers.shape)
    new = rearrange(sums(weights, v, edges.key, edges.offsets), "(b n) h e -> b h n e", b=len(out))
    where = rows.permute(0, 2, 1)[..., None]
    flat = rows.flatten(0, 1)[edges.query]
    return torch.where(where, new, out), replace(reading, on_edges=torch.where(flat, weights, own))


def cut_edges(inside: Inside, head: int | None, edges: EdgeList, numbers: Tensor) -> Tensor:
    """The edges that an `Unread` cuts in a head."""
    gone = torch.zeros(len(edges), dtype=torch.bool, device=edges.query.device)
    for change in inside.unread("mix"):
        if change.head in (None, None if head is None else head + 1):
            keys = torch.isin(numbers, torch.tensor(change.keys, device=numbers.device)).flatten()
            mine = inside.where(change, numbers).expand(numbers.shape).flatten()
            gone = gone | (mine[edges.query] & keys[edges.key])
    return gone


def _renewed(weights: Float[Tensor, "E"], edges: EdgeList) -> Float[Tensor, "E"]:
    """Weights that add up to 1 at each token that has any."""
    total = weights.new_zeros(edges.batch * edges.tokens).index_add_(0, edges.query, weights)
    return weights / total.where(total > 0, torch.ones_like(total))[edges.query]
