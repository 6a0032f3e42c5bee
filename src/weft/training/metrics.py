"""metrics.jsonl: one line a step. A disk that refuses a line, or a damaged line, costs a warning and not the run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import StorageError
from weft.storage import store
from weft.training.progress import Progress

METRICS = "metrics.jsonl"


class MetricsFile:
    """The lines of a run's metrics. A line is an object with the number of its step."""

    def __init__(self, folder: Path):
        self.path = folder / METRICS
        self._complained = False

    def note(self, line: Mapping[str, Any], progress: Progress) -> None:
        """Add a line; a full disk costs a warning, not the training."""
        try:
            store.append_line(self.path, json.dumps({name: _plain(value) for name, value in line.items()}))
        except StorageError as error:
            self._complain(error, progress)

    def sync(self, progress: Progress) -> None:
        """Make all lines durable: a checkpoint must not outlive those of the steps before it."""
        try:
            if self.path.exists():
                store.sync_file(self.path)
        except StorageError as error:
            self._complain(error, progress)

    def rows(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """All lines; damaged ones are refused, or left out with one warning where `progress` is given."""
        if progress is None:
            return store.read_lines(self.path)
        damaged: list[int] = []
        rows = [row for row in store.read_lines(self.path, damaged=damaged) if _has_step(row)]
        _warn(damaged, progress)
        return rows

    def truncate(self, step: int, progress: Progress) -> None:
        """Drop the lines of later steps, and damaged ones with one warning."""
        damaged: list[int] = []
        store.truncate_lines(self.path, lambda row: _has_step(row) and row["step"] <= step, damaged=damaged)
        _warn(damaged, progress)

    def _complain(self, error: StorageError, progress: Progress) -> None:
        if not self._complained:
            self._complained = True
            progress.say(f"warning: metrics are not being written: {error}")


def _has_step(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("step"), int)


def _warn(damaged: list[int], progress: Progress) -> None:
    if damaged:
        lines = f"line {damaged[0]}" if len(damaged) == 1 else f"{len(damaged)} lines, the first is line {damaged[0]}"
        progress.say(f"warning: {METRICS} is damaged in {lines}, left out; the weights are not affected")


def _plain(value: Any) -> Any:
    """Numbers as JSON can hold them; what is not finite becomes text."""
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return str(value)
    return value
