"""Rows of ids of different lengths in one array, which may be mapped from a file. Knows ids and places alone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from weft.storage.array_file import forget
from weft.storage.prepared import PreparedEntry, StagedEntry

ENCODED_AT_ONCE = 16_384  # texts that the tokenizer is given together: it uses all cores
AT_ONCE = 2**20  # rows whose lengths are computed together


@dataclass(frozen=True, eq=False)
class IdRows(Sequence[np.ndarray]):
    """Row i is `ids[ends[i - 1]:ends[i]]`; with `chosen`, row i is the one of that number."""

    ids: np.ndarray
    ends: np.ndarray
    chosen: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ends) if self.chosen is None else len(self.chosen)

    @overload
    def __getitem__(self, row: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[np.ndarray]: ...
    def __getitem__(self, row: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        i = int(row) + (len(self) if row < 0 else 0)
        if not 0 <= i < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        i = i if self.chosen is None else int(self.chosen[i])
        return np.asarray(self.ids[int(self.ends[i - 1]) if i else 0 : int(self.ends[i])])

    def lengths(self) -> np.ndarray:
        """The number of ids in each row."""
        found, before = np.empty(len(self.ends), np.int32), 0
        for start in range(0, len(found), AT_ONCE):
            some = self.ends[start : start + AT_ONCE].astype(np.int64)
            found[start : start + AT_ONCE] = np.diff(some, prepend=before)
            before = int(some[-1])
        forget(self.ends)
        return found if self.chosen is None else found[self.chosen]

    @staticmethod
    def together(rows: Sequence[np.ndarray]) -> "IdRows":
        """Rows in memory, one behind the other."""
        ids = np.concatenate(rows) if len(rows) else np.zeros(0, np.int64)
        return IdRows(ids, np.cumsum([len(row) for row in rows], dtype=np.uint64))

    def only(self, chosen: np.ndarray) -> "IdRows":
        """The rows of these numbers."""
        return IdRows(self.ids, self.ends, chosen if self.chosen is None else self.chosen[chosen])

    @staticmethod
    def of(entry: PreparedEntry, name: str) -> "IdRows":
        """The rows that were written under a name."""
        return IdRows(entry.arrays[f"{name}_ids"], entry.arrays[f"{name}_ends"])


@dataclass(frozen=True, eq=False)
class MarkedIds(Sequence[np.ndarray]):
    """Rows of ids between marks, cut to `room` ids of their own, each when it is looked at."""

    rows: IdRows
    before: Sequence[int]
    after: Sequence[int]
    room: int

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, row: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[np.ndarray]: ...
    def __getitem__(self, row: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        ids = self.rows[row][: self.room].astype(np.int64)
        return np.concatenate([np.array(self.before, np.int64), ids, np.array(self.after, np.int64)])

    def lengths(self) -> np.ndarray:
        """The number of ids in each row, marks included."""
        return np.minimum(self.rows.lengths(), self.room) + len(self.before) + len(self.after)


class GrowingIds:
    """Rows of ids while they are written."""

    def __init__(self, staged: StagedEntry, name: str, dtype: Any):
        self.ids, self.ends = staged.array(f"{name}_ids", dtype), staged.array(f"{name}_ends", np.uint64)

    def extend(self, rows: Iterable[np.ndarray]) -> None:
        """Add rows."""
        some, before = list(rows), self.ids.rows
        if some:
            self.ids.append(np.concatenate(some).astype(self.ids.dtype))
            self.ends.append((before + np.cumsum([len(row) for row in some])).astype(np.uint64))


def id_rows(
    staged: StagedEntry, name: str, dtype: Any, texts: Iterable[str], encode: Callable[[list[str]], list[np.ndarray]]
) -> None:
    """Write the ids of texts, which are encoded some thousands at a time."""
    growing, some = GrowingIds(staged, name, dtype), list[str]()
    for text in texts:
        some.append(text)
        if len(some) == ENCODED_AT_ONCE:
            growing.extend(encode(some))
            some = []
    growing.extend(encode(some) if some else [])
