"""Whole lines of a stream, read by native code in training: whether it can and pays, and what it has to be given."""

from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from weft.core import native_training, recording
from weft.core.norms import LayerNorm
from weft.core.scope import Scope, Shape

if TYPE_CHECKING:
    from weft.core.attention import Attention


def read(attention: "Attention", qkv: Float[Tensor, "B N E"], scope: Scope) -> Float[Tensor, "B N D"] | None:
    """What the heads read, side by side; None where native code cannot read this, or is slower than torch."""
    if not native_training.ready(qkv) or (how := _heads(attention, scope)) is None:
        return None
    return native_training.read(qkv, *_turns(attention, qkv, scope), how)


def _heads(attention: "Attention", scope: Scope) -> native_training.Heads | None:
    """How native code is to read these lines, or None."""
    shape, tokens = scope.shape(attention.rules), scope.queries.shape[1]
    q_norm, causal = attention.q_norm, shape is Shape.CAUSAL
    norms_plain = all(
        norm is None or (isinstance(norm, LayerNorm) and norm.plain and attention.norm_over == "head")
        for norm in (q_norm, attention.k_norm)
    )
    if (
        shape not in (Shape.ALL, Shape.CAUSAL)
        or attention.score.factor is None
        or attention.sinks is not None
        or not norms_plain
        or attention.bias_of(scope) is not None
        or attention.rows_apart
        or attention.value_dim != attention.head_dim
        or recording.active() is not None
        or not native_training.fits(tokens, attention.head_dim)
        or not native_training.pays(tokens, causal=causal, prepared=q_norm is not None or attention.turn is not None)
    ):
        return None
    eps = q_norm.eps if isinstance(q_norm, LayerNorm) else native_training.NO_NORM
    factor = attention.score.factor
    return native_training.Heads(attention.heads, attention.groups, attention.head_dim, causal, eps, factor)


def _turns(attention: "Attention", qkv: Tensor, scope: Scope) -> tuple[Tensor, Tensor]:
    """Cosines and sines for each token of each row, side by side; of no pair where nothing is turned."""
    rows, tokens, _ = qkv.shape
    if attention.turn is None:
        none = qkv.new_empty(rows, tokens, 1, 0)
        return none, none
    both = attention.turns(attention.turn, scope, "queries", qkv.dtype)
    cos, sin = (t.expand(rows, -1, -1, -1).contiguous() for t in both)
    return cos, sin
