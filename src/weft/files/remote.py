"""Data at an address (s3://…, gs://…, https://…): fetched once, before anything reads it, by the library fsspec.

Nothing is fetched but what the user names, and never within data. What comes is kept where prepared data is, under a
name made of the address, the sizes and what the server says of each version (ETag, checksum, time of change); readers
see plain files. Names of users, passwords and tokens in an address are neither kept nor printed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from weft.errors import DataError, WeftError
from weft.files.decoding import shown
from weft.storage.disk import storage_error
from weft.storage.prepared import WORTH_BYTES, StagedEntry, key_of, lasting_store

ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://\S+")
SCHEMES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hf", "https", "http", "file", "memory")
PACKAGES = {  # beside fsspec
    "s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
    "hf": "huggingface_hub",
}  # fmt: skip
SECRETS = re.compile(r"(?<=://)[^/@\s'\"]*@|[?#][^\s'\"]*")  # who asks, and what stands behind the path
VERSION = ("ETag", "etag", "md5Hash", "checksum", "LastModified", "last_modified", "mtime", "updated", "created")
CHUNK = 2**20  # bytes
MB = 10**6
LISTED_FILES = 20  # whose versions are named where prepared data is listed
Watch = Callable[[int, int], None]  # MB that have come, and in all


def is_address(word: str) -> bool:
    """Whether a word is the address of something elsewhere."""
    return ADDRESS.fullmatch(word) is not None


def without_secrets(address: str) -> str:
    """An address without the name and password before its host, and without what stands behind its path."""
    return SECRETS.sub("", address)


def fetched(sources: Sequence[str], watch: Watch | None = None) -> tuple[str, ...]:
    """Sources as files and folders of this machine: what stands at an address is fetched, unless it was before."""
    return tuple(_local(source, watch) if is_address(source) else source for source in sources)


@dataclass(frozen=True)
class _There:
    """Files elsewhere: by the names that they get here the path of each there, and what is said of it."""

    system: Any
    files: Mapping[str, tuple[str, Mapping[str, Any]]]
    root: str  # the file or the folder here that stands for all of them; nothing where they stand side by side

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each, 0 where that is not known."""
        return {name: int(info.get("size") or 0) for name, (_, info) in self.files.items()}

    @property
    def versions(self) -> list[list[Any]]:
        """What tells these contents from others."""
        known = {name: [str(info[key]) for key in VERSION if key in info] for name, (_, info) in self.files.items()}
        return [[name, size, *known[name]] for name, size in self.sizes.items()]


def _local(address: str, watch: Watch | None) -> str:
    where = without_secrets(address)
    with _faults(where):
        there = _there(*_opened(address, where), where)
    total = sum(there.sizes.values())
    store = lasting_store(max(total, WORTH_BYTES))
    if store is None:
        problem = f"{total / 1e6:,.0f} MB to fetch, and no place to keep them"
        raise DataError(problem, where=where, fix="name a folder on a disk with room: --set prepared=FOLDER")
    versions = there.versions
    source = {"kind": "fetched", "files": [where], "versions": versions[:LISTED_FILES]}
    entry = store.entry(key_of("fetched", where, versions), partial(_fetch, there, where, watch), source)
    return str(entry.folder / StagedEntry.FILES / there.root)


def _fetch(there: _There, where: str, watch: Watch | None, staged: StagedEntry) -> None:
    sizes, done = there.sizes, 0
    total = max(1, sum(sizes.values()) // MB)
    for name, (place, _) in there.files.items():
        file, size = staged.file(name), 0
        file.parent.mkdir(parents=True, exist_ok=True)
        with _faults(where), there.system.open(place, "rb") as stream, file.open("xb") as copy:
            while chunk := stream.read(CHUNK):
                _write(copy, chunk, file)
                size += len(chunk)
                if watch is not None:
                    watch(max(1, min(total, (done + size) // MB)), total)
        if sizes[name] and size != sizes[name]:
            problem = f"{size:,} bytes came of {shown(name)}, expected {sizes[name]:,}"
            raise DataError(problem, where=where, fix="it has changed, or the connection broke: run it again")
        done += size


def _write(copy: BinaryIO, chunk: bytes, file: Path) -> None:
    try:
        copy.write(chunk)
    except OSError as error:  # of this machine's disk, and not of the server
        raise storage_error(error, file) from error


def _opened(address: str, where: str) -> tuple[Any, str]:
    """The file system at an address, and the path in it."""
    scheme = address.split("://")[0]
    if scheme not in SCHEMES:
        problem = f"addresses of the kind {scheme}:// are not read"
        raise DataError(problem, where=where, fix=f"use one of {', '.join(SCHEMES)}, or fetch it yourself")
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        problem = "data at an address is fetched by fsspec, which is not installed"
        raise WeftError(problem, where=where, fix="pip install 'weft[remote]'") from None
    try:
        found: tuple[Any, str] = url_to_fs(address)
        return found
    except ImportError:
        package = PACKAGES.get(scheme)
        problem = f"{scheme}:// is read by {package or 'aiohttp'}, which is not installed"
        raise WeftError(problem, where=where, fix=f"pip install {package or repr('weft[remote]')}") from None


def _there(system: Any, path: str, where: str) -> _There:
    """The files at a path: one, all of a folder, or those that a pattern matches."""
    root = PurePosixPath(without_secrets(path)).name
    if "*" in path:
        found = {name: info for name, info in system.glob(path, detail=True).items() if info.get("type") == "file"}
        names, root = {name: PurePosixPath(name).name for name in found}, ""
    elif (info := system.info(path)).get("type") == "directory":
        found, root = system.find(path, detail=True), root or "data"
        names = {name: f"{root}/{name.split(path.rstrip('/') + '/', 1)[-1]}" for name in found}
    else:
        found, names = {path: info}, {path: root}
    files = {names[name]: (name, info) for name, info in sorted(found.items())}
    unsafe = [name for name in files if not name or ".." in PurePosixPath(name).parts or name[0] == "/" or "\0" in name]
    if unsafe:
        raise DataError(f"a name that leads elsewhere: {shown(unsafe[0])!r}", where=where, fix="name a single file")
    if not files or len(files) < len(found):
        problem = "several files of one name" if files else "no files"
        raise DataError(problem, where=where, fix="name a file, a folder, or a pattern with *")
    return _There(system, files, root)


@contextmanager
def _faults(where: str) -> Iterator[None]:
    """Whatever a server or its library raises becomes one error, without what is secret."""
    try:
        yield
    except (WeftError, KeyboardInterrupt):
        raise
    except FileNotFoundError:
        problem, fix = "there is nothing at this address", "check its spelling, and what you may read there"
        raise DataError(problem, where=where, fix=fix) from None
    except Exception as error:
        words = SECRETS.sub("", shown(str(error)).split("\n")[0])[:200]
        problem = f"cannot be fetched: {type(error).__name__}: {words}"
        raise DataError(problem, where=where, fix="check the address, the network and your credentials") from None
