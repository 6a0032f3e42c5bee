"""Rows of texts in mapped files: a row is decoded when it is looked at. Knows texts and places; refuses to know files.

texts   a  b  c d  e …      UTF-8, one behind the other
ends    1  2  5    6 …      where each text ends: a row of the table for each row, a column for each of its texts
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

import numpy as np

from weft.storage.array_file import forget, mapped
from weft.storage.prepared import PreparedEntry, StagedEntry

R = TypeVar("R")
READ_AT_ONCE = 4096  # rows
COUNTED_AT_ONCE = 2**24  # bytes


class TextRows(Sequence[R], Generic[R]):
    """Rows that are made of some texts each. `left_out` are the numbers, in order, of rows that do not count."""

    def __init__(
        self,
        texts: np.ndarray,
        ends: np.ndarray,
        make: Callable[..., R],
        left_out: np.ndarray = np.zeros(0, np.int64),
    ):
        self.texts, self.ends, self.make, self.left_out = texts, ends, make, left_out
        self._before = left_out - np.arange(len(left_out))  # rows that count in front of each that does not

    @staticmethod
    def of(entry: PreparedEntry, make: Callable[..., R]) -> "TextRows[R]":
        """The rows that an entry has."""
        return TextRows(entry.arrays["texts"], entry.arrays["ends"], make)

    def __len__(self) -> int:
        return len(self.ends) - len(self.left_out)

    @overload
    def __getitem__(self, row: int) -> R: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[R]: ...
    def __getitem__(self, row: int | slice) -> R | Sequence[R]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        i = int(row) + (len(self) if row < 0 else 0)
        if not 0 <= i < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self.at(i + int(np.searchsorted(self._before, i, side="right")))

    def at(self, number: int) -> R:
        """The row of this number among all, whether it counts or not."""
        return self.make(*(text.decode("utf-8", "surrogatepass") for text in next(self._raw(number, number + 1))))

    def between(self, start: int, stop: int) -> list[R]:
        """The rows of these numbers among all."""
        return [self.make(*(text.decode("utf-8", "surrogatepass") for text in one)) for one in self._raw(start, stop)]

    def __iter__(self) -> Iterator[R]:
        places = iter([*self.left_out.tolist(), -1])
        absent = next(places)
        for number, texts in enumerate(self.raw()):
            if number == absent:
                absent = next(places)
            else:
                yield self.make(*(text.decode("utf-8", "surrogatepass") for text in texts))

    def part(self, start: int, stop: int) -> Iterator[R]:
        """The rows of these numbers among all, one after another."""
        for texts in self.raw(start, stop):
            yield self.make(*(text.decode("utf-8", "surrogatepass") for text in texts))

    def raw(self, first: int = 0, last: int | None = None) -> Iterator[Sequence[bytes]]:
        """The bytes of the texts of all rows, or of some, in order; memory needed to read them is given back."""
        last = len(self.ends) if last is None else last
        for number, start in enumerate(range(first, last, READ_AT_ONCE)):
            yield from self._raw(start, min(last, start + READ_AT_ONCE))
            if number % 32 == 0:
                forget(self.texts)
                forget(self.ends)

    def _raw(self, start: int, stop: int) -> Iterator[Sequence[bytes]]:
        width = self.ends.shape[1]
        first = int(self.ends[start - 1, -1]) if start else 0
        places = [0, *(self.ends[start:stop].astype(np.int64).ravel() - first).tolist()]
        data = self.texts[first : first + places[-1]].tobytes()
        for i in range(0, len(places) - 1, width):
            yield [data[places[i + j] : places[i + j + 1]] for j in range(width)]

    def without(self, numbers: np.ndarray) -> "TextRows[R]":
        """The rows but those of these numbers, which are in order."""
        return TextRows(self.texts, self.ends, self.make, numbers)

    @cached_property
    def characters(self) -> int:
        """The characters of the texts of all rows that count."""
        total = 0
        for start in range(0, len(self.texts), COUNTED_AT_ONCE):
            some = self.texts[start : start + COUNTED_AT_ONCE]
            total += len(some) - int(np.count_nonzero((some & 0xC0) == 0x80))  # bytes that go on with a character
            forget(self.texts)
        absent = (next(self._raw(number, number + 1)) for number in self.left_out.tolist())
        return total - sum(len(text.decode("utf-8", "surrogatepass")) for texts in absent for text in texts)

    @property
    def bytes(self) -> int:
        """The bytes of all texts."""
        return len(self.texts)


class GrowingTexts(Generic[R]):
    """Rows of texts while they are gathered: they grow like a list, and are written as they come."""

    def __init__(self, staged: StagedEntry, width: int, parts: Callable[[R], Sequence[str]]):
        self.texts, self.ends = staged.array("texts", np.uint8), staged.array("ends", np.uint64, width=width)
        self.parts, self.width = parts, width
        self._end = 0
        self._data, self._places = bytearray(), list[int]()

    def append(self, row: R) -> None:
        """Add a row."""
        for text in self.parts(row):
            data = text.encode("utf-8", "surrogatepass")
            self._data += data
            self._end += len(data)
            self._places.append(self._end)
        if len(self._places) >= READ_AT_ONCE:
            self._write()

    def _write(self) -> None:
        self.texts.append(np.frombuffer(bytes(self._data), np.uint8))
        self.ends.append(np.array(self._places, np.uint64).reshape(-1, self.width))
        self._data, self._places = bytearray(), []

    def __len__(self) -> int:
        return self.ends.rows + len(self._places) // self.width

    def __delitem__(self, rows: slice) -> None:
        """Take back the last rows."""
        start, stop, _ = rows.indices(len(self))
        assert stop == len(self), "only the last rows can be taken back"
        self._write()
        self.ends.shorten(start)
        self._end = int(self.ends.row(start - 1)[-1]) if start else 0
        self.texts.shorten(self._end)

    def finished(self, make: Callable[..., R]) -> TextRows[R]:
        """All rows, to be read; none may be added any more."""
        self._write()
        self.texts.finish()
        self.ends.finish()
        return TextRows(mapped(self.texts.path), mapped(self.ends.path), make)
