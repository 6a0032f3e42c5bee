"""Files made for a user, written where the user says; a zarr store is a folder. Each is there whole or not at all.

A link is followed to the file that it names, and stays. What is no plain file (a device, a pipe) is written into.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from weft.errors import WeftError
from weft.files.finding import is_pattern, matching
from weft.files.grid_formats import is_store
from weft.storage.disk import require_space, shown, storage_error
from weft.storage.lock import temporary
from weft.storage.store import sync_folder, write_all, write_file

MOST_LINKS = 40  # links that follow one another, as many as Linux follows
STREAM = re.compile(r"/dev/(stdin|stdout|stderr)|/(?:dev|proc/self)/fd/(\d+)")
OTHER_NAME = "name another file"


def refuse_output(
    output: str | Path | None,
    inputs: Iterable[object] = (),
    runs: Iterable[Path] = (),
    *,
    endings: Collection[str] = (),
    option: str = "--output",
) -> None:
    """Refuse an output that is one of the inputs, or lies in one of these runs; by what files are, not by their names.

    Of an input that is a folder, the files with one of these `endings` are inputs.
    """
    if output is None or STREAM.fullmatch(os.path.abspath(output)):
        return
    path, where = Path(output), f"{option} {shown(Path(output))}"
    with _named(path):
        real = Path(os.path.realpath(path))
        for run in runs:
            if any(_same(place, run) for place in (real, *real.parents)):
                raise WeftError(
                    f"lies in the run {shown(run)}, whose files it could spoil", where=where, fix=OTHER_NAME
                )
        if not path.exists() or not (path.is_file() or is_store(path)):
            return  # what is not there, and what is no plain file, cannot be lost
        for one in inputs:
            folders = real.parents if path.suffix.lower() in endings else ()
            if any(_same(place, named) for named in _meant(one) for place in (path, *folders)):
                raise WeftError("is an input, which would be lost", where=where, fix=OTHER_NAME)


def _meant(word: object) -> Iterable[Path]:
    """The files and folders that an input may name."""
    if not isinstance(word, str | Path):
        return ()
    path = Path(word)
    try:
        return matching(path)[1] if is_pattern(str(word)) and not path.exists() else (path,)
    except (OSError, ValueError, WeftError):  # a text, which is no name
        return ()


def _same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the disk, as those of a file."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise storage_error(error if isinstance(error, OSError) else OSError(22, str(error)), path) from error


def plain_place(path: Path) -> Path | None:
    """The plain file that is written at a name, links followed; None for a device, a pipe or an open stream."""
    with _named(path):
        path = _followed(path)
        if path.is_dir():
            raise IsADirectoryError(21, "a folder stands there")
        return None if _stream(path) or (path.exists() and not path.is_file()) else path


def write_made(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file, or with the ending .zarr a store, whose content is the bytes of a zip file of it."""
    with _named(path):
        path = _followed(path)
        stream = _stream(path)
        special = stream is not None or (path.exists() and not path.is_file() and not path.is_dir())
    if special:
        _write_into(path, (content,) if isinstance(content, bytes) else content, stream)
    elif path.suffix.lower() == ".zarr" and isinstance(content, bytes):
        _write_store(path, content)
    else:
        write_file(path, content)


def _stream(path: Path) -> re.Match[str] | None:
    """The open stream that a name stands for."""
    return STREAM.fullmatch(os.path.abspath(path))


def _followed(path: Path) -> Path:
    """The file that a link leads to, though it may not be there yet; links of the system to open files are left."""
    for _ in range(MOST_LINKS):
        if STREAM.fullmatch(os.path.abspath(path)) or not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)
    raise OSError(0, "links that lead to one another")


def _write_into(path: Path, chunks: Iterable[bytes], stream: re.Match[str] | None) -> None:
    """Write into a device, a pipe or an open file, which can be no other: it is not replaced."""
    with _named(path):
        if stream is None:
            file = os.open(path, os.O_WRONLY)
        else:
            number = {"stdin": 0, "stdout": 1, "stderr": 2}.get(stream[1] or "")
            for one in (sys.stdout, sys.stderr):
                if one is not None:
                    one.flush()
            file = os.dup(int(stream[2]) if number is None else number)
        try:
            for chunk in chunks:
                write_all(file, chunk)
        finally:
            os.close(file)


def _write_store(path: Path, packed: bytes) -> None:
    """Write a zarr store, given as the bytes of a zip file, as a folder: whole or not at all."""
    require_space(path, len(packed))
    unfinished, earlier = temporary(path.parent), temporary(path.parent)
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(unfinished)
        if is_store(path) and path.is_dir():
            os.rename(path, earlier)
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, path, needed=len(packed)) from error
    finally:
        for left in (unfinished, earlier):
            with contextlib.suppress(OSError):
                shutil.rmtree(left)
