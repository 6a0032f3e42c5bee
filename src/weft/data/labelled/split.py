"""Texts to learn from and texts held out: a pure function of the texts and their labels."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from weft.data.labelled.texts import Example, Kind, same
from weft.errors import ConfigError, DataError

SHARE = 0.1


class LabelledSplit(NamedTuple):
    """Texts to learn from, texts held out, and the rule in words."""

    train: list[Example]
    held_out: list[Example]
    rule: str


def split_labelled(rows: Sequence[Example], kind: Kind = "classes", share: float = SHARE) -> LabelledSplit:
    """Hold out about a share of the texts, of every class alike, those with the lowest SHA-256.

    Texts that differ in letter case and white space alone fall on the same side. Of each class with two different texts
    at least one is held out, and at least one stays.
    """
    if not 0 < share < 1:
        raise ConfigError(f"expected a share between 0 and 1, found {share}", where="share")
    marks = [hashlib.sha256(same(row.text).encode("utf-8")).digest() for row in rows]
    groups: defaultdict[str, set[bytes]] = defaultdict(set)
    seen: dict[bytes, str] = {}
    for row, mark in zip(rows, marks, strict=True):
        # A text under several labels is dealt out with the first of them, so that all its copies stay together.
        groups[seen.setdefault(mark, row.label if kind == "classes" else "")].add(mark)
    held = {mark for group in groups.values() for mark in _lowest(group, share)}
    if not held:
        problem = f"{len(seen)} different texts in {len(groups)} classes are too few to hold some out"
        raise DataError(problem, fix="add more texts, or name other data to validate on")
    sides: tuple[list[Example], list[Example]] = ([], [])
    for row, mark in zip(rows, marks, strict=True):
        sides[mark in held].append(row)
    each = " of each class" if kind == "classes" else ""
    rule = (
        f"{len(sides[1]):,} of {len(rows):,} texts: about {share:.0%}{each} are held out, those whose text has the lowest "
        "SHA-256 (letter case and white space aside), so that equal texts fall on the same side"
    )
    return LabelledSplit(*sides, rule)


def _lowest(marks: set[bytes], share: float) -> list[bytes]:
    """About a share of the marks: at least one and not all, where there are two."""
    count = min(max(1, round(share * len(marks))), len(marks) - 1)
    return sorted(marks)[:count]
