"""Arrays in .npy files: they grow while they are written, and are mapped to be read."""

import io
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from weft.storage.lock import open_own
from weft.storage.store import sync_file, write_all

BUFFER_BYTES = 2**20  # of an array that are gathered before they are written


def mapped(path: Path) -> np.ndarray:
    """The array in a file, mapped: read where it is looked at, and shared with other processes."""
    with open(path, "rb") as file:
        npy.read_magic(file)
        shape, _, dtype = npy.read_array_header_1_0(file)
    if 0 in shape:
        return np.zeros(shape, dtype)  # nothing cannot be mapped
    found: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return found


def forget(array: np.ndarray) -> None:
    """Give back the memory of what was read of a mapped array; it is read again where it is looked at."""
    if isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)


class GrowingArray:
    """An array in a file that grows along its first axis."""

    def __init__(self, path: Path, dtype: np.dtype[Any], width: int = 0):
        self.path, self.dtype, self.width, self.rows = path, np.dtype(dtype), width, 0
        self._waiting, self._bytes = list[bytes](), 0
        self._file = open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        write_all(self._file, self._header())

    def _header(self) -> bytes:
        shape = (self.rows, self.width) if self.width else (self.rows,)
        header = io.BytesIO()  # numpy leaves room in it for any number of rows
        what = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(header, what)
        return header.getvalue()

    def append(self, some: np.ndarray) -> None:
        """Add elements, or rows of a table."""
        assert some.dtype == self.dtype, f"expected {self.dtype}, found {some.dtype}"
        self.rows += len(some)
        self._waiting.append(some.tobytes())
        self._bytes += some.nbytes
        if self._bytes > BUFFER_BYTES:
            self._write()

    def _write(self) -> None:
        write_all(self._file, b"".join(self._waiting))
        self._waiting, self._bytes = [], 0

    def shorten(self, rows: int) -> None:
        """Take back what was added behind the first `rows`."""
        self._write()
        self.rows = rows
        os.ftruncate(self._file, len(self._header()) + rows * self.dtype.itemsize * (self.width or 1))
        os.lseek(self._file, 0, os.SEEK_END)

    def row(self, number: int) -> np.ndarray:
        """A row that was added."""
        self._write()
        size = self.dtype.itemsize * (self.width or 1)
        return np.frombuffer(os.pread(self._file, size, len(self._header()) + number * size), self.dtype)

    def finish(self) -> int:
        """Write all of it durably; the size of the file."""
        if self._file < 0:
            return self.path.stat().st_size
        self._write()
        os.lseek(self._file, 0, os.SEEK_SET)
        write_all(self._file, self._header())
        size = os.fstat(self._file).st_size
        self.close()
        sync_file(self.path)
        return size

    def close(self) -> None:
        """Close the file, whatever is in it."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
