"""Arrays out of .npz and .npy files, without pickle and within bounds. Refuses to know what they mean."""

import lzma
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from weft.errors import DataError
from weft.files.decoding import opened, shown
from weft.files.unpacking import check_members

ONLY = "x"  # the name of the array in a .npy file, which has none
LARGEST = 16 * 2**30  # bytes of one array
PLAIN = "if it is what it should be, save it with numpy.savez, which does not pack"
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, SyntaxError, tokenize.TokenError,
          NotImplementedError, RuntimeError, OverflowError, MemoryError, TypeError)  # fmt: skip
OBJECTS = "save plain numbers or texts, as in x.astype('uint8')"


class Header(NamedTuple):
    """What the beginning of an array says of it."""

    shape: tuple[int, ...]
    dtype: np.dtype


def headers(path: Path) -> dict[str, Header]:
    """The arrays of a file by name, with the sizes they claim checked against the file's."""
    if path.suffix.lower() == ".npy":
        with _damage(path), opened(path) as file:
            return {ONLY: _header(file, os.fstat(file.fileno()).st_size, shown(path))}
    with _damage(path), opened(path) as file, zipfile.ZipFile(file) as archive:
        check_members(archive, os.fstat(file.fileno()).st_size, where=shown(path), fix=PLAIN)
        found = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            with archive.open(info) as stream:
                found[name] = _header(stream, info.file_size, f"{shown(path)}: {shown(name)}")
        return found


def array(path: Path, name: str) -> np.ndarray:
    """One array of a file, whole."""
    known = headers(path)[name]
    if known.dtype.hasobject:
        problem = "it holds Python objects, which weft never loads"
        raise DataError(problem, where=f"{shown(path)}: {shown(name)}", fix=OBJECTS)
    with _damage(path), opened(path) as file:
        if path.suffix.lower() == ".npy":
            return np.lib.format.read_array(file, allow_pickle=False)
        with zipfile.ZipFile(file) as archive:
            member = next(i for i in archive.infolist() if i.filename.removesuffix(".npy") == name)
            with archive.open(member) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)


def _header(stream: IO[bytes], size: int, where: str) -> Header:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    claimed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and claimed != size - stream.tell():
        problem = f"its header claims {claimed:,} bytes, {size - stream.tell():,} follow"
        raise DataError(problem, where=where, fix="copy or save it again")
    if claimed > LARGEST:
        raise DataError(f"{claimed:,} bytes, more than {LARGEST:,}", where=where, fix="save it in several files")
    return Header(shape, dtype)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        problem = f"not a file of arrays, or a damaged one: {shown(str(error)).split(chr(10))[0][:200]}"
        raise DataError(problem, where=shown(path), fix="save it again with numpy.savez or numpy.save") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", where=shown(path)) from None
