"""Recording: keeps the queries, keys and values of attention, so that its weights can be computed later.

While a `Recorder` is active, attention hands it q, k and the scope it used; the output comes from the same kernel as
always. Nothing is left on the modules, and without a recorder the cost is one comparison.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from weft.core import kernels
from weft.core.edges import edge_weights
from weft.core.scope import Scope
from weft.relations import EdgeList

if TYPE_CHECKING:
    from weft.core.attention import Attention

_active: ContextVar["Recorder | None"] = ContextVar("recorder", default=None)
_watchers = 0  # number of active recorders: a plain number is checked first, which costs nothing and can be compiled


@dataclass(frozen=True)
class Reading:
    """One call of one attention: enough to compute its weights, or the weights where they had to be computed."""

    attention: "Attention"
    q: Float[Tensor, "B H Q d"]
    k: Float[Tensor, "B G K d"]
    v: Float[Tensor, "B G K e"]
    scope: Scope
    known: Float[Tensor, "B H Q K"] | None = None

    def weights(self) -> Float[Tensor, "B H Q K"]:
        """The attention weights of each query over the keys, computed now unless they are known."""
        if self.known is not None:
            return self.known
        attention = self.attention
        score = attention.score_of(self.scope)
        rules, sinks = attention.rules, attention.sinks
        return kernels.weigh(self.q, self.k, self.scope, rules=rules, score=score, bias=self.bias, sinks=sinks)

    def edge_weights(self) -> "tuple[EdgeList, Float[Tensor, 'E H']] | None":
        """The edges that were read along, and their weights; None where tokens read otherwise than along a list."""
        attention, scope, bias = self.attention, self.scope, self.bias
        edges, factor = scope.edges(attention.rules), attention.score.factor
        if edges is None or factor is None or attention.sinks is not None:
            return None
        added = None if bias is None else bias(scope.along(attention.rules))[:, :, 0, 0]
        q, k = (rearrange(t, "b h n d -> (b n) h d") for t in (self.q, self.k))
        return edges, edge_weights(q, k, edges, factor=factor, bias=added)

    @property
    def bias(self) -> kernels.BiasOf | None:
        """The bias that was added to the scores, as a function of the scope."""
        return self.attention.bias_of(self.scope)


class Recorder:
    """The readings made while it was active, by the name of the attention in its model, first to last.

    Where one pass goes through the same attention again, the second call is listed separately: "blocks.0.mix, round 2".
    """

    def __init__(self, model: nn.Module):
        self._names = {id(module): name for name, module in model.named_modules()}
        self._rounds: Counter[tuple[int, int]] = Counter()
        self.readings: dict[str, list[Reading]] = {}

    def keep(self, reading: Reading) -> None:
        """Note one call."""
        name = self._names.get(id(reading.attention))
        if name is None:
            return
        again = (id(reading.attention), id(reading.scope))  # each pass has new scopes, which readings keep alive
        self._rounds[again] += 1
        if self._rounds[again] > 1:
            name = f"{name}, round {self._rounds[again]}"
        self.readings.setdefault(name, []).append(reading)


@contextmanager
def record(model: nn.Module) -> Iterator[Recorder]:
    """Everything that the model's attention computes with inside this block."""
    global _watchers
    recorder = Recorder(model)
    token = _active.set(recorder)
    _watchers += 1
    try:
        yield recorder
    finally:
        _watchers -= 1
        _active.reset(token)


def active() -> Recorder | None:
    """The active recorder, or None."""
    return _active.get() if _watchers else None
