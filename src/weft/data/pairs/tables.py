"""Rows of .tsv and .csv files with their line numbers. Knows tabs, commas and quotes; refuses to know what they part.

In .tsv a quote is a character like any other and a row is a line. In .csv quotes are read strictly (RFC 4180): a quoted
field may hold separators and newlines, and one that is not closed is refused rather than left to swallow the next rows.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.data.decoding import shown
from weft.data.jsonl import numbered
from weft.data.pairs.columns import is_header
from weft.errors import DataError

LOOK = 20  # rows looked at to tell which separator a .csv file has
SEPARATORS = (",", ";", "\t")

Row = tuple[int, list[str]]


def read_tsv(path: Path) -> Iterator[Row]:
    """The line and the fields of every row."""
    for number, line in numbered(path):
        yield number, line.split("\t")


def read_csv(path: Path, separator: str) -> Iterator[Row]:
    """The same of a .csv file; a row of several lines has the number of its first."""
    reader = csv.reader((line + "\n" for _, line in numbered(path)), delimiter=separator, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _quote(path, number, reader.line_num, str(error)) from None
        yield number, fields


def _quote(path: Path, first: int, last: int, reason: str) -> DataError:
    """The error for quotes that cannot be paired; the csv module tells them apart by its words alone."""
    where, fix = f"{shown(path)}, line {first}", 'close it; inside quotes, write a quote twice: "He said ""yes"""'
    if "end of data" in reason or "field limit" in reason:
        return DataError(f"a quote is opened and not closed by line {last}", where=where, fix=fix)
    there = "" if first == last else f", which closes on line {last}"
    return DataError(f"text follows the end of a quoted field{there}: an open or a stray quote", where=where, fix=fix)


def names_pair(cells: Sequence[str]) -> bool:
    """Whether a row names the columns of sentence pairs."""
    return is_header(cells, None, None)


def separator_of(path: Path, names: Callable[[Sequence[str]], bool] = names_pair) -> str:
    """The separator under which the first rows name columns, else agree on their number; a comma when in doubt."""
    alike = []
    for separator in SEPARATORS:
        try:
            rows = [fields for _, fields in islice(read_csv(path, separator), LOOK) if fields]
        except DataError:
            continue  # said aloud when the file is read
        if rows and len(rows[0]) > 1 and names(rows[0]):
            return separator
        if rows and len(rows[0]) > 1 and len({len(fields) for fields in rows}) == 1:
            alike.append(separator)
    return alike[0] if alike else ","
