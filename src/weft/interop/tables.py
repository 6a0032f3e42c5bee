"""Tables of weights: which tensor of theirs is which part of ours. Every rule holds in both directions.

A rule gives, for each tensor of theirs, the views of our tensors that hold the same numbers. Reading copies into the
views, writing copies out of them, so that one description cannot say two things:

    Same("ln_f.weight", "trunk.norm.gain")
    Turned("attn.c_attn.weight", "mix.qkv.weight")                           theirs is transposed
    Joined(("q.weight", "k.weight", "v.weight"), "qkv.weight", (64, 32, 32)) ours is theirs, one below the other
    Stacked("position", ("first.place", "code.table.weight"))                theirs is ours, one below the other
    Tied("lm_head.weight", "embed.table.weight")                             may be there, and must then be equal
    Ignored("*.attn.masked_bias")                                            carries no weights
    Unused("cls.seq_relationship.*")                                         weights of a part that weft leaves out
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Self

import torch
from torch import Tensor

from weft.errors import ConfigError, DataError, listed


@dataclass(frozen=True)
class Piece:
    """One tensor of theirs: views of ours that, one after the other along the first axis, hold its numbers.

    It may begin with `front` rows that ours has no room for: they are added to `onto`, or must be zero where that is
    None, and are written as zeros. `batched`: their tensor has one more axis in front, of size 1.
    """

    views: tuple[Tensor, ...]
    front: int = 0
    onto: Tensor | None = None
    batched: bool = False

    @property
    def shape(self) -> list[int]:
        """The shape that their tensor has."""
        first = self.views[0]
        rows = [self.front + sum(len(view) for view in self.views), *first.shape[1:]] if first.ndim else []
        return [1, *rows] if self.batched else rows

    def whole(self) -> Tensor:
        """Their tensor: a view of ours where it is one, else a copy."""
        first = self.views[0]
        front = (first.new_zeros(self.front, *first.shape[1:]),) if self.front else ()
        rows = first if len(self.views) == 1 and not front else torch.cat([*front, *self.views])
        return rows[None] if self.batched else rows


@dataclass(frozen=True)
class Rule:
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
class Same(Rule):
    """The same tensor under two names."""

    theirs: str
    ours: str

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours],))}

    def uses(self) -> tuple[str, ...]:
        return (self.ours,)


@dataclass(frozen=True)
class Turned(Same):
    """A matrix that they keep with inputs first."""

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours].t(),))}


@dataclass(frozen=True)
class Shaped(Same):
    """The same numbers in the same order, in a shape of theirs; -1 stands for what is left."""

    shape: tuple[int, ...]

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece((ours[self.ours].view(self.shape),))}


@dataclass(frozen=True)
class Joined(Rule):
    """Several of theirs are one of ours, one below the other, with so many rows each; by default equally many.

    Where a `shape` is given, ours is seen in it.
    """

    theirs: tuple[str, ...]
    ours: str
    sizes: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        whole = ours[self.ours].view(self.shape) if self.shape else ours[self.ours]
        sizes = self.sizes or (len(whole) // len(self.theirs),) * len(self.theirs)
        return {name: Piece((part,)) for name, part in zip(self.theirs, whole.split(sizes), strict=True)}

    def uses(self) -> tuple[str, ...]:
        return (self.ours,)


@dataclass(frozen=True)
class Stacked(Rule):
    """One of theirs is several of ours, one below the other."""

    theirs: str
    ours: tuple[str, ...]

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        return {self.theirs: Piece(tuple(ours[name] for name in self.ours))}

    def uses(self) -> tuple[str, ...]:
        return self.ours


@dataclass(frozen=True)
class Tied(Rule):
    """Theirs repeats one of ours that another rule fills: it may be there and must be equal. It is never written."""

    theirs: str
    ours: str


@dataclass(frozen=True)
class Ignored(Rule):
    """Names of theirs, `*` standing for anything, that carry no weights: masks, counters, tables that are computed."""

    theirs: str


@dataclass(frozen=True)
class Unused(Ignored):
    """Names of theirs, `*` standing for anything, with weights of a part that ours does not have. Reading notes them."""


def layers(count: int, rules: Iterable[Rule], *, first: int = 0) -> list[Rule]:
    """The rules for every layer; `{i}` in names is its number."""
    listed = list(rules)
    return [rule.at(i) for i in range(first, first + count) for rule in listed]


@dataclass(frozen=True)
class Table:
    """All rules of a model. `body` are those whose names of theirs may stand under `prefix`, or without it.

    `older` are parts of names, each with what other versions of their library write in its place.
    """

    body: Sequence[Rule]
    head: Sequence[Rule] = ()
    prefix: str = ""
    older: Sequence[tuple[str, str]] = ()

    @property
    def rules(self) -> list[Rule]:
        """All rules, as names are written."""
        return [*(rule.under(self.prefix) for rule in self.body), *self.head]

    def fitting(self, names: Iterable[str]) -> "Table":
        """The table for a file with these names.

        Some files leave the prefix out, some have older names, and some keep a tied tensor by its other name.
        """
        present = set(names)
        body, head = self.body, self.head
        for new, old in self.older:
            if any(old in name for name in present):
                body, head = (_renamed(rules, new, old) for rules in (body, head))
        bare = not any(name.startswith(self.prefix) for name in present)
        table = replace(self, body=body, head=head, prefix="" if bare else self.prefix)
        missing = {rule.ours for rule in table.rules if type(rule) is Same and rule.theirs not in present}
        carriers = {own: name for name, own in table.tied(present).items() if own in missing}
        if not carriers:
            return table
        rules: list[Rule] = []
        for rule in table.rules:
            if type(rule) is Same and rule.ours in carriers:
                rules.append(Same(carriers[rule.ours], rule.ours))
            elif not (isinstance(rule, Tied) and rule.theirs in carriers.values()):
                rules.append(rule)
        return Table([], rules)

    def ignored(self, names: Iterable[str], kind: type[Ignored] = Ignored) -> list[str]:
        """Names of theirs that are not read."""
        patterns = [rule.theirs for rule in self.rules if isinstance(rule, kind)]
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]

    @property
    def names(self) -> set[str]:
        """The names of theirs that are written."""
        found = (rule.theirs for rule in self.rules if isinstance(rule, Same | Joined | Stacked))
        return {name for some in found for name in ((some,) if isinstance(some, str) else some)}

    def pieces(self, ours: Mapping[str, Tensor]) -> dict[str, Piece]:
        """Every tensor of theirs by name. Each of ours must be in exactly one rule."""
        used = [name for rule in self.rules for name in rule.uses()]
        twice = sorted({name for name in used if used.count(name) > 1}) if len(set(used)) < len(used) else []
        odd = sorted(set(used) ^ set(ours)) + twice
        if odd:
            raise ConfigError(f"the table of weights does not fit this model: {listed(odd)}")
        return {name: piece for rule in self.rules for name, piece in rule.pieces(ours).items()}

    def tied(self, names: Iterable[str]) -> dict[str, str]:
        """Names of theirs that repeat one of ours, with its name."""
        present = set(names)
        return {rule.theirs: rule.ours for rule in self.rules if isinstance(rule, Tied) and rule.theirs in present}

    def check(self, shapes: Mapping[str, Sequence[int]], ours: Mapping[str, Tensor], *, where: str) -> None:
        """Refuse tensors of theirs that are left over or missing, or have another shape than ours."""
        pieces, tied = self.pieces(ours), self.tied(shapes)
        known = {*pieces, *tied, *self.ignored(shapes)}
        missing, left = ([n for n in pieces if n not in shapes], [n for n in shapes if n not in known])
        if missing or left:
            problems = [f"lack {listed(missing)}"] * bool(missing) + [f"hold {listed(left)} too many"] * bool(left)
            raise DataError(
                f"the weights do not fit the model that config.json describes: they {' and '.join(problems)}",
                where=where,
                fix="fetch config.json and the weights from the same place; architectures must name what was saved",
            )
        expected = {name: piece.shape for name, piece in pieces.items()}
        expected |= {name: list(ours[own].shape) for name, own in tied.items()}
        for name, shape in expected.items():
            if list(shapes[name]) != shape:
                raise _misshapen(name, list(shapes[name]), shape, where)


def to_theirs(table: Table, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors as theirs, views of the same memory wherever they can be."""
    return {name: piece.whole() for name, piece in table.pieces(ours).items()}


def _renamed(rules: Sequence[Rule], new: str, old: str) -> list[Rule]:
    """The rules where `old` stands for `new` in names of theirs."""

    def one(rule: Rule) -> Rule:
        if isinstance(rule, Joined):
            return replace(rule, theirs=tuple(name.replace(new, old) for name in rule.theirs))
        return replace(rule, theirs=rule.theirs.replace(new, old)) if isinstance(rule, Same) else rule

    return [one(rule) for rule in rules]


def _misshapen(name: str, found: list[int], expected: list[int], where: str) -> DataError:
    fix = "fetch config.json and the weights from the same place"
    if found and found[1:] == expected[1:]:
        fix += f"; if only the number of rows is wrong there, set it in config.json ({expected[0]} -> {found[0]})"
    return DataError(f"{name} has the shape {found}, config.json asks for {expected}", where=where, fix=fix)
