"""Which folders under checkpoints/ are what, and which may go. Knows names and manifests, nothing of their content.

    00000200                 committed: a checkpoint, if its manifest verifies
    00000200.old-91ab…       committed, but its name now belongs to a newer one of the same step
    00000200.diverged-7c3e…  set aside by a run that diverged after it; left to the user
    .tmp-step-200-5f0c…      being written or being deleted, or left by a process that was killed while it did so

Anything else is a stranger and is never touched.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from weft.errors import StorageError, WeftError
from weft.storage import store
from weft.training.manifest import MANIFEST, NewerFormat, read_manifest, verify

MIN_CHECKPOINTS = 2  # checkpoints that are always kept

_COMMITTED = re.compile(r"(\d{8,})(\.old-[0-9a-f]{12})?")
_UNFINISHED = re.compile(r"\.tmp-step-\d+-[0-9a-f]{12}")


def unfinished_name(step: int) -> str:
    """A new name for what is not, or no longer, a checkpoint."""
    return f".tmp-step-{step}-{secrets.token_hex(6)}"


def aside_name(name: str) -> str:
    """A new name for a checkpoint that must give up its own and stay loadable."""
    return f"{name}.old-{secrets.token_hex(6)}"


def diverged_name(path: Path) -> str:
    """A new name for a checkpoint of a run that went wrong: it is neither loaded nor deleted."""
    return f"{step_of(path):08d}.diverged-{secrets.token_hex(6)}"


def is_unfinished(path: Path) -> bool:
    """Whether a folder is one of those that are never loaded."""
    return bool(_UNFINISHED.fullmatch(path.name))


def entries(folder: Path) -> list[Path]:
    """What is in a folder; nothing, if it is not there."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise store.storage_error(error, folder) from error


def checkpoints_in(run: Path) -> Path:
    """Where a run has its checkpoints; a link in the folder's place is refused."""
    return store.inside(run, "checkpoints")


def committed(home: Path) -> list[Path]:
    """The folders that have, or had, the name of a checkpoint."""
    return [path for path in entries(home) if _COMMITTED.fullmatch(path.name)]


def sequence(folder: Path) -> int:
    """The count of saves up to this checkpoint; 0 if its manifest cannot tell."""
    with contextlib.suppress(WeftError):
        return read_manifest(folder)["sequence"]
    return 0


def step_of(path: Path) -> int:
    """The step of a checkpoint, by its name."""
    return int(path.name.partition(".")[0])


def prune(home: Path, fresh: Path, keep: int, report: Callable[[str], None], good: int | None = None) -> None:
    """Delete what the fresh checkpoint makes superfluous, but not that of the step `good`.

    The save has succeeded: failures here are only reported.
    """
    try:
        doomed = [path for path in _superfluous(home, fresh, keep) if is_unfinished(path) or step_of(path) != good]
    except StorageError as error:
        report(f"{home.name}: old checkpoints could not be deleted ({error.problem})")
        return
    for path in doomed:
        try:
            delete(path)
        except (StorageError, OSError) as error:
            report(f"{home.name}/{path.name}: could not be deleted ({getattr(error, 'problem', error)})")


def _superfluous(home: Path, fresh: Path, keep: int) -> list[Path]:
    """All but the fresh checkpoint and the newest others that verify, `keep` together.

    Damaged ones stay as well until enough valid ones do: what cannot be read today may be readable tomorrow.
    """
    kept: list[Path] = [fresh]
    spare: list[Path] = []
    replaced: list[Path] = []
    for path in sorted(set(committed(home)) - {fresh}, key=lambda path: (sequence(path), path.name), reverse=True):
        try:
            manifest = read_manifest(path)
            if len(kept) < keep and _name_holder(path) not in kept:
                verify(path, manifest)
                kept.append(path)
                continue
        except NewerFormat:
            continue
        except StorageError:
            pass
        (replaced if _name_holder(path) in kept else spare).append(path)
    unfinished = [path for path in entries(home) if is_unfinished(path)]
    return unfinished + replaced + (spare if len(kept) >= MIN_CHECKPOINTS else [])


def _name_holder(path: Path) -> Path:
    """The checkpoint that has, or would have, the name a folder gave up; the folder itself if it gave up none."""
    return path.with_name(path.name.partition(".old-")[0])


def delete(path: Path) -> None:
    """Delete a checkpoint: the name first, then the manifest, so that a half-deleted one is no checkpoint."""
    committed = _COMMITTED.fullmatch(path.name)
    if committed:
        nameless = path.with_name(unfinished_name(int(committed[1])))
        os.rename(path, nameless)
        path = nameless
    store.remove_folder(path, first=MANIFEST)
