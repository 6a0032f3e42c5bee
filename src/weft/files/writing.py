"""Files made for a user, written where the user says; a zarr store is a folder. Each is there whole or not at all."""

import contextlib
import io
import os
import shutil
import zipfile
from pathlib import Path

from weft.files.grid_formats import is_store
from weft.storage.disk import require_space, storage_error
from weft.storage.lock import temporary
from weft.storage.store import sync_folder, write_file


def write_made(path: Path, content: bytes) -> None:
    """Write a file, or with the ending .zarr a store, whose content is the bytes of a zip file of it."""
    if path.suffix.lower() == ".zarr":
        _write_store(path, content)
    else:
        write_file(path, content)


def _write_store(path: Path, packed: bytes) -> None:
    """Write a zarr store, given as the bytes of a zip file, as a folder: whole or not at all."""
    require_space(path, len(packed))
    unfinished = temporary(path.parent)
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(unfinished)
        if is_store(path) and path.is_dir():
            shutil.rmtree(path)
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, path, needed=len(packed)) from error
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(unfinished) if unfinished.is_dir() else os.unlink(unfinished)
