"""Who may write in a run folder: one process at a time. Knows nothing of what is written.

The lock belongs to the operating system, which drops it when its holder ends, even by kill -9. The file `.lock`
only says who the holder is. On file systems without locks that record itself decides.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weft.errors import WeftError
from weft.json_text import read_json
from weft.storage.disk import shown, storage_error

FILE_MODE = 0o664  # before the umask: never writable by everyone, not even with umask 0
_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{12}")
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


class InUse(WeftError):
    """Another process holds it."""


_held: set["RunLock"] = set()


def temporary(folder: Path) -> Path:
    """A new name in a folder for what is not finished; short, so that it fits wherever the final name fits."""
    return folder / f".tmp-{secrets.token_hex(6)}"


def is_leftover(path: Path) -> bool:
    """Whether a name is of a writer: at work, or killed."""
    return path.name == ".lock" or bool(_TEMPORARY.fullmatch(path.name))


def refuse_link(path: Path) -> None:
    """Refuse a link where a run has a file or folder of its own: whoever made the run may have pointed it anywhere."""
    if path.is_symlink() or (hasattr(path, "is_junction") and path.is_junction()):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def open_own(path: Path, flags: int) -> int:
    """Open a file of a run to write in it: the file itself, never what a link at its place leads to."""
    refuse_link(path)
    more = (getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW"))
    return os.open(path, sum(more, flags), FILE_MODE)


def is_stale(path: Path, seconds: float) -> bool:
    """Whether a file or folder was not changed for this long."""
    try:
        return not seconds or time.time() - path.lstat().st_mtime >= seconds
    except OSError:
        return False


class RunLock:
    """An exclusive hold on a run folder: `with RunLock(folder): ...`. A second process is told who holds it.

    Taking it also clears away the temporary files of writers that were killed: those that were not changed for `stale`
    seconds. Whoever adds a file to a finished run, such as a picture, holds no lock.
    """

    def __init__(self, folder: Path, *, stale: float = 0.0, name: str = ".lock"):
        """`name` is that of the lock's file, where a folder has several things to hold."""
        self.folder, self.path, self.stale = folder, folder / name, stale
        self._file: int | None = None

    def __enter__(self) -> Self:
        try:
            while self._file is None:
                self._file = self._take()
            _held.add(self)
            _write_record(self._file)
            _sweep(self.folder, self.stale)
        except OSError as error:
            self._release()
            raise storage_error(error, self.path) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._release()

    def _take(self) -> int | None:
        """The open, locked file; None if it was deleted in the meantime and must be opened anew."""
        file = open_own(self.path, os.O_RDWR | os.O_CREAT)
        try:
            if not lock_open(file):
                raise self._refusal(_read_record(file))
            if self._is_at_path(file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        return None

    def _is_at_path(self, file: int) -> bool:
        return is_at(file, self.path)

    def _refusal(self, record: dict[str, Any]) -> WeftError:
        pid, host, since = (record.get(key, "(unknown)") for key in ("pid", "host", "since"))
        fix = "wait for it or stop it, or choose another folder with --out"
        if host != socket.gethostname():
            fix += f"; if that process no longer runs, delete {shown(self.path)}"
        return InUse(f"in use by pid {pid} on {host} since {since}", where=shown(self.folder), fix=fix)

    def _release(self) -> None:
        file, self._file = self._file, None
        _held.discard(self)
        if file is None:
            return
        with contextlib.suppress(OSError):
            if self._is_at_path(file) and os.name != "nt":  # an open file cannot be deleted there
                os.unlink(self.path)
        os.close(file)


def is_at(file: int, path: Path) -> bool:
    """Whether an open file still has this name."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), os.lstat(path))
    return False


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder now. Nothing is written."""
    try:
        file = open_own(folder / ".lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock_open(file)
    except OSError:
        return False
    finally:
        os.close(file)  # and with it the lock, if it was taken


def lock_open(file: int) -> bool:
    """Lock an open file for this process; false where another holds it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, 2**20, os.SEEK_SET)  # far behind the record, which others must be able to read
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        return not _may_be_alive(_read_record(file))
    return True


def _may_be_alive(record: dict[str, Any]) -> bool:
    pid, host = record.get("pid"), record.get("host")
    if host != socket.gethostname() or not isinstance(pid, int):
        return bool(record)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _write_record(file: int) -> None:
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    record = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, json.dumps(record).encode() + b"\n")


def _read_record(file: int) -> dict[str, Any]:
    os.lseek(file, 0, os.SEEK_SET)
    with contextlib.suppress(OSError, WeftError):
        record = read_json(os.read(file, 4096), where=".lock")
        return record if isinstance(record, dict) else {}
    return {}


def _sweep(folder: Path, stale: float) -> None:
    for entry in os.scandir(folder):
        if _TEMPORARY.fullmatch(entry.name) and is_stale(Path(entry.path), stale):
            with contextlib.suppress(FileNotFoundError):  # its writer has just finished
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def _leave_to_parent() -> None:
    """A forked child shares the open file, and would keep the lock alive after its parent's death."""
    for lock in list(_held):
        file, lock._file = lock._file, None
        if file is not None:
            os.close(file)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
