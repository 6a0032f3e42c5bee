"""Sets of vectors from files, and whether sources hold some. `sets` reads one file."""

from collections.abc import Sequence
from itertools import pairwise

from weft.domains.graphs.reading.files import joined
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import ANY_LABEL, LabelColumn
from weft.domains.graphs.reading.sets import is_set_line, read_sets
from weft.files.columns import Column
from weft.files.decoding import shown
from weft.files.finding import ending, find
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import Table

FEWEST_COLUMNS = 4  # of a table of sets: the set, its label, and vectors
MOST_LABELS = 20  # different numbers that may be classes
KNOWN = (*TABLES, ".npz")


def read_set_files(
    sources: Sequence[str], *, set_column: str | None = None, label: LabelColumn = ANY_LABEL
) -> GraphSet:
    """The sets of some files, all of vectors of one width."""
    found = find(list(sources), KNOWN)
    sets = [read_sets(path, set_column=set_column, label=label) for path in found.paths]
    return joined(sets, tuple(shown(path.name) for path in found.paths), ", ".join(map(shown, sources)))


def judge(survey: Survey) -> Judgement:
    """Whether these are lines of JSON with a list of vectors each, or perhaps tables with a vector in each row."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.tables and not ending(source.path, (".jsonl",)):
        return weakest(map(_judge_table, source.tables))
    if source.kind != "file" or not ending(source.path, (".jsonl",)):
        return NO
    lines = [line for _, line in source.lines[:20] if line.strip()]
    is_so = bool(lines) and all(map(is_set_line, lines))
    return Judgement("sure", "a list of vectors and a label in each line") if is_so else NO


def _judge_table(table: Table) -> Judgement:
    """Whether rows of numbers come in runs that a column numbers, with one label in all rows of a run."""
    columns = table.columns
    if len(columns) < FEWEST_COLUMNS or not all(column.looks == "number" for column in columns):
        return NO
    rows = len(columns[0].values)
    whole = [column for column in columns if len(column.values) == rows and _is_whole(column)]
    for bag in whole:
        if bag.distinct < 2 or bag.distinct * 2 > rows or 1 + _changes(bag.values) != bag.distinct:
            continue
        labels = [other for other in whole if other is not bag and other.distinct <= MOST_LABELS
                  and other.distinct < bag.distinct and _constant_in(bag, other)]  # fmt: skip
        if labels:
            label = max(labels, key=lambda column: column.distinct)
            ask = f"--set set_column={bag.called} --set label_column={label.called}"
            return Judgement("possible", "rows of numbers in runs, each perhaps a set of vectors", ask)
    return NO


def _is_whole(column: Column) -> bool:
    return all(value.is_integer() for value in column.numbers)


def _changes(values: Sequence[str]) -> int:
    """How often a value differs from the one in the row before."""
    return sum(one != other for one, other in pairwise(values))


def _constant_in(bag: Column, other: Column) -> bool:
    """Whether a column has one value wherever another has the same."""
    return len(set(zip(bag.values, other.values, strict=True))) == bag.distinct
