"""Tables of weights: all rules of a model together, fitted to a file and checked against it before anything is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torch import Tensor

from weft.errors import ConfigError, DataError, listed
from weft.interop.rules import Ignored, JoinedRows, Piece, SameTensor, Stacked, Tied, WeightRule


@dataclass(frozen=True)
class WeightTable:
    """All rules of a model. `body` are those whose names of theirs may stand under `prefix`, or without it (`bare`).

    `older` are parts of names, each with what other versions of their library write in its place.
    """

    body: Sequence[WeightRule]
    head: Sequence[WeightRule] = ()
    prefix: str = ""
    older: Sequence[tuple[str, str]] = ()
    bare: bool = False

    @property
    def rules(self) -> list[WeightRule]:
        """All rules, as names are written."""
        return [*(rule.under("" if self.bare else self.prefix) for rule in self.body), *self.head]

    def fitting(self, names: Iterable[str]) -> "WeightTable":
        """The table for a file with these names.

        Some files leave the prefix out, some have older names, and some keep a tied tensor by its other name.
        """
        present = set(names)
        body, head = self.body, self.head
        for new, old in self.older:
            if any(old in name for name in present):
                body, head = (_renamed(rules, new, old) for rules in (body, head))
        bare = not any(name.startswith(self.prefix) for name in present)
        table = replace(self, body=body, head=head, bare=bare)
        missing = {rule.ours for rule in table.rules if type(rule) is SameTensor and rule.theirs not in present}
        carriers = {own: name for name, own in table.tied(present).items() if own in missing}
        if not carriers:
            return table
        rules: list[WeightRule] = []
        for rule in table.rules:
            if type(rule) is SameTensor and rule.ours in carriers:
                rules.append(SameTensor(carriers[rule.ours], rule.ours))
            elif not (isinstance(rule, Tied) and rule.theirs in carriers.values()):
                rules.append(rule)
        return WeightTable([], rules)

    def ignored(self, names: Iterable[str], kind: type[Ignored] = Ignored) -> list[str]:
        """Names of theirs that are not read."""
        patterns = [rule.theirs for rule in self.rules if isinstance(rule, kind)]
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]

    @property
    def names(self) -> set[str]:
        """The names of theirs that are written."""
        found = (rule.theirs for rule in self.rules if isinstance(rule, SameTensor | JoinedRows | Stacked))
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


def to_theirs(table: WeightTable, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors as theirs, views of the same memory wherever they can be."""
    return {name: piece.whole() for name, piece in table.pieces(ours).items()}


def _renamed(rules: Sequence[WeightRule], new: str, old: str) -> list[WeightRule]:
    """The rules where `old` stands for `new` in names of theirs."""

    def one(rule: WeightRule) -> WeightRule:
        if isinstance(rule, JoinedRows):
            return replace(rule, theirs=tuple(name.replace(new, old) for name in rule.theirs))
        return replace(rule, theirs=rule.theirs.replace(new, old)) if isinstance(rule, SameTensor | Tied) else rule

    return [one(rule) for rule in rules]


def _misshapen(name: str, found: list[int], expected: list[int], where: str) -> DataError:
    fix = "fetch config.json and the weights from the same place"
    if found and found[1:] == expected[1:]:
        fix += f"; if only the number of rows is wrong there, set it in config.json ({expected[0]} -> {found[0]})"
    return DataError(f"{name} has the shape {found}, config.json asks for {expected}", where=where, fix=fix)
