"""The runs in a folder: what each learned, from what, how far it came and how well it does. Loads no torch."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.json_text import read_json
from weft.storage.lock import is_held
from weft.storage.store import read_file, shown
from weft.training.folder import RunFolder
from weft.training.retention import committed, step_of

HOME = Path("runs")
FINISHED, IMPORTED, TRAINING, STOPPED, BEGUN, DAMAGED = (
    "finished",
    "imported",
    "training",
    "stopped",
    "begun",
    "damaged",
)


@dataclass(frozen=True)
class ListedRun:
    """One run. `steps` and `seconds` are those of training so far; `bytes` is what its folder takes."""

    run: str
    task: str = ""
    model: str = ""
    data: str = ""
    state: str = BEGUN
    steps: int = 0
    seconds: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bytes: int = 0
    problem: str = ""  # of a damaged run

    def to_json(self) -> dict[str, Any]:
        """The entry as `weft runs --json` gives it."""
        return asdict(self)


def list_runs(places: Iterable[str | Path] = (HOME,)) -> list[ListedRun]:
    """All runs that are these folders or stand in them, by the time of their last change, the newest first."""
    found = {path.resolve(): path for place in places for path in _runs_in(Path(place))}
    return [describe(path) for path in sorted(found.values(), key=_changed, reverse=True)]


def describe(path: Path) -> ListedRun:
    """What is known of one run. A damaged one is listed too, with what is wrong with it."""
    folder, size = RunFolder(path), folder_bytes(path)
    try:
        config = folder.config()
    except WeftError as error:
        return ListedRun(shown(path), state=DAMAGED, bytes=size, problem=error.problem)
    result = config.get("result") or {}
    step, seconds = _progress(folder, result)
    return ListedRun(
        run=shown(path),
        task=str(config.get("task") or ""),
        model=str(config.get("model_name") or ""),
        data=str((config.get("data") or {}).get("described") or ""),
        state=_state(folder, config),
        steps=step,
        seconds=seconds,
        metrics=result.get("metrics", {}),
        intervals={name: tuple(ends) for name, ends in result.get("intervals", {}).items()},
        bytes=size,
    )


def folder_bytes(path: Path) -> int:
    """What a folder takes on the disk. Links are not followed."""
    total = 0
    for entry in path.rglob("*"):
        with contextlib.suppress(OSError):
            total += 0 if entry.is_dir() and not entry.is_symlink() else entry.lstat().st_size
    return total


def _runs_in(place: Path) -> list[Path]:
    """A folder itself, where it is a run; else the runs directly inside it."""
    if RunFolder(place).exists:
        return [place]
    if not place.is_dir():
        fix = "name a folder that holds runs; `weft train` makes runs/ where it is started"
        raise WeftError("no such folder", where=shown(place), fix=fix)
    return [
        path for path in sorted(place.iterdir()) if path.is_dir() and RunFolder(path).exists and not _exported(path)
    ]


def _exported(path: Path) -> bool:
    """Whether a folder is a model of another library, such as weft export writes beside the runs."""
    with contextlib.suppress(WeftError):
        config = read_json(read_file(path / "config.json"), where=str(path))
        return isinstance(config, dict) and "format" not in config and "model_type" in config
    return False


def _changed(path: Path) -> float:
    times = [file.stat().st_mtime for file in (path / "config.json", path / "metrics.jsonl") if file.exists()]
    return max(times, default=0.0)


def _state(folder: RunFolder, config: Mapping[str, Any]) -> str:
    if is_held(folder.path):
        return TRAINING
    if config.get("imported"):
        return IMPORTED
    if folder.finished:
        return FINISHED
    return STOPPED if committed(folder.path / "checkpoints") else BEGUN


def _progress(folder: RunFolder, result: Mapping[str, Any]) -> tuple[int, float]:
    """Steps and seconds so far: those of the result, else of the last line of metrics.jsonl or the last checkpoint."""
    if result:
        return int(result.get("steps", 0)), float(result.get("seconds", 0.0))
    with contextlib.suppress(WeftError):
        lines = folder.metrics()
        if lines:
            return int(lines[-1]["step"]), float(lines[-1].get("seconds", 0.0))
    steps = [step_of(path) for path in committed(folder.path / "checkpoints")]
    return max(steps, default=0), 0.0
