"""Which column of a table is which, and whether its first row names them. Refuses to know files.

A `Role` is something a reader needs a column for: the text, the label, the source. It knows the names that such columns
usually bear and what their values look like, and `choose` gives every role its column: the one asked for, else the one
that is named so, else the one that can be nothing else by what it holds.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from weft.errors import DataError, nearest
from weft.files.columns import ABSENT, TRIED, Column, columns_of, listed, looks_like, plain
from weft.files.decoding import shown
from weft.files.languages import meaning

SOME = 3  # values that make a kind
NEARLY_BLANK = 0.1  # of the rows may have a value in a column that nobody named, and it counts as blank
NAME = re.compile(r"[^\W\d]\w*(?:[ .-]\w+){0,2}")

_header: ContextVar[bool | None] = ContextVar("header", default=None)


@contextmanager
def header_said(header: bool | None) -> Iterator[None]:
    """Within this block, first rows name columns, or do not, as the user says; None leaves it as it is."""
    token = _header.set(_header.get() if header is None else header)
    try:
        yield
    finally:
        _header.reset(token)


def current_header() -> bool | None:
    """What the user says of first rows, here and now."""
    return _header.get()


class LearnedColumn(str):
    """The name of a column that a run learned from: taken where a table has it, else the column is found as usual.

    A plain string is what a user asks for, and a table without it is refused.
    """


@dataclass(frozen=True)
class Role:
    """What a column is needed for.

    `by_name` gives the places whose names say so, the best first, and `by_content` those that can be nothing else by
    what they hold; `means` is what a name stands for, None where the role does not know it. Roles that are `last` are
    found by content after the others, among the columns that are left.
    """

    name: str
    by_name: Callable[[Sequence[str | None]], list[int]]
    by_content: Callable[[Sequence[Column]], list[int]]
    means: Callable[[str], str | None]
    last: bool = False


def known_by_name_alone(columns: Sequence[Column]) -> list[int]:
    """The columns that can be nothing else, of a role that only a name tells: none."""
    return []


def known_as(
    role: str,
    names: Sequence[str],
    by_content: Callable[[Sequence[Column]], list[int]] = known_by_name_alone,
    *,
    like: str = "",
    last: bool = False,
) -> Role:
    """A role whose columns bear one of some names, the likeliest first; or names `like` a pattern, as column_label."""
    alike = re.compile(like or r"(?!)")

    def by_name(found: Sequence[str | None]) -> list[int]:
        places = {plain(name): place for place, name in reversed(list(enumerate(found))) if name}
        exact = [places[name] for name in names if name in places]
        return [
            *exact,
            *sorted(place for name, place in places.items() if alike.fullmatch(name) and place not in exact),
        ]

    def means(name: str) -> str | None:
        return role if plain(name) in names or alike.fullmatch(plain(name)) else None

    return Role(role, by_name, by_content, means, last)


def names_columns(cells: Sequence[str], roles: Sequence[Role], asked: Sequence[str | None] = ()) -> bool:
    """Whether a row names columns: all that were asked for, or two that mean different things."""
    wanted = [name for name in asked if name is not None and not name.isdecimal()]
    if wanted and all(matching(cells, name) for name in wanted):
        return True
    meanings = {frozenset(found for role in roles if (found := role.means(cell))) for cell in cells}
    return len(meanings - {frozenset()}) > 1


def is_header(
    first: Sequence[str], rest: Sequence[Sequence[str]], roles: Sequence[Role], asked: Sequence[str | None] = (), *,
    doubtful: bool = True,
) -> bool:  # fmt: skip
    """Whether a first row names columns, told by its words and by what stands below them.

    Where first rows of data may look like names, as sentences do, one known name or the shape of names is too doubtful.
    """
    if (said := _header.get()) is not None:
        return said
    if names_columns(first, roles, asked):
        return True
    below = columns_of(first, rest)
    first = [cell for cell, column in zip(first, below, strict=True) if not may_lack_name(cell, column, len(rest))]
    below = [column for column in below if not may_lack_name(column.name, column, len(rest))]
    found = [plain(cell) for cell in first]
    if not rest or not found or "" in found or len(set(found)) < len(found):
        return False
    pairs = [(cell.strip(), column) for cell, column in zip(first, below, strict=True) if column.values]
    if any(cell in column.values for cell, column in pairs):
        return False  # a value like those below it
    marked = [(cell, column) for cell, column in pairs if column.looks in ("number", "date", "address", "picture")]
    if any(_all_alike(column) and not looks_like(column.looks, cell) for cell, column in marked):
        return True
    if any(looks_like(column.looks, cell) for cell, column in marked):
        return False
    if doubtful and any(role.means(cell) for role in roles for cell in first):
        return True
    if not doubtful or not all(NAME.fullmatch(cell.strip()) for cell in first):
        return False
    short = all(column.length > 2 * len(cell) for cell, column in pairs if not _repeated(column))
    return any(column.length > 4 * len(cell) or (short and _repeated(column)) for cell, column in pairs)


def _repeated(column: Column) -> bool:
    """Whether every value of a column stands in several rows, so that a first one which does not is none of them."""
    return column.is_class and min(Counter(column.values).values()) > SOME


def may_lack_name(name: str | None, column: Column, rows: int) -> bool:
    """Whether a column without a name in a header is one that needs none: nearly blank, or the numbers of the rows."""
    if (name or "").strip():
        return False
    counted = column.place == 0 and len(column.values) == column.distinct == rows > 1
    return len(column.values) <= NEARLY_BLANK * rows or (counted and all(map(str.isdecimal, column.values)))


def _all_alike(column: Column) -> bool:
    """Whether every value of a column is what nearly all look like; other kinds than numbers need some values."""
    if column.looks != "number" and len(column.values) < SOME:
        return False
    return all(looks_like(column.looks, value) or value.casefold() in ABSENT for value in column.values[:TRIED])


# Choosing


class Choice(NamedTuple):
    """The column of each role, and how each was found: asked for, by its name, or by what it holds."""

    places: tuple[int, ...]
    how: tuple[str, ...]

    @property
    def named(self) -> bool:
        """Whether a name or the user decided on every column."""
        return "by what it holds" not in self.how


def choose(
    columns: Sequence[Column], roles: Sequence[Role], asked: Sequence[str | None], *, where: str, fix: str
) -> Choice:
    """The column of each role; where that is not clear, an error lists the columns, and `fix` says what to do."""
    if len(columns) < len(roles):
        found = f"{len(columns)} column{'s' * (len(columns) != 1)}, expected at least {len(roles)}"
        needed = " and ".join(role.name for role in roles)
        fix = f"{needed} need {len(roles)} columns: in .tsv a tab separates them, in .csv a comma"
        raise DataError(found, where=where, fix=fix)
    taken: dict[str, tuple[int, str]] = {}
    for role, name in zip(roles, asked, strict=True):
        if name is not None:
            place = asked_column(columns, name, where)
            if other := next((known for known, (there, _) in taken.items() if there == place), None):
                both = f"{other} and {role.name} are both column {place + 1}"
                raise DataError(both, where=where, fix="name two columns")
            taken[role.name] = place, "asked for"
    for role in roles:
        places = [place for place in role.by_name([column.name for column in columns]) if _is_free(place, taken)]
        if places:
            taken.setdefault(role.name, (places[0], "by its name"))
    order = sorted(roles, key=lambda role: role.last)
    for role in order:
        places = role.by_content([column for column in columns if _is_free(column.place, taken)])
        if places:
            taken.setdefault(role.name, (places[0], "by what it holds"))
    unclear = [role.name for role in order if role.name not in taken]
    if unclear:
        problem = f"which column holds the {unclear[0]} is not clear; its columns:{listed(columns)}"
        raise DataError(problem, where=where, fix=fix)
    return Choice(*zip(*(taken[role.name] for role in roles), strict=True))


def _is_free(place: int, taken: Mapping[str, tuple[int, str]]) -> bool:
    return all(place != used for used, _ in taken.values())


def matching(names: Sequence[str | None], name: str) -> list[int]:
    """The places that bear a name, else those of the same language or side of a translation."""
    exact = [place for place, known in enumerate(names) if known is not None and plain(known) == plain(name)]
    wanted = meaning(name)
    return exact or [place for place, known in enumerate(names) if wanted is not None and meaning(known) == wanted]


def binding(columns: Sequence[Column], name: str | None) -> str | None:
    """The name of a column, unless it was only learned from and no column, or more than one, is meant by it."""
    if name is None or not isinstance(name, LearnedColumn):
        return name
    is_there = len(matching([column.name for column in columns], name)) == 1 or _numbered(columns, name)
    return name if is_there else None


def _numbered(columns: Sequence[Column], name: str) -> bool:
    return name.isdecimal() and 1 <= int(name) <= len(columns)


def asked_column(columns: Sequence[Column], name: str, where: str) -> int:
    """The place of a column that was asked for by name or by number from 1."""
    matches = matching([column.name for column in columns], name)
    if len(matches) == 1:
        return matches[0]
    if _numbered(columns, name):
        return int(name) - 1
    known = [shown(column.name) for column in columns if column.name]
    if matches:
        fix = f"name it by number: {' or '.join(str(i + 1) for i in matches)}"
        raise DataError(f"{len(matches)} columns are named {name!r}", where=where, fix=fix)
    found = f"its columns: {', '.join(map(repr, known))}" if known else f"it has {len(columns)} columns without names"
    hint = f"{nearest(name, known)}, or" if known else "give it a header line, or"
    fix = f"{hint} name it by number, from 1 to {len(columns)}"
    raise DataError(f"no column {name!r}; {found}", where=where, fix=fix)
