"""Pictures in the rows of Parquet files: in a column of bytes, or of {bytes, path} as of the Hugging Face library.

    photos.parquet/image/17.jpg     the path of the picture in row 17 of the column image

To be read in any order they are taken out once, a few rows at a time, into a mapped file: one that is kept where other
prepared data is, else one without a name. Knows rows; refuses to know labels and captions.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from weft.errors import DataError, WeftError
from weft.files.decoding import opened, shown
from weft.files.parquet_columns import PARQUET, cells_of, open_parquet
from weft.files.pictures.locations import LARGEST, PictureLocation, too_large
from weft.files.unpacking import check_unpacked
from weft.storage.file_marks import FileMarks
from weft.storage.prepared import StagedEntry, key_of, store_for

DAMAGED = "copy or download it again"
OPEN_FILES = 64  # whose pictures are at hand
_one_at_a_time = threading.Lock()


def picture_at(path: Path) -> "ParquetPlace | None":
    """The picture in a Parquet file that has this path; None where it is no such path."""
    if len(path.parts) < 3 or path.parents[1].suffix.lower() != PARQUET or not path.stem.isdecimal():
        return None
    table = path.parents[1]
    return ParquetPlace(table, path.parent.name, int(path.stem)) if table.is_file() else None


def own_picture(name: str | int, table: Path) -> "ParquetPlace | None":
    """The picture that a row of a table names, where it stands in the table itself."""
    inside = isinstance(name, str) and name.startswith(f"{table.name}/")
    return picture_at(table.parent / str(name)) if inside else None


@dataclass(frozen=True, slots=True)
class ParquetPlace(PictureLocation):
    """The picture in a row of a Parquet file, counted from 1."""

    table: Path
    column: str
    row: int

    @property
    def where(self) -> str:
        return f"{shown(self.table)}, row {self.row}"

    @property
    def file(self) -> tuple[Path, str]:
        return self.table, f"{self.column}/{self.row}"

    @property
    def path(self) -> Path:
        """The path by which it is found again."""
        return self.table / self.column / str(self.row)

    def content(self) -> bytes:
        with _one_at_a_time:  # threads that ask at once take them out once
            taken_out = _taken_out(self.table, self.column, FileMarks.of([self.table]))
        found = taken_out.of_row(self.row)
        if not found:
            raise DataError("no picture in this row", where=self.where)
        if len(found) > LARGEST:
            raise too_large(len(found), self.where)
        return found


@dataclass(frozen=True)
class _TakenOut:
    """The pictures of a column, one behind the other, and where each ends."""

    data: np.ndarray
    ends: np.ndarray

    def of_row(self, row: int) -> bytes:
        """What stands in a row, counted from 1; nothing where there is none."""
        if not 0 < row <= len(self.ends):
            return b""
        return self.data[int(self.ends[row - 2]) if row > 1 else 0 : int(self.ends[row - 1])].tobytes()


@lru_cache(OPEN_FILES)
def _taken_out(path: Path, column: str, marks: FileMarks | None) -> _TakenOut:
    def make(staged: StagedEntry) -> None:
        data, ends, end = staged.array("data", np.uint8), staged.array("ends", np.uint64), 0
        for content in _contents(path, column):
            end += len(content)
            data.append(np.frombuffer(content, np.uint8))
            ends.append(np.array([end], np.uint64))

    store = None if marks is None else store_for(marks.bytes)
    if marks is None or store is None:
        contents = list(_contents(path, column))
        return _TakenOut(
            np.frombuffer(b"".join(contents), np.uint8), np.cumsum(list(map(len, contents)), dtype=np.uint64)
        )
    source = {"kind": "pictures of a table", "files": [str(path)]}
    key = key_of("parquet", marks.files, column)
    arrays = store.entry(key, make, source, keep=lambda: marks.trusted([path])).arrays
    return _TakenOut(arrays["data"], arrays["ends"])


def _contents(path: Path, column: str) -> Iterator[bytes]:
    """The bytes of all cells of a column, in order; nothing where there is none."""
    with opened(path) as file:
        try:
            size, packed = 0, os.fstat(file.fileno()).st_size
            for cell in cells_of(open_parquet(file, path), column):
                size += len(cell or b"")
                check_unpacked(size, packed, where=shown(path), fix=DAMAGED)
                yield cell or b""
        except (WeftError, GeneratorExit):
            raise
        except Exception as error:  # whatever a damaged file makes pyarrow raise
            problem = f"a damaged Parquet file: {shown(str(error))[:200]}"
            raise DataError(problem, where=shown(path), fix=DAMAGED) from None
