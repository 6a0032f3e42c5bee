"""Whether a run is still what it was: every file compared with the seal in config.json, and every checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weft.domains.registry import task_of
from weft.errors import WeftError
from weft.runs.finding import require_run
from weft.training.base_run import ADAPTERS, WEIGHTS, base_of
from weft.training.folder import RunFolder
from weft.training.seal import CONFIG, FileSeal


@dataclass(frozen=True)
class Verified:
    """What was found, by file: `refused` ones decide answers or measures and are not read; `changed` ones are read."""

    sealed: bool  # runs of earlier versions are not, and nothing is known of their files
    refused: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    checkpoints: Mapping[str, str] = field(default_factory=dict)  # those that cannot be resumed from

    @property
    def whole(self) -> bool:
        """Whether nothing has changed."""
        return not (self.refused or self.changed or self.checkpoints)


def verify_run(run: str | Path) -> Verified:
    """Compare all files of a run with what was written; nothing is loaded and nothing is changed."""
    folder = RunFolder(require_run(run))
    try:
        config = folder.config()
    except WeftError as error:
        return Verified(sealed=True, refused={CONFIG: error.problem})
    base = base_of(config, str(folder.path / CONFIG))
    task = task_of(config, str(folder.path / CONFIG))  # none of a run that was composed by hand
    kept = () if task is None else task.keeps
    read = {
        WEIGHTS if base is None else ADAPTERS,
        *(codec["file"] for codec in config.get("codecs", {}).values() if "file" in codec),
        *(name for name in kept if (folder.path / name).exists()),  # a run is measured without one that is missing
    }
    differences = {name: _difference(folder.path / name, seal) for name, seal in folder.seals().items()}
    found = {name: difference for name, difference in differences.items() if difference}
    refused = {name: found[name] for name in found if name in read}
    if base is not None and (lost := base.difference(folder.path)):
        refused[base.run] = lost
    return Verified(
        sealed=folder.sealed,
        refused=refused,
        changed={name: found[name] for name in found if name not in read},
        checkpoints=_checkpoints(folder.path),
    )


def _difference(path: Path, seal: FileSeal) -> str:
    """What is not as it was, in words; nothing where all is."""
    if not path.exists():
        return "missing"
    try:
        return seal.difference(FileSeal.of_file(path))
    except WeftError as error:
        return error.problem


def _checkpoints(folder: Path) -> dict[str, str]:
    """The checkpoints that do not verify, and why."""
    from weft.training.manifest import read_manifest, verify
    from weft.training.retention import checkpoints_in, committed

    found = {}
    try:
        saved = sorted(committed(checkpoints_in(folder)))
    except WeftError as error:
        return {"": error.problem}
    for path in saved:
        try:
            verify(path, read_manifest(path))
        except WeftError as error:
            found[path.name] = error.problem
    return found
