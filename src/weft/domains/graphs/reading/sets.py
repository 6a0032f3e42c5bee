"""Sets of vectors with a label each: lines of JSON, arrays, or a table with a column that names the set.

{"set": [[1.0, 2.0], [0.5, 1.5], ...], "label": "..."}                          .jsonl
x (M, F), set (M,): the number of the set of each vector, labels (S,)           .npz
x (S, N, F) and labels (S,), all sets of one size                               .npz
set,x1,x2,...,label: a row a vector, the label repeated                         .csv, .tsv
"""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.graphs.reading.arrays import FEATURES, LABELS, read_arrays
from weft.domains.graphs.reading.cleaning import Tally, Where, check_features
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn, label_column, sorted_properties, taken_label
from weft.domains.graphs.reading.tables import ROLES, read_rows
from weft.errors import DataError
from weft.files.arrays import array, headers
from weft.files.columns import plain
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.gather import raising
from weft.files.json_lines import numbered, objects_on, read_object
from weft.files.roles import LearnedColumn, known_as
from weft.files.tables import as_cell
from weft.modalities.graph import Graph

SET = ("set", "set_id", "bag", "group", "sample")
VECTORS = ("set", "vectors", "points", "x", "items")
LAYOUT = '{"set": [[1.0, 2.0], [0.5, 1.5]], "label": "a"} in each line'


def is_set_line(line: str) -> bool:
    """Whether a line of JSON holds a list of vectors."""
    try:
        data = read_object(line, where="", fix="")
    except DataError:
        return False
    found = next((data[name] for name in VECTORS if isinstance(data.get(name), list)), None)
    return bool(found) and all(
        isinstance(one, list) and one and not isinstance(one[0], str | list) for one in found or ()
    )


def read_sets(path: Path, *, set_column: str | None, label: LabelColumn) -> GraphSet:
    """The sets of one file."""
    if path.suffix.lower() == ".npz":
        return GraphSet(graphs=_arrays(path))
    if ending(path, (".jsonl",)):
        return GraphSet(graphs=_lines(path, label))
    return _table(path, set_column, label)


def _lines(path: Path, label: LabelColumn) -> list[Graph]:
    sets: list[Graph] = []
    for number, data in raising(objects_on(numbered(path), path, LAYOUT)):
        where = f"{shown(path)}, line {number}"
        name = next((name for name in VECTORS if name in data), None)
        if name is None:
            raise DataError(f"no field of vectors; its fields: {', '.join(list(data)[:8])}", where=where, fix=LAYOUT)
        sets.append(set_of(data[name], where, as_cell(data.get(_label(data, label, where)))))
        if sets[-1].size and sets[0].size and sets[-1].width != sets[0].width:
            problem = f"vectors of {sets[-1].width} numbers, those before have {sets[0].width}"
            raise DataError(problem, where=where, fix="give all vectors the same numbers")
    width = max((one.width for one in sets), default=0)
    return [one if one.size else _empty(one, width) for one in sets]


def _empty(one: Graph, width: int) -> Graph:
    return Graph(name=one.name, size=0, features=np.zeros((0, width), np.float32), label=one.label)


def _label(data: dict[str, Any], asked: LabelColumn, where: str) -> str:
    return label_column(dict.fromkeys(data, ()), asked, where) or ""


def set_of(vectors: Any, where: str, label: str = "") -> Graph:
    """One set from lists of numbers."""
    if not isinstance(vectors, list | tuple | np.ndarray):
        raise DataError(f"a set is a list of vectors, found {type(vectors).__name__}", where=where, fix=LAYOUT)
    for place, one in enumerate(vectors):
        numbers = isinstance(one, list | tuple | np.ndarray) and all(
            isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in one
        )
        if not numbers or len(one) != len(vectors[0]):
            problem = f"vector {place} is no list of numbers" if not numbers else (
                f"vector {place} has {len(one)} numbers, vector 0 has {len(vectors[0])}"
            )  # fmt: skip
            raise DataError(problem, where=where, fix=LAYOUT)
    values = np.array(vectors, np.float32).reshape(len(vectors), len(vectors[0]) if len(vectors) else 0)
    values = check_features(values, lambda i: f"{where}, vector {i}")
    return Graph(name=where, size=len(values), features=values, label=label)


def _arrays(path: Path) -> list[Graph]:
    known = headers(path)
    name = next((name for name in FEATURES if name in known), None)
    if name is None or len(known[name].shape) != 3:
        return read_arrays(path, Tally(), directed=False, edges_needed=False)
    values, labels = array(path, name), next((array(path, one) for one in LABELS if one in known), None)
    if labels is not None and len(labels) != len(values):
        raise DataError(f"{len(labels):,} labels for {len(values):,} sets", where=shown(path))
    return [
        Graph(
            name=f"{shown(path.name)}[{i}]",
            size=values.shape[1],
            features=check_features(one, _vector(path, i)),
            label="" if labels is None else str(labels[i].item()),
        )
        for i, one in enumerate(values)
    ]


def _vector(path: Path, place: int) -> Where:
    return lambda row: f"{shown(path)}: set {place}, vector {row}"


def _by_number(asked: str | None, columns: Collection[str]) -> str | None:
    """The name of a column that was asked for by its number from 1, or the name that was asked for."""
    numbered_column = asked is not None and asked not in columns and asked.isdecimal()
    return list(columns)[int(asked) - 1] if numbered_column and asked and 1 <= int(asked) <= len(columns) else asked


def _table(path: Path, set_column: str | None, label: LabelColumn) -> GraphSet:
    rows = read_rows(path, [*ROLES, known_as("set", SET)])
    label = dataclasses.replace(label, name=_by_number(label.name, rows.columns))
    name = _by_number(set_column, rows.columns)
    if name is None or (isinstance(name, LearnedColumn) and name not in rows.columns):
        name = next((name for name in rows.columns if plain(name) in SET), None)
    if name is None or name not in rows.columns:
        listed = ", ".join(rows.columns)
        raise DataError(f"no column that names the set; its columns: {listed}", where=shown(path),
                        fix="say which, as in --set set_column=bag")  # fmt: skip
    columns = {key: cells for key, cells in rows.columns.items() if key != name}
    known = sorted_properties(columns, rows.where, label=label, file=shown(path))
    owner, sets = np.array(rows.columns[name], object), []
    for one in dict.fromkeys(rows.columns[name]):
        mine = np.flatnonzero(owner == one)
        labels = [known.labels[i] for i in mine] if known.labels else [""]
        if len(set(labels)) > 1:
            other = next(i for i, text in zip(mine, labels, strict=True) if text != labels[0])
            problem = f"the set {one!r} has the label {labels[0]!r} in other rows, here {known.labels[other]!r}"
            raise DataError(problem, where=rows.where(int(other)), fix="give all rows of a set one label")
        sets.append(
            Graph(
                name=one,
                size=len(mine),
                features=None if known.values is None else known.values[mine],
                kinds=None if known.words is None else known.words[mine],
                label=labels[0],
            )
        )
    taken = {"set_column": name, **taken_label(known.label)}
    return GraphSet(graphs=sets, features=known.features, kinds=known.kinds, taken=taken)
