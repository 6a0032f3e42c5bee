"""Answers as a table: the columns that the inputs had, in their order, then those that the task adds.

Rows come as answers do, a batch at a time, so that a table may be larger than memory. A row whose input failed has
blank cells in the columns of the answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.amounts import counted
from weft.errors import DataError, WeftError
from weft.files.table_writing import TableWriter, is_written_as_table
from weft.files.tables import open_table
from weft.files.writing import write_made
from weft.runs.asking import ask, given, table_at, takes_texts, ways_of, with_row, written
from weft.runs.run import refuse_headless
from weft.tasks.asks import Answer, Given, TableRow
from weft.tasks.request import Listen, Prediction
from weft.tasks.table_inputs import free_name
from weft.training.progress import Progress, counter

if TYPE_CHECKING:
    from weft.runs.run import Run

BATCH = 200  # rows of a table that are answered at once
Failures = list[tuple[str, WeftError]]


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


class Answered:
    """The answers to what a user names, as they come; `failed` fills with the inputs that could not be used."""

    def __init__(self, run: "Run", words: Sequence[object], settings: Mapping[str, Any], listen: Listen | None = None):
        self.run, self.words, self.settings, self.listen = run, words, settings, listen
        self.failed: Failures = []
        self.count = 0

    def __iter__(self) -> Iterator[Answer]:
        """Each answer once, with the files written that it names; where every input fails, the first error."""
        ways, how = ways_of(self.run, "predict", self.settings)
        refuse_headless(self.run.loaded)
        rows = BATCH if any(names_rows(self.run, word) for word in self.words) else None
        inputs = self._counted(given(self.run, self.words, ways=ways))
        for one in ask(self.run, inputs, how, listen=self.listen, rows=rows):
            if one.error is not None:
                self.failed.append(_placed(one))
            else:
                self.count += 1
                written([one], how)
            yield one
        if self.failed and not self.count:
            raise self.failed[0][1]

    def _counted(self, inputs: Iterable[Given]) -> Iterator[Given]:
        """The same inputs; once there are more than a batch, someone who watches sees how many are answered."""
        progress, done = Progress(), None
        try:
            for number, one in enumerate(inputs):
                if number == BATCH and one.rows:
                    done = counter(progress, max(self._size(), number + 1), "rows")
                if done is not None and number % BATCH == 0:
                    done(number)
                yield one
        finally:
            progress.stop()

    def _size(self) -> int:
        """How many rows the tables have that were named."""
        tables = [Path(word) for word in self.words if isinstance(word, str | Path)]
        return sum(sum(1 for _ in open_table(path, ()).whole_rows()) for path in tables if path.is_file())

    def predictions(self) -> list[Prediction]:
        """All answers as `--json` gives them, each with the row of its table."""
        return [with_row(one.values, one.given) for one in self if one.error is None]

    def table(self, heard: Callable[[Prediction], None] = lambda values: None) -> "AnswerTable":
        """The answers as a table, of which the first batch is computed now; `heard` gets the values of each answer."""

        def hearing() -> Iterator[Answer]:
            for one in self:
                if one.error is None:
                    heard(with_row(one.values, one.given))
                yield one

        waiting = hearing()
        first = next(waiting, None)
        return AnswerTable(self.run, chain([] if first is None else [first], waiting), first)

    def write(self, path: Path, heard: Callable[[Prediction], None]) -> list[str]:
        """Write the answers as a table, whole or not at all; what to tell people of it."""
        writer = TableWriter(path)
        table = self.table(heard)
        write_made(path, writer.chunks(table.names, table.rows()))
        return [*table.remarks, *writer.remarks, f"wrote {path}: {counted(table.count, 'row')}"]


class AnswerTable:
    """The names of all columns, and the rows; `remarks` say what of the inputs' columns is called otherwise or lost."""

    def __init__(self, run: "Run", answers: Iterable[Answer], first: Answer | None):
        self.run, self.answers, self.count = run, answers, 0
        self.own = () if first is None else self._rows_of(first)[0].names
        self.adds = run.task.gives(run.loaded).columns
        added: list[str] = []
        for name in self.adds:
            wanted = name if name not in self.own else f"predicted_{name}"
            added.append(free_name(wanted, [*self.own, *added]))
        self.names = (*self.own, *added)
        taken = [(old, new) for old, new in zip(self.adds, added, strict=True) if old != new]
        self.remarks = [f"the table has a column {old!r} already: the answer is in {new!r}" for old, new in taken]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, once: of each answer one or more."""
        lost: dict[str, None] = {}
        for answer in self.answers:
            cells = [{}] if answer.error is not None else self.run.task.cells(answer.values)
            for row, added in _beside(self._rows_of(answer), cells):
                own = row.values
                lost.update(dict.fromkeys(name for name in own if name not in self.own))
                if not self.own or not set(own) & set(self.own):
                    raise DataError(f"its columns are not those of the first table: {', '.join(own)}", where=row.where,
                                    fix="write the answers to each table into a file of its own")  # fmt: skip
                self.count += 1
                yield (*(own.get(name) for name in self.own), *(added.get(name) for name in self.adds))
        if lost:
            names = ", ".join(map(repr, lost))
            self.remarks.append(f"columns that the first row has not are left out: {names}")

    def _rows_of(self, answer: Answer) -> Sequence[TableRow]:
        """The rows of the input of an answer; one that stood in no table is a row of its own."""
        one = answer.given or Given("")
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


def _placed(answer: Answer) -> tuple[str, WeftError]:
    """A failed input's name and its error, which says the row of the table."""
    assert answer.error is not None
    error, one = answer.error, answer.given or Given("")
    if not one.rows or error.where.startswith(one.rows[0].where):
        return one.name, error
    where = one.rows[0].where
    return where, type(error)(error.problem, where=where, fix=error.fix)
