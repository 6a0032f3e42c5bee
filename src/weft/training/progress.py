"""Progress on stderr: a bar in a terminal or notebook, now and then a line in a log. Never stops the training."""

import html
import sys
import time
from collections.abc import Callable
from pathlib import Path

from weft.amounts import duration
from weft.errors import harmless
from weft.storage.disk import shown

FIRST_LINE_AFTER = 2.0  # seconds until the first line of a log, which says how long the run will take
LINES_EVERY = 10.0  # seconds between lines after that, growing with the run
REDRAWN_EVERY = 0.25  # seconds between two states of a notebook's bar


class _TerminalBar:
    """A bar on one line of a terminal."""

    def __init__(self, done: float):
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}"))
        self._bar = Bar(*columns, console=Console(stderr=True), refresh_per_second=4)
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0, completed=done)  # type: ignore[arg-type]

    def show(self, share: float, text: str) -> None:
        self._bar.update(self._task, completed=share, description=text)

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def stop(self) -> None:
        self._bar.stop()


class _NotebookBar:
    """A bar in one output of a notebook's cell, replaced each time: the saved notebook keeps its last state."""

    def __init__(self, done: float):
        from IPython.display import display

        self._state, self._next = (done, ""), time.monotonic() + REDRAWN_EVERY
        self._output = display(self, display_id=True)

    def show(self, share: float, text: str) -> None:
        self._state = share, text
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REDRAWN_EVERY
            self._output.update(self)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def stop(self) -> None:
        self._output.update(self)

    def __repr__(self) -> str:
        share, text = self._state
        return f"{share:4.0%}  {text}"

    def _repr_html_(self) -> str:
        share, text = self._state
        bar = f'<progress value="{share:.4f}" max="1" style="width:14em;vertical-align:middle"></progress>'
        return f"<div>{bar} {share:.0%} <code>{html.escape(text)}</code></div>"


class Progress:
    """Tells how a run goes. Everything goes to stderr, and a closed stderr is no reason to stop."""

    def __init__(self, *, quiet: bool = False, begun: Callable[[Path, Callable[[str], None]], object] | None = None):
        """`begun` is called once the run has its folder, with the folder and with what says a line."""
        self.quiet, self._begun = quiet, begun
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._output: _NotebookBar | None = None  # one for all that is counted
        self._began = self._next = time.monotonic()

    def say(self, text: str) -> None:
        """One line for people."""
        if self.quiet or sys.stderr is None:
            return
        try:
            if self._bar is not None:
                self._bar.say(harmless(text))
            else:
                print(harmless(text), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            self.quiet = True

    def claimed(self, folder: Path) -> None:
        """The run has its folder."""
        self.say(f"  {'run':<10} {shown(folder)}")
        if self._begun is not None:
            self._begun(folder, self.say)

    def start(self, done: float) -> None:
        """Training begins, or goes on from a share already done."""
        self._began = time.monotonic()
        self._next = self._began + FIRST_LINE_AFTER
        if self.quiet:
            return
        if _notebook():
            self._bar = self._output = self._output or _NotebookBar(done)
        elif _terminal():
            self._bar = _TerminalBar(done)

    def step(self, progress: float, values: dict[str, str], left: float) -> None:
        """The share done, what to show, and the seconds left."""
        text = "  ".join(f"{name} {value}" for name, value in values.items())
        text += f"  {duration(left)} left"
        if self._bar is not None:
            try:
                self._bar.show(progress, harmless(text))
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


def read_counter(progress: Progress, what: str = "files read") -> Callable[[int, int], None]:
    """A listener that shows how many of how many files are read, or whatever else is done with them."""
    listeners: dict[int, Callable[[int], None]] = {}

    def done(number: int, total: int) -> None:
        if total not in listeners:
            listeners[total] = counter(progress, total, what)
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
