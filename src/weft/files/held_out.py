"""The one rule by which some rows are held out. Knows digests; refuses to know rows.

What is held out is a pure function of the contents: the same data is split the same way everywhere, in whatever order
it comes, and rows that are equal fall on the same side.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from weft.errors import ConfigError, DataError

SHARE = 0.1  # of the data that is held out, by default

T = TypeVar("T")
H = TypeVar("H")
R = TypeVar("R")


class Split(NamedTuple, Generic[T, H]):
    """What is trained on, what is held out, and the rule in words."""

    train: T
    held_out: H
    rule: str


def held_digests(
    digests: Sequence[bytes],
    share: float = SHARE,
    *,
    what: str,
    groups: Sequence[str] | None = None,
    most: int | None = None,
) -> list[bytes]:
    """The digests of what is held out, lowest first: about a share of the different ones, at least one and never all.

    With `groups`, a name for each digest, the share is taken of every group; a digest in several groups counts in the
    first. With `most`, a digest is held out by its value alone (it is below the share of all values), up to that
    number, so that data added later moves nothing from one side to the other. `what` names the rows in messages.
    """
    if not 0 < share < 1 or (most is not None and most < 1):
        bound = "" if most is None else f" and at least 1, found {most}"
        raise ConfigError(f"expected a share between 0 and 1, found {share}{bound}", where="share")
    first: dict[bytes, str] = {}
    for digest, group in zip(digests, groups or [""] * len(digests), strict=True):
        first.setdefault(digest, group)
    members: defaultdict[str, list[bytes]] = defaultdict(list)
    for digest in sorted(first):
        members[first[digest]].append(digest)
    held = sorted(digest for each in members.values() for digest in each[: _count(each, share, most)])
    if not held:
        raise too_few(len(first), what)
    return held


def too_few(many: int, what: str) -> DataError:
    """The error where nothing can be held out."""
    problem = f"{many} different {what} are too few to hold some out"
    return DataError(problem, fix=f"add more {what}, or name other data to validate on")


def split_rows(
    rows: Sequence[T], digests: Sequence[bytes], share: float = SHARE, *, what: str, groups: Sequence[str] | None = None
) -> tuple[list[T], list[T]]:
    """The rows to train on and those held out, by a digest for each, as `held_digests` chooses."""
    held = set(held_digests(digests, share, what=what, groups=groups))
    sides: tuple[list[T], list[T]] = ([], [])
    for row, digest in zip(rows, digests, strict=True):
        sides[digest in held].append(row)
    return sides


def share_of_each(share: float, held: int, rows: int, each: str) -> str:
    """How much is held out, in words: where `each` group has its share, by rounding it may be another one of all."""
    true = held / rows
    if not each or abs(true - share) <= share / 4:
        return f"about {share:.0%}{f' of each {each}' if each else ''}"
    return f"{true:.0%} (about {share:.0%} of each {each}, at least one where it has two)"


def held_number(marks: np.ndarray, share: float, most: int) -> int:
    """How many different digests are held out by their value alone; `marks` are the first 64 bits of all, sorted."""
    below = marks[: int(np.searchsorted(marks, np.uint64(int(share * 2**64))))]
    return _bounded(min(most, distinct(below)), distinct(marks))


def distinct(ordered: np.ndarray) -> int:
    """How many different values there are in order."""
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1 if len(ordered) else 0


def _count(ordered: Sequence[bytes], share: float, most: int | None) -> int:
    """How many of the different digests of a group are held out."""
    wanted = round(share * len(ordered))
    if most is not None:
        bound = int(share * 2**64)
        wanted = min(most, sum(int.from_bytes(digest[:8], "big") < bound for digest in ordered))
    return _bounded(wanted, len(ordered))


def _bounded(wanted: int, many: int) -> int:
    """At least one and never all."""
    return max(0, min(max(1, wanted), many - 1))
