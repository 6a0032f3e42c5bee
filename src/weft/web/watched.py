"""A run in training, watched from outside: its curves, the time that is left, what its model answers by now.

All is read from the run's folder: metrics.jsonl as it grows, and the newest checkpoint. Nothing is written there, and
the process that trains knows nothing of it.
"""

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import WeftError, harmless
from weft.runs import Run, load
from weft.runs.listing import FINISHED, IMPORTED, TRAINING
from weft.tasks.using import own_data
from weft.training.folder import RunFolder
from weft.training.metrics import METRICS
from weft.training.retention import checkpoints_in, committed, step_of
from weft.training.run_config import budget_of

MOST_POINTS = 800  # of a curve; where there are more, neighbours are joined
RECENT = 50  # steps whose pace tells the time that is left
MOST_WEIGHTS = 256 * 2**20  # bytes of a checkpoint whose model is tried
MOST_DATA = 32 * 2**20  # bytes of data that are read again for an input to try
LONGEST = 2000  # characters of an answer
FEW_TOKENS = 60


class Curve:
    """Steps and values; a long curve is joined by pairs, so that it stays short."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []
        self._each, self._waiting = 1, list[tuple[float, float]]()

    def add(self, step: float, value: float) -> None:
        """Add a point."""
        self._waiting.append((step, value))
        if len(self._waiting) < self._each:
            return
        self._points.append(_middle(self._waiting))
        self._waiting = []
        if len(self._points) > MOST_POINTS:
            self._points = [_middle(self._points[i : i + 2]) for i in range(0, len(self._points), 2)]
            self._each *= 2

    def told(self) -> list[list[float]]:
        """All points, those that wait to be joined as one."""
        return [[step, value] for step, value in [*self._points, *([_middle(self._waiting)] if self._waiting else [])]]


def _middle(points: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(step for step, _ in points), statistics.fmean(value for _, value in points)


@dataclass(frozen=True)
class Tried:
    """What the model of a checkpoint answered to an input, and the page of a look at it."""

    step: int
    asked: str
    said: str
    page: bytes | None = None


class WatchedRun:
    """One run in training. `update` reads what is new, in a thread of its own; `told` is what a page shows of it."""

    def __init__(self, name: str, path: Path, state: str = TRAINING):
        self.name, self.path, self.state = name, path, state
        self.folder = RunFolder(path)
        self.config: Mapping[str, Any] = self.folder.config()
        self.tried: Tried | None = None
        self.note = ""  # why nothing is tried
        self._example: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._read, self._curves = 0, {"loss": Curve(), "held_out": Curve()}
        self._last: Mapping[str, Any] = {}
        self._times: list[tuple[int, float]] = []

    def update(self) -> None:
        """Read what was added to the metrics. A file that became shorter is read anew."""
        path = self.path / METRICS
        try:
            if path.stat().st_size < self._read:
                self._begin()
            with path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError:
            return
        whole, _, _ = new.rpartition(b"\n")
        self._read += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            step = int(row["step"])
        except (ValueError, KeyError, TypeError):
            return
        for name, curve in self._curves.items():
            if isinstance(value := row.get(name), int | float):
                curve.add(step, float(value))
        self._last = row
        if isinstance(seconds := row.get("seconds"), int | float):
            self._times = [*self._times[-RECENT:], (step, float(seconds))]

    @property
    def checkpoint(self) -> int | None:
        """The step of the newest checkpoint."""
        return max((step_of(path) for path in committed(checkpoints_in(self.path))), default=None)

    def trial(self) -> None:
        """Let the model of the newest checkpoint answer, where it is new and small enough to be loaded beside."""
        newest = self.checkpoint
        if newest is None or (self.tried is not None and self.tried.step >= newest) or self.note:
            return
        if _bytes(checkpoints_in(self.path)) > 4 * MOST_WEIGHTS:
            self.note = "The model is too large to be tried beside its training."
            return
        try:
            self.tried = _tried(load(self.path, device="cpu"), newest, self._asked)
        except WeftError as error:  # its checkpoint was replaced meanwhile, or the task answers nothing yet
            self.note = "" if self.checkpoint != newest else f"Nothing is tried: {error.problem}."

    def _asked(self, run: Run) -> str:
        """An input to try: one that was held out, or the task's usual one."""
        if self._example is None:
            usual = run.task.card.example if run.task.asks[0].kind in ("text", "place") else ""
            self._example = _held_out(run) or usual
        return self._example

    def told(self, look: Callable[[bytes], str]) -> dict[str, Any]:
        """What a page shows; `look` gives the address of a page."""
        tried = self.tried
        result = self.config.get("result") or {}
        return {
            "name": self.name,
            "state": self.state,
            "task": str(self.config.get("task") or ""),
            "model": str(self.config.get("model_name") or ""),
            "data": str((self.config.get("data") or {}).get("described") or ""),
            "step": int(self._last.get("step", 0)),
            "end": self.end,
            "seconds": self._times[-1][1] if self._times else 0.0,
            "left": 0.0 if self.state != TRAINING else self.left,
            "curves": {name: curve.told() for name, curve in self._curves.items()},
            "metrics": result.get("metrics", {}),
            "note": self.note,
            "tried": None
            if tried is None
            else {
                "step": tried.step,
                "input": tried.asked,
                "said": tried.said,
                "page": None if tried.page is None else look(tried.page),
            },
        }

    @property
    def end(self) -> int | None:
        """The last step, where it is known: it is said, or stands in a checkpoint."""
        said = budget_of(self.config, str(self.path)).steps if self.config.get("budget") else None
        if said is not None:
            return said
        paths = sorted(committed(checkpoints_in(self.path)), key=step_of)
        try:
            return int(json.loads((paths[-1] / "state.json").read_bytes())["horizon"]["end"])
        except (IndexError, OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def left(self) -> float | None:
        """The seconds that are left, by the pace of the last steps; None where nothing tells."""
        minutes = budget_of(self.config, str(self.path)).minutes if self.config.get("budget") else None
        if not self._times:
            return None
        step, seconds = self._times[-1]
        if minutes is not None:
            return max(0.0, 60 * minutes - seconds)
        end, (first, before) = self.end, self._times[0]
        if end is None or step <= first:
            return None
        return max(0.0, (end - step) * (seconds - before) / (step - first))

    def finished(self) -> bool:
        """Whether the run has come to its end since; its result is read then."""
        if self.folder.finished:
            self.config, self.state = self.folder.config(), FINISHED
        return self.state in (FINISHED, IMPORTED)


def _tried(run: Run, step: int, asked: Callable[[Run], str]) -> Tried:
    task, how = run.task, dict[str, Any]()
    given = asked(run)
    for name, value in (("max_tokens", FEW_TOKENS), ("seed", 0)):
        if hasattr(task.Predict, name):
            how[name] = value
    answers = run.predict(given, **how)
    said = "\n".join(task.shown(one) for one in answers)
    try:
        page = run.look(given).page()
    except WeftError:  # nothing can be seen of this input
        page = None
    return Tried(step, harmless(given)[:LONGEST], harmless(said)[:LONGEST], page)


def _held_out(run: Run) -> str | None:
    """An input that was held out of the run's data, where that is small and still there."""
    try:
        if sum(_bytes(Path(one)) for one in run.loaded.data.sources) > MOST_DATA:
            return None
        return own_data(run.task, run.loaded).example()
    except WeftError:
        return None


def _bytes(path: Path) -> int:
    """The size of a file, or of all files in a folder."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
    except OSError:
        return 0
