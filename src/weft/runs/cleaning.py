"""What a run no longer needs: what only training reads.

Checkpoints of a finished run hold the optimizer's state; features are what a frozen encoder gave.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.runs.finding import require_run
from weft.runs.listing import folder_bytes
from weft.runs.verifying import verify_run
from weft.storage.lock import RunLock
from weft.storage.prepared import ABOUT, PreparedStore, usual_place
from weft.storage.store import remove_folder, shown
from weft.training.features import kept_files, remove_features
from weft.training.folder import RunFolder
from weft.training.retention import checkpoints_in, committed, delete, entries, is_unfinished


@dataclass(frozen=True)
class Cleaned:
    """What was, or would be, removed from a run; `kept` says why nothing was."""

    run: str
    bytes: int = 0
    checkpoints: int = 0
    features: int = 0  # files
    kept: str = ""


def clean_run(run: str | Path, *, dry: bool = False) -> Cleaned:
    """Remove checkpoints and kept features of a finished run, once its weights are known to be what was written.

    `dry` only says what would go. Runs that are not finished keep theirs, and so does one whose files have changed:
    a checkpoint may be all that is left of it.
    """
    path = require_run(run)
    folder, name = RunFolder(path), shown(path)
    try:
        finished, home, features = folder.finished, checkpoints_in(path), kept_files(path)
    except WeftError as error:
        return Cleaned(name, kept=error.problem)
    if not finished:
        return Cleaned(name, kept="not finished: training resumes from its checkpoints")
    doomed = [*committed(home), *filter(is_unfinished, entries(home))]
    size = sum(map(folder_bytes, doomed)) + sum(one.stat().st_size for one in features)
    if not doomed and not features:
        return Cleaned(name)
    found = verify_run(path)
    if found.refused:
        changed = ", ".join(f"{file} {what}" for file, what in found.refused.items())
        return Cleaned(name, kept=f"changed since it was written: {changed}")
    if not dry:
        with RunLock(path):
            for one in doomed:
                remove_folder(one) if is_unfinished(one) else delete(one)
            if doomed and not entries(home):
                home.rmdir()
            if features:
                remove_features(path)
    return Cleaned(name, size, len(doomed), len(features))


@dataclass(frozen=True)
class CleanedPrepared:
    """Prepared data that was, or would be, removed; it is made again where a training needs it."""

    folder: str
    entries: int
    bytes: int


def clean_prepared(place: str | Path | None = None, *, dry: bool = False) -> CleanedPrepared:
    """Remove prepared data from a folder, by default the usual one. Who reads it now goes on reading."""
    store = PreparedStore(usual_place() if place is None else Path(place))
    found = store.entries()
    if not dry:
        for entry in found:
            remove_folder(entry.folder, first=ABOUT)
        if store.folder.is_dir():
            store.sweep()
    return CleanedPrepared(shown(store.folder), len(found), sum(entry.bytes for entry in found))


def clean_runs(runs: Iterable[str | Path], *, dry: bool = False) -> list[Cleaned]:
    """All of these runs, each for itself."""
    return [clean_run(run, dry=dry) for run in runs]
