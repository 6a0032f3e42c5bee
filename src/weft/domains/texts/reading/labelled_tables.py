"""Tables of texts with a label each: the rows of one, and whether a table is one. Refuses to judge or count rows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.domains.texts.reading.several_labels import LabelCells, peeked, several_in, text_column
from weft.errors import DataError
from weft.files.bad_rows import Gap
from weft.files.columns import Column, plain
from weft.files.decoding import shown
from weft.files.gather import Reading
from weft.files.json_lines import kind
from weft.files.known_roles import (
    ENOUGH,
    LABEL,
    LABELLED,
    SMILES_NAMES,
    SURE_TEXT_NAMES,
    TEXT,
    holds_sentences,
    holds_talks,
    holds_text,
)
from weft.files.labels import Kind
from weft.files.languages import meaning
from weft.files.survey import NO, Judgement
from weft.files.tables import LOOK, Row, Table, as_cell, open_table

SAY = "say which columns they are, by name or number: --set text_column=… --set label_column=…"
OBJECT = 'write {"text": "…", "label": "…"} on every line'
CLEAR = 5  # rows for each different label, at least, where no name says that it is one
MANY_COLUMNS = 4  # beyond which names alone decide
SENTENCE = 3  # words of a typical text among several columns with other names


class LabelledRow(NamedTuple):
    """A text with its label, and where it stands."""

    text: str
    label: str
    where: str


def labelled_text(text: str, label: str, where: str) -> LabelledRow:
    """A text with its label, without white space around them; one that is missing is a gap."""
    text, label = text.strip(), label.strip()
    if not text or not label:
        raise Gap("label" if text else "text", where)
    return LabelledRow(text, label, where)


def read_table(path: Path, asked: tuple[str | None, str | None], labels: Kind | None = None) -> Reading[LabelledRow]:
    """The texts and labels of a .tsv, .csv or .jsonl file.

    `labels` says what they are; by default a text has several where lists, signs or columns of 0 and 1 show it.
    """
    table = open_table(path, LABELLED, asked, objects=OBJECT)
    if not table.columns:
        return Reading((path,), table.faults())
    if labels in (None, "several"):
        table, first = peeked(table)
        cells = several_in(table, first, asked[1], asked=labels == "several")
        if cells is not None:
            return _several(table, cells, text_column(table, asked[0], SAY))
    (text, label), how = table.choose(LABELLED, asked, fix=SAY)
    for role, name, found in zip(LABELLED, asked, how, strict=True):
        if name is not None and any(table.names) and found == "by what it holds":  # it names none of these columns
            named = ", ".join(repr(table.title(place)) for place in range(len(table.columns)))
            problem = f"no column {shown(name)!r}, from which the run learned; its columns: {named}"
            fix = f"say which column holds the {role.name}: --set {role.name}_column=…"
            raise DataError(problem, where=table.where(table.line), fix=fix)
    titles = table.title(text), table.title(label)
    return Reading((path,), table.each(_row(table, text, label)), titles, (_taken(table, text, label),))


def _several(table: Table, cells: LabelCells, text: int) -> Reading[LabelledRow]:
    """The texts of a table with any number of labels each; a text without one is a row too."""

    def read(row: Row) -> LabelledRow:
        where = table.where(row.line)
        said = "" if table.value(row, text) is None else table.text(row, text).strip()
        if not said:
            raise Gap("text", where)
        return LabelledRow(said, cells.read(table, row), where)

    notes = (f"{shown(table.path)}: the text is {table.title(text)!r}; {cells.words}",)
    return Reading((table.path,), table.each(read), (table.title(text), cells.title), notes)


def _row(table: Table, text: int, label: int) -> Callable[[Row], LabelledRow]:
    """How a row is read. A text or label may be missing; in .jsonl a label may be a number, a truth value or a list."""
    lists: bool | None = None  # whether labels are lists of one, as the first is

    def read(row: Row) -> LabelledRow:
        nonlocal lists
        found, where = table.value(row, label), table.where(row.line)
        lists = isinstance(found, list) if lists is None and found is not None else lists
        if isinstance(found, dict | list) and not (lists and as_cell(found)):
            problem = f'the field "{table.names[label]}" is {kind(found)}, expected a string or a number'
            raise DataError(problem, where=where, fix=OBJECT)
        return labelled_text("" if table.value(row, text) is None else table.text(row, text), as_cell(found), where)

    return read


def _taken(table: Table, text: int, label: int) -> str:
    """Which columns were taken, in words."""
    name, names = shown(table.path), table.names
    if table.separator is not None:
        return f"{name}: {table.known}; the text is column {text + 1}, the label column {label + 1} of {len(names)}"
    fields = shown(names[text] or ""), shown(names[label] or "")
    return f"{name}: the text is the field {fields[0]!r}, the label {fields[1]!r}, of {len(names)} fields"


def _possible(columns: Sequence[Column]) -> Judgement:
    """What could be a text and its label, if anything."""
    labels = [column for column in columns if (column.is_class or column.is_number) and column.distinct > 1]
    labels.sort(key=lambda column: (column.looks != "label", not column.is_class, column.distinct))
    texts = [column for column in columns if holds_sentences(column) and column not in labels[:1]]
    if not texts or not labels:
        return NO
    text = max(texts, key=lambda column: column.length)
    ask = f"--set text_column={text.called} --set label_column={labels[0].called}"
    return Judgement("possible", "a column of text, and others that could be its label", ask)


def _several_labels(table: Table) -> LabelCells | None:
    """Where any number of labels stand beside the text of a table; None where there is no such text."""
    try:
        again, first = peeked(open_table(table.path, LABELLED) if table.separator is None else table)
        text_column(again, None, SAY)
        return several_in(again, first, None)
    except DataError:
        return None


def judge_table(table: Table) -> Judgement:
    """Whether it is clear which column is the text and which the label, and whether they look like that."""
    columns = table.columns
    sides = sum(meaning(column.name) is not None and holds_text(column) for column in columns)
    other = any(column.looks == "picture" for column in columns) or holds_talks(table.names)
    if len(columns) < 2 or sides > 1 or not table.even or other:
        return NO  # two languages, pictures, talks, or no table
    if (cells := _several_labels(table)) is not None:
        return Judgement("sure", f"texts with any number of labels each: {cells.words}")
    maybe = _possible(columns)
    try:
        choice = table.choose(LABELLED, (None, None), fix=SAY)
    except DataError:
        return maybe
    text, label = (columns[place] for place in choice.places)
    if plain(text.name or "") in SMILES_NAMES:
        return maybe  # molecules, which are graphs
    called = LABEL.means(label.name or "") is not None
    one_class = label.distinct < 2 and len(label.values) < LOOK  # unless rows below those looked at have others
    few_rows = called and 0 < len(label.values) < ENOUGH  # in which no value may occur twice
    crowded = len(columns) > MANY_COLUMNS  # one of many columns is no text and no label by chance of its name
    doubtful = plain(text.name or "") not in SURE_TEXT_NAMES and (
        text.looks == "label" or (crowded and not holds_sentences(text))
    )
    if doubtful or not holds_text(text) or not (few_rows or (not one_class and (label.is_class or label.is_number))):
        return maybe
    why = f"texts (column {text.called}) with a label each (column {label.called})"
    if choice.named or (few_rows and len(columns) == 2 and text.words >= 2):
        return Judgement("sure", f"{why}, by their names")
    few = label.is_number or label.distinct * CLEAR <= len(label.values)
    named = TEXT.means(text.name or "") is not None
    unnamed = any(table.names) and not (named or called)  # names that say otherwise
    if (
        crowded
        or not few
        or len(label.values) < ENOUGH
        or (text.length < 2 * label.length and not (named and len(columns) == 2))
        or (unnamed and text.words < SENTENCE)
    ):
        return maybe
    return Judgement("sure", f"{why}, by what they hold")
