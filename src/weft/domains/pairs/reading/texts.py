"""Pairs: sources with their translations, what people should know of them, what is held out. Knows no formats."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weft.domains.pairs.reading import suspects
from weft.files.gather import ReadFile
from weft.files.held_out import SHARE, Split, distinct, held_digests, held_number, too_few
from weft.files.tables import excerpt
from weft.files.text_rows import TextRows
from weft.storage.array_file import forget

MOST = 1000  # sources that are held out
SWAPPED = "looking as if source and target were swapped"


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class Counts:
    """What a report says of the pairs. The first four are in `rows`, the last two are not."""

    sources: int  # different ones
    duplicates: int  # equal to an earlier pair
    identical: int  # the target is the source
    swapped: int  # look the wrong way round
    empty: int  # blank on one or both sides
    bad: int  # skipped, for whatever reason; blank on one side among them


@dataclass(frozen=True)
class Pairs:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over all sources and targets in order: names, formats, gzip, byte order marks and
    newline style do not change it. `skipped` lists files and rows left out, with the reason.
    """

    rows: Sequence[Pair] = field(repr=False)
    columns: tuple[str, str]
    files: tuple[ReadFile, ...]  # of two that run side by side each gives all
    skipped: tuple[tuple[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    fingerprint: str
    empty: int
    bad: int
    held: "HeldMarks | None" = field(default=None, repr=False)  # of many pairs, which are not held in memory
    counted: Counts | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.rows)

    @cached_property
    def counts(self) -> Counts:
        """Counted when first asked for: a few seconds for some hundred thousand pairs."""
        if self.counted is not None:
            return self.counted
        plain = [(pair.source, pair.target) for pair in self.rows]
        return Counts(
            sources=len({source for source, _ in plain}),
            duplicates=suspects.duplicates(plain),
            identical=suspects.identical(plain),
            swapped=suspects.swapped(plain),
            empty=self.empty,
            bad=self.bad,
        )

    def report(self) -> list[str]:
        """What people should know before they train on this, a sentence a line."""
        counts, (source, target), first = self.counts, self.columns, self.rows[0]
        kept = {
            "equal to an earlier pair": counts.duplicates,
            "with source and target the same": counts.identical,
            SWAPPED: counts.swapped,
        }
        looked = {SWAPPED: f" of {suspects.LOOKED_AT:,}"} if len(self.rows) > suspects.LOOKED_AT and self.held else {}
        left = {"blank on one side or both": counts.empty, "not usable (blank on one side among them)": counts.bad}
        return [
            f"{len(self.rows):,} pairs, {source} -> {target}, {counts.sources:,} different sources",
            f"the first: {excerpt(first.source)} -> {excerpt(first.target)}",
            *self.notes,
            *(f"pairs {what}: {count:,}{looked.get(what, '')}; they are kept" for what, count in kept.items() if count),
            *(f"rows left out, {what}: {count:,}" for what, count in left.items() if count),
        ]


@dataclass(frozen=True, slots=True)
class Held:
    """A source that is held out, with all its different translations."""

    source: str
    references: tuple[str, ...]


def split_pairs(pairs: Iterable[Pair], share: float = SHARE, *, most: int = MOST) -> Split[list[Pair], list[Held]]:
    """Hold out about a share of the sources, at most `most`, by the hash of the source alone.

    So all translations of a source fall on one side, and pairs that are added later move no source from training to
    the held-out side, unless nothing was held out by its hash. Those held out come in order of their hash: the first
    few are as good a sample as all.
    """
    references: dict[str, dict[str, None]] = {}
    rows = list(pairs)
    for pair in rows:
        references.setdefault(pair.source, {})[pair.target] = None
    sources = {hashlib.sha256(source.encode("utf-8")).digest(): source for source in references}
    held = [sources[digest] for digest in held_digests(list(sources), share, what="sources", most=most)]
    out = [Held(source, tuple(references[source])) for source in held]
    apart = set(held)
    train = [pair for pair in rows if pair.source not in apart]
    return Split(train, out, _rule(len(held), len(sources), len(rows) - len(train), len(rows), share, most))


def _rule(held: int, sources: int, apart: int, pairs: int, share: float, most: int) -> str:
    return (
        f"{held:,} of {sources:,} different sources are held out with all their translations "
        f"({apart:,} of {pairs:,} pairs): about {share:.0%}, at most {most:,}, those whose text "
        "has the lowest SHA-256"
    )


@dataclass(frozen=True)
class HeldMarks:
    """By what sources of many pairs are held out: the first 64 bits of the SHA-256 of each pair's source.

    `lowest` are the `number` lowest different ones, in order; `sources` is how many different ones there are.
    """

    marks: np.ndarray
    lowest: np.ndarray
    sources: int

    @staticmethod
    def numbers(marks: np.ndarray) -> tuple[np.ndarray, int]:
        """The lowest marks, as many as sources are held out, and the number of different ones; `marks` get sorted."""
        marks.sort()
        number, start = held_number(marks, SHARE, MOST), MOST
        while len(lowest := np.unique(marks[:start])) < number:
            start *= 2
        return lowest[:number], distinct(marks)


def split_many(rows: TextRows[Pair], by: HeldMarks) -> Split[Sequence[Pair], list[Held]]:
    """The same as `split_pairs`, for rows that are not held in memory."""
    if not len(by.lowest):
        raise too_few(by.sources, "sources")
    doubtful = np.flatnonzero(by.marks <= by.lowest[-1])
    forget(by.marks)
    references: dict[str, dict[str, None]] = {}
    numbers: dict[str, list[int]] = {}
    for number in doubtful.tolist():
        pair = rows.at(number)
        references.setdefault(pair.source, {})[pair.target] = None
        numbers.setdefault(pair.source, []).append(number)
    held = sorted(references, key=lambda source: hashlib.sha256(source.encode("utf-8")).digest())[: len(by.lowest)]
    apart = np.array(sorted(number for source in held for number in numbers[source]), np.int64)
    out = [Held(source, tuple(references[source])) for source in held]
    return Split(rows.without(apart), out, _rule(len(held), by.sources, len(apart), len(rows), SHARE, MOST))


def overlap(train: Iterable[Pair], test: Iterable[Pair | Held]) -> int:
    """How many different sources of a test are also trained on."""
    asked = {pair.source for pair in test}
    return len({pair.source for pair in train if pair.source in asked})
