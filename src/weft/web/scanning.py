"""A thread that looks after folders while they are served: runs that finish are loaded, runs in training are watched.

A run whose seal has changed is loaded beside the old one, which goes on for the requests that have begun with it. A run
whose folder has gone is served as it was loaded. No request loads a run. What the thread finds it puts into the table,
whole; requests only read there.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.runs import load
from weft.runs.finding import is_foreign
from weft.runs.listing import FINISHED, IMPORTED, TRAINING
from weft.storage.lock import is_held
from weft.training.folder import RunFolder
from weft.training.metrics import METRICS
from weft.training.seal import KEY
from weft.web.replies import as_refusal
from weft.web.table import RunTable, ServedRun
from weft.web.turns import settle
from weft.web.watched import WatchedRun

EVERY = 2.0  # seconds between two looks at the folders
FRESH = 600.0  # seconds since the last change of a run that may be in training


class Scanner:
    """Looks after some places: folders that hold runs, and runs that were named while they were in training."""

    def __init__(
        self,
        table: RunTable,
        places: Sequence[str | Path],
        *,
        precision: str = "fp32",
        device: str = "auto",
        broken: bool = False,
        say: Callable[[str], Any] = lambda line: None,
    ):
        self.table, self.places, self.say = table, [Path(one) for one in places], say
        self._precision, self._device, self._broken = precision, device, broken
        self._refused: dict[Path, float] = {}  # folders that could not be loaded, and when they had last changed
        self._known: dict[Path, float] = {}  # folders of runs that are served, and when they had last changed
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="weft scan", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """End after the present look."""
        self._ending.set()
        self._thread.join(5)

    def _work(self) -> None:
        while not self._ending.wait(EVERY):
            try:
                self.look()
                for watched in self.table.training.values():
                    watched.trial()
            except Exception as error:  # the thread goes on, whatever is in the folders
                self.say(f"  warning: {as_refusal(error).problem}")

    def look(self) -> None:
        """Find what is new: runs that began, lines of their metrics, runs that finished, runs that were replaced."""
        for path in self._folders():
            try:
                self._look_at(path)
            except (WeftError, OSError) as error:  # half written, or gone meanwhile
                self._refuse(path, error)
        for served in self.table.values():
            try:
                self._look_again(served)
            except (WeftError, OSError) as error:
                self._refuse(served.run.folder, error)
        for watched in self.table.training.values():
            watched.update()

    def _folders(self) -> Iterator[Path]:
        """The runs in all places that are not served yet."""
        known = {one.run.folder.resolve() for one in self.table.values()}
        for place in self.places:
            inside = [place] if RunFolder(place).exists else sorted(place.iterdir()) if place.is_dir() else []
            yield from (one for one in inside if one.is_dir() and one.resolve() not in known)

    def _look_at(self, path: Path) -> None:
        folder, watched = RunFolder(path), self.table.watched(path)
        if not folder.exists or self._refused.get(path) == _changed(path):
            return
        config = folder.config()
        if folder.finished or config.get("imported"):
            if is_held(path):  # its last files are being written
                return
            run = load(path, device=self._device, broken=self._broken)
            name = watched.name if watched is not None else self.table.free_name(path)
            if watched is not None:
                watched.update()
                watched.state, watched.config = IMPORTED if config.get("imported") else FINISHED, config
            self.table.add(ServedRun(name, run, self._precision).prepared())
            self.say(f"  {name}: {run.task.name}, {run.task.ability(run.loaded)}")
        elif watched is None and time.time() - _changed(path) < FRESH and is_held(path):
            self.table.watch(WatchedRun(self.table.free_name(path), path))
        elif watched is not None:
            watched.state = TRAINING if is_held(path) else "stopped"

    def _look_again(self, served: ServedRun) -> None:
        """Load a run anew whose seal has changed, and let it take the place of the old one once it is whole."""
        path = served.run.folder
        folder, changed = RunFolder(path), _changed(path)
        if not folder.exists or is_foreign(path) or changed in (self._known.get(path), self._refused.get(path)):
            return
        seal = folder.config().get(KEY)
        if seal is not None and seal != served.run.config.get(KEY):
            if is_held(path) or not folder.finished:  # a training that replaces it goes on
                return
            run = load(path, device=self._device, broken=self._broken)
            self.table.add(ServedRun(served.name, run, self._precision).prepared())
            self.say(f"  {served.name}: replaced by the run that its folder has now")
            settle()
        self._known[path] = changed

    def _refuse(self, path: Path, error: Exception) -> None:
        changed = _changed(path)
        if self._refused.get(path) != changed:
            self._refused[path] = changed
            self.say(f"  {path}: not served: {error}")


def _changed(path: Path) -> float:
    """When a run was last written to."""
    found = [0.0]
    for name in ("config.json", METRICS):
        try:
            found.append((path / name).stat().st_mtime)
        except OSError:
            continue
    return max(found)
