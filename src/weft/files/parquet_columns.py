"""Parquet files, opened: which of their columns hold pictures, and what stands in a row of one.

Needs neither torch nor numpy, and the library that opens them, an extra, only where such a file is met. Refuses to know
what columns mean.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from weft.errors import WeftError
from weft.files.decoding import opened, shown
from weft.files.pictures.formats import ENDINGS, format_of

PARQUET = ".parquet"
TOGETHER = 16  # rows whose pictures are held in memory
LOOK = 64  # rows in which a picture is looked for
BUFFER = 2**20  # bytes of a file that are read at a time
UNNAMED = ("", ".", "..")  # columns that cannot be part of a path


def open_parquet(file: BinaryIO, path: Path, dictionaries: Sequence[str] = ()) -> Any:
    """A Parquet file, read page by page; some columns are read as numbers in a table of their values."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise WeftError("Parquet files are read by pyarrow, which is not installed", where=shown(path),
                        fix="pip install 'weft[parquet]'") from None  # fmt: skip
    return ParquetFile(file, read_dictionary=list(dictionaries), buffer_size=BUFFER, pre_buffer=False)


def picture_columns(table: Any) -> dict[str, str]:
    """The columns whose first filled cell is a picture, with the ending of its format."""
    found = dict[str, str]()
    for field in table.schema_arrow:
        if _may_hold_bytes(field.type) and not {"/", "\0"} & set(field.name) and field.name not in UNNAMED:
            first = next(filter(None, islice(cells_of(table, field.name), LOOK)), b"")
            kind = format_of(first[:16])
            if kind not in (None, "BMP"):
                found[field.name] = next(ending for ending, name in ENDINGS.items() if name == kind)
    return found


def class_names(table: Any) -> dict[str, list[str]]:
    """The names of classes by the column of their numbers, where the file has them, as those of Hugging Face have."""
    try:
        said = json.loads((table.schema_arrow.metadata or {})[b"huggingface"])
        features = said["info"]["features"].items()
        return {name: list(map(str, one["names"])) for name, one in features if one.get("_type") == "ClassLabel"}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def path_in(table: Path, column: str, row: int, ending: str) -> Path:
    """The path of a picture in a table, whose folder is the table's."""
    return Path(table.name) / column / f"{row}{ending}"


def has_pictures(path: Path) -> bool:
    """Whether a Parquet file has pictures in its rows."""
    try:
        with opened(path) as file:
            return path.suffix.lower() == PARQUET and bool(picture_columns(open_parquet(file, path)))
    except Exception:  # whatever a damaged file makes pyarrow raise: its reader says it
        return False


def cells_of(table: Any, column: str) -> Iterator[bytes | None]:
    """The bytes in each row of a column."""
    for batch in table.iter_batches(batch_size=TOGETHER, columns=[column]):
        for value in batch.column(0).to_pylist():
            content = value.get("bytes") if isinstance(value, dict) else value
            yield content if isinstance(content, bytes) else None


def _may_hold_bytes(kind: Any) -> bool:
    """Whether a column of this type may hold pictures."""
    from pyarrow import types

    if types.is_struct(kind):
        kind = next((kind.field(i).type for i in range(kind.num_fields) if kind.field(i).name == "bytes"), None)
    return kind is not None and (types.is_binary(kind) or types.is_large_binary(kind))
