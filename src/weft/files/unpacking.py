"""How much a packed file may become. A few kilobytes can stand for gigabytes; nobody's table or text is packed so well.

Texts shrink to a third or a tenth, tables of numbers to a fiftieth. What is unpacked by hand is read at any size.
"""

import os
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from weft.amounts import amount
from weft.errors import DataError

FREE = 64 * 2**20  # bytes that any packed file may become
RATIO = 250  # beyond those, how many times as large as the file


def check_unpacked(unpacked: int, packed: int, *, where: str, fix: str) -> None:
    """Refuse what becomes far larger than its file: `unpacked` bytes out of a file of `packed` ones."""
    if unpacked > max(FREE, RATIO * packed):
        problem = f"{amount(packed)} that become {amount(unpacked)} or more: over {RATIO} times as much"
        raise DataError(problem, where=where, fix=fix)


def check_members(archive: zipfile.ZipFile, size: int, *, where: str, fix: str) -> None:
    """The same of all members of a zip file together; none gives more bytes than it claims to have."""
    check_unpacked(sum(info.file_size for info in archive.infolist()), size, where=where, fix=fix)


_sizes = dict[tuple[int, int, int, int], int]()  # what files become, by what they are; of those refused, as far as seen


def check_whole(stream: BinaryIO, file: BinaryIO, chunk: int, *, where: str, fix: str) -> None:
    """The same of all that a packed `file` becomes, before any of it is worked on: its `stream` is read to the end.

    To work on millions of lines and refuse them then would take minutes. A file is read for this once a process.
    """
    info, at = os.fstat(file.fileno()), stream.tell()
    identity = (info.st_dev, info.st_ino, info.st_mtime_ns, info.st_size)
    if identity not in _sizes:
        size, most = at, max(FREE, RATIO * info.st_size)
        while size <= most and (piece := stream.read(chunk)):
            size += len(piece)
        stream.seek(at)
        _sizes[identity] = size
    check_unpacked(_sizes[identity], info.st_size, where=where, fix=fix)


def unpacked(stream: BinaryIO, file: BinaryIO, chunk: int, *, where: str, fix: str) -> Iterator[bytes]:
    """The bytes of a packed `file` in pieces, by the `stream` that unpacks it."""
    size, packed = 0, os.fstat(file.fileno()).st_size
    while piece := stream.read(chunk):
        size += len(piece)
        check_unpacked(size, packed, where=where, fix=fix)
        yield piece
