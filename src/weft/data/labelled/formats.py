"""The labelled texts in one file or folder. Knows tables, lines of JSON and folders of classes; refuses to judge or count.

What comes out, in order, is a `Row`, blank where the text or the label is missing, or what was wrong with a row (a
`DataError`, not raised: the reader decides how many it bears).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from weft.data.decoding import read_text, shown
from weft.data.files import ending
from weft.data.jsonl import kind, numbered, read_object, read_string
from weft.data.labelled.columns import choose, columns_of, is_header, names_columns
from weft.data.pairs.tables import read_csv, read_tsv, separator_of
from weft.errors import DataError

TABLES = (".tsv", ".csv", ".jsonl")
LOOK = 2000  # rows looked at to find the columns
OBJECT = 'write {"text": "…", "label": "…"} on every line'
TRAIN, HELD = ("train", "training"), ("test", "val", "valid", "validation", "dev")
LAYOUT = (
    "put the texts of each class into a folder of its name, as in mails/spam/1.txt and mails/wanted/1.txt, and name the "
    "folder above them; or name a .csv file with the columns text and label"
)


class Row(NamedTuple):
    """A text and its label as they stand in the file, and the line they begin on."""

    line: int
    text: str
    label: str


@dataclass(frozen=True)
class Reading:
    """How a file is read: the names of its two columns, the rows, and what to tell people."""

    path: Path
    columns: tuple[str, str]
    rows: Iterator[Row | DataError]
    notes: tuple[str, ...] = ()


def read_table(path: Path, text: str | None, label: str | None, *, firm: bool = True) -> Reading:
    """The rows of a .tsv, .csv or .jsonl file."""
    return (_objects if ending(path, TABLES) == ".jsonl" else _cells)(path, text, label, firm)


def table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a .tsv or .csv file that are not blank."""
    rows = read_tsv(path) if ending(path, TABLES) == ".tsv" else read_csv(path, separator_of(path, names_columns))
    return ((line, cells) for line, cells in rows if any(map(str.strip, cells)))


def _cells(path: Path, text: str | None, label: str | None, firm: bool) -> Reading:
    name, rows = shown(path), table_rows(path)
    sample = list(islice(rows, LOOK))
    if not sample:
        return Reading(path, (text or "text", label or "label"), iter(()))
    (line, first), size = sample[0], len(sample[0][1])
    fitting = [cells for _, cells in sample if len(cells) == size]
    header = is_header(first, fitting[1:], (text, label))
    columns = columns_of(first if header else [None] * size, fitting[header:])
    a, b = choose(columns, text, label, where=f"{name}, line {line}", firm=firm)
    known = f"line {line} names the columns" if header else "no header"
    notes = (f"{name}: {known}; the text is column {a + 1}, the label column {b + 1} of {size}",)
    rest = chain(sample[header:], rows)
    titles = first[a].strip() if header else f"column {a + 1}", first[b].strip() if header else f"column {b + 1}"
    return Reading(path, titles, _chosen(name, rest, (line, size), (a, b)), notes)


def _chosen(
    name: str, rows: Iterator[tuple[int, list[str]]], first: tuple[int, int], places: tuple[int, int]
) -> Iterator[Row | DataError]:
    for line, cells in rows:
        if len(cells) == first[1]:
            yield Row(line, cells[places[0]], cells[places[1]])
        else:
            found = f"{len(cells)} column{'s' * (len(cells) != 1)}"
            problem = f"{found}, expected {first[1]} as in line {first[0]}"
            fix = "give every row the same columns; a separator inside a text shifts what follows it"
            yield DataError(problem, where=f"{name}, line {line}", fix=fix)


def _objects(path: Path, text: str | None, label: str | None, firm: bool) -> Reading:
    items = read_objects(path)
    sample = list(islice(items, LOOK))
    good = [data for item in sample if not isinstance(item, DataError) for data in [item[1]]]
    rest = chain(sample, items)
    if not good:
        faults = (item for item in rest if isinstance(item, DataError))
        return Reading(path, (text or "text", label or "label"), faults)
    names = list(dict.fromkeys(key for data in good for key in data))
    columns = columns_of(names, [[as_cell(data.get(key)) for key in names] for data in good])
    a, b = (names[place] for place in choose(columns, text, label, where=shown(path), firm=firm))
    note = f"{shown(path)}: the text is the field {shown(a)!r}, the label {shown(b)!r}, of {len(names)} fields"
    return Reading(path, (a, b), _fields(path, rest, (a, b)), (note,))


def read_objects(path: Path, fix: str = OBJECT) -> Iterator[tuple[int, dict[str, Any]] | DataError]:
    """The objects of a .jsonl file with their lines; `fix` says what a line should be."""
    for number, line in numbered(path):
        if line and not line.isspace():
            try:
                yield number, read_object(line, where=f"{shown(path)}, line {number}", fix=fix)
            except DataError as error:
                yield error


def as_cell(value: Any) -> str:
    """A value of JSON as a cell; what cannot be a label or a text is blank."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def _fields(
    path: Path, items: Iterator[tuple[int, dict[str, Any]] | DataError], keys: tuple[str, str]
) -> Iterator[Row | DataError]:
    for item in items:
        if isinstance(item, DataError):
            yield item
            continue
        (line, data), (text, label) = item, keys
        where = f"{shown(path)}, line {line}"
        try:
            words = "" if data.get(text) is None else read_string(data, text, where=where, fix=OBJECT)
            if isinstance(data.get(label), dict | list):
                problem = f'the field "{label}" is {kind(data[label])}, expected a string or a number'
                raise DataError(problem, where=where, fix=OBJECT)
            yield Row(line, words, as_cell(data.get(label)))
        except DataError as error:
            yield error


def read_classes(root: Path, files: Sequence[Path]) -> Iterator[tuple[Path, str, Row | None]]:
    """Text files below a folder, with the class that the folder around each names: (file, class, row or None).

    A file that stands in no folder of a class has no row.
    """
    parts = [path.relative_to(root).parts for path in files]
    depth = _wrapping(parts)
    tops = {part[depth].lower() for part in parts if len(part) > depth + 1}
    if train := next((name for name in TRAIN if name in tops), None):
        held = next((name for name in HELD if name in tops), "test")
        above = "/".join([shown(root), *map(shown, parts[0][:depth])])
        fix = f"name them apart: weft train {above}/{train} --valid {above}/{held}"
        raise DataError("holds training and test data in one", where=shown(root), fix=fix)
    for path, part in zip(files, parts, strict=True):
        if len(part) <= depth + 1:
            yield path, "", None
        else:
            yield path, part[depth], Row(1, "".join(read_text(path)), shown(part[depth]))


def _wrapping(parts: Sequence[tuple[str, ...]]) -> int:
    """How many folders stand around everything else, as the one that most archives begin with."""
    depth = 0
    while parts and all(len(part) > depth + 2 for part in parts) and len({part[depth] for part in parts}) == 1:
        depth += 1
    return depth
