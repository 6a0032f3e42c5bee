"""Tables with a label and a series of numbers in each row: recognised, read and split. Loads no torch."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from weft.errors import DataError
from weft.files.bad_rows import BadRows
from weft.files.columns import number
from weft.files.dataset import Count, Reader
from weft.files.finding import find
from weft.files.known_roles import LABEL
from weft.files.labelled import LabelledData
from weft.files.survey import NO, Judgement, Survey, weakest
from weft.files.tables import Row, Table, open_table
from weft_series.cards import SeriesTraining


@dataclass(frozen=True)
class Series:
    """One row: the numbers, their label, and where the row stands."""

    values: np.ndarray
    label: str
    name: str

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the numbers, by which series are held out."""
        return hashlib.sha256(self.values.tobytes()).digest()


SeriesData = LabelledData[Series]


@final
class SeriesTables(Reader[SeriesData]):
    """Tables of series."""

    sample = "waves"

    def judge(self, survey: Survey) -> Judgement:
        return survey.weakest(lambda source: weakest(map(_judged, source.tables)))

    def read(
        self, sources: Sequence[str], valid: str | None, asked: SeriesTraining, count: Count | None = None
    ) -> SeriesData:
        bad = BadRows(asked.allowed)
        return SeriesData.of(lambda some: read_series(some, bad), sources, valid, bad, called="series")


def _judged(table: Table) -> Judgement:
    """Sure where one column is named as a label and all others, at least eight, are numbers."""
    others = [column for column in table.columns if column.place not in LABEL.by_name(table.names)]
    series = len(others) == len(table.columns) - 1 >= 8 and all(one.looks == "number" for one in others)
    return Judgement("sure", "a label and a series of numbers in each row") if series else NO


def read_series(sources: Sequence[str], bad: BadRows) -> list[Series]:
    """All series of some tables, or of the sample; a row that is none is bad."""
    found = list[Series]() if sources else waves()
    for path in find(sources, (".csv", ".tsv")).paths if sources else ():
        table = open_table(path, [LABEL])
        (place,) = table.choose([LABEL], [None], fix="name the column of the labels: label").places
        found += bad.without(table.each(partial(_series, table, place)))
    bad.check(len(found))
    return found


def _series(table: Table, place: int, row: Row) -> Series:
    """The series of a row. One that is shorter than others ends with empty cells."""
    where, cells = table.where(row.line), list(row.cells)
    label = cells.pop(place).strip()
    if not label:
        raise DataError("a series without a label", where=where, fix="give it one, or delete the row")
    return Series(numbers_in(",".join(cells).rstrip(", "), where), label, where)


def numbers_in(text: str, where: str = "") -> np.ndarray:
    """The values of a series that is written as numbers with commas between them."""
    values = [number(one) for one in text.split(",")]
    if None in values:
        raise DataError(f"no series: {text[:40]!r}", where=where, fix="write numbers with commas between them")
    return np.array(values, np.float64)


def waves() -> list[Series]:
    """The sample: sines, squares and saws of several lengths and periods."""
    shapes = {"sine": math.sin, "square": lambda x: math.copysign(1, math.sin(x)), "saw": lambda x: x / 3 % 2 - 1}
    return [
        Series(np.array([shapes[name](t / (1 + i % 7) + i) for t in range(16 + i % 11)]), name, f"wave {i}")
        for i, name in enumerate(list(shapes) * 80)
    ]
