"""The rows of Parquet files. Refuses to know what columns mean.

Pictures in them are not read here: a cell that holds one stands as the path by which it is found again (`in_parquet`),
and the number of its class as the name that the file gives it, as files of the Hugging Face library do.
"""

import decimal
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from weft.errors import DataError, WeftError
from weft.files.decoding import is_utf8, opened, shown
from weft.files.parquet_columns import class_names, open_parquet, path_in, picture_columns
from weft.files.unpacking import check_unpacked
from weft.files.workbooks import CELL, PLAIN, cell_of, words_of

BATCH = 1000  # rows that are read at a time
DAMAGED = "copy or download it again"


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the values by column of every row of a Parquet file."""
    with opened(path) as file:
        try:
            packed, table = os.fstat(file.fileno()).st_size, open_parquet(file, path)
            cells = table.metadata.num_rows * table.metadata.num_columns
            unpacked = sum(table.metadata.row_group(i).total_byte_size for i in range(table.num_row_groups))
            check_unpacked(max(cells * CELL, unpacked), packed, where=shown(path), fix=PLAIN)
            pictures = picture_columns(table)
            named = class_names(table) if pictures else {}
            for number, row in _rows(table, file, path, set(pictures)):
                here = {column: str(path_in(path, column, number, ending)) for column, ending in pictures.items()}
                plain = {name: _named(_plain(value), named.get(name)) for name, value in row.items()}
                yield number, {name: here.get(name, plain.get(name)) for name in table.schema_arrow.names}
        except (WeftError, GeneratorExit):
            raise
        except Exception as error:  # whatever a damaged file makes pyarrow raise
            problem = f"a damaged Parquet file: {words_of(error)}"
            raise DataError(problem, where=shown(path), fix=DAMAGED) from None


def _rows(table: Any, file: BinaryIO, path: Path, without: set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the values of every row, but for some columns."""
    names, number, size = [name for name in table.schema_arrow.names if name not in without], 0, 0
    if not names:
        yield from ((number, {}) for number in range(1, table.metadata.num_rows + 1))
        return
    packed = os.fstat(file.fileno()).st_size
    for batch in _dictionaries(table, file, path, without).iter_batches(batch_size=BATCH, columns=names):
        size += _size(batch)
        check_unpacked(size, packed, where=shown(path), fix=PLAIN)
        for row in _in_microseconds(batch).to_pylist():
            number += 1
            yield number, row


def _named(value: Any, names: Sequence[str] | None) -> Any:
    """A value, or the name of the class whose number it is."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return names[value] if names is not None and number and 0 <= value < len(names) else value


def parquet_count(path: Path) -> int:
    """How many rows a Parquet file says that it has; 0 where it says nothing that can be read."""
    try:
        from pyarrow.parquet import read_metadata

        return int(read_metadata(path).num_rows)
    except Exception:  # whatever a damaged file makes pyarrow raise
        return 0


def _dictionaries(table: Any, file: BinaryIO, path: Path, without: set[str]) -> Any:
    """A Parquet file, whose texts are read as numbers in a table: one that a million rows share is held once."""
    columns = map(table.schema.column, range(len(table.schema)))
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return open_parquet(file, path, [name for name in texts if name.split(".")[0] not in without])


def _in_microseconds(batch: Any) -> Any:
    """Some rows with their times as Python holds them, which knows no nanoseconds."""
    import pyarrow

    for place, field in enumerate(batch.schema):
        if pyarrow.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pyarrow.timestamp("us", field.type.tz)
            batch = batch.set_column(place, field.with_type(kind), batch.column(place).cast(kind, safe=False))
    return batch


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


def _plain(value: Any) -> Any:
    """A value of Parquet as a value of JSON; bytes that are no text are nothing that a table can be learned from."""
    if isinstance(value, dict) and set(value) == {"bytes", "path"} and value["bytes"] is None:
        return _plain(value["path"])  # a picture that stands in a file of its own
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return None if b"\0" in value or not is_utf8(value + b" ") else value.decode("utf-8")
    return value if isinstance(value, str | bool | int | float | None) else cell_of(value)
