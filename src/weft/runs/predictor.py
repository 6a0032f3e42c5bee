"""Predictor: a run as a function of columns, for tools that hand batches of a large table to many processes.

It can be pickled: it travels as the name of a run and some settings, and loads the run in each process when it is
first called. Nothing is written; files are opened only where a column names them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.files.tables import Row, Table, columns_of_objects
from weft.runs.answer_table import AnswerTable
from weft.runs.asking import ask, embedded, parted, ways_of
from weft.runs.run import Run, load, refuse_headless
from weft.tasks.asks import Given
from weft.tasks.table_inputs import found_in, free_name

ERROR, VECTOR = "error", "vector"  # columns that are added


class Predictor:
    """`Predictor(run, **settings)(columns)` gives the same columns, then those of the answers, then `error`.

    `columns` maps names to sequences of one length; settings are those of `run.predict` (`text_column="review"`,
    `top=3`), or with `use="embed"` those of `run.embed`, and then the column `vector` is added. A row that cannot be
    used has nothing in the columns of its answer, and says why in `error`. Files are named from the folder `beside`.
    """

    def __init__(
        self,
        run: str | Path,
        *,
        use: Literal["predict", "embed"] = "predict",
        beside: str | Path = ".",
        **settings: Any,
    ):
        self.run, self.use, self.beside, self.settings = str(run), use, str(beside), settings
        self._loaded: Run | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": None}

    def __call__(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
        """The answers to the rows of a batch."""
        if self._loaded is None:
            self._loaded = load(self.run)
            refuse_headless(self._loaded.loaded)
        run = self._loaded
        ways, how = ways_of(run, self.use, self.settings)
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            words = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise WeftError(f"columns of different lengths: {words}", where="Predictor")
        with run.used(**ways.reading):
            table = self._table(columns, next(iter(lengths.values()), 0))
            task = run.task
            inputs = found_in(table, task.columns(run.loaded, self.use), task.card.reader, ways.columns)
            given = list(inputs.inputs(partial(task.from_row, run.loaded, ways=ways)))
            return self._embedded(run, columns, given, how) if self.use == "embed" else _answered(run, given, how)

    def _table(self, columns: Mapping[str, Sequence[Any]], count: int) -> Table:
        """Columns as a table that is in memory."""
        cells = {name: [_plain(value) for value in values] for name, values in columns.items()}
        rows = [{name: values[number] for name, values in cells.items()} for number in range(count)]
        items = (Row(number, row) for number, row in enumerate(rows, 1))
        return Table(
            Path(self.beside, "batch"), tuple(columns_of_objects(rows)), 1, False, None, items=items, unit="row"
        )

    def _embedded(
        self, run: Run, columns: Mapping[str, Sequence[Any]], given: Sequence[Given], how: Any
    ) -> dict[str, np.ndarray]:
        """The columns with a vector for each row."""
        errors: list[str | None] = [None] * len(given)
        found: list[np.ndarray | None] = []
        for first, part in parted(lambda _, some: embedded(run, some, how), given):
            if isinstance(part, WeftError):
                errors[first] = str(part)
                found.append(None)
            else:
                found += list(part.vectors)
        width = next((len(one) for one in found if one is not None), 0)
        vectors = [np.full(width, np.nan, np.float32) if one is None else one for one in found]
        names = [*columns, free_name(VECTOR, [*columns])]
        added = {names[-1]: np.array(vectors, np.float32), free_name(ERROR, names): _column(errors)}
        return {**{name: np.asarray(values) for name, values in columns.items()}, **added}


def _answered(run: Run, given: Sequence[Given], how: Any) -> dict[str, np.ndarray]:
    """The columns with those of the answers."""
    table = AnswerTable(run, given[0] if given else None)
    found = list(ask(run, given, how)) if given else []
    rows, errors = list[tuple[Any, ...]](), list[str | None]()
    for one in found:
        made = list(table.rows([one]))
        rows += made
        errors += [None if one.error is None else str(one.error)] * len(made)
    columns = {name: _column([row[place] for row in rows]) for place, name in enumerate(table.names)}
    return {**columns, free_name(ERROR, table.names): _column(errors)}


def _plain(value: Any) -> Any:
    """A value as tables have it."""
    return value.item() if isinstance(value, np.generic) else value


def _column(values: Sequence[Any]) -> np.ndarray:
    """Values as an array: numbers as numbers, where all are."""
    if values and all(type(value) in (int, float, bool) for value in values):
        return np.array(values)
    found = np.empty(len(values), object)
    found[:] = values
    return found
