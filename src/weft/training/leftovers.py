"""What a killed process left in a run folder: swept away by whoever next trains there, or uses the run an hour later.

.lock  .tmp-5f0c…                  of the folder's writer: taking the lock removes them
checkpoints/.tmp-step-200-5f0c…    a checkpoint that was being written, or being deleted
features/.tmp-5f0c…                features that were being written
"""

import contextlib
from pathlib import Path

from weft.errors import WeftError
from weft.storage import store
from weft.storage.lock import is_leftover, is_stale
from weft.training.manifest import MANIFEST
from weft.training.retention import checkpoints_in, entries, is_unfinished

STALE = 3600.0  # seconds without a change after which a file is no longer being written


def sweep(folder: Path) -> None:
    """Remove old leftovers. A folder in which a run is being trained, or which cannot be written, is left as it is."""
    with contextlib.suppress(WeftError):
        found = [*filter(is_leftover, entries(folder)), *_unfinished(folder)]
        if any(is_stale(path, STALE) for path in found):
            with store.RunLock(folder, stale=STALE):
                sweep_checkpoints(folder)


def sweep_checkpoints(folder: Path) -> None:
    """Remove unfinished checkpoints from a folder that is locked by this process."""
    for path in _unfinished(folder):
        with contextlib.suppress(WeftError):
            store.remove_folder(path, first=MANIFEST)


def _unfinished(folder: Path) -> list[Path]:
    return [path for path in entries(checkpoints_in(folder)) if is_unfinished(path)]
