"""Scope: what the queries of one pass may read. Computed once a pass and shared by all layers; knows no weights.

A `Pass` holds the scope within a stream and the scope of the memory beside it. Facts stated by the tokens decide
whether everything is readable, the plain causal triangle, a band along the diagonal, or an explicit mask.
"""

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch
from einops import rearrange
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from weft.core.distances import Distances
from weft.core.recomputing import kept
from weft.core.rules import Edges, Rule, Tile, Window
from weft.position import Bias
from weft.relations import EdgeList, matrix, relation_of
from weft.tokens import Order, Tokens

if TYPE_CHECKING:
    from weft.core.inside import Inside

MIN_BLOCK = 64  # local blocks are multiples of this: smaller ones do not fill the processor


class Shape(Enum):
    """The form of the mask: which keys a query may read."""

    ALL = "every key"
    CAUSAL = "keys up to the query's own place, as many keys as queries"
    BAND = "keys near the query along the line, or in its tile of a grid"
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


@dataclass(frozen=True)
class Tiling:
    """A grid cut into tiles: reading within tiles as a batch of small ones. Tiles at the edges are filled up.

    tiles of 2, shifted by 1     . .|. .|. .
                                 . 0|1 2|3 .
    """

    grid: tuple[int, int]
    size: int
    shift: int

    def queries(self, t: Tensor, value: Any = 0) -> Tensor:
        """(B N ...) -> (B*tiles size*size ...)"""
        t = t.unflatten(1, self.grid)
        first = -self.shift % self.size
        (high, wide) = (-(first + side) % self.size for side in self.grid)
        if first or high or wide:
            t = F.pad(t, (0, 0) * (t.ndim - 3) + (first, wide, first, high), value=value)
        return rearrange(t, "b (r p) (s q) ... -> (b r s) (p q) ...", p=self.size, q=self.size)

    keys = queries

    def unfold(self, t: Tensor, length: int) -> Tensor:
        """(B*tiles size*size ...) -> (B N ...)"""
        first, (rows, columns) = -self.shift % self.size, self.grid
        across = -(-(first + columns) // self.size)
        down = -(-(first + rows) // self.size)
        whole = rearrange(t, "(b r s) (p q) ... -> b (r p) (s q) ...", r=down, s=across, p=self.size)
        return whole[:, first : first + rows, first : first + columns].flatten(1, 2)


class Scope:
    """Which keys each query may read: by rank within a stream, all real ones in a memory.

    `bias` is the bias on scores that all layers share, `distances` the vectors of distances; or None.
    """

    def __init__(
        self,
        queries: Tokens,
        keys: Tokens,
        *,
        ranked: bool,
        bias: Bias | None = None,
        distances: Distances | None = None,
    ):
        self.queries, self.keys, self.ranked = queries, keys, ranked
        self.bias, self.distances = bias, distances
        self.asked: Tensor | None = None  # the places of the queries among all, where the scope is of some of them
        self._memo: dict[Hashable, Any] = {}

    def memo(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value derived from places, computed once a pass."""
        if key not in self._memo:
            with kept():
                self._memo[key] = make()
        return self._memo[key]

    def of_queries(self, index: Int[Tensor, "q"]) -> "Scope":
        """The scope of some of the queries: what it computes grows with their number."""
        tokens = self.queries
        some = Tokens(
            tokens.x[:, index, :0],
            tokens.valid[:, index],
            tokens.rank[:, index],
            {axis: places[:, index] for axis, places in tokens.coords.items()},
            unpadded=tokens.unpadded,
            order=Order.FREE if tokens.order is Order.FREE else Order.ANY,
        )
        inner = Scope(some, self.keys, ranked=self.ranked, bias=self.bias, distances=self.distances)
        first = self.keys.shape[1] - self.queries.shape[1]  # queries are the last of the keys
        inner.asked = index + first
        return inner

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
            if isinstance(rule, Edges):
                allowed = allowed & self.relations((rule.name,))[rule.name].bool()
            else:
                allowed = allowed & rule.allow(self.queries, self.keys)
        return allowed.expand(-1, self.queries.shape[1], -1)[:, None]

    def fold(self, rules: tuple[Rule, ...]) -> Fold | Tiling | None:
        """The cut into blocks, where a window along the line or tiles of a grid make it faster; otherwise None."""
        return self._tiling(rules) or self._line_fold(rules)

    def _tiling(self, rules: tuple[Rule, ...]) -> Tiling | None:
        grid, tiles = self.queries.grid, [rule for rule in rules if isinstance(rule, Tile)]
        if not self.ranked or grid is None or not tiles or grid != self.keys.grid:
            return None
        if self.keys.pairs or any(isinstance(rule, Edges) for rule in rules):  # tiles keep places, not pairs
            return None
        smallest = min(tiles, key=lambda tile: tile.size)
        return Tiling(grid, smallest.size, smallest.shift) if smallest.size < max(grid) else None

    def _line_fold(self, rules: tuple[Rule, ...]) -> Fold | None:
        line_axis, length = self.queries.line_axis, self.queries.shape[1]  # some of the queries are no line
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
        asked = slice(-self.queries.shape[1], None) if self.asked is None else self.asked
        return {name: matrix(self.keys.pairs, name)[:, asked] for name in names}

    def _edge_rule(self, rules: tuple[Rule, ...]) -> Edges | None:
        """The rule, if there is one, that lets tokens of a stream read along a list of edges."""
        if not self.ranked or self.asked is not None or self.queries.shape != self.keys.shape:
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

    def apart(self) -> "list[Apart] | None":
        """Neighbouring rows with the same padding, without it; None where there is none, or relations lie across it.

        Looks at the padding once a pass. A row with nothing to read, or nothing to ask, is left out.
        """
        if self.keys.unpadded or self.keys.pairs:
            return None
        return self.memo("apart", self._apart)

    def _apart(self) -> "list[Apart]":
        rows, shared = self.keys.shape[0], self.queries.shape[0] // self.keys.shape[0]
        # rows that share a memory ask it as one row
        asking = [(0, shared * self.queries.shape[1])] * rows if shared > 1 else _spans(self.queries)
        found = []
        spans = zip(asking, _spans(self.keys), strict=True)
        for (asked, read), group in groupby(enumerate(spans), key=lambda row: row[1]):
            numbers = [row for row, _ in group]
            if asked[0] == asked[1] or read[0] == read[1]:
                continue
            start, stop = numbers[0], numbers[-1] + 1
            queries = _part(self.queries, slice(shared * start, shared * stop), slice(*asked))
            keys = _part(self.keys, slice(start, stop), slice(*read))
            inner = Scope(queries, keys, ranked=self.ranked, bias=self.bias, distances=self.distances)
            found.append(Apart(slice(start, stop), slice(*asked), slice(*read), inner))
        return found


@dataclass(frozen=True)
class Apart:
    """Neighbouring rows with the same padding: the rows, their real queries and keys, and the scope of these."""

    rows: slice
    queries: slice
    keys: slice
    scope: Scope


def _spans(tokens: Tokens) -> list[tuple[int, int]]:
    """Of each row, where its real tokens begin and end."""
    if tokens.unpadded:
        return [(0, tokens.shape[1])] * tokens.shape[0]
    valid, length = tokens.valid.int(), tokens.shape[1]
    first, behind = valid.argmax(1), valid.flip(1).argmax(1)
    some = valid.any(1)
    return list(zip((first * some).tolist(), ((length - behind) * some).tolist(), strict=True))


def _part(tokens: Tokens, rows: slice, places: slice) -> Tokens:
    """The tokens of some rows at some places; they are unpadded unless padding stands among them."""
    valid = tokens.valid[rows, places]
    return replace(
        tokens,
        x=tokens.x[rows, places],
        valid=valid,
        rank=tokens.rank[rows, places],
        coords={axis: c[rows, places] for axis, c in tokens.coords.items()},
        unpadded=tokens.unpadded or bool(valid.all()),
        padded_behind=False,
        grid=tokens.grid if valid.shape[1] == tokens.shape[1] else None,
    )


class Pass:
    """One pass of a stream through a trunk: its tokens, and the scopes of its own stream and of a memory.

    Several neighbouring rows of the batch may read one row of the memory: the hypotheses of a search for one sentence.
    """

    def __init__(
        self,
        tokens: Tokens,
        *,
        seen: Tokens | None = None,
        memory: Tokens | None = None,
        bias: Bias | None = None,
        distances: Distances | None = None,
    ):
        """`seen` are all tokens read so far, these included, if a cache holds earlier ones; the rest is the trunk's."""
        self.inside: Inside | None = None  # what is kept and changed within the present layer
        self.keys: Int[Tensor, "S R 2"] | None = None  # of the chance of the present layer, for each of its branches
        self.tokens = tokens
        self.own = Scope(tokens, tokens if seen is None else seen, ranked=True, bias=bias, distances=distances)
        self.memory = memory
        # how many rows of the batch read one row of the memory; those rows follow one another
        self.rows_per_memory = 1 if memory is None else tokens.shape[0] // memory.shape[0]
        self.cross = None if memory is None else Scope(tokens, memory, ranked=False)

    def within(self, inside: "Inside | None", keys: Int[Tensor, "S R 2"] | None = None) -> "Pass":
        """The same pass in a layer of which something is kept or changed, or in which something is drawn."""
        if inside is None and keys is None:
            return self
        here = copy(self)
        here.inside, here.keys = inside, keys
        return here
