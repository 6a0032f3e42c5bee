"""What the disk says, in words a person can act on, and how much room it has. Writes nothing.

The folder a path stands in need not exist yet: room is asked for before anything is made.
"""

import errno
import shutil
from pathlib import Path

from weft.errors import StorageError

_ELSEWHERE = "choose another folder with --out"
EXPLAINED = {
    errno.EDQUOT: ("the disk quota is used up", f"free some space, or {_ELSEWHERE}"),
    errno.EFBIG: ("larger than this file system or a limit of this process allows", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the file system is read-only", _ELSEWHERE),
    errno.EACCES: ("permission denied", f"change the permissions, or {_ELSEWHERE}"),
    errno.EPERM: ("not permitted", f"change the permissions, or {_ELSEWHERE}"),
    errno.EIO: ("the disk reports an input/output error", "what was saved before is untouched; check the disk"),
    errno.ENOENT: ("missing: the file or its folder is not there", "check that nothing has moved or deleted it"),
    errno.ENOTDIR: ("a file stands where a folder is needed", _ELSEWHERE),
    errno.ELOOP: ("a link, where weft keeps a file or folder of its own", "remove the link, or use another run"),
    errno.ENAMETOOLONG: ("the name is too long for this file system", "choose a shorter name"),
    errno.EMFILE: ("too many files are open in this process", "raise the limit (ulimit -n)"),
}


def shown(path: Path) -> str:
    """A path as one printable line: newlines and undecodable bytes are escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(path))


def storage_error(error: OSError, path: Path, *, needed: int | None = None) -> StorageError:
    """What an OSError means for the person whose file it is; `needed` is the size of what was being written."""
    if error.errno == errno.ENOSPC:
        return _no_space(path, "more" if needed is None else _size(needed))
    unexplained = (error.strerror or str(error), "")
    problem, fix = EXPLAINED.get(error.errno or 0, unexplained)
    return StorageError(problem, where=shown(path), fix=fix)


def free_bytes(path: Path) -> int:
    """What can still be written where `path` is, or will be."""
    try:
        place = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
        return shutil.disk_usage(place).free
    except OSError as error:
        raise storage_error(error, path) from error


def require_space(path: Path, bytes_needed: int) -> None:
    """Refuse now what would fill the disk later."""
    if free_bytes(path) < bytes_needed:
        raise _no_space(path, _size(bytes_needed))


def _no_space(path: Path, needs: str) -> StorageError:
    problem = f"no space: needs {needs}, has {_size(free_bytes(path))}"
    return StorageError(problem, where=shown(path), fix=f"free some space, or {_ELSEWHERE}")


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
