"""Rows of files as prepared data: read once, found again while the files stay as they are, and looked at one by one.

Refuses to know what the rows are.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.files.text_rows import TextRows
from weft.files.ways import current_ways
from weft.storage.file_marks import FileMarks
from weft.storage.prepared import PreparedEntry, StagedEntry, key_of, store_for

LISTED_FILES = 20  # that are named where prepared data is listed
TOGETHER = 512  # rows that are decoded at once


def kept_rows(
    kind: str, paths: Sequence[Path], asked: Sequence[Any], make: Callable[[StagedEntry], None]
) -> PreparedEntry | None:
    """What `make` makes of files, kept for the next time; None where they are so small that rows are held in memory.

    `asked` is all that decides, besides the files and how they are read, what comes of them.
    """
    marks = FileMarks.of(paths)
    store = None if marks is None else store_for(marks.bytes)
    if marks is None or store is None:
        return None
    names = [str(path) for path in paths]
    key = key_of(kind, marks.files, names, list(asked), current_ways())
    source = {"kind": kind, "files": names[:LISTED_FILES]}
    return store.entry(key, make, source, keep=lambda: marks.trusted(paths))


class RowTexts:
    """The texts of rows in a mapped file, a row at a time; those near the last one are at hand."""

    def __init__(self, rows: TextRows[tuple[str, ...]]):
        self.rows = rows
        self._near: tuple[int, list[tuple[str, ...]]] = (-1, [])

    def __getitem__(self, number: int) -> tuple[str, ...]:
        block, near = number // TOGETHER, self._near
        if near[0] != block:
            start = block * TOGETHER
            near = self._near = (block, self.rows.between(start, min(start + TOGETHER, len(self.rows))))
        return near[1][number % TOGETHER]
