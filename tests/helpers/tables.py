"""Tables for tests, written by the libraries that people use, and read again as plain cells."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A table in the format of its ending."""
    kind = path.suffix
    if kind == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([names, *rows])
    elif kind == ".tsv":
        path.write_text("".join("\t".join(map(str, row)) + "\n" for row in [names, *rows]), encoding="utf-8")
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif kind == ".xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for row in [names, *rows]:
            book.active.append(list(row))
        book.save(path)
    else:
        import pyarrow
        from pyarrow import parquet

        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        parquet.write_table(pyarrow.table(columns), path)
    return path


def read_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of a table, and its cells as text."""
    kind = path.suffix
    if kind == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows: list[list[Any]] = list(csv.reader(file))
    elif kind == ".tsv":
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    elif kind == ".jsonl":
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [list(found[0]), *(list(one.values()) for one in found)]
    elif kind == ".xlsx":
        from openpyxl import load_workbook

        rows = [list(row) for row in load_workbook(path).active.iter_rows(values_only=True)]
    else:
        from pyarrow import parquet

        table = parquet.read_table(path).to_pylist()
        rows = [list(table[0]), *(list(one.values()) for one in table)]
    return list(map(str, rows[0])), [["" if cell is None else str(cell) for cell in row] for row in rows[1:]]
