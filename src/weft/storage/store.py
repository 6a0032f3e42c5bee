"""The one door through which a run folder is read and written. Knows nothing of tensors, steps or training.

Whoever looks at a file under its own name sees it whole or not at all, whatever stopped the writer:

    write under a temporary name -> fsync the file -> rename -> fsync the folder

A run may come from anybody, and hold links to anywhere. The folder that a user names may be reached by a link; in it
none is followed: a link in a file's place is replaced or refused, and a folder is named by `inside`, which refuses one.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, DataError, StorageError
from weft.json_text import MAX_JSON_BYTES, read_json
from weft.storage.disk import free_bytes, require_space, shown, storage_error
from weft.storage.lock import FILE_MODE, RunLock, open_own, refuse_link, temporary

__all__ = [
    "RunLock",
    "append_line",
    "digest",
    "free_bytes",
    "inside",
    "make_folder",
    "open_file",
    "probe",
    "read_file",
    "read_lines",
    "remove_folder",
    "require_space",
    "shown",
    "storage_error",
    "sync_file",
    "sync_folder",
    "truncate_lines",
    "write_all",
    "write_file",
]

FOLDER_MODE = 0o775  # before the umask, as FILE_MODE is
OnWritten = Callable[[int, str], None]  # is given the length of a file and the SHA-256 of its bytes
_PART = 8 * 2**20  # bytes hashed and written at a time
_TAIL = 2**20  # bytes looked at to find where a torn last line begins
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_file(
    path: Path,
    data: bytes | Iterable[bytes | memoryview],
    *,
    size: int | None = None,
    before: OnWritten | None = None,
) -> str:
    """Write a whole file or nothing, durably. Returns the SHA-256 of its content.

    `size` is what the chunks of an iterable add up to, for the message when the disk is full. `before` is called with
    length and SHA-256 when all is on disk, just before the file gets its name.
    """
    chunks, needed = ((data,), len(data)) if isinstance(data, bytes) else (data, size)
    unfinished = temporary(path.parent)
    try:
        sha256 = _write_new(unfinished, chunks)
        if before is not None:
            before(unfinished.stat().st_size, sha256)
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        if isinstance(error, OSError):
            raise storage_error(error, path, needed=needed) from error
        raise
    return sha256


def _write_new(path: Path, chunks: Iterable[bytes | memoryview]) -> str:
    sha256 = hashlib.sha256()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, FILE_MODE)
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            view = view.cast("B") if view.itemsize > 1 else view
            for start in range(0, len(view), _PART):
                part = view[start : start + _PART]
                sha256.update(part)
                write_all(file, part)
        os.fsync(file)  # an error means lost pages: asking again on the same descriptor would hide it
    finally:
        os.close(file)
    return sha256.hexdigest()


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all bytes into an open file, however few it takes at a time."""
    rest = memoryview(data)
    while rest:
        written = os.write(file, rest)
        if written <= 0:
            raise OSError(errno.EIO, "the file system took no bytes")
        rest = rest[written:]


def sync_file(path: Path) -> None:
    """Make durable what was appended to a file, and its name."""
    try:
        file = open_own(path, os.O_RDWR)
        try:
            os.fsync(file)
        finally:
            os.close(file)
        sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, path) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY | _BINARY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems sync names by themselves
            raise
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, durably; one that exists is left as it is."""
    try:
        for missing in reversed([p for p in (folder, *folder.parents) if not p.exists()]):
            with contextlib.suppress(FileExistsError):
                os.mkdir(missing, FOLDER_MODE)
            sync_folder(missing.parent)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
    except OSError as error:
        raise storage_error(error, folder) from error


def inside(folder: Path, name: str) -> Path:
    """What has this name in a run, or in another folder of weft's own; refused where it is a link."""
    path = folder / name
    try:
        refuse_link(path)
    except OSError as error:
        raise storage_error(error, path) from error
    return path


def remove_folder(folder: Path, *, first: str = "") -> None:
    """Delete a folder with all it holds; `first` is the file without which the rest means nothing.

    Of a link in its place the link is deleted, and nothing that it leads to.
    """
    try:
        if folder.is_symlink():
            os.unlink(folder)
            return
        if first:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(folder / first)
        shutil.rmtree(folder)
    except OSError as error:
        raise storage_error(error, folder) from error


def open_file(path: Path) -> int:
    """A descriptor to read from. Only plain files: a pipe could block for ever, a device has no end."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StorageError("not a plain file", where=shown(path))
        return os.open(path, os.O_RDONLY | _BINARY)
    except OSError as error:
        raise storage_error(error, path) from error


def read_file(path: Path, *, limit: int | None = MAX_JSON_BYTES) -> bytes:
    """The bytes of a plain file, which must not be larger than `limit`."""
    with open(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if limit is not None and size > limit:
            raise StorageError(f"has {size} bytes; expected at most {limit}", where=shown(path))
        try:
            return file.read(size)
        except OSError as error:
            raise storage_error(error, path) from error


def digest(path: Path) -> tuple[int, str]:
    """Length and SHA-256 of a plain file, read in parts."""
    with open(open_file(path), "rb") as file:
        try:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), sha256
        except OSError as error:
            raise storage_error(error, path) from error


def append_line(path: Path, line: str) -> None:
    """Add one line, or several at once, without waiting for the disk. A line that a crash tore is dropped first."""
    data = line.encode() + (b"" if line.endswith("\n") else b"\n")
    try:
        file = open_own(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            end = _mend(file)
            try:
                write_all(file, data)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(file, end)
                raise
        finally:
            os.close(file)
    except OSError as error:
        raise storage_error(error, path, needed=len(data)) from error


def _mend(file: int) -> int:
    """Make a file of lines end with a whole line; returns where it then ends."""
    end = os.lseek(file, 0, os.SEEK_END)
    start = os.lseek(file, max(0, end - _TAIL), os.SEEK_SET)
    tail = os.read(file, end - start)
    last = tail.rpartition(b"\n")[2]
    if not last:
        return end
    if _row(last) is not None:
        write_all(file, b"\n")
        return end + 1
    os.ftruncate(file, end - len(last))
    return _mend(file)


def read_lines(path: Path, *, damaged: list[int] | None = None) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object per line; a torn last line is ignored. No file: no lines.

    Other lines that are no objects are refused, or left out and their numbers added to `damaged` where it is given.
    """
    return [row for _, row in _lines(path, damaged)]


def truncate_lines(path: Path, keep: Callable[[dict[str, Any]], bool], *, damaged: list[int] | None = None) -> None:
    """Keep, byte for byte, the lines whose object satisfies `keep`; drop the others and a torn last line.

    Other lines that are no objects are refused, or dropped and their numbers added to `damaged` where it is given.
    """
    if inside(path.parent, path.name).exists():
        write_file(path, b"".join(line + b"\n" for line, row in _lines(path, damaged) if keep(row)))


def _lines(path: Path, damaged: list[int] | None) -> Iterator[tuple[bytes, dict[str, Any]]]:
    content = read_file(path, limit=None) if path.exists() else b""
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    for number, line in lines:
        row = _row(line)
        if row is not None:
            yield line, row
        elif number != lines[-1][0] and damaged is not None:
            damaged.append(number)
        elif number != lines[-1][0]:
            where = f"{shown(path)}, line {number}"
            raise DataError("expected one JSON object", where=where, fix="remove the line, or restore the file")


def _row(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ConfigError):
        row = read_json(line, where="")
        return row if isinstance(row, dict) else None
    return None


def probe(folder: Path) -> None:
    """Find out before the first step whether a run can be kept here: write, rename a folder, read back, delete."""
    make_folder(folder)
    before, after = temporary(folder), temporary(folder)
    try:
        os.mkdir(before, FOLDER_MODE)
        write_file(before / "probe", b"weft")
        try:
            os.rename(before, after)
        except OSError as error:
            problem = f"folders cannot be renamed here ({error.strerror})"
            raise StorageError(problem, where=shown(folder), fix="choose a folder on a local disk") from error
        if read_file(after / "probe") != b"weft":
            raise StorageError("what was written here reads back differently", where=shown(folder))
        remove_folder(after)
    except OSError as error:
        raise storage_error(error, folder) from error
    finally:
        for left in (before, after):
            shutil.rmtree(left, ignore_errors=True)
