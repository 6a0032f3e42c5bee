"""Relations between the tokens of a stream: a matrix, or a list of edges where most pairs of tokens are unrelated.

A relation stands in `Tokens.pairs` under its name, as a tensor (B N N ...) whose row belongs to the token that reads,
or as an `EdgeList`, with one entry an edge. The numbers on the edges of "edges" are relations too: "edges.weight",
"edges.type". A `Bias` names the relations it depends on and gets them as (B Q K). Along a list, `Scope.along` makes
every edge a row with one query and one key, so rules and biases know nothing of lists. A cache keeps matrices.

Graphs of different sizes are padded behind; their edges stand in one list. Nodes of one graph that are trained on and
held out are two masks over one row (`AtTokens.where`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from weft.errors import Unfit
from weft.sending import on_host, sent, with_host

Relation = Union[Tensor, "EdgeList"]


@dataclass(frozen=True)
class EdgeList:
    """Who may read whom, one entry an edge: memory grows with the edges, not with the square of the tokens.

    Tokens are named by their flat places (row of the batch * N + token). Edges stand in the order of `query`, so that
    all that a token reads stands together. `values` are numbers on the edges by name, such as a weight or a type.
    """

    query: Int[Tensor, "E"]
    key: Int[Tensor, "E"]
    batch: int
    tokens: int
    values: Mapping[str, Shaped[Tensor, "E"]] = field(default_factory=dict)

    @staticmethod
    def of(
        query: Int[Tensor, "E"],
        key: Int[Tensor, "E"],
        *,
        batch: int,
        tokens: int,
        values: Mapping[str, Tensor] | None = None,
    ) -> "EdgeList":
        """Edges in any order, by the flat places of their ends."""
        order = torch.argsort(query * (batch * tokens) + key, stable=True)
        ordered = {name: value[order] for name, value in (values or {}).items()}
        return EdgeList(query[order], key[order], batch, tokens, ordered)

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def offsets(self) -> Int[Tensor, "BN+1"]:
        """Where the edges of each token begin, and where the last token's end."""
        host = on_host(self)
        return self._offsets(self.query) if host is self else sent(host.offsets, self.query.device)

    @cached_property
    def by_key(self) -> tuple[Int[Tensor, "E"], Int[Tensor, "BN+1"]]:
        """The edges in the order of the tokens that are read, and where the edges of each begin."""
        if (host := on_host(self)) is not self:
            order, offsets = (sent(t, self.query.device) for t in host.by_key)
            return order, offsets
        return torch.argsort(self.key, stable=True), self._offsets(self.key)

    def _offsets(self, ends: Tensor) -> Tensor:
        counts = torch.bincount(ends, minlength=self.batch * self.tokens)
        return torch.cat([counts.new_zeros(1), counts.cumsum(0)])

    def to(self, device: torch.device | str) -> "EdgeList":
        """The same on another device."""
        if self.query.device == torch.device(device):
            return self
        values = {name: sent(value, device) for name, value in self.values.items()}
        query, key = sent(self.query, device), sent(self.key, device)
        return with_host(EdgeList(query, key, self.batch, self.tokens, values), self)

    def where(self, kept: Shaped[Tensor, "E"]) -> "EdgeList":
        """The edges where `kept` is true."""
        values = {name: value[kept] for name, value in self.values.items()}
        return EdgeList(self.query[kept], self.key[kept], self.batch, self.tokens, values)

    def dense(self, name: str = "") -> Shaped[Tensor, "B N N"]:
        """The relation as a matrix: true where there is an edge, or the numbers of this name; zero elsewhere."""
        numbers = self.values[name] if name else torch.ones_like(self.query, dtype=torch.bool)
        whole = numbers.new_zeros(self.batch * self.tokens, self.tokens)
        whole[self.query, self.key % max(self.tokens, 1)] = numbers
        return whole.view(self.batch, self.tokens, self.tokens)

    def rows(self, index: Int[Tensor, "R"]) -> "EdgeList":
        """The edges of these streams of the batch, in this order, repeats allowed."""
        starts = self.offsets[:: max(self.tokens, 1)]
        chosen = [torch.arange(int(starts[row]), int(starts[row + 1]), device=index.device) for row in index]
        edges = torch.cat(chosen) if chosen else index.new_zeros(0)
        new = [torch.full_like(some, place) for place, some in enumerate(chosen)]
        shift = (torch.cat(new) if new else edges) * self.tokens
        query, key = (ends[edges] % max(self.tokens, 1) + shift for ends in (self.query, self.key))
        values = {name: value[edges] for name, value in self.values.items()}
        return EdgeList(query, key, len(index), self.tokens, values)

    def take(self, index: Int[Tensor, "B M"]) -> "EdgeList":
        """The edges among the tokens at the given places, none of which may be named twice in a row."""
        batch, kept = index.shape
        places = torch.full((batch, self.tokens), -1, dtype=torch.long, device=index.device)
        places.scatter_(1, index, torch.arange(kept, device=index.device).expand(batch, kept))
        rows = torch.arange(batch, device=index.device)[:, None] * kept
        places = torch.where(places < 0, places, places + rows).flatten()
        query, key = places[self.query], places[self.key]
        both = (query >= 0) & (key >= 0)
        values = {name: value[both] for name, value in self.values.items()}
        return EdgeList.of(query[both], key[both], batch=batch, tokens=kept, values=values)

    def widened(self, before: int, after: int) -> "EdgeList":
        """The same edges where tokens without any stand before and behind those of each stream."""
        wide, size = before + self.tokens + after, max(self.tokens, 1)

        def moved(ends: Tensor) -> Tensor:
            return ends // size * wide + ends % size + before

        return EdgeList(moved(self.query), moved(self.key), self.batch, wide, self.values)


def rows_of(relation: Relation, index: Int[Tensor, "R"]) -> Relation:
    """A relation within some streams of a batch."""
    return relation.rows(index) if isinstance(relation, EdgeList) else relation[index]


def taken(relation: Relation, index: Int[Tensor, "B M"]) -> Relation:
    """A relation among the tokens at some places."""
    if isinstance(relation, EdgeList):
        return relation.take(index)
    rest = relation.shape[3:]
    rows = index.reshape(*index.shape, *(1,) * (relation.ndim - 2)).expand(*index.shape, *relation.shape[2:])
    found = relation.gather(1, rows)
    columns = index[:, None].reshape(index.shape[0], 1, index.shape[1], *(1,) * len(rest))
    return found.gather(2, columns.expand(*found.shape[:2], index.shape[1], *rest))


def widened(relation: Relation, before: int, after: int) -> Relation:
    """A relation of streams with further tokens before and behind, which have none."""
    if isinstance(relation, EdgeList):
        return relation.widened(before, after)
    batch, tokens = relation.shape[:2]
    whole = relation.new_zeros(batch, before + tokens + after, before + tokens + after, *relation.shape[3:])
    whole[:, before : before + tokens, before : before + tokens] = relation
    return whole


def both(first: Relation, second: Relation) -> Relation:
    """Two relations of the same tokens as one, where no pair has both."""
    if isinstance(first, EdgeList) and isinstance(second, EdgeList):
        values = {name: torch.cat([first.values[name], second.values[name]]) for name in first.values}
        query, key = torch.cat([first.query, second.query]), torch.cat([first.key, second.key])
        return EdgeList.of(query, key, batch=first.batch, tokens=first.tokens, values=values)
    one, other = (side.dense() if isinstance(side, EdgeList) else side for side in (first, second))
    return torch.where(other != 0, other, one.to(other.dtype))


def relation_of(pairs: Mapping[str, Relation], name: str) -> Relation:
    """The relation of that name, which the tokens must have."""
    if name not in pairs:
        raise Unfit(f"these tokens have no relation {name!r:.80}; they have {', '.join(sorted(pairs)) or 'none'}")
    return pairs[name]


def matrix(pairs: Mapping[str, Relation], name: str) -> Shaped[Tensor, "B N N *more"]:
    """A relation as a matrix; of "edges.weight" the numbers on the edges."""
    if name in pairs:
        found = pairs[name]
        return found.dense() if isinstance(found, EdgeList) else found
    stem, _, value = name.partition(".")
    edges = relation_of(pairs, stem)
    if not isinstance(edges, EdgeList) or value not in edges.values:
        raise Unfit(f"these tokens have no relation {name!r:.80}")
    return edges.dense(value)
