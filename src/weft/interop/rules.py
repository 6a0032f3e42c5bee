"""Rules of weights: what one tensor of theirs, or a few, have to do with ours. Every rule holds in both directions.

A rule gives, for each tensor of theirs, the views of our tensors that hold the same numbers. Reading copies into the
views, writing copies out of them, so that one description cannot say two things:

    SameTensor("ln_f.weight", "trunk.norm.gain")
    Turned("attn.c_attn.weight", "mix.qkv.weight")                           theirs is transposed
    Joined(("q.weight", "k.weight", "v.weight"), "qkv.weight", (64, 32, 32)) ours is theirs, one below the other
    HeadByHead("query_key_value.weight", "mix.qkv.weight", 8)                theirs is ordered by heads
    NeighbourPairs(("q.weight", "k.weight", "v.weight"), "qkv.weight", heads=8, turned=4)   turned pairs stand otherwise
    Stacked("position", ("first.place", "code.table.weight"))                theirs is ours, one below the other
    Tied("lm_head.weight", "embed.table.weight")                             may be there, and must then be equal
    Ignored("*.attn.masked_bias")                                            carries no weights
    Unused("cls.seq_relationship.*")                                         weights of a part that weft leaves out
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Piece:
    """One tensor of theirs: views of ours that, one after the other along the first axis, hold its numbers.

    It may begin with `front` rows that ours has no room for: they are added to `onto`, or must be zero where that is
    None, and are written as zeros. `batched`: their tensor has one more axis in front, of size 1. `flat`: it has one
    axis for the last two of ours.
    """

    views: tuple[Tensor, ...]
    front: int = 0
    onto: Tensor | None = None
    batched: bool = False
    flat: bool = False

    @property
    def shape(self) -> list[int]:
        """The shape that their tensor has."""
        first = self.views[0]
        rows = [self.front + sum(len(view) for view in self.views), *first.shape[1:]] if first.ndim else []
        rows = [*rows[:-2], rows[-2] * rows[-1]] if self.flat else rows
        return [1, *rows] if self.batched else rows

    def whole(self) -> Tensor:
        """Their tensor: a view of ours where it is one, else a copy."""
        first = self.views[0]
        front = (first.new_zeros(self.front, *first.shape[1:]),) if self.front else ()
        rows = first if len(self.views) == 1 and not front else torch.cat([*front, *self.views])
        rows = rows.flatten(-2) if self.flat else rows
        return rows[None] if self.batched else rows


@dataclass(frozen=True)
class WeightRule:
    """What one or more tensors of theirs have to do with one or more of ours."""

    def at(self, layer: int) -> Self:
        """The rule for one layer: `{i}` in names is its number."""

        def named(value: object) -> object:
            if isinstance(value, str):
                return value.replace("{i}", str(layer))
            return tuple(map(named, value)) if isinstance(value, tuple) else value

        return replace(self, **{name: named(value) for name, value in vars(self).items()})

    def under(self, theirs: str, ours: str = "") -> Self:
        """The rule where their names begin with `theirs`, and ours with `ours`."""

        def begin(prefix: str, value: str | tuple[str, ...]) -> object:
            return prefix + value if isinstance(value, str) else tuple(prefix + name for name in value)

        start = {"theirs": theirs, "ours": ours} | ({"onto": ours} if getattr(self, "onto", "") else {})
        return replace(self, **{key: begin(start[key], value) for key, value in vars(self).items() if key in start})

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        """Each tensor of theirs by name."""
        return {}

    def uses(self) -> tuple[str, ...]:
        """The tensors of ours that the rule fills."""
        return ()


@dataclass(frozen=True)
class SameTensor(WeightRule):
    """The same tensor under two names."""

    theirs: str
    ours: str

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours],))}

    def uses(self) -> tuple[str, ...]:
        return (self.ours,)


@dataclass(frozen=True)
class Turned(SameTensor):
    """A matrix that they keep with inputs first."""

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours].t(),))}


@dataclass(frozen=True)
class Shaped(SameTensor):
    """The same numbers in the same order, in a shape of theirs; -1 stands for what is left."""

    shape: tuple[int, ...]

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours].view(self.shape),))}


@dataclass(frozen=True)
class HeadByHead(SameTensor):
    """Queries, keys and values of all heads in one tensor: theirs holds all three of a head, then those of the next.

    Ours holds the queries of all heads, then all keys, then all values.
    """

    heads: int

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        whole = ours[self.ours]
        apart = whole.view(3, self.heads, -1, *whole.shape[1:])
        return {self.theirs: Piece(tuple(apart[part, head] for head in range(self.heads) for part in range(3)))}


@dataclass(frozen=True)
class JoinedRows(WeightRule):
    """Several of theirs are one of ours, one below the other, `sizes` rows each; by default equally many.

    Where a `shape` is given, ours is seen in it. `batched`: each of theirs has one more axis in front, of size 1.
    """

    theirs: tuple[str, ...]
    ours: str
    sizes: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    batched: bool = False

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        whole = ours[self.ours].view(self.shape) if self.shape else ours[self.ours]
        sizes = self.sizes or (len(whole) // len(self.theirs),) * len(self.theirs)
        parts = zip(self.theirs, whole.split(sizes), strict=True)
        return {name: Piece((part,), batched=self.batched) for name, part in parts}

    def uses(self) -> tuple[str, ...]:
        return (self.ours,)


@dataclass(frozen=True)
class NeighbourPairs(JoinedRows):
    """Queries, keys and values, where theirs turns neighbours (x_0, x_1), (x_2, x_3) ... of queries and keys.

    Ours turns (x_i, x_{i + turned/2}); `turned` is how many numbers of each head are turned.
    """

    heads: int = 1
    turned: int = 0

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        found, half = super().pieces(ours), self.turned // 2
        for name in self.theirs[:2]:
            (whole,) = found[name].views
            rows: list[Tensor] = []
            for head in whole.chunk(self.heads):
                rows += [head[i : i + 1] for pair in range(half) for i in (pair, half + pair)]
                rows += [head[self.turned :]] if self.turned < len(head) else []
            found[name] = Piece(tuple(rows))
        return found


@dataclass(frozen=True)
class Stacked(WeightRule):
    """One of theirs is several of ours, one below the other."""

    theirs: str
    ours: tuple[str, ...]

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece(tuple(ours[name] for name in self.ours))}

    def uses(self) -> tuple[str, ...]:
        return self.ours


@dataclass(frozen=True)
class StackedExperts(Stacked):
    """One of theirs holds a tensor of every expert, inputs first; with `pairs`, gates and values alternate in it.

    Ours has one tensor for each expert, outputs first, all gates ahead of all values.
    """

    pairs: bool = False

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        apart = [ours[name].unflatten(0, (2, -1)) if self.pairs else ours[name] for name in self.ours]
        views = tuple(one.permute(*reversed(range(one.ndim)))[None] for one in apart)
        return {self.theirs: Piece(views, flat=self.pairs)}


@dataclass(frozen=True)
class Tied(WeightRule):
    """Theirs repeats one of ours that another rule fills: it may be there and must be equal. It is never written."""

    theirs: str
    ours: str


@dataclass(frozen=True)
class Ignored(WeightRule):
    """Names of theirs, `*` standing for anything, that carry no weights: masks, counters, tables that are computed."""

    theirs: str


@dataclass(frozen=True)
class Unused(Ignored):
    """Names of theirs (`*` stands for anything) of weights in a part that ours does not have. Reading notes them."""


def layers(count: int, rules: Iterable[WeightRule], *, first: int = 0) -> list[WeightRule]:
    """The rules for every layer; `{i}` in names is its number."""
    listed = list(rules)
    return [rule.at(i) for i in range(first, first + count) for rule in listed]
