"""Arrays that were made from data once, kept in files and mapped into memory: ids, offsets, targets, texts.

    FOLDER/<digest>/about.json      what it was made from, values, and the size of each file: written last
                    ids.npy …       mapped, never read whole
    files/…         copies of files, with the names that they had elsewhere

An entry is a folder named by a digest of all that it was made from, so that nothing in it can be out of date. It is
staged under another name and renamed when it is whole: a kill leaves a staged folder, which the next writer removes,
and of two processes that make the same entry one wins and the other takes it. Knows nothing of what arrays mean.
"""

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import StorageError, WeftError
from weft.json_text import read_json
from weft.storage.array_file import GrowingArray, mapped
from weft.storage.disk import free_bytes, storage_error
from weft.storage.lock import RunLock, is_held, is_leftover, is_stale, temporary
from weft.storage.store import make_folder, read_file, remove_folder, sync_file, sync_folder, write_file
from weft.version import VERSION

FORMAT = 1  # of entries; a change of what stands in them counts it up
WORTH_BYTES = 8 * 2**20  # of data, from which on it is prepared in the usual place; less is made anew in seconds
ROOM_TIMES = 4  # free bytes of the usual place for each byte of data, below which nothing is kept there
ABOUT = "about.json"
MAX_ABOUT_BYTES = 256 * 2**20
STAGED_SECONDS = 60.0  # a staged folder that nobody holds and that was not changed for this long is a leftover
NONE = "none"

_said: ContextVar[str | None] = ContextVar("prepared", default=None)


@contextlib.contextmanager
def prepared_in(said: str | None) -> Iterator[None]:
    """Within this block, prepared data is kept in this folder; "none" keeps nothing, None is the usual place."""
    token = _said.set(said)
    try:
        yield
    finally:
        _said.reset(token)


def usual_place() -> Path:
    """The folder where prepared data is kept unless the user names another."""
    cache = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "weft" / "prepared"


def key_of(kind: str, *parts: Any) -> str:
    """The name of an entry: a digest of what it is and of all that it is made from."""
    text = json.dumps([FORMAT, VERSION, kind, *parts], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class PreparedEntry:
    """One entry: values, and arrays that are mapped when they are first asked for."""

    folder: Path
    about: Mapping[str, Any]

    @property
    def values(self) -> Mapping[str, Any]:
        """What is known beside the arrays."""
        found: Mapping[str, Any] = self.about["values"]
        return found

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {name: mapped(self.folder / f"{name}.npy") for name in self.about["arrays"]}

    @property
    def bytes(self) -> int:
        """What it takes on disk."""
        return sum(self.about["arrays"].values()) + sum(self.about.get("files_kept", {}).values())


def _about(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(read_file(folder / ABOUT, limit=MAX_ABOUT_BYTES), where=str(folder / ABOUT))
    return found


class StagedEntry:
    """An entry while it is made: arrays that grow, and `values` to be kept beside them."""

    FILES = "files"  # the folder of copies

    def __init__(self, folder: Path):
        self.folder, self.values = folder, dict[str, Any]()
        self.arrays, self.files = dict[str, GrowingArray](), list[str]()

    def array(self, name: str, dtype: Any, width: int = 0) -> GrowingArray:
        """A new array; `width` is the number of columns of a table."""
        self.arrays[name] = GrowingArray(self.folder / f"{name}.npy", np.dtype(dtype), width)
        return self.arrays[name]

    def file(self, name: str) -> Path:
        """Where a copy of a file is to be written; its name may have folders in it."""
        self.files.append(name)
        return self.folder / self.FILES / name

    def finish(self, source: Mapping[str, Any]) -> None:
        """Write all of it; `source` says for people what it was made from."""
        sizes = {name: array.finish() for name, array in self.arrays.items()}
        copies = {name: self.folder / self.FILES / name for name in self.files}
        for path in copies.values():
            sync_file(path)
        kept = {"files_kept": {name: path.stat().st_size for name, path in copies.items()}} if copies else {}
        about = {"format": FORMAT, "version": VERSION, **source, "values": self.values, "arrays": sizes, **kept}
        write_file(self.folder / ABOUT, json.dumps(about, ensure_ascii=True).encode())

    def close(self) -> None:
        """Close all files, whatever is in them."""
        for array in self.arrays.values():
            array.close()


class PreparedStore:
    """A folder of entries. One that does not last is removed as soon as its arrays are mapped, or at the end."""

    def __init__(self, folder: Path, *, lasting: bool = True):
        self.folder, self.lasting = folder, lasting

    def find(self, key: str) -> PreparedEntry | None:
        """The entry of this name, if it is there and whole; its use is noted by the time of its about.json."""
        folder = self.folder / key
        try:
            about = _about(folder)
            sizes = {name: (folder / f"{name}.npy").stat().st_size for name in about["arrays"]}
            kept = about.get("files_kept", {})
            copies = {name: (folder / StagedEntry.FILES / name).stat().st_size for name in kept}
        except (OSError, WeftError, KeyError, TypeError):
            return None
        whole = sizes == about["arrays"] and copies == kept
        if not whole or about.get("format") != FORMAT or about.get("version") != VERSION:
            return None
        with contextlib.suppress(OSError):
            os.utime(folder / ABOUT)
        return PreparedEntry(folder, about)

    def entry(
        self,
        key: str,
        make: Callable[[StagedEntry], None],
        source: Mapping[str, Any] = {},
        *,
        keep: Callable[[], bool] | None = None,
    ) -> PreparedEntry:
        """The entry of this name, made now if it is not there.

        `source` says for people what it is made from; `keep`, asked when it is made, whether it may last.
        """
        if self.lasting and (found := self.find(key)) is not None:
            return found
        make_folder(self.folder)
        self.sweep()
        folder = temporary(self.folder)
        make_folder(folder)
        staged = StagedEntry(folder)
        try:
            with RunLock(folder):
                make(staged)
                staged.finish(source)
            if self.lasting and (keep is None or keep()):
                return self._named(folder, key)
            return self._passing(folder)
        except BaseException as error:
            staged.close()
            with contextlib.suppress(WeftError):
                remove_folder(folder)
            if isinstance(error, OSError):
                raise storage_error(error, self.folder) from error
            raise

    def _named(self, folder: Path, key: str) -> PreparedEntry:
        """Give a whole entry its name; where another process was faster, its entry is taken."""
        final = self.folder / key
        try:
            os.rename(folder, final)
        except OSError:
            if (found := self.find(key)) is not None:
                remove_folder(folder)
                return found
            remove_folder(final, first=ABOUT)  # not whole, or of another version
            os.rename(folder, final)
        sync_folder(self.folder)
        if (made := self.find(key)) is None:
            raise StorageError("what was written here reads back differently", where=str(final))
        return made

    def _passing(self, folder: Path) -> PreparedEntry:
        """An entry that does not last: its files are removed, and its arrays stay mapped where the system allows it."""
        found = PreparedEntry(folder, _about(folder))
        _ = found.arrays
        place = folder if self.lasting else self.folder
        if os.name == "posix":
            remove_folder(place)
        else:
            atexit.register(shutil.rmtree, place, ignore_errors=True)
        return found

    def sweep(self) -> None:
        """Remove what killed writers left."""
        for path in self.folder.iterdir():
            if is_leftover(path) and path.is_dir() and is_stale(path, STAGED_SECONDS) and not is_held(path):
                with contextlib.suppress(WeftError):
                    remove_folder(path)

    def entries(self) -> list[PreparedEntry]:
        """All entries that are whole, those that were used last first. Nothing is noted as used."""
        found = []
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            with contextlib.suppress(OSError, WeftError, KeyError, TypeError):
                about = _about(path)
                used = (path / ABOUT).stat().st_mtime
                found.append((used, PreparedEntry(path, {**about, "used": used})))
        return [entry for _, entry in sorted(found, key=lambda one: -one[0])]


def temporary_store() -> PreparedStore:
    """A store for one entry that does not last."""
    return PreparedStore(Path(tempfile.mkdtemp(prefix="weft-prepared-")), lasting=False)


def lasting_store(size: int) -> PreparedStore | None:
    """Where what is made from this many bytes of data is kept; None where it is not.

    In a folder that the user names all is kept; in the usual place what is worth it, if there is room.
    """
    said = _said.get()
    if said == NONE or (said is None and size < WORTH_BYTES):
        return None
    if said is not None:
        return PreparedStore(Path(said))
    place = usual_place()
    try:
        make_folder(place)
        roomy = os.access(place, os.W_OK) and free_bytes(place) > ROOM_TIMES * size
    except StorageError:
        return None
    return PreparedStore(place) if roomy else None


def store_for(size: int) -> PreparedStore | None:
    """The same, or for data that should not be held in memory a store that does not last; None for little data."""
    return lasting_store(size) or (temporary_store() if size >= WORTH_BYTES else None)
