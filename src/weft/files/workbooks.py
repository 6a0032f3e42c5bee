"""The rows of Excel workbooks (.xlsx). Refuses to know what columns mean.

The library that opens them is an extra, imported when such a file is met.
"""

import datetime
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from weft.amounts import amount
from weft.errors import DataError, WeftError
from weft.files.decoding import CHUNK, opened, shown
from weft.files.unpacking import check_members

WORKBOOK = ".xlsx"
FIRST = 20  # filled rows of a sheet that are looked at to find its columns
MERGED = re.compile(rb'<(?:\w+:)?mergeCell [^>]*?ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
LONGEST_MARK = 1000  # bytes
CELL = 8  # bytes that a cell takes in memory, whatever it holds
MOST_ROWS = 2**20  # of a sheet, as in every program that writes workbooks
MOST_CELLS = 2**27  # of a sheet, blank ones before the last of a row included
MOST_TEXTS = 2**29  # bytes of the texts of all cells, which are held in memory
MOST_OTHER = 2**25  # bytes of any other part of a workbook, which is held in memory as a tree
NOT_HELD = tuple(f"xl/{part}/" for part in ("worksheets", "media", "embeddings", "drawings", "charts", "pivotCache"))
PLAIN = "if it is what it should be, save it as .csv"
DAMAGED = "open it in the program that made it and save it again, or save it as .csv"


def workbook_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every row of the first sheet that is a table; formulas by their last values.

    A sheet is a table where two of its first rows have several cells; where none is, the first with any cell counts.
    Blank columns before the first filled one, and cells behind the last, are no cells: a row is filled up with blank
    ones to the width of the first rows.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise WeftError("Excel workbooks are read by openpyxl, which is not installed", where=shown(path),
                        fix="pip install 'weft[excel]'") from None  # fmt: skip
    with opened(path) as file:
        try:
            _check_parts(file, shown(path))
            book = load_workbook(file, read_only=True, data_only=True)
            firsts = [
                list(islice((cells for _, cells in _sheet_rows(sheet, shown(path)) if cells), FIRST))
                for sheet in book.worksheets
            ]
            for sheet, first in sorted(
                zip(book.worksheets, firsts, strict=True), key=lambda one: not _is_table(one[1])
            ):
                width = max(map(len, first), default=0)
                margin = min(map(_blank_before, first), default=0)
                for number, cells in _sheet_rows(sheet, shown(path), _merged(sheet)) if first else ():
                    yield number, [*cells, *[""] * (width - len(cells))][margin:] if cells else []
                if first:
                    return
        except (DataError, GeneratorExit):
            raise
        except Exception as error:  # a zip archive of XML: its readers raise anything
            problem = f"a damaged or protected Excel workbook: {words_of(error)}"
            raise DataError(problem, where=shown(path), fix=DAMAGED) from None


def _check_parts(file: BinaryIO, where: str) -> None:
    """Refuse a workbook that becomes too large when it is unpacked: rows are read one by one, all else is held."""
    with zipfile.ZipFile(file) as archive:
        check_members(archive, os.fstat(file.fileno()).st_size, where=where, fix=PLAIN)
        for info in archive.infolist():
            texts = "sharedStrings" in info.filename
            held = texts or not info.filename.startswith(NOT_HELD)
            if held and info.file_size > (MOST_TEXTS if texts else MOST_OTHER):
                problem = f"{shown(info.filename)} in it has {amount(info.file_size)}, which is too much to be held"
                raise DataError(problem, where=where, fix=PLAIN)


def _sheet_rows(
    sheet: Any, where: str, merged: Mapping[int, Sequence[tuple[int, int]]] = {}
) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every row of a sheet, up to the last filled one; merged cells fill all their rows."""
    sheet.reset_dimensions()  # what a sheet claims of its size is often wrong
    size = 0
    below = dict[int, tuple[int, str]]()  # by column: the last row that a merged cell fills, and what it says
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        size += len(values)
        if number > MOST_ROWS or size > MOST_CELLS:
            problem = f"more than {MOST_ROWS:,} rows, or {MOST_CELLS:,} cells with the blank ones"
            raise DataError(problem, where=f"{where}, row {number}", fix=PLAIN)
        cells = [cell_of(value) for value in values]
        for place, (last, text) in below.items():
            if number <= last and any(cells):
                cells += [""] * (place + 1 - len(cells))
                cells[place] = cells[place] or text
        below |= {place: (last, cells[place]) for place, last in merged.get(number, ()) if place < len(cells)}
        while cells and not cells[-1]:
            cells.pop()
        yield number, cells


def _merged(sheet: Any) -> dict[int, list[tuple[int, int]]]:
    """The cells that are merged with those below them: by their row, the column and the last row of each."""
    from openpyxl.utils import column_index_from_string

    found, tail = defaultdict[int, list[tuple[int, int]]](list), b""
    with sheet._get_source() as source:
        while chunk := source.read(CHUNK):
            text = tail + chunk
            for ref in MERGED.finditer(text):
                found[int(ref[2])].append((column_index_from_string(ref[1].decode()) - 1, int(ref[3])))
            tail = text[text.rfind(b"<") :][:LONGEST_MARK]  # a mark may be cut in two by the end of a piece
    return found


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    return sum(len(list(filter(None, cells))) > 1 for cells in rows) > 1


def _blank_before(cells: Sequence[str]) -> int:
    """How many blank cells stand before the first filled one."""
    return next(place for place, cell in enumerate(cells) if cell)


def sheets_of(path: Path) -> list[str]:
    """The names of the sheets of a workbook; none where it cannot be opened."""
    try:
        from openpyxl import load_workbook

        with opened(path) as file:
            _check_parts(file, shown(path))
            return list(load_workbook(file, read_only=True).sheetnames)
    except Exception:
        return []


def cell_of(value: Any) -> str:
    """A value of a sheet as the text that people see there."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return str(value).replace("\r\n", "\n")


def words_of(error: Exception) -> str:
    """What a library says is wrong, for messages."""
    return shown(str(error)).split("\n")[0][:200] or type(error).__name__
