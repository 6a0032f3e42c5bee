"""The run folder: what is in it, how it is begun, gone on with and finished. Knows no task.

config.json          everything needed to build the model again, and how it was trained
model.safetensors    the weights
tokenizer.json       (and other files that a task adds)
metrics.jsonl        one line a step
README.md            the model card, filled from measurements
loss.png             the loss curve
checkpoints/         where a stopped run goes on
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.config import read_json, write_json
from weft.errors import ConfigError, StorageError, WeftError
from weft.training import store
from weft.training.checkpoint import Checkpoint, environment, environment_differences, latest, save_checkpoint
from weft.training.progress import Progress
from weft.training.tensors import read_tensors, write_tensors
from weft.version import VERSION

FORMAT = 1


class RunFolder:
    """A folder that a person can read and another tool can load. All writing goes through the store."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._complained = False

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.path / "config.json").exists()

    @property
    def finished(self) -> bool:
        """Whether the run has its final weights."""
        return (self.path / "model.safetensors").exists()

    def begin(self, config: Mapping[str, Any], files: Mapping[str, str]) -> None:
        """Write what is known before the first step; a folder that holds something else is refused."""
        store.make_folder(self.path)
        store.probe(self.path)
        for name, text in files.items():
            store.write_file(self.path / name, text.encode())
        self.write_config(config)

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write config.json."""
        text = write_json({"format": FORMAT, "weft": VERSION, **config})
        store.write_file(self.path / "config.json", text.encode())

    def config(self) -> dict[str, Any]:
        """Read config.json, strictly."""
        path = self.path / "config.json"
        if not path.exists():
            raise WeftError(
                "not a run: there is no config.json", where=str(self.path), fix="name a folder that weft train wrote"
            )
        data = read_json(store.read_file(path), where=str(path))
        if not isinstance(data, dict) or not isinstance(data.get("format"), int):
            raise ConfigError("not a weft run's config", where=str(path))
        if data["format"] > FORMAT:
            raise ConfigError(
                f"written by weft {data.get('weft')} in format {data['format']}; this is weft {VERSION}, which reads "
                f"up to format {FORMAT}",
                where=str(path),
                fix="update weft",
            )
        return data

    def text(self, name: str) -> str:
        """One of the run's text files."""
        path = self.path / name
        if not path.exists():
            raise StorageError(f"{name} is missing from the run", where=str(self.path))
        return store.read_file(path).decode("utf-8")

    def write(self, name: str, data: str | bytes) -> None:
        """Write one of the run's files."""
        store.write_file(self.path / name, data.encode() if isinstance(data, str) else data)

    def note(self, line: Mapping[str, Any], progress: Progress) -> None:
        """Add a line to metrics.jsonl; a full disk costs a warning, not the training."""
        import json

        try:
            store.append_line(self.path / "metrics.jsonl", json.dumps({k: _plain(v) for k, v in line.items()}))
        except StorageError as error:
            if not self._complained:
                self._complained = True
                progress.say(f"warning: metrics are not being written: {error}")

    def metrics(self) -> list[dict[str, Any]]:
        """All lines of metrics.jsonl."""
        path = self.path / "metrics.jsonl"
        return store.read_lines(path) if path.exists() else []

    def save(self, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
        """Save a checkpoint."""
        save_checkpoint(self.path, step, tensors, state)

    def resume(self, progress: Progress) -> Checkpoint | None:
        """The newest checkpoint that verifies; later metrics are dropped, differences of the machine told."""
        found = latest(self.path, report=progress.say)
        step = found.step if found is not None else 0
        if (self.path / "metrics.jsonl").exists():
            store.truncate_lines(self.path / "metrics.jsonl", lambda line: line.get("step", 0) <= step)
        if found is not None:
            for difference in environment_differences(found.manifest["environment"], environment()):
                progress.say(
                    f"warning: resuming under other conditions, results may differ in the last bits: {difference}"
                )
        return found

    def finish(self, weights: Mapping[str, Tensor], files: Mapping[str, str | bytes]) -> None:
        """Write the final weights, last, after the files that describe them."""
        for name, data in files.items():
            self.write(name, data)
        write_tensors(self.path / "model.safetensors", weights, {"format": "pt"})

    def weights(self) -> dict[str, Tensor]:
        """The final weights; those of the newest checkpoint if the run was not finished."""
        if self.finished:
            return read_tensors(self.path / "model.safetensors")
        found = latest(self.path)
        if found is None:
            raise WeftError("this run has no weights yet", where=str(self.path), fix="train it with --resume")
        return found.tensors("model")


def fresh_folder(stem: str, parent: str | Path = "runs") -> Path:
    """runs/<stem>-1, or the next number that is free."""
    name = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:60] or "run"
    number = 1
    while (Path(parent) / f"{name}-{number}").exists():
        number += 1
    return Path(parent) / f"{name}-{number}"


def _plain(value: Any) -> Any:
    """Numbers as JSON can hold them; what is not finite becomes text."""
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return str(value)
    return value
