"""Who goes first, the loop or the engine: Python lets one of both compute at a time.

Every call of the loop to the system hands the interpreter to the engine's thread, which keeps it for a while: some
hundred requests at once would wait for seconds. A loop that has had no rest for a while is therefore let through
between two steps of the engine. Knows neither requests nor models.
"""

import asyncio
import gc
import selectors
import threading
import time
from typing import Any

BEHIND = 0.002  # seconds without rest after which the loop goes first
LONGEST = 0.05  # seconds that a step waits for it


def settle() -> None:
    """Let the collector of garbage pass over all that is loaded by now: a look at it would hold up everybody."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class Turns:
    """The loop notes when it rests; the engine calls `give_way` before each step."""

    def __init__(self) -> None:
        self._resting, self._since = threading.Event(), time.monotonic()
        self._resting.set()

    def rest(self) -> None:
        """The loop has nothing to do."""
        self._resting.set()

    def work(self) -> None:
        """The loop has something to do."""
        self._since = time.monotonic()
        self._resting.clear()

    def give_way(self) -> None:
        """Wait for a loop that is behind, a moment at most."""
        if not self._resting.is_set() and time.monotonic() - self._since > BEHIND:
            self._resting.wait(LONGEST)

    def loop(self) -> asyncio.AbstractEventLoop:
        """A loop that notes its rests, where loops wait by selectors."""
        new = asyncio.new_event_loop()
        if not isinstance(new, asyncio.SelectorEventLoop):
            return new
        new.close()
        return asyncio.SelectorEventLoop(_NotedSelector(self))


class _NotedSelector(selectors.DefaultSelector):
    """A selector that tells waiting from having found something at once."""

    def __init__(self, turns: Turns):
        super().__init__()
        self._turns = turns

    def select(self, timeout: float | None = None) -> Any:
        """What can be read or written."""
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        self._turns.rest()
        try:
            return super().select(timeout)
        finally:
            self._turns.work()
