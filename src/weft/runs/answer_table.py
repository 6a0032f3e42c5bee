"""Answers as a table: the columns that the inputs had, in their order, then those that the task adds.

Rows come as answers do, a batch at a time, so that a table may be larger than memory. A row whose input failed has
blank cells in the columns of the answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import DataError, WeftError
from weft.files.table_writing import is_written_as_table
from weft.runs.asking import table_at, takes_texts
from weft.tasks.asks import Answer, Given, TableRow
from weft.tasks.table_inputs import free_name

if TYPE_CHECKING:
    from weft.runs.run import Run


def is_answered_as_table(run: "Run", words: Sequence[object], path: Path | None) -> bool:
    """Whether answers are a table: to the rows of one, or written as one that the task does not make itself."""
    if any(names_rows(run, word) for word in words):
        return True
    own = path is None or path.suffix.lower() in (*run.task.gives(run.loaded).endings, ".jsonl")
    return not own and path is not None and is_written_as_table(path)


def names_rows(run: "Run", word: object) -> bool:
    """Whether a word names a table that has inputs in its rows."""
    table = table_at(word, takes_texts(run, "predict"))
    return table is not None


class AnswerTable:
    """The names of all columns, and the rows; `first` is the first of all inputs, which says what columns they have."""

    def __init__(self, run: "Run", first: Given | None):
        self.run, self.count = run, 0
        self.own = () if first is None else self._rows_of(first)[0].names
        self.adds = run.task.gives(run.loaded).columns
        added: list[str] = []
        for name in self.adds:
            wanted = name if name not in self.own else f"predicted_{name}"
            added.append(free_name(wanted, [*self.own, *added]))
        self.names = (*self.own, *added)
        self._taken = [(old, new) for old, new in zip(self.adds, added, strict=True) if old != new]
        self.lost: dict[str, None] = {}

    @property
    def remarks(self) -> list[str]:
        """What of the inputs' columns is called otherwise or lost."""
        found = [f"the table has a column {old!r} already: the answer is in {new!r}" for old, new in self._taken]
        names = ", ".join(map(repr, self.lost))
        return found + ([f"columns that the first row has not are left out: {names}"] if names else [])

    def rows(self, answers: Iterable[Answer]) -> Iterator[tuple[Any, ...]]:
        """The rows of answers: of each one or more."""
        for answer in answers:
            cells = [{}] if answer.error is not None else self.run.task.cells(answer.values)
            for row, added in _beside(self._rows_of(answer.given), cells):
                own = row.values
                self.lost.update(dict.fromkeys(name for name in own if name not in self.own))
                if not self.own or not set(own) & set(self.own):
                    raise DataError(f"its columns are not those of the first table: {', '.join(own)}", where=row.where,
                                    fix="write the answers to each table into a file of its own")  # fmt: skip
                self.count += 1
                yield (*(own.get(name) for name in self.own), *(added.get(name) for name in self.adds))

    def _rows_of(self, given: Given | None) -> Sequence[TableRow]:
        """The rows of an input; one that stood in no table is a row of its own."""
        one = given or Given("")
        if one.rows:
            return one.rows
        cells = {} if isinstance(one.value, WeftError) else self.run.task.input_cells(self.run.loaded, one)
        cells = cells or {"input": one.name}
        return [TableRow(one.name, tuple(cells), tuple(cells.values()))]


def _beside(
    rows: Sequence[TableRow], cells: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[TableRow, Mapping[str, Any]]]:
    """Rows of an input beside those of its answer: one by one where they are as many, else each with each."""
    if len(rows) == len(cells):
        return zip(rows, cells, strict=True)
    return ((row, one) for row in rows for one in cells)
