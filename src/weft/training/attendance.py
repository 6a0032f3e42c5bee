"""Attendance: which processes of a world are there, how far each one is, and being asked to stop while they wait.

A wait for another process runs in the libraries' code, where Python hears no signal. So each process has a thread that

    beats      writes now and then where its process stands, in the store that all of them share
    hears      signals: a process that waits too long after one is left, with what it can save
    watches    a long wait: it says for whom, and leaves where that one has not beaten for a minute

Knows no weights: `rescue` is the loop's.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from weft.training.signals import STOP_SIGNALS

LOOK, BEAT = 0.25, 1.0  # seconds between looks at a wait, and between two beats
PATIENCE = 3.0  # seconds that a process goes on waiting for another after it was asked to stop
LONG_WAIT = 15.0  # seconds of a wait after which a line says who is waited for
SILENCE = 60.0  # seconds without a beat after which a process counts as gone
ASKED_AGAIN = 0.3  # seconds in which Python itself may leave after a second signal
INTERRUPTED = 75


@dataclass(frozen=True)
class Wait:
    """Work that ends only when the other processes do their part, and how long it may take after a signal."""

    since: float
    patience: float


class Attendance:
    """The thread of one process. `at` is the step that it computes, `say` writes a line, `rescue` saves what it can."""

    def __init__(self, rank: int, size: int):
        self.rank, self.size = rank, size
        self.at = 0
        self.say: Callable[[str], None] | None = None
        self.rescue: Callable[[], str] | None = None
        self.turn = threading.Lock()  # held while weights change, and for ever by a thread that leaves
        self._wait: Wait | None = None
        self._store: Any = None
        self._beats, self._looked = 0, 0.0
        self._seen: dict[int, tuple[int, float, dict[str, Any]]] = {}  # the last beat of each process, and when it came
        self._ended = threading.Event()
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        self._before: int | None = None
        with contextlib.suppress(ValueError):  # not the main thread: the caller listens
            self._before = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="weft-attendance", daemon=True)
        self._thread.start()

    def meet(self, store: Any) -> None:
        """From now on beat in a store."""
        self._store = store
        self._beat()

    def end(self, why: str) -> None:
        """Say that this process leaves, and why. The first one stays until the others have left, or are gone."""
        self._ended.set()
        self._thread.join()
        if self._before is not None:
            signal.set_wakeup_fd(self._before)
        self._ear.close()
        self._mouth.close()
        with contextlib.suppress(Exception):
            self._store.set(f"left {self.rank}", why)
            until = time.monotonic() + PATIENCE
            while self.rank == 0 and time.monotonic() < until and self._unread():
                time.sleep(0.02)

    def _unread(self) -> bool:
        """Whether a process that still beats has not left."""
        self._look()
        now = time.monotonic()
        return any(
            now - self._seen[rank][1] < 2 * BEAT and not self._store.check([f"left {rank}"])
            for rank in range(1, self.size)
            if rank in self._seen
        )

    @contextlib.contextmanager
    def waiting(self, patience: float = PATIENCE) -> Iterator[None]:
        """A stretch that ends only when the others do their part."""
        before, self._wait = self._wait, Wait(time.monotonic(), patience)
        try:
            yield
        finally:
            self._wait = before

    def missing(self, seconds: float = 3 * BEAT) -> str:
        """Which process has ended, or is behind, in words; it takes some seconds to see who beats no more."""
        until = time.monotonic() + seconds
        while True:
            said = self._look()
            if said or time.monotonic() > until or self._store is None:
                break
            time.sleep(LOOK)
        return said or self._silent(2 * BEAT) or self._behind()

    def left(self, rank: int) -> str:
        """What a process says that has left, or that it is gone; nothing while it is there."""
        if time.monotonic() - self._looked < BEAT:
            return ""
        self._looked = time.monotonic()
        told = self._look()
        if not told and self._store.check([f"left {rank}"]):
            return f"process {rank} of {self.size} ended"
        return told or self._silent(SILENCE)

    def _look(self) -> str:
        """Read the beats of all processes; what one that has left by itself says."""
        if self._store is None:
            return ""
        try:
            for rank in range(self.size):
                if self._store.check([f"at {rank}"]):
                    told = json.loads(self._store.get(f"at {rank}"))
                    if rank not in self._seen or self._seen[rank][0] != told["beats"]:
                        self._seen[rank] = told["beats"], time.monotonic(), told
                if rank != self.rank and self._store.check([f"left {rank}"]):
                    why = bytes(self._store.get(f"left {rank}")).decode()
                    if why and not why.startswith("another process"):
                        return f"process {rank} of {self.size} ended: {why:.200}"
        except (RuntimeError, ValueError):  # torch's error where the store is gone, with the process that held it
            return "" if self.rank == 0 else f"process 0 of {self.size} has ended"
        return ""

    def _silent(self, seconds: float) -> str:
        """The processes that have not beaten for so long."""
        now = time.monotonic()
        gone = [rank for rank, (_, seen, _) in list(self._seen.items()) if rank != self.rank and now - seen > seconds]
        return f"{self._named(gone)} ended without a word, or cannot be reached" if gone else ""

    def _behind(self) -> str:
        """The processes for which the others wait: those that compute, or stand at the earliest step."""
        others = {rank: told for rank, (_, _, told) in list(self._seen.items()) if rank != self.rank}
        busy = [rank for rank, told in others.items() if not told["waits"]]
        least = min((told["at"] for told in others.values()), default=0)
        late = busy or [rank for rank, told in others.items() if told["at"] == least]
        return f"{self._named(late)}, in step {least + 1}" if late else ""

    def _named(self, ranks: list[int]) -> str:
        some = ", ".join(f"process {rank} of {self.size} ({self._seen[rank][2]['who']})" for rank in sorted(ranks)[:4])
        return some + (f" and {len(ranks) - 4} more" if len(ranks) > 4 else "")

    def _beat(self) -> None:
        self._beats += 1
        told = {"beats": self._beats, "at": self.at, "waits": self._wait is not None,
                "who": f"pid {os.getpid()} on {socket.gethostname()}"}  # fmt: skip
        with contextlib.suppress(Exception):
            self._store.set(f"at {self.rank}", json.dumps(told))

    def _watch(self) -> None:
        numbers = {getattr(signal, name) for name in STOP_SIGNALS if hasattr(signal, name)}
        asked: tuple[str, float] | None = None
        beaten = looked = 0.0
        told: Wait | None = None
        while not self._ended.is_set():
            ready, _, _ = select.select([self._ear], [], [], LOOK)
            for number in self._ear.recv(64) if ready else b"":
                if number in numbers and asked is not None:
                    self._ended.wait(ASKED_AGAIN)
                    os._exit(128 + number)
                asked = (signal.Signals(number).name, time.monotonic()) if number in numbers else asked
            now, wait = time.monotonic(), self._wait
            if now - beaten > BEAT:
                self._beat()
                beaten = now
            if wait is None:
                continue
            if asked and now - max(asked[1], wait.since) > wait.patience:
                self._leave(f"stopped by {asked[0]} while it waited for {self.missing() or 'another process'}", wait)
            if now - wait.since > LONG_WAIT and now - looked > LONG_WAIT:
                looked = now
                self._look()
                if self._silent(SILENCE):
                    self._leave(self.missing(), wait)
                if told is not wait and self.say is not None and (who := self._behind()):
                    told = wait
                    self.say(f"waiting since {now - wait.since:.0f} s for {who}")

    def _leave(self, why: str, wait: Wait) -> None:
        """End this process from beside its main thread, unless that goes on after all."""
        with self.turn:
            if self._wait is not wait:
                return
            kept = ""
            with contextlib.suppress(Exception):
                kept = self.rescue() if self.rescue is not None else ""
            print(f"weft: {why}{kept}", file=sys.stderr, flush=True)
            with contextlib.suppress(Exception):
                self._store.set(f"left {self.rank}", f"another process: {why}")
            os._exit(INTERRUPTED)


def shared_store() -> tuple[Any, int, int]:
    """The store in which the processes meet, as torchrun's variables name it; rank and number of processes."""
    return next(dist.rendezvous("env://"))
