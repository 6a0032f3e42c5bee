"""A file that grows piece by piece, may be killed at any byte, and has its name only once it is whole.

    answers.csv.part        the bytes so far
    answers.csv.part.log    what the file is about; then a line for each piece that is kept: how far, checksum, state

A piece is on disk before its line is: what stands behind the last whole line is torn, and cut off when work goes on.
The operating system holds the log for one process at a time. Knows nothing of what is written.
"""

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weft.errors import ConfigError, StorageError, WeftError
from weft.json_text import read_json
from weft.storage.disk import shown, storage_error
from weft.storage.lock import is_at, lock_open, open_own
from weft.storage.store import sync_folder, write_all, write_file

PART, LOG = ".part", ".part.log"
LONGEST = 255  # bytes of a file's name
KEEP_EVERY = 1.0  # seconds between two states that are kept
READ = 8 * 2**20  # bytes read at a time


class GrowingFile:
    """`with GrowingFile(path, about, resume=True) as file`: `add` pieces, `keep` a state now and then, `finish`.

    `about` says by what the file is made; one of another making is not gone on with. `state` is what was kept last, and
    None where nothing was. The first `reserved` bytes are written at the end. Left by an error, the part stays where
    something was kept, and is removed otherwise.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, resume: bool, reserved: int = 0):
        self.path, self.about, self.resume, self.reserved = path, dict(about), resume, reserved
        self.part, self.log = beside(path, PART), beside(path, LOG)
        self.state: dict[str, Any] | None = None
        self.whole = False  # it has its name already: only its log was left
        self.size = self.crc = 0
        self._kept_at = time.monotonic()
        self._file = self._logged = -1
        self._done = False

    def __enter__(self) -> Self:
        try:
            while self._logged < 0:
                self._logged = self._opened_log()
            lines, end = _lines(self._logged)
            if lines[1:] and not self.resume:
                raise self._refusal("is there, unfinished, of an earlier command")
            if lines[1:] and lines[0] != self.about:
                raise self._refusal(f"was begun otherwise ({_difference(lines[0], self.about)})")
            self._file = open_own(self.part, os.O_RDWR | os.O_CREAT)
            self._go_on(lines, end) if lines[1:] else self._begin()
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise storage_error(error, self.path) from error
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._done and self.state is None:
            self.remove()
        self._close()

    def add(self, data: bytes) -> None:
        """Write a piece behind the others."""
        try:
            write_all(self._file, data)
        except OSError as error:
            raise storage_error(error, self.path, needed=len(data)) from error
        self.size, self.crc = self.size + len(data), zlib.crc32(data, self.crc)

    def due(self) -> bool:
        """Whether it is time to keep a state."""
        return time.monotonic() - self._kept_at >= KEEP_EVERY

    def keep(self, state: Mapping[str, Any]) -> None:
        """From now on what was added stays, whatever happens, and the state with it."""
        try:
            os.fsync(self._file)
            self._note({"bytes": self.size, "crc32": self.crc, "state": dict(state)})
        except OSError as error:
            raise storage_error(error, self.path) from error
        self.state, self._kept_at = dict(state), time.monotonic()

    def bytes_so_far(self) -> Iterator[bytes]:
        """All that was added."""
        return _read(self._file, self.reserved, self.size)

    def finish(self, *, first: bytes = b"", content: Iterable[bytes] | None = None) -> None:
        """Give the file its name. `first` are the reserved bytes; with `content`, the file is that instead."""
        assert len(first) == self.reserved
        try:
            if self.whole:
                pass
            elif content is not None:
                write_file(self.path, content)
                os.unlink(self.part)
            else:
                if first:
                    os.lseek(self._file, 0, os.SEEK_SET)
                    write_all(self._file, first)
                os.fsync(self._file)
                self._close_part()
                os.replace(self.part, self.path)
                sync_folder(self.path.parent)
            os.unlink(self.log)
        except OSError as error:
            raise storage_error(error, self.path) from error
        self._done = True

    def remove(self) -> None:
        """Leave nothing behind."""
        self._close_part()
        for path in (self.part, self.log):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _opened_log(self) -> int:
        """The log, locked; -1 where its holder finished and removed it in the meantime."""
        file = open_own(self.log, os.O_RDWR | os.O_CREAT)
        if not lock_open(file):
            os.close(file)
            fix = "wait for it, or write to another file"
            raise WeftError("another process is writing it", where=shown(self.path), fix=fix)
        if is_at(file, self.log):
            return file
        os.close(file)
        return -1

    def _begin(self) -> None:
        for file in (self._file, self._logged):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        self._note(self.about)
        write_all(self._file, bytes(self.reserved))

    def _go_on(self, lines: list[Any], end: int) -> None:
        """Find the last state whose bytes are all there, and cut off what stands behind it."""
        there = os.fstat(self._file).st_size
        last = lines[-1]
        if not there and self.path.is_file() and self.path.stat().st_size == self.reserved + last["bytes"]:
            os.unlink(self.part)  # made by opening it: the file had its name when the process was killed
            self.whole = True
        elif there < self.reserved + last["bytes"] or self._sum(last["bytes"]) != last["crc32"]:
            problem = "is not as it was written: its bytes and their checksum differ"
            raise StorageError(problem, where=shown(self.part), fix=f"delete it and {self.log.name}, and begin anew")
        self.size, self.crc, self.state = last["bytes"], last["crc32"], last["state"]
        if not self.whole:
            os.ftruncate(self._file, self.reserved + self.size)
            os.lseek(self._file, 0, os.SEEK_END)
        os.ftruncate(self._logged, end)
        os.lseek(self._logged, 0, os.SEEK_END)

    def _sum(self, size: int) -> int:
        found = 0
        for piece in _read(self._file, self.reserved, size):
            found = zlib.crc32(piece, found)
        return found

    def _note(self, line: Mapping[str, Any]) -> None:
        write_all(self._logged, json.dumps(line, ensure_ascii=True).encode() + b"\n")
        os.fsync(self._logged)

    def _refusal(self, problem: str) -> WeftError:
        fix = f"go on with --resume and the same words, or delete it and {self.log.name} to begin anew"
        return WeftError(problem, where=shown(self.part), fix=fix)

    def _close_part(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _close(self) -> None:
        self._close_part()
        if self._logged >= 0:
            os.close(self._logged)
        self._logged = -1


def beside(path: Path, end: str) -> Path:
    """The name of a file beside another, cut where it would be longer than names may be."""
    stem = path.name
    while len(os.fsencode(stem + end)) > LONGEST:
        stem = stem[:-1]
    return path.with_name(stem + end)


def _lines(file: int) -> tuple[list[Any], int]:
    """The whole lines of a log and where they end."""
    found, end = list[Any](), 0
    content = b"".join(_read(file, 0, os.fstat(file).st_size))
    for line in content.split(b"\n")[:-1]:
        try:
            one = read_json(line, where="")
        except ConfigError:
            break
        if not isinstance(one, dict) or (found and not {"bytes", "crc32", "state"} <= set(one)):
            break
        found.append(one)
        end += len(line) + 1
    return found, end


def _read(file: int, first: int, size: int) -> Iterator[bytes]:
    """Bytes of an open file; where it stands in the file does not change for who writes it."""
    before = os.lseek(file, 0, os.SEEK_CUR)
    done = 0
    while done < size:
        os.lseek(file, first + done, os.SEEK_SET)
        piece = os.read(file, min(READ, size - done))
        os.lseek(file, before, os.SEEK_SET)
        if not piece:
            return
        done += len(piece)
        yield piece


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What is not as it was, by name."""
    return ", ".join(name for name in {**old, **new} if old.get(name) != new.get(name))
