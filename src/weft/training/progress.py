"""Progress on stderr: a bar in a terminal or notebook, now and then a line in a log. Never stops the training."""

import sys
import time
from collections.abc import Callable
from typing import Any

from weft.amounts import duration
from weft.errors import harmless

FIRST_LINE_AFTER = 2.0  # seconds until the first line of a log, which says how long the run will take
LINES_EVERY = 10.0  # seconds between lines after that, growing with the run


class Progress:
    """Tells how a run goes. Everything goes to stderr, and a closed stderr is no reason to stop."""

    def __init__(self, *, quiet: bool = False):
        self.quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._began = self._next = time.monotonic()

    def say(self, text: str) -> None:
        """One line for people."""
        if self.quiet or sys.stderr is None:
            return
        try:
            if self._bar is not None:
                self._bar.console.print(harmless(text), markup=False, highlight=False)
            else:
                print(harmless(text), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            self.quiet = True

    def start(self, done: float) -> None:
        """Training begins, or goes on from a share already done."""
        self._began = time.monotonic()
        self._next = self._began + FIRST_LINE_AFTER
        if self.quiet or not (_terminal() or _notebook()):
            return
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}"))
        self._bar = Bar(*columns, console=Console(stderr=True), refresh_per_second=4)
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0, completed=done)

    def step(self, progress: float, values: dict[str, str], left: float) -> None:
        """The share done, what to show, and the seconds left."""
        text = "  ".join(f"{name} {value}" for name, value in values.items())
        text += f"  {duration(left)} left"
        if self._bar is not None:
            try:
                self._bar.update(self._task, completed=progress, description=text)
            except (OSError, ValueError):
                self.quiet = True
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + max(LINES_EVERY, (now - self._began) / 20)
            self.say(f"{progress:4.0%}  {text}")

    def stop(self) -> None:
        """Training is over: the bar stays where it is."""
        if self._bar is not None:
            try:
                self._bar.stop()
            except (OSError, ValueError):
                self.quiet = True
            self._bar = None


def counter(progress: Progress, total: int, word: str) -> Callable[[int], None]:
    """A listener that shows how many of some things are done, where someone watches."""
    began = time.monotonic()
    progress.start(0.0)

    def done(number: int) -> None:
        left = (time.monotonic() - began) / number * (total - number)
        progress.step(number / total, {word: f"{number:,}/{total:,}"}, left)

    return done


def read_counter(progress: Progress) -> Callable[[int, int], None]:
    """A listener that shows how many of how many files are read."""
    listeners: dict[int, Callable[[int], None]] = {}

    def done(number: int, total: int) -> None:
        if total not in listeners:
            listeners[total] = counter(progress, total, "files read")
        listeners[total](number)

    return done


def _terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
