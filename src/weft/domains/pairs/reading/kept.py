"""Many pairs, which are not held in memory: gathered into mapped files once, counted, and found again.

Differences and repetitions are counted by 64 bits of a digest, a few bytes for each pair.
"""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.pairs.reading import suspects
from weft.domains.pairs.reading.texts import Counts, HeldMarks, Pair, Pairs
from weft.files.gather import ReadFile, fingerprint
from weft.files.held_out import distinct
from weft.files.kept_rows import kept_rows
from weft.files.text_rows import GrowingTexts, TextRows
from weft.storage.prepared import PreparedEntry, StagedEntry

KEPT = ("columns", "skipped", "notes", "fingerprint", "empty", "bad")
Gather = Callable[[GrowingTexts[Pair] | None], Pairs]


def fingerprint_of(rows: Sequence[Pair]) -> str:
    """The SHA-256 over all sources and targets in order."""
    return fingerprint(text for pair in rows for text in (pair.source, pair.target))


def kept_pairs(paths: Sequence[Path], gather: Gather, asked: Sequence[Any]) -> Pairs:
    """What `gather` finds in files: many pairs in mapped files, which are kept for the next time; few in memory."""

    def make(staged: StagedEntry) -> None:
        growing = GrowingTexts[Pair](staged, 2, lambda pair: (pair.source, pair.target))
        found = gather(growing)
        assert isinstance(found.rows, TextRows)
        found = replace(found, **_counted(staged, found.rows, found))
        staged.values.update({name: getattr(found, name) for name in KEPT})
        staged.values["files"] = [(str(file.path), file.rows) for file in found.files]
        staged.values["counts"] = asdict(found.counts)

    entry = kept_rows("pairs", paths, asked, make)
    return gather(None) if entry is None else _pairs(entry)


def _counted(staged: StagedEntry, rows: TextRows[Pair], found: Pairs) -> dict[str, Any]:
    """The fingerprint and the counts of rows; what decides which of them are held out is written."""
    whole, sources, pairs, identical = hashlib.sha256(), array("Q"), array("Q"), 0
    for source, target in rows.raw():
        both = b"%d:%b%d:%b" % (len(source), source, len(target), target)
        whole.update(both)
        sources.append(int.from_bytes(hashlib.sha256(source).digest()[:8], "big"))
        pairs.append(int.from_bytes(hashlib.blake2b(both, digest_size=8).digest(), "big"))
        identical += source == target
    ordered = np.frombuffer(pairs, np.uint64)
    ordered.sort()
    duplicates = len(rows) - distinct(ordered)
    del ordered, pairs
    marks = np.frombuffer(sources, np.uint64)
    staged.array("source_marks", np.uint64).append(marks)
    lowest, different = HeldMarks.numbers(marks)
    staged.array("lowest", np.uint64).append(lowest)
    few = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), suspects.LOOKED_AT)).round().astype(np.int64))
    some = [(pair.source, pair.target) for pair in map(rows.at, few.tolist())]
    counts = Counts(different, duplicates, identical, suspects.swapped(some), found.empty, found.bad)
    return {"fingerprint": whole.hexdigest(), "counted": counts}


def _pairs(entry: PreparedEntry) -> Pairs:
    values = dict(entry.values)
    counts, files = Counts(**values.pop("counts")), values.pop("files")
    return Pairs(
        rows=TextRows.of(entry, Pair),
        columns=tuple(values["columns"]),
        files=tuple(ReadFile(Path(path), rows) for path, rows in files),
        skipped=tuple((where, reason) for where, reason in values["skipped"]),
        notes=tuple(values["notes"]),
        fingerprint=values["fingerprint"],
        empty=values["empty"],
        bad=values["bad"],
        held=HeldMarks(entry.arrays["source_marks"], entry.arrays["lowest"], counts.sources),
        counted=counts,
    )
