"""Recording: keeps what a model computes inside, for those who look.

While a `Recorder` is active, attention hands it queries, keys, values and the scope it used, so that weights can be
computed later; a trunk hands it the stream after each block and what each branch added. The output comes from the same
kernels as always, bit for bit. Nothing is left on the modules, and without a recorder the cost is one comparison.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.core import kernels
from weft.core.edges import edge_weights
from weft.core.scope import Scope
from weft.relations import EdgeList
from weft.tokens import Tokens

if TYPE_CHECKING:
    from weft.core.attention import Attention

Kept = Literal["readings", "states", "branches"]

_active: ContextVar["Recorder | None"] = ContextVar("recorder", default=None)
_watchers = 0  # number of active recorders: a plain number is checked first, which costs nothing and can be compiled


@dataclass(frozen=True)
class Reading:
    """One call of one attention: enough to compute its weights, or the weights where they had to be computed.

    `out` is what each head read, ahead of W_O. `changed` are the heads, counted from 0, whose weights a change has put
    in place of the model's own, and these weights (B h Q K); along a list of edges `on_edges` has those of all heads.
    """

    attention: "Attention"
    q: Float[Tensor, "M H Q d"]
    k: Float[Tensor, "M G K d"]
    v: Float[Tensor, "M G K e"]
    scope: Scope
    known: Float[Tensor, "M H Q K"] | None = None
    out: Float[Tensor, "B H _ e"] | None = None
    changed: tuple[tuple[int, ...], Tensor] | None = None
    on_edges: Float[Tensor, "E H"] | None = None

    def weights(
        self, *, heads: Sequence[int] | None = None, queries: Sequence[int] | None = None
    ) -> Float[Tensor, "M h q K"]:
        """The attention weights of queries over the keys, computed now unless they are known.

        `heads` and `queries`, counted from 0, say which (None: all). Memory grows with heads x queries x keys: whoever
        looks at long inputs asks for few queries at a time.
        """
        own = self._own(heads, queries)
        if self.changed is None:
            return own
        chosen = list(range(self.q.shape[1])) if heads is None else list(heads)
        own = own.clone()
        for place, head in enumerate(self.changed[0]):
            if head in chosen:
                new = self.changed[1][:, place]
                own[:, chosen.index(head)] = new if queries is None else new[:, list(queries)]
        return own

    def _own(self, heads: Sequence[int] | None, queries: Sequence[int] | None) -> Tensor:
        """The weights as the model computes them."""
        index = None if queries is None else torch.as_tensor(queries, dtype=torch.long, device=self.q.device)
        if self.known is not None:
            found = self.known if heads is None else self.known[:, list(heads)]
            return found if index is None else found[:, :, index]
        if (index is not None or self.on_edges is not None) and (along := self.edge_weights()) is not None:
            return self._from_edges(*along, heads, index)
        scope, q = self.scope, self.q
        shared = q.shape[0] != scope.queries.shape[0]  # rows that share a memory are queries of one row
        if index is not None and not shared:
            scope, q = scope.of_queries(index), q[:, :, index]
        found = self.attention.weights(q, self.k, scope, heads=heads)
        return found[:, :, index] if index is not None and shared else found

    def _from_edges(
        self, edges: EdgeList, weights: Tensor, heads: Sequence[int] | None, index: Int[Tensor, "q"] | None
    ) -> Tensor:
        """The weights of some queries that read along a list of edges."""
        tokens, chosen = max(edges.tokens, 1), weights if heads is None else weights[:, list(heads)]
        index = torch.arange(tokens, device=weights.device) if index is None else index
        place = torch.full((tokens,), -1, device=weights.device).index_copy(
            0, index, torch.arange(len(index)).to(index)
        )
        query, mine = edges.query % tokens, place[edges.query % tokens] >= 0
        found = chosen.new_zeros(edges.batch, chosen.shape[1], len(index), self.k.shape[2])
        found[edges.query[mine] // tokens, :, place[query[mine]], edges.key[mine] % tokens] = chosen[mine]
        return found

    def edge_weights(self) -> "tuple[EdgeList, Float[Tensor, 'E H']] | None":
        """The edges that were read along, and their weights; None where tokens read otherwise than along a list."""
        attention, scope, bias = self.attention, self.scope, self.bias
        edges, factor = scope.edges(attention.rules), attention.score.factor
        if edges is None or factor is None or attention.sinks is not None:
            return None
        if self.on_edges is not None:
            return edges, self.on_edges
        added = None if bias is None else bias(scope.along(attention.rules))[:, :, 0, 0]
        q, k = (rearrange(t, "b h n d -> (b n) h d") for t in (self.q, self.k))
        return edges, edge_weights(q, k, edges, factor=factor, bias=added)

    @property
    def bias(self) -> kernels.BiasOf | None:
        """The bias that was added to the scores, as a function of the scope."""
        return self.attention.bias_of(self.scope)


@dataclass(frozen=True)
class StreamPass:
    """One pass of one stream through its trunk.

    `tokens` is the line that goes through the blocks; where a memory is its prefix, that comes first. `states[0]` is
    the content ahead of the first block, `states[i]` that after layer i. `branches[i - 1]` holds what mix, read and
    transform of layer i added to the stream, `readings[i - 1]` their attention; both by the name of the branch. What
    was not to be kept is empty.
    """

    tokens: Tokens
    states: list[Float[Tensor, "B N D"]] = field(default_factory=list)
    branches: list[dict[str, Float[Tensor, "B N D"]]] = field(default_factory=list)
    readings: list[dict[str, list[Reading]]] = field(default_factory=list)

    @property
    def layers(self) -> int:
        """The number of layers that the pass went through."""
        return len(self.readings)


class Recorder:
    """What was kept while it was active.

    `readings` has the calls of each attention by its name in the model, first to last; where one pass goes through the
    same attention again, the second call is listed separately: "blocks.0.mix, round 2". `passes` has the passes of
    each stream, first to last, by its name: "" for the only one, "source" and "target" for an encoder and a decoder.
    """

    def __init__(self, model: nn.Module, keep: Sequence[Kept] = ("readings",)):
        self._names = {id(module): name for name, module in model.named_modules()}
        self._rounds: Counter[tuple[int, int]] = Counter()
        self.kinds = frozenset(keep)
        self.readings: dict[str, list[Reading]] = {}
        self.passes: dict[str, list[StreamPass]] = {}

    def follow(self, model: nn.Module, copy: nn.Module) -> None:
        """Hear a copy of the model too, under the same names."""
        if self._names.get(id(model)) == "":
            self._names |= {id(module): name for name, module in copy.named_modules()}

    def keep(self, reading: Reading) -> None:
        """Note one call."""
        name = self._names.get(id(reading.attention))
        if name is None or "readings" not in self.kinds:
            return
        again = (id(reading.attention), id(reading.scope))  # each pass has new scopes, which readings keep alive
        self._rounds[again] += 1
        if self._rounds[again] > 1:
            name = f"{name}, round {self._rounds[again]}"
        self.readings.setdefault(name, []).append(reading)

    def begin(self, trunk: nn.Module, tokens: Tokens) -> StreamPass | None:
        """A new pass of tokens through a trunk; None where the trunk is of another model."""
        name = self._names.get(id(trunk))
        if name is None:
            return None
        begun = StreamPass(tokens)
        self.passes.setdefault(stream_name(name), []).append(begun)
        return begun

    def stream(self, name: str = "") -> StreamPass:
        """All passes of a stream as one: the tokens of a decoder that steps stand one behind the other."""
        passes = self.passes[name]
        if len(passes) == 1:
            return passes[0]
        line = Tokens(
            torch.cat([one.tokens.x[..., :0] for one in passes], 1),
            torch.cat([one.tokens.valid for one in passes], 1),
            torch.cat([one.tokens.rank for one in passes], 1),
        )
        joined = StreamPass(line, [torch.cat(some, 1) for some in zip(*(one.states for one in passes), strict=True)])
        for layer in range(passes[0].layers):
            parts = [one.branches[layer] for one in passes if one.branches]
            if parts:
                joined.branches.append({name: torch.cat([part[name] for part in parts], 1) for name in parts[0]})
            read = [one.readings[layer] for one in passes]
            joined.readings.append({name: [one for part in read for one in part[name]] for name in read[0]})
        return joined


def stream_name(path: str) -> str:
    """What a stream is called: the path of its trunk in the model, without "trunk" at its end."""
    return path.removesuffix("trunk").rstrip(".")


@contextmanager
def record(model: nn.Module, keep: Sequence[Kept] = ("readings",)) -> Iterator[Recorder]:
    """Keeps what the model computes inside this block, and changes no bit of it.

    `readings`: queries, keys and values of attention; `states`: the stream after each block; `branches`: what each
    branch (mix, read, transform) added to it.
    """
    global _watchers
    recorder = Recorder(model, keep)
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
