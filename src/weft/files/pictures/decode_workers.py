"""Processes that decode pictures for this one. A picture that crashes or holds up its decoder costs one child."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from weft.errors import DataError
from weft.files.pictures.decode_protocol import BUFFER, READY, receive, receive_answer, send_request
from weft.files.pictures.decoding import FIX, SMALL, Decoded, Passing, decode

MODULE = "weft.files.pictures.decode_worker"
SECONDS = 60.0  # that one picture may take
PIPE = 2**20  # bytes that may wait to be read
ENDING = 5.0  # seconds that a child which no longer answers has to end by itself
ROOT = str(Path(__file__).parents[3])  # where weft is

Pictures = Sequence[tuple[str, bytes]]  # the name of each, for messages, and its content
Answers = list[Decoded | DataError]


class Crash(Passing):
    """A picture at which a child died."""


class NoChild(Exception):
    """A child cannot be started, and why."""


class Child:
    """One process, ready to decode."""

    def __init__(self, command: Sequence[str], seconds: float):
        self.seconds = seconds
        try:
            self.process = subprocess.Popen(
                [*command, str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=BUFFER,
                env=_environment(),
                pipesize=PIPE,
                process_group=0,  # Ctrl-C is for the parent, which ends its children
            )
        except OSError as error:
            raise NoChild(error.strerror or str(error)) from None
        assert self.process.stdin is not None and self.process.stdout is not None
        self.requests: IO[bytes] = self.process.stdin
        self.answers: IO[bytes] = self.process.stdout
        try:
            ready = receive(self.answers) == READY
        except (EOFError, OSError, MemoryError):
            ready = False
        if not ready:
            raise NoChild(self.fate())

    def ask(self, pictures: Pictures) -> Iterator[Decoded | DataError]:
        """The answers, one by one; `EOFError`, `OSError` or `ValueError` where the child dies over one of them."""
        send_request(self.requests, pictures)
        for _ in pictures:
            yield receive_answer(self.answers)

    def fate(self) -> str:
        """What became of a child that does not answer, in words."""
        try:
            code = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "its answer makes no sense"
        finally:
            self.end()
        if hasattr(signal, "SIGALRM") and code == -signal.SIGALRM:
            return f"it took longer than {self.seconds:g} seconds"
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"

    def end(self) -> None:
        """End it now. It has nothing to lose."""
        self.process.kill()
        self.process.wait()
        for stream in (self.requests, self.answers):
            with suppress(OSError):  # what was not sent yet never will be
                stream.close()


class Children:
    """As many children as threads ask at the same time, each started when it is first needed.

    Where none can be started, pictures are decoded here instead: `alone` is how many, `why` the reason.
    """

    def __init__(self, command: Sequence[str] = (), seconds: float = SECONDS):
        self.command, self.seconds = command or (sys.executable or "", "-P", "-m", MODULE), seconds
        frozen = getattr(sys, "frozen", False) and not command  # then the executable is the user's program
        self.alone, self.why = 0, "no Python to run it" if frozen else ""
        self._lock, self._closed = threading.Lock(), False
        self._busy: set[Child] = set()
        self._idle: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all children, whatever they do."""
        with self._lock:
            self._closed = True
            for child in self._busy:
                child.process.kill()  # the thread that waits for it does the rest
            for child in self._idle:
                child.end()

    def decode(self, pictures: Pictures) -> Answers:
        """The pictures at the size at which all are tried, or what is wrong with them.

        Where a child dies, those it has not answered are asked for again one by one, as any of them may be the cause,
        or none: a system short of memory ends processes too.
        """
        answers: Answers = []
        died = self._ask(pictures, answers)
        for one in pictures[len(answers) :]:
            if fate := self._ask([one], answers, died):
                answers.append(Crash(f"decoding it failed: {fate}", where=one[0], fix=FIX))
        return answers

    def _ask(self, pictures: Pictures, answers: Answers, suspicion: str = "") -> str:
        """Add the answers, and return the fate of the child if it died. What is suspect is never decoded here."""
        child = self._take()
        if child is None:
            if not suspicion:
                answers += self._decode_here(pictures)
            return suspicion
        fate = ""
        try:
            for answer in child.ask(pictures):
                answers.append(answer)
        except (EOFError, OSError, ValueError):
            fate = child.fate()
        with self._lock:
            self._busy.discard(child)
            if not fate:
                self._idle.append(child)
            if self._closed:
                child.end()
        return fate

    def _take(self) -> Child | None:
        """A child that has nothing to do, or a new one; None where none can be started."""
        with self._lock:
            if self._closed:
                raise RuntimeError("asked for pictures after the end")
            child = self._idle.pop() if self._idle else None
        if child is None and not self.why:
            try:
                child = Child(self.command, self.seconds)
            except NoChild as error:
                self.why = str(error)
        if child is not None:
            with self._lock:
                self._busy.add(child)
                if self._closed:  # meanwhile
                    child.process.kill()
        return child

    def _decode_here(self, pictures: Pictures) -> Answers:
        with self._lock:
            self.alone += len(pictures)
        return [_decoded(where, content) for where, content in pictures]


def _decoded(where: str, content: bytes) -> Decoded | DataError:
    try:
        return decode(content, where=where, side=SMALL)
    except DataError as error:
        return error


def _environment() -> dict[str, str]:
    """A child finds its modules where this process does; it needs one thread."""
    places = [place for place in sys.path if isinstance(place, str) and place]
    found = os.pathsep.join(places if ROOT in places else [*places, ROOT])
    return {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
