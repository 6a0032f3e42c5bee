"""Labels as people write them: whether they are classes or numbers, and the order of classes. Needs no torch."""

from collections.abc import Iterable, Sequence
from typing import Literal

from weft.files.columns import NEARLY_ALL, number

OneLabel = Literal["classes", "numbers"]
Kind = Literal["classes", "numbers", "several"]
APART = "\x1f"  # stands before each label of a row that may have several
FEW, SMALL = 20, 100  # whole numbers are classes if they are so few and so small


def kind_of(labels: Sequence[str]) -> OneLabel:
    """Numbers where nearly all labels are numbers, unless they are few small whole ones."""
    values = [value for label in labels if (value := number(label)) is not None]
    if not labels or len(values) < NEARLY_ALL * len(labels):
        return "classes"
    few = len(set(values)) <= FEW and all(value.is_integer() and abs(value) < SMALL for value in values)
    return "classes" if few else "numbers"


def joined(labels: Iterable[str]) -> str:
    """Any number of labels of one row as one."""
    return APART + APART.join(dict.fromkeys(filter(None, labels)))


def parted(label: str) -> list[str]:
    """The labels of a row; a single one is itself."""
    return [part for part in label.split(APART) if part]


def are_joined(labels: Sequence[str]) -> bool:
    """Whether rows may have several labels."""
    return any(label.startswith(APART) for label in labels)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Classes in the order of their numbers: by value where all are whole numbers, else by name."""
    names = sorted(labels)
    whole = all(name.removeprefix("-").isdecimal() for name in names)
    return tuple(sorted(names, key=int) if whole else names)
