"""Pairs: sources with their translations, what people should know of them, what is held out. Knows no formats."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from weft.domains.pairs.reading import suspects
from weft.files.gather import ReadFile
from weft.files.held_out import SHARE, Split, held_digests
from weft.files.tables import excerpt

MOST = 1000  # sources that are held out


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

    rows: list[Pair] = field(repr=False)
    columns: tuple[str, str]
    files: tuple[ReadFile, ...]  # of two that run side by side each gives all
    skipped: tuple[tuple[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    fingerprint: str
    empty: int
    bad: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.rows)

    @cached_property
    def counts(self) -> Counts:
        """Counted when first asked for: a few seconds for some hundred thousand pairs."""
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
            "looking as if source and target were swapped": counts.swapped,
        }
        left = {"blank on one side or both": counts.empty, "not usable (blank on one side among them)": counts.bad}
        return [
            f"{len(self.rows):,} pairs, {source} -> {target}, {counts.sources:,} different sources",
            f"the first: {excerpt(first.source)} -> {excerpt(first.target)}",
            *self.notes,
            *(f"pairs {what}: {count:,}; they are kept" for what, count in kept.items() if count),
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
    rule = (
        f"{len(held):,} of {len(sources):,} different sources are held out with all their translations "
        f"({len(rows) - len(train):,} of {len(rows):,} pairs): about {share:.0%}, at most {most:,}, those whose text "
        "has the lowest SHA-256"
    )
    return Split(train, out, rule)


def overlap(train: Iterable[Pair], test: Iterable[Pair | Held]) -> int:
    """How many different sources of a test are also trained on."""
    return len({pair.source for pair in train} & {pair.source for pair in test})
