"""The rows of table files that are not text: Excel workbooks (.xlsx) and Parquet. Refuses to know what columns mean.

The libraries that open them are extras, imported when such a file is met.
"""

import datetime
import decimal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.errors import DataError, WeftError
from weft.files.decoding import opened, shown

WORKBOOK, PARQUET = ".xlsx", ".parquet"
BATCH = 1000  # rows of a Parquet file that are read at a time
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
            book = load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                width = 0
                for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
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


def sheets_of(path: Path) -> list[str]:
    """The names of the sheets of a workbook; none where it cannot be opened."""
    try:
        from openpyxl import load_workbook

        with opened(path) as file:
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
            number = 0
            for batch in ParquetFile(file).iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name: _plain(value) for name, value in row.items()}
        except (DataError, GeneratorExit):
            raise
        except Exception as error:  # whatever a damaged file makes pyarrow raise
            problem = f"a damaged Parquet file: {_words(error)}"
            raise DataError(problem, where=shown(path), fix="copy or download it again") from None


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
