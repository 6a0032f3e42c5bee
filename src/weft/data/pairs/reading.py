"""Sentence pairs: a source and its translation, from files. Refuses to know tokens.

Pairs are held in memory, in the order of the files. White space around a text is dropped, inside it stays; newlines are
LF. A row that cannot be a pair (a column too few, a blank side, a number for a text) is refused with its file and line,
or, where `skip` allows for some, left out whole and counted: no row ever lends half of itself to another.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from weft.data.decoding import read_text, shown
from weft.data.faults import Faults
from weft.data.files import ending, find
from weft.data.pairs import suspects
from weft.data.pairs.columns import language
from weft.data.pairs.formats import ENDINGS, Reading, excerpt, read_file
from weft.data.pairs.parallel import read_parallel
from weft.errors import DataError


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and its translation."""

    source: str
    target: str


class PairFile(NamedTuple):
    """A file that was read, and how many pairs it gave; of two that run side by side each gives all."""

    path: Path
    pairs: int


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
    files: tuple[PairFile, ...]
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


def read_pairs(
    sources: str | Path | Sequence[str | Path],
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    skip: int | float | None = None,
) -> Pairs:
    """Read files of pairs, folders of them, or two parallel text files.

    `source` and `target` name columns, fields or languages, or number them from 1. `skip` is how many bad rows are left
    out before the data is refused, or, if it is not a whole number, which share of all rows.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    asked = (None if source is None else str(source)), (None if target is None else str(target))
    paths = [Path(name) for name in named]
    if len(paths) == 2 and all(path.is_file() and ending(path, ENDINGS) is None for path in paths):
        skipped: list[tuple[str, str]] = []
        found, readings = paths, iter([read_parallel(paths, *asked)])
    else:
        for path in paths:
            if path.is_file() and ending(path, ENDINGS) is None:
                raise _unknown(path)
        taken = find(named, ENDINGS)
        found, skipped = list(taken.paths), list(taken.skipped)
        readings = (read_file(path, *asked) for path in found)
    gathered = _Gathered(skip)
    for reading in readings:
        gathered.file(reading)
    return gathered.pairs(found, skipped)


def _unknown(path: Path) -> DataError:
    line = next(read_text(path), "").split("\n")[0]
    known = f"known endings are {', '.join(ENDINGS)} (.gz may follow)"
    if "\t" in line:
        fix = f"line 1 has a tab in it: if tabs part the columns, rename the file to end in .tsv; {known}"
    else:
        fix = f"name the file of the other language too, as in corpus.en corpus.fr; {known}"
    return DataError("not a file of pairs by its ending", where=shown(path), fix=fix)


class _Gathered:
    """The rows of one file after another, and what was wrong with others."""

    def __init__(self, skip: int | float | None):
        self.rows: list[Pair] = []
        self.files: list[PairFile] = []
        self.faults = Faults(skip)
        self.notes: list[str] = []
        self.left: list[tuple[str, str]] = []
        self.columns: tuple[tuple[str, str], Path] | None = None
        self.empty = 0
        self.digest = hashlib.sha256()

    def file(self, reading: Reading) -> None:
        """Take all rows of one file."""
        before, words = len(self.rows), Counter[str]()
        names, path = [shown(file) for file in reading.files], reading.files[0]
        for row in reading.rows:
            if isinstance(row, str):
                words[row] += 1
            elif isinstance(row, DataError):
                self.faults.take(row)
            else:
                source, target = row.source.strip(), row.target.strip()
                if source and target:
                    self.take(source, target)
                else:
                    self.blank(names, row.line, source, target)
        count = len(self.rows) - before
        self.files += [PairFile(file, count) for file in dict.fromkeys(reading.files)]
        self.notes += reading.notes
        self.left += [(shown(path), f"{n} of its entries: {word}") for word, n in words.items()]
        if count:
            self.same_languages(reading.columns, path)

    def take(self, source: str, target: str) -> None:
        self.rows.append(Pair(source, target))
        for text in (source, target):
            data = text.encode("utf-8")
            self.digest.update(b"%d:%b" % (len(data), data))

    def blank(self, names: list[str], line: int, source: str, target: str) -> None:
        self.empty += 1
        if source or target:
            side, other = (1, source) if source else (0, target)
            what = f"the {('source', 'target')[side]} is blank, the other side is {excerpt(other)}"
            fix = "fill it in or delete the row (in parallel files, on both sides)"
            self.faults.take(DataError(what, where=f"{names[side]}, line {line}", fix=fix))

    def same_languages(self, columns: tuple[str, str], path: Path) -> None:
        """Refuse to mix languages, where both files name them."""
        if self.columns is None or not all(map(language, self.columns[0])):
            self.columns = columns, path
        elif all(map(language, columns)) and columns != self.columns[0]:
            (source, target), first = self.columns
            problem = f"holds {columns[0]} -> {columns[1]}, but {shown(first)} holds {source} -> {target}"
            raise DataError(
                problem, where=shown(path), fix="train on one pair of languages at a time, or name the columns"
            )

    def pairs(self, found: Sequence[Path], skipped: list[tuple[str, str]]) -> Pairs:
        """All that was gathered, if it is enough and not too much of it was bad."""
        self.faults.check(len(self.rows))
        left = [*skipped, *self.left, *self.faults.listed()]
        if not self.rows or self.columns is None:
            where = ", ".join(map(shown, found[:3])) + (", …" if len(found) > 3 else "")
            why = "".join(f"\n     {name}: {reason}" for name, reason in left[:10])
            raise DataError(f"0 pairs in {where}{why}", fix="name files that hold sentences and their translations")
        return Pairs(
            rows=self.rows,
            columns=self.columns[0],
            files=tuple(self.files),
            skipped=tuple(left),
            notes=tuple(self.notes),
            fingerprint=self.digest.hexdigest(),
            empty=self.empty,
            bad=self.faults.count,
        )
