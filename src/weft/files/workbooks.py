"""The rows of table files that are not text: Excel workbooks (.xlsx) and Parquet. Refuses to know what columns mean.

The libraries that open them are extras, imported when such a file is met.
"""

import datetime
import decimal
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from weft.amounts import amount
from weft.errors import DataError, WeftError
from weft.files.decoding import opened, shown
from weft.files.unpacking import check_members, check_unpacked

WORKBOOK, PARQUET = ".xlsx", ".parquet"
BATCH = 1000  # rows of a Parquet file that are read at a time
CELL = 8  # bytes that a cell takes in memory, whatever it holds
MOST_ROWS = 2**20  # of a sheet, as in every program that writes workbooks
MOST_CELLS = 2**27  # of a sheet, blank ones before the last of a row included
MOST_TEXTS = 2**29  # bytes of the texts of all cells, which are held in memory
MOST_OTHER = 2**25  # bytes of any other part of a workbook, which is held in memory as a tree
NOT_HELD = tuple(f"xl/{part}/" for part in ("worksheets", "media", "embeddings", "drawings", "charts", "pivotCache"))
PLAIN = "if it is what it should be, save it as .csv"
DAMAGED = "open it in the program that made it and save it again, or save it as .csv"


def workbook_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every row of the first sheet that has any; formulas by their last values.

    Cells behind the last filled one are no cells: a row is filled up with blank ones to the width of the first.
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
            for sheet in book.worksheets:
                width, size = 0, 0
                for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
                    size += len(values)
                    if number > MOST_ROWS or size > MOST_CELLS:
                        problem = f"more than {MOST_ROWS:,} rows, or {MOST_CELLS:,} cells with the blank ones"
                        raise DataError(problem, where=f"{shown(path)}, row {number}", fix=PLAIN)
                    cells = [cell_of(value) for value in values]
                    while cells and not cells[-1]:
                        cells.pop()
                    width = width or len(cells)
                    yield number, [*cells, *[""] * (width - len(cells))] if cells else []
                if width:
                    return
        except (DataError, GeneratorExit):
            raise
        except Exception as error:  # a zip archive of XML: its readers raise anything
            problem = f"a damaged or protected Excel workbook: {_words(error)}"
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


def sheets_of(path: Path) -> list[str]:
    """The names of the sheets of a workbook; none where it cannot be opened."""
    try:
        from openpyxl import load_workbook

        with opened(path) as file:
            _check_parts(file, shown(path))
            return list(load_workbook(file, read_only=True).sheetnames)
    except Exception:
        return []


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the values by column of every row of a Parquet file."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise WeftError("Parquet files are read by pyarrow, which is not installed", where=shown(path),
                        fix="pip install 'weft[parquet]'") from None  # fmt: skip
    with opened(path) as file:
        try:
            number, size, packed = 0, 0, os.fstat(file.fileno()).st_size
            table = _dictionaries(ParquetFile, file)
            cells = table.metadata.num_rows * table.metadata.num_columns
            check_unpacked(cells * CELL, packed, where=shown(path), fix=PLAIN)
            for batch in table.iter_batches(batch_size=BATCH):
                size += _size(batch)
                check_unpacked(size, packed, where=shown(path), fix=PLAIN)
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name: _plain(value) for name, value in row.items()}
        except (DataError, GeneratorExit):
            raise
        except Exception as error:  # whatever a damaged file makes pyarrow raise
            problem = f"a damaged Parquet file: {_words(error)}"
            raise DataError(problem, where=shown(path), fix="copy or download it again") from None


def _dictionaries(open_parquet: Any, file: BinaryIO) -> Any:
    """A Parquet file, whose texts are read as numbers in a table: one that a million rows share is held once."""
    found = open_parquet(file)
    columns = map(found.schema.column, range(len(found.schema)))
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return open_parquet(file, read_dictionary=texts)


def _size(batch: Any) -> int:
    """Bytes of some rows once every cell holds its text."""
    import pyarrow
    from pyarrow import compute

    def one(array: Any) -> int:
        if isinstance(array, pyarrow.DictionaryArray):
            lengths = compute.binary_length(array.dictionary)
            return CELL * len(array) + (compute.sum(lengths.take(array.indices)).as_py() or 0)
        if pyarrow.types.is_nested(array.type) and hasattr(array, "flatten"):
            parts = array.flatten()
            return CELL * len(array) + sum(map(one, parts if isinstance(parts, list) else [parts]))
        return CELL * len(array) + array.nbytes

    return sum(map(one, batch.columns))


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


def _plain(value: Any) -> Any:
    """A value of Parquet as a value of JSON; bytes are nothing that a table can be learned from."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return None
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def _words(error: Exception) -> str:
    return shown(str(error)).split("\n")[0][:200] or type(error).__name__
