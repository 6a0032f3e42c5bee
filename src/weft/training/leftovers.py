"""What a killed process left in a run folder: swept away by whoever next uses the run, if nobody is writing there.

.lock  .tmp-5f0c…                  of the folder's writer: taking the lock removes them
checkpoints/.tmp-step-200-5f0c…    a checkpoint that was being written, or being deleted
"""

import contextlib
from pathlib import Path

from weft.errors import WeftError
from weft.storage import store
from weft.storage.lock import is_leftover
from weft.training.manifest import MANIFEST
from weft.training.retention import entries, is_unfinished


def sweep(folder: Path) -> None:
    """Remove leftovers. A folder in which a run is being trained, or which cannot be written, is left as it is."""
    with contextlib.suppress(WeftError):
        if any(map(is_leftover, entries(folder))) or _unfinished(folder):
            with store.RunLock(folder):
                sweep_checkpoints(folder)


def sweep_checkpoints(folder: Path) -> None:
    """Remove unfinished checkpoints from a folder that is locked by this process."""
    for path in _unfinished(folder):
        with contextlib.suppress(WeftError):
            store.remove_folder(path, first=MANIFEST)


def _unfinished(folder: Path) -> list[Path]:
    return [path for path in entries(folder / "checkpoints") if is_unfinished(path)]
