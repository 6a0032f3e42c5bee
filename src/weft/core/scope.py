"""Scope: what the queries of one pass may read. Computed once a pass and shared by all layers; knows no weights.

A `Pass` holds the scope within a stream and the scope of the memory beside it. Facts stated by the tokens decide
whether everything is readable, the plain causal triangle, a band along the diagonal, or an explicit mask.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional as F

from weft.core.rules import Edges, Rule, Window
from weft.position import Bias
from weft.relations import EdgeList, matrix, relation_of
from weft.tokens import Order, Tokens

MIN_BLOCK = 64  # local blocks are multiples of this: smaller ones do not fill the processor


class Shape(Enum):
    """The form of the mask: which keys a query may read."""

    ALL = "every key"
    CAUSAL = "keys up to the query's own place, as many keys as queries"
    BAND = "keys near the query along the line"
    EDGES = "keys joined to the query by an edge of a list"
    MASK = "whatever the mask says"


@dataclass(frozen=True)
class Fold:
    """A line cut into blocks, each beside the neighbours it may read: band-shaped reading as a batch of small ones.

    queries   [ block 0 ][ block 1 ][ block 2 ]
    keys         . 0        0 1        1 2          causal; otherwise also the block after
    """

    block: int
    blocks: int
    ahead: bool

    def queries(self, t: Tensor, value: Any = 0) -> Tensor:
        """(B N ...) -> (B*blocks block ...)"""
        return rearrange(self._pad(t, value), "b (n w) ... -> (b n) w ...", w=self.block)

    def keys(self, t: Tensor, value: Any = 0) -> Tensor:
        """(B N ...) -> (B*blocks neighbours*block ...)"""
        blocks = rearrange(self._pad(t, value), "b (n w) ... -> b n w ...", w=self.block)
        edge = torch.full_like(blocks[:, :1], value)
        parts = [torch.cat([edge, blocks[:, :-1]], 1), blocks]
        if self.ahead:
            parts.append(torch.cat([blocks[:, 1:], edge], 1))
        return rearrange(torch.cat(parts, 2), "b n w ... -> (b n) w ...")

    def unfold(self, t: Tensor, length: int) -> Tensor:
        """(B*blocks block ...) -> (B N ...)"""
        return rearrange(t, "(b n) w ... -> b (n w) ...", n=self.blocks)[:, :length]

    def _pad(self, t: Tensor, value: Any) -> Tensor:
        missing = self.block * self.blocks - t.shape[1]
        return t if missing == 0 else F.pad(t, (0, 0) * (t.ndim - 2) + (0, missing), value=value)


class Scope:
    """Which keys each query may read: by rank within a stream, all real ones in a memory.

    `bias` is the bias on scores that all layers share, or None.
    """

    def __init__(self, queries: Tokens, keys: Tokens, *, ranked: bool, bias: Bias | None = None):
        self.queries, self.keys, self.ranked, self.bias = queries, keys, ranked, bias
        self._memo: dict[Hashable, Any] = {}

    def memo(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value derived from places, computed once a pass."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def shape(self, rules: tuple[Rule, ...]) -> Shape:
        """The form of the mask under the rules, from stated facts alone."""
        if self.fold(rules) is not None:
            return Shape.BAND
        if self._edge_rule(rules) is not None:
            return Shape.EDGES
        if rules or not self.keys.unpadded:
            return Shape.MASK
        return self._plain

    @cached_property
    def _plain(self) -> Shape:
        orders = (self.queries.order, self.keys.order)
        if not self.ranked or orders == (Order.FREE, Order.FREE):
            return Shape.ALL
        if self.queries.order is Order.LINE and self.keys.order in (Order.LINE, Order.PREFIX):
            if self.queries.shape[1] == 1:
                return Shape.ALL  # one new token at the end of the line reads the whole line
            if self.queries.shape[1] == self.keys.shape[1]:
                return Shape.CAUSAL
        return Shape.MASK

    @property
    def same_for_all(self) -> bool:
        """Whether, where no rule says otherwise, every query may read the same keys."""
        return not self.ranked or self.queries.order is self.keys.order is Order.FREE

    def mask(self, rules: tuple[Rule, ...]) -> Bool[Tensor, "B 1 Q K"]:
        """True where the query may read the key."""
        return self.memo(("mask", rules), lambda: self._mask(rules))

    def starved(self, rules: tuple[Rule, ...]) -> Bool[Tensor, "B 1 Q 1"]:
        """True where a query has nothing to read."""
        return self.memo(("starved", rules), lambda: ~self.mask(rules).any(-1, keepdim=True))

    def _mask(self, rules: tuple[Rule, ...]) -> Tensor:
        allowed = self.keys.valid[:, None, :]
        if self.ranked:
            allowed = allowed & (self.keys.rank[:, None, :] <= self.queries.rank[:, :, None])
        for rule in rules:
            allowed = allowed & rule.allow(self.queries, self.keys)
        return allowed.expand(-1, self.queries.shape[1], -1)[:, None]

    def fold(self, rules: tuple[Rule, ...]) -> Fold | None:
        """The cut into blocks, where a window along the line makes it faster; otherwise None."""
        line_axis, length = self.queries.line_axis, self.queries.shape[1]
        if not self.ranked or line_axis is None or line_axis != self.keys.line_axis or length != self.keys.shape[1]:
            return None
        radii = [rule.radius for rule in rules if isinstance(rule, Window) and rule.axis == line_axis]
        if (
            not radii or self.keys.pairs or any(isinstance(rule, Edges) for rule in rules)
        ):  # blocks keep places, not pairs
            return None
        block = MIN_BLOCK * max(1, -(-min(radii) // MIN_BLOCK))
        if length <= 2 * block:
            return None
        return Fold(block=block, blocks=-(-length // block), ahead=self.queries.order is not Order.LINE)

    def folded(self, rules: tuple[Rule, ...]) -> "Scope":
        """The scope within the blocks of `fold`."""
        return self.memo(("folded", rules), lambda: self._folded(rules))

    def _folded(self, rules: tuple[Rule, ...]) -> "Scope":
        fold = self.fold(rules)
        assert fold is not None

        def side(tokens: Tokens, cut: Callable[..., Tensor]) -> Tokens:
            valid = cut(tokens.valid, False)
            content = tokens.x.new_zeros(*valid.shape, 0)
            coords = {axis: cut(c, 0) for axis, c in tokens.coords.items()}
            return Tokens(content, valid, cut(tokens.rank, 0), coords)

        return Scope(side(self.queries, fold.queries), side(self.keys, fold.keys), ranked=True)

    def relations(self, names: tuple[str, ...]) -> dict[str, Tensor]:
        """Relations of the queries, which are the last of the keys, with all keys: (B Q K) by name."""
        return {name: matrix(self.keys.pairs, name)[:, -self.queries.shape[1] :] for name in names}

    def _edge_rule(self, rules: tuple[Rule, ...]) -> Edges | None:
        """The rule, if there is one, that lets tokens of a stream read along a list of edges."""
        if not self.ranked or self.queries.shape != self.keys.shape:
            return None
        lists = (r for r in rules if isinstance(r, Edges) and isinstance(self.keys.pairs.get(r.name), EdgeList))
        return next(lists, None)

    def edges(self, rules: tuple[Rule, ...]) -> EdgeList | None:
        """The edges that may be read along, where a rule names a list of them; otherwise None."""
        return None if self._edge_rule(rules) is None else self._along(rules)[0]

    def along(self, rules: tuple[Rule, ...]) -> "Scope":
        """The scope in which every edge is a row with one query and one key: what biases are computed in."""
        return self._along(rules)[1]

    def _along(self, rules: tuple[Rule, ...]) -> tuple[EdgeList, "Scope"]:
        return self.memo(("along", rules), lambda: self._make_along(rules))

    def _make_along(self, rules: tuple[Rule, ...]) -> tuple[EdgeList, "Scope"]:
        rule = self._edge_rule(rules)
        edges = relation_of(self.keys.pairs, rule.name) if rule is not None else None
        assert rule is not None and isinstance(edges, EdgeList)
        scope = self._at_edges(rule.name, edges)
        if rules != (rule,) or not self.keys.unpadded or self.keys.order is not Order.FREE:
            kept = scope.mask(rules)[:, 0, 0, 0]
            edges = edges.where(kept)
            scope = self._at_edges(rule.name, edges)
        return edges, scope

    def _at_edges(self, name: str, edges: EdgeList) -> "Scope":
        def ends(tokens: Tokens, places: Tensor) -> Tokens:
            valid, rank = (t.flatten(0, 1)[places][:, None] for t in (tokens.valid, tokens.rank))
            coords = {axis: c.flatten(0, 1)[places][:, None] for axis, c in tokens.coords.items()}
            return Tokens(tokens.x.new_zeros(len(places), 1, 0), valid, rank, coords)

        pairs = {f"{name}.{value}": numbers[:, None, None] for value, numbers in edges.values.items()}
        pairs[name] = torch.ones_like(edges.query, dtype=torch.bool)[:, None, None]
        for other, relation in self.keys.pairs.items():
            if isinstance(relation, Tensor):
                found = relation.flatten(0, 1)[edges.query, edges.key % self.keys.shape[1]]
                pairs[other] = found[:, None, None]
        keys = replace(ends(self.keys, edges.key), pairs=pairs)
        return Scope(ends(self.queries, edges.query), keys, ranked=True)


class Pass:
    """One pass of a stream through a trunk: its tokens, and the scopes of its own stream and of a memory.

    Several neighbouring rows of the batch may read one row of the memory: the hypotheses of a search for one sentence.
    """

    def __init__(
        self, tokens: Tokens, *, seen: Tokens | None = None, memory: Tokens | None = None, bias: Bias | None = None
    ):
        """`seen` are all tokens read so far, these included, when a cache holds earlier ones; `bias` is the trunk's."""
        self.tokens = tokens
        self.own = Scope(tokens, tokens if seen is None else seen, ranked=True, bias=bias)
        self.memory = memory
        # how many rows of the batch read one row of the memory; those rows follow one another
        self.rows_per_memory = 1 if memory is None else tokens.shape[0] // memory.shape[0]
        self.cross = None if memory is None else Scope(tokens, memory, ranked=False)
