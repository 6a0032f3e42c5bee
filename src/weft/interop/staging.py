"""Folders that appear whole or not at all: filled under a temporary name, and renamed when all is well."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from weft.errors import StorageError
from weft.storage import store
from weft.storage.lock import temporary


def must_be_new(target: Path) -> None:
    """Refuse a name that is taken, by whatever it is."""
    if os.path.lexists(target):
        raise StorageError("exists already", where=store.shown(target), fix="name a folder that does not exist yet")


@contextlib.contextmanager
def unnamed(target: Path) -> Iterator[Path]:
    """A name for a folder that is called `target` once all is well; after a failure nothing is left of it."""
    must_be_new(target)
    parent = target.absolute().parent
    store.make_folder(parent)
    folder = temporary(parent)
    try:
        yield folder
        os.rename(folder, target)
        store.sync_folder(parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
        if isinstance(error, OSError):
            raise store.storage_error(error, target) from error
        raise


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """The same, and the folder is there to be filled."""
    with unnamed(target) as folder:
        os.mkdir(folder, store.FOLDER_MODE)
        yield folder
