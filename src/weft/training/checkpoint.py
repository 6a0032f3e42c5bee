"""Checkpoints of a run: whole or absent, verified before use. Knows tensors and JSON, not what they mean.

    checkpoints/00000200/                         a checkpoint: the name appears by one rename, when all is on disk
        model.safetensors  optimizer.safetensors  the tensors, one file for each group; or, where processes share
        shard-00001-….safetensors                 weights, one file for each process (`shards`)
        state.json                                what is not a tensor
        manifest.json                             written last: length and SHA-256 of the others
    checkpoints/.tmp-step-200-5f0c…/              being written, or being deleted
    checkpoints/00000200.old-91ab…/               the previous one of the same step, until a new one has its name
    checkpoints/00000200.diverged-7c3e…/          set aside when the run diverged: neither loaded nor deleted

Which checkpoint is the latest is computed from what verifies, never stored. Newer means saved later, by the count
in the manifests: steps start again when a run does, and clocks jump.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.errors import DataError, StorageError, WeftError, nearest
from weft.json_text import read_json, write_json
from weft.storage import store
from weft.storage.tensors import read_checked, read_tensors, tensor_bytes, write_checked, write_tensors
from weft.training.manifest import (
    MANIFEST,
    NewerFormat,
    environment,
    environment_differences,
    make_manifest,
    read_manifest,
    verify,
    verify_file,
)
from weft.training.naming import PLAIN_NAME
from weft.training.retention import (
    MIN_CHECKPOINTS,
    aside_name,
    checkpoints_in,
    committed,
    diverged_name,
    entries,
    is_unfinished,
    prune,
    sequence,
    unfinished_name,
)
from weft.training.shards import Cut, Groups, read_shards, shards_in, write_shards

__all__ = [
    "Checkpoint",
    "NewerFormat",
    "environment",
    "environment_differences",
    "latest",
    "read_tensors",
    "save_checkpoint",
    "saved_weights",
    "set_aside",
    "write_tensors",
]

STATE, WEIGHTS = "state.json", "model.safetensors"


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that verified when it was found. What is read from it is verified again while it is read."""

    path: Path
    step: int
    manifest: Mapping[str, Any]

    def tensors(self, stem: str) -> dict[str, Tensor]:
        """The tensors of one group, each in separate memory."""
        if self._shards:
            if stem not in (groups := self.groups()):
                raise self._missing(stem)
            return groups[stem]
        path, expected = self._file(f"{stem}.safetensors")
        try:
            tensors, sha256 = read_checked(path)
        except DataError as error:
            raise self._changed(path, error.problem) from error
        if sha256 != expected:
            raise self._changed(path, "its SHA-256 differs")
        return tensors

    def groups(self, cut: Cut | None = None) -> Groups:
        """The tensors of all groups; with `cut`, what one process holds of them."""
        if not self._shards:
            stems = [name.removesuffix(".safetensors") for name in self.manifest["files"] if name != STATE]
            groups = {stem: self.tensors(stem) for stem in stems}
            if cut is None:
                return groups
            return {stem: {n: cut.of(stem, n, t) for n, t in groups[stem].items()} for stem in stems}
        digests = {name: entry["sha256"] for name, entry in self.manifest["files"].items()}
        try:
            found, changed = read_shards(self._shards, digests, cut)
        except DataError as error:
            raise self._changed(self.path, error.problem) from error
        if changed:
            raise self._changed(changed[0], "its SHA-256 differs")
        return found

    @property
    def _shards(self) -> list[Path]:
        return shards_in(self.path, self.manifest["files"])

    def state(self) -> dict[str, Any]:
        """What is not a tensor."""
        path, expected = self._file(STATE)
        data = store.read_file(path)
        if hashlib.sha256(data).hexdigest() != expected:
            raise self._changed(path, "its SHA-256 differs")
        return read_json(data, where=store.shown(path))

    def _file(self, name: str) -> tuple[Path, str]:
        files = self.manifest["files"]
        if name not in files:
            raise self._missing(name)
        return self.path / name, files[name]["sha256"]

    def _missing(self, name: str) -> StorageError:
        problem, fix = f"this checkpoint has no {name}", nearest(name, self.manifest["files"])
        return StorageError(problem, where=store.shown(self.path), fix=fix)

    def _changed(self, path: Path, how: str) -> StorageError:
        fix = "resume again: the newest checkpoint that verifies will be taken"
        return StorageError(f"changed after it was verified: {how}", where=store.shown(path), fix=fix)


def save_checkpoint(
    folder: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, Tensor]],
    state: Mapping[str, Any],
    *,
    keep: int = MIN_CHECKPOINTS,
    good: int | None = None,
    report: Callable[[str], None] = _to_stderr,
    cut: Cut | None = None,
) -> Path:
    """Save a checkpoint in a run folder and return its place; then delete all but the `keep` newest that verify.

    That of the step `good` stays too. If saving fails, a StorageError says why, and earlier checkpoints are unchanged.
    With `cut` all processes save what they hold: the first names the place, and gives it its name when all have
    written; where one fails, all do.
    """
    home = checkpoints_in(folder)
    first, by_first = cut is None or cut.share.world.first, _here if cut is None else cut.share.world.by_first
    size = sum(map(tensor_bytes, tensors.values()))
    whole = size if cut is None else int(cut.share.world.add(size)[0] / cut.share.replicas)
    staged: Path | None = None
    try:
        staged = home / by_first(lambda: _stage(folder, home, step, whole))
        files = _write_files(staged, tensors) if cut is None else write_shards(staged, tensors, cut)
        path = home / by_first(lambda: _finish(home, staged or home, step, files, state))
    except BaseException as error:
        if first and staged is not None:
            with contextlib.suppress(WeftError):
                store.remove_folder(staged, first=MANIFEST)
        if isinstance(error, OSError):
            raise store.storage_error(error, home) from error
        raise
    if first:
        prune(home, path, max(keep, MIN_CHECKPOINTS), report, good)
    return path


def _here(action: Callable[[], str]) -> str:
    return action()


def _stage(folder: Path, home: Path, step: int, size: int) -> str:
    """Make the folder that a checkpoint is written into; its name."""
    store.require_space(home, size)
    with contextlib.suppress(FileExistsError):
        os.mkdir(home, store.FOLDER_MODE)
        store.sync_folder(folder)
    staged = home / unfinished_name(step)
    os.mkdir(staged, store.FOLDER_MODE)
    return staged.name


def _finish(home: Path, staged: Path, step: int, files: dict[str, dict[str, Any]], state: Mapping[str, Any]) -> str:
    """Write what is not a tensor and the manifest, and give the folder its name."""
    data = write_json(dict(state)).encode()
    read_json(data, where=STATE)  # what could not be read back must not be saved
    files[STATE] = {"bytes": len(data), "sha256": store.write_file(staged / STATE, data)}
    manifest = make_manifest(step, 1 + max(map(sequence, committed(home)), default=0), files)
    store.write_file(staged / MANIFEST, write_json(manifest).encode())
    return _commit(staged, home / f"{step:08d}").name


def set_aside(folder: Path, step: int) -> list[str] | None:
    """Rename the checkpoints that were saved after that of a step, so that resuming goes back to it; the new names.

    None, and nothing is renamed, where that one does not verify. What cannot be read or renamed stays as it is.
    """
    try:
        home = checkpoints_in(folder)
        good = home / f"{step:08d}"
        manifest = read_manifest(good)
        verify(good, manifest)
        later = [path for path in sorted(committed(home)) if sequence(path) > manifest["sequence"]]
    except WeftError:
        return None
    renamed = []
    for path in later:
        with contextlib.suppress(OSError):
            renamed.append(path.rename(path.with_name(diverged_name(path))).name)
    return renamed


def _write_files(staged: Path, tensors: Mapping[str, Mapping[str, Tensor]]) -> dict[str, dict[str, Any]]:
    files: dict[str, dict[str, Any]] = {}
    for stem, group in tensors.items():
        name = f"{stem}.safetensors"
        if not PLAIN_NAME.fullmatch(name):
            raise ValueError(f"not a name for a file: {name!r}")
        sha256, sums = write_checked(staged / name, group)
        files[name] = {"bytes": (staged / name).stat().st_size, "sha256": sha256, "tensors": sums}
    return files


def _commit(staged: Path, final: Path) -> Path:
    """Give a complete checkpoint its name. One that has it steps aside, and stays loadable until this is done."""
    aside = final.with_name(aside_name(final.name))
    if final.is_symlink():
        os.unlink(final)
    replaced = final.exists()
    if replaced:
        os.rename(final, aside)
    try:
        os.rename(staged, final)
    except OSError:
        if replaced:
            with contextlib.suppress(OSError):
                os.rename(aside, final)
        raise
    store.sync_folder(final.parent)
    return final


def latest(folder: Path, *, report: Callable[[str], None] = _to_stderr) -> Checkpoint | None:
    """The newest checkpoint of a run that verifies, None if there is none; one line reports each that does not.

    If there are checkpoints but none verifies, a StorageError lists them and what is wrong with each.
    """
    home = checkpoints_in(folder)
    manifests, damaged = {}, {}
    for path in committed(home):
        try:
            manifests[path] = read_manifest(path)
        except StorageError as error:
            damaged[path] = error.problem
    found = None
    for path in sorted(manifests, key=lambda path: (manifests[path]["sequence"], path.name), reverse=True):
        try:
            verify(path, manifests[path])
        except StorageError as error:
            damaged[path] = error.problem
            continue
        found = Checkpoint(path, manifests[path]["step"], manifests[path])
        break
    if found is None and damaged:
        raise _none_left(folder, damaged, manifests)
    for path in sorted(damaged):
        report(f"{home.name}/{path.name}: {damaged[path]}; skipped")
    _report_strangers(home, found, report)
    return found


def saved_weights(folder: Path) -> set[str]:
    """The SHA-256 of the weights of each checkpoint of a run, by their manifests."""
    found = set()
    for path in committed(checkpoints_in(folder)):
        with contextlib.suppress(WeftError, KeyError):
            found.add(read_manifest(path)["files"][WEIGHTS]["sha256"])
    return found


def _report_strangers(home: Path, found: Checkpoint | None, report: Callable[[str], None]) -> None:
    for path in sorted(entries(home)):
        if is_unfinished(path):
            report(f"{home.name}/{path.name}: left by an interrupted save; ignored")
    if found is not None:
        extra = {path.name for path in entries(found.path)} - {MANIFEST, *found.manifest["files"]}
        if extra:
            report(f"{home.name}/{found.path.name}: not in its manifest: {', '.join(sorted(extra))}; ignored")


def _none_left(folder: Path, damaged: Mapping[Path, str], manifests: Mapping[Path, Any]) -> StorageError:
    fix = "restore the folder from a copy, or start a new run"
    for path in sorted(manifests, key=lambda path: manifests[path]["sequence"]):
        with contextlib.suppress(StorageError, KeyError):
            verify_file(path / WEIGHTS, manifests[path]["files"][WEIGHTS])
            whole, run = store.shown(path / WEIGHTS), store.shown(folder)
            fix = f"the weights in {whole} are undamaged: copy them into {run} and start a new run with --from {run}"
    reasons = "".join(f"\n  {path.name}: {damaged[path]}" for path in sorted(damaged))
    return StorageError(f"no checkpoint can be used{reasons}", where=store.shown(folder / "checkpoints"), fix=fix)
