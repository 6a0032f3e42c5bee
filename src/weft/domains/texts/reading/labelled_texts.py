"""LabelledTexts: texts with a label each, what people should know of them, and what is held out. Knows no formats."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from weft.errors import DataError, nearest
from weft.files.bad_rows import Gaps
from weft.files.decoding import shown
from weft.files.gather import ReadFile, fingerprint
from weft.files.held_out import SHARE, Split, share_of_each, split_rows
from weft.files.labels import Kind, in_order, parted

UNEVEN = 5  # times that the largest class is larger than the smallest before it is said
RARE = 5  # texts; a class with fewer is pointed out
LISTED = 10  # classes that are listed


@dataclass(frozen=True, slots=True)
class Example:
    """A text and its label as it is written."""

    text: str
    label: str

    @property
    def labels(self) -> list[str]:
        """The label, or all of a text that may have several."""
        return parted(self.label)


@dataclass(frozen=True)
class LabelledTexts:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over all texts and labels in order: names, formats and gzip do not change it. `classes`
    are in the order of their numbers; labels that are numbers have none. `skipped` lists what was left out and why.
    """

    rows: list[Example] = field(repr=False)
    kind: Kind
    classes: tuple[str, ...]
    columns: tuple[str, str]
    files: tuple[ReadFile, ...]
    skipped: tuple[tuple[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    fingerprint: str
    without_text: Gaps
    without_label: Gaps
    bad: int
    dropped: int = 0  # texts of classes that were too rare

    @staticmethod
    def given(rows: list[Example], name: str) -> "LabelledTexts":
        """Texts with classes that come from no file."""
        return LabelledTexts(
            rows=rows,
            kind="classes",
            classes=in_order({row.label for row in rows}),
            columns=("text", "label"),
            files=(ReadFile(Path(name), len(rows)),),
            skipped=(),
            notes=(),
            fingerprint=fingerprint_of(rows),
            without_text=Gaps(),
            without_label=Gaps(),
            bad=0,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.rows)

    @cached_property
    def by_class(self) -> dict[str, int]:
        """How many texts each class has, the commonest first."""
        every = (label for row in self.rows for label in row.labels)
        counts = Counter[str]() if self.kind == "numbers" else Counter(every)
        return dict(counts.most_common())

    @property
    def unevenness(self) -> float:
        """How many times larger the largest class is than the smallest."""
        sizes = list(self.by_class.values())
        return sizes[0] / sizes[-1] if sizes else 1.0

    @cached_property
    def duplicates(self) -> int:
        """Texts that equal an earlier one."""
        return len(self.rows) - len({mark(row.text) for row in self.rows})

    @cached_property
    def conflicts(self) -> int:
        """Different texts that stand under more than one label."""
        first: dict[int, str] = {}
        marks = ((mark(row.text), row.label) for row in self.rows)
        return len({one for one, label in marks if first.setdefault(one, label) != label})

    def report(self) -> list[str]:
        """What people should know before they train on this, a sentence a line."""
        doubtful = {"equal to an earlier one": self.duplicates, "under more than one label": self.conflicts}
        left = {"without a text": self.without_text, "without a label": self.without_label}
        return [
            self._summary(),
            *self.notes,
            *self._balance(),
            *(f"texts {what}: {count:,}; they are kept" for what, count in doubtful.items() if count),
            *(f"rows left out, {what}: {gaps}" for what, gaps in left.items() if gaps.count),
            *([f"rows left out, not usable: {self.bad:,}"] if self.bad else []),
            *([f"rows left out, of classes with too few texts: {self.dropped:,}"] if self.dropped else []),
        ]

    def _summary(self) -> str:
        if self.kind == "numbers":
            values = targets(self.rows, None)
            spread = f"from {values.min():g} to {values.max():g}, {values.mean():.4g} ± {values.std():.4g}"
            return f"{len(self.rows):,} texts with numbers {spread}"
        listed = ", ".join(f"{shown(name)} {count:,}" for name, count in list(self.by_class.items())[:LISTED])
        more = f" and {len(self.classes) - LISTED} more" if len(self.classes) > LISTED else ""
        if self.kind == "several":
            each, none = sum(self.by_class.values()) / len(self.rows), sum(not row.labels for row in self.rows)
            known = f"{len(self.rows):,} texts with any of {len(self.classes)} labels: {listed}{more}"
            return f"{known}; {each:.2g} labels a text, {none:,} texts without one"
        return f"{len(self.rows):,} texts in {len(self.classes)} classes: {listed}{more}"

    def _balance(self) -> list[str]:
        found, names = [], list(self.by_class) if self.kind == "classes" else []
        rare = [name for name in names if self.by_class[name] < RARE]
        if names and self.unevenness >= UNEVEN:
            most = self.by_class[names[0]] / len(self.rows)
            found.append(
                f"the classes are unbalanced: {shown(names[0])} is {self.unevenness:.0f} times as common as "
                f"{shown(names[-1])}; always answering {shown(names[0])} would be right for {most:.0%}"
            )
        if len(names) / 2 < len(rare) < len(names):
            known = len(names) - len(rare)
            less = f"; --set fewest={RARE} leaves them out" if known > 1 else ""
            found.append(
                f"{len(rare):,} of {len(names):,} classes have fewer than {RARE} texts: too few to learn{less}"
            )
        elif rare and len(rare) < len(names):
            listed = ", ".join(repr(shown(name)) for name in rare[:LISTED]) + (", …" if len(rare) > LISTED else "")
            found.append(f"classes with fewer than {RARE} texts, perhaps typing errors: {len(rare)} ({listed})")
        return found


def targets(rows: Sequence[Example], classes: Sequence[str] | None) -> np.ndarray:
    """What is to be learned: the numbers of the classes, or, without classes, the labels as numbers."""
    if classes is None:
        return np.array([float(row.label) for row in rows])
    known = {name: i for i, name in enumerate(classes)}
    unknown = sorted({row.label for row in rows} - known.keys())
    if unknown:
        problem = f"the label {shown(unknown[0])!r} is not one of the classes"
        raise DataError(problem, fix=nearest(unknown[0], list(known)[:100]))
    return np.array([known[row.label] for row in rows], np.int64)


def same(text: str) -> str:
    """What texts have in common that are taken to be the same: letter case and white space do not matter."""
    return " ".join(text.split()).casefold()


def mark(text: str) -> int:
    """64 bits of a digest of what equal texts have in common: a few bytes for each of many."""
    return int.from_bytes(hashlib.blake2b(same(text).encode("utf-8"), digest_size=8).digest(), "big")


def split_labelled(
    rows: Sequence[Example], kind: Kind = "classes", share: float = SHARE
) -> Split[list[Example], list[Example]]:
    """Hold out about a share of the texts, of every class alike, those with the lowest SHA-256.

    Texts that differ in letter case and white space alone fall on the same side. Of each class with two different texts
    at least one is held out, and at least one stays.
    """
    digests = [hashlib.sha256(same(row.text).encode("utf-8")).digest() for row in rows]
    groups = None if kind == "numbers" else _groups(rows)
    sides = split_rows(rows, digests, share, what="texts", groups=groups)
    each = {"classes": "class", "several": "label", "numbers": ""}[kind]
    how_much = share_of_each(share, len(sides[1]), len(rows), each)
    rule = (
        f"{len(sides[1]):,} of {len(rows):,} texts: {how_much} are held out, those whose text has the "
        "lowest SHA-256 (letter case and white space aside), so that equal texts fall on the same side"
    )
    return Split(*sides, rule)


def _groups(rows: Sequence[Example]) -> list[str]:
    """The rarest label of each row, by which rows are held out alike."""
    counts = Counter(label for row in rows for label in row.labels)
    return [min(row.labels, key=lambda label: (counts[label], label), default="") for row in rows]


def overlap(train: Iterable[Example], test: Iterable[Example]) -> int:
    """How many different texts of a test are also trained on."""
    return len({mark(row.text) for row in train} & {mark(row.text) for row in test})


def fingerprint_of(rows: Sequence[Example]) -> str:
    """The SHA-256 over all texts and labels in order."""
    return fingerprint(text for row in rows for text in (row.text, row.label))
