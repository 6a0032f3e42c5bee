"""The pictures in a zip or tar archive, read in place. Refuses to know what a folder's name means.

No member is ever written to disk under a name of its own. Members whose names lead out of the archive, links, devices
and encrypted members are listed and left alone.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import tempfile
import threading
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from weft.errors import DataError
from weft.files.decoding import opened, shown
from weft.files.pictures.formats import format_of, named_as_picture
from weft.files.pictures.locations import (
    HEAD,
    LARGEST,
    NO_PICTURE,
    Listing,
    PictureLocation,
    Spotted,
    leftover,
    too_large,
)
from weft.files.unpacking import FREE, unpacked

TOTAL, MEMBERS = 256 * 2**30, 5_000_000  # bytes and number of all members together
CHUNK = 2**20
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError)
FIX = "copy or download it again, or unpack it and name the folder"


class Member(NamedTuple):
    """What an archive says of a member: its name, its size, how to find it, and why it must not be read, or nothing."""

    name: str
    size: int
    key: Any
    unfit: str


class Archive(ABC):
    """An archive that any number of threads may read, and other processes too: each opens it anew."""

    def __init__(self, path: Path):
        self.path, self.where = path, shown(path)
        self.lock = threading.Lock()
        self.handle: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    @abstractmethod
    def members(self) -> Iterator[Member]:
        """All members, in their order."""

    @abstractmethod
    def take(self, key: Any, most: int) -> bytes:
        """The first bytes of a member of the archive, up to a length."""


class Zip(Archive):
    """A zip archive."""

    def _open(self) -> zipfile.ZipFile:
        # After a fork two processes would move one file's position, so each has its own. There is no lock, which a fork
        # could leave closed: threads that come at once may open the archive twice, and one of the two is dropped.
        handle, pid = self.handle or (None, 0)
        if handle is None or pid != os.getpid():
            handle = zipfile.ZipFile(opened(self.path))
            self.handle = handle, os.getpid()
        return handle

    def members(self) -> Iterator[Member]:
        for info in self._open().infolist():
            mode = info.external_attr >> 16
            unfit = "a link" if stat.S_ISLNK(mode) else "encrypted" if info.flag_bits & 1 else ""
            if not info.is_dir():
                yield Member(info.filename, info.file_size, info, unfit)

    def take(self, key: zipfile.ZipInfo, most: int) -> bytes:
        with self._open().open(key) as stream:
            return stream.read(most)


class Tar(Archive):
    """A tar archive. A compressed one is uncompressed once, into a nameless temporary file, to be read in any order."""

    def _open(self) -> BinaryIO:
        with self.lock:
            if self.handle is None:
                self.handle = _plain(opened(self.path), self.where)
            return self.handle

    def members(self) -> Iterator[Member]:
        with tarfile.open(fileobj=self._open(), mode="r:") as tar:
            for info in tar:
                if not info.isdir():
                    yield Member(info.name, info.size, (info.offset_data, info.size), _unfit(info))
            # An archive ends in empty blocks; the library stops without a word at a damaged header too.
            if any(self.take((tar.offset, tarfile.BLOCKSIZE), tarfile.BLOCKSIZE)):
                raise DataError(f"a damaged archive: no header at byte {tar.offset}", where=self.where, fix=FIX)

    def take(self, key: tuple[int, int], most: int) -> bytes:
        start, size = key[0], min(key[1], most)
        file = self._open()
        if hasattr(os, "pread"):  # needs no position, which threads and forks would share
            data = os.pread(file.fileno(), size, start)
        else:
            with self.lock:
                file.seek(start)
                data = file.read(size)
        if len(data) < size:
            raise DataError("the archive is cut short", where=self.where, fix=FIX)
        return data


@dataclass(frozen=True, slots=True)
class MemberPlace(PictureLocation):
    """A member of an archive."""

    archive: Archive
    name: str
    key: Any
    size: int

    @property
    def where(self) -> str:
        return f"{self.archive.where}: {self.name}"

    @property
    def file(self) -> tuple[Path, str]:
        return self.archive.path, self.name

    def content(self) -> bytes:
        if self.size > LARGEST:
            raise too_large(self.size, self.where)
        with _damage(self.where):
            return self.archive.take(self.key, LARGEST)


def in_archive(path: Path) -> Listing:
    """All pictures of an archive, by name; what is not a picture, or not safe, is listed with the reason."""
    with opened(path) as file:
        archive: Archive = Zip(path) if file.read(2) == b"PK" else Tar(path)
    listing, taken, total = Listing([], []), set[tuple[str, ...]](), 0
    with _damage(archive.where):
        for count, member in enumerate(archive.members()):
            total += member.size
            if count >= MEMBERS or total > TOTAL:
                problem = f"more than {MEMBERS:,} members or {TOTAL:,} bytes unpacked"
                raise DataError(problem, where=archive.where, fix="use a smaller archive, or a folder")
            name, parts = shown(member.name), _parts(member.name)
            reason = member.unfit or _reason(archive, member, parts)
            if not reason and parts in taken:
                reason = "a name that stands in the archive twice"
            found = Spotted(parts, MemberPlace(archive, "/".join(parts), member.key, member.size))
            if reason:
                listing.skipped.append((name, reason))
                listing.others.extend([found] if reason == NO_PICTURE else [])
            else:
                taken.add(parts)
                listing.pictures.append(found)
    listing.pictures.sort(key=lambda picture: picture.parts)
    return listing


def first_names(path: Path, most: int) -> list[str]:
    """Names of the first members, for a quick look."""
    try:
        with opened(path) as file:
            if file.read(2) == b"PK":
                return [info.filename for info in zipfile.ZipFile(file).infolist()[:most] if not info.is_dir()]
            file.seek(0)
            with tarfile.open(fileobj=_beginning(file), mode="r:") as tar:
                return list(_names(tar, most))
    except (*DAMAGE, OSError, DataError):
        return []


def _beginning(file: BinaryIO) -> BinaryIO:
    """A tar file, or the first bytes of one that is packed."""
    unpack = _unpacking(file)
    return file if unpack is None else io.BytesIO(unpack(file).read(FREE))


def _names(tar: tarfile.TarFile, most: int) -> Iterator[str]:
    with suppress(tarfile.ReadError):  # where the beginning ends
        yield from (info.name for info, _ in zip(tar, range(most), strict=False) if info.isfile())


def _parts(name: str) -> tuple[str, ...]:
    """The steps of a member's path; some archives part them by backslashes."""
    return tuple(shown(part) for part in re.split(r"[/\\]", name) if part not in ("", "."))


def _reason(archive: Archive, member: Member, parts: tuple[str, ...]) -> str:
    """Why a member is left out, or nothing."""
    if not parts or ".." in parts or re.match(r"[/\\]|[A-Za-z]:", member.name):
        return "a name that leads out of the archive"
    for part in parts:
        if reason := leftover(part):
            return reason
    if named_as_picture(parts[-1]):
        return ""
    head = archive.take(member.key, HEAD)
    return "" if format_of(head) not in (None, "BMP") else NO_PICTURE


def _unfit(info: tarfile.TarInfo) -> str:
    if info.issym() or info.islnk():
        return "a link"
    if info.issparse():
        return "a sparse file"
    return "" if info.isreg() else "a named pipe" if info.isfifo() else "a device"


def _unpacking(file: BinaryIO) -> Callable[..., Any] | None:
    """What unpacks a file, by its first bytes; None where it is plain."""
    head = file.read(HEAD)
    file.seek(0)
    return next((how for mark, how in PACKED.items() if head.startswith(mark)), None)


def _plain(file: BinaryIO, where: str) -> BinaryIO:
    """A tar file that can be read at any place."""
    unpack = _unpacking(file)
    if unpack is None:
        return file
    plain, size = tempfile.TemporaryFile(), 0  # noqa: SIM115
    with file, unpack(file) as stream:
        for chunk in unpacked(stream, file, CHUNK, where=where, fix=FIX):
            size += len(chunk)
            if size > TOTAL:
                raise DataError(f"more than {TOTAL:,} bytes unpacked", where=where, fix="use a smaller archive")
            plain.write(chunk)
    plain.seek(0)
    return plain


@contextmanager
def _damage(where: str) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        problem = f"a damaged archive: {shown(str(error)) or type(error).__name__}"
        raise DataError(problem, where=where, fix=FIX) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", where=where, fix=FIX) from None
