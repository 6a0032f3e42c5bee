"""Pieces of work, and how the loop hears of them while the engine's thread does them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from weft.config import Config
from weft.core.changes import Change
from weft.generate.stopping import Stop
from weft.runs.asking import ask, embedded
from weft.tasks.asks import Answer, Given, Use
from weft.web.replies import GONE, Refusal
from weft.web.table import ServedRun

END = object()
EVENT = 64  # bytes around a piece of text in a stream


@dataclass(frozen=True)
class Cost:
    """What a job takes of the queue: bytes that it holds, tokens that it may write."""

    bytes: int = 0
    tokens: int = 0


class Post:
    """Events of several jobs on their way to the loop, which is woken once for all that a step has said."""

    def __init__(self) -> None:
        self._events: list[tuple[ServedJob, Any]] = []

    def add(self, job: "ServedJob", event: Any) -> None:
        """Keep an event until `send`."""
        self._events.append((job, event))

    def send(self) -> None:
        """Hand over what was kept."""
        events, self._events = self._events, []
        if events:
            try:
                events[0][0].loop.call_soon_threadsafe(_deliver, events)
            except RuntimeError:  # the loop has ended
                for job, _ in events:
                    job.left = True


class ServedJob:
    """Work for the engine. The loop iterates over what is `heard` and takes the result; `leave` ends the work.

    `say`, `finish` and `fail` are the engine's, in its thread; all else is of the loop that made the job.
    """

    def __init__(self, served: ServedRun, cost: Cost, unsent: int):
        """`unsent` is the number of bytes that may wait for a client; one that reads slower is left."""
        self.served, self.cost, self.most_unsent = served, cost, unsent
        self.left = False  # the client has gone, or reads too slowly
        self.done = False  # it has a result, or has failed
        self.loop, self.events = asyncio.get_running_loop(), asyncio.Queue[Any]()
        self._unsent, self._lock = 0, threading.Lock()
        self.post: Post | None = None  # what takes the events of a step; without, the loop is woken by each

    @property
    def like(self) -> Hashable | None:
        """Jobs that are equal in this are computed together; None: alone."""
        return None

    def say(self, piece: Any, size: int) -> None:
        """Let the loop hear a piece of the answer, of about `size` bytes."""
        with self._lock:
            self._unsent += size
            self.left |= self._unsent > self.most_unsent
        self._put(("piece", piece, size))

    def finish(self, result: Any) -> None:
        """The work is done."""
        self.done = True
        self._put(("result", result, 0))

    def fail(self, error: BaseException) -> None:
        """The work has failed."""
        self.done = True
        self._put(("error", error, 0))

    def _put(self, event: Any) -> None:
        if self.post is not None:
            self.post.add(self, event)
            return
        try:
            self.loop.call_soon_threadsafe(self.events.put_nowait, event)
        except RuntimeError:  # the loop has ended
            self.left = True

    def leave(self) -> None:
        """Nobody waits for the answer any more."""
        self.left |= not self.done

    async def heard(self) -> AsyncIterator[Any]:
        """Pieces as they come; an error is raised. The last is `END` with the result, as (END, result)."""
        while True:
            kind, value, size = await self.events.get()
            if kind == "error":
                raise value
            if kind == "result":
                yield END, value
                return
            yield value
            with self._lock:
                self._unsent -= size

    async def result(self) -> Any:
        """The result, once the work is done."""
        async for piece in self.heard():
            if isinstance(piece, tuple) and piece and piece[0] is END:
                return piece[1]
        raise AssertionError("work ends with a result or an error")


def _deliver(events: list[tuple[ServedJob, Any]]) -> None:
    for job, event in events:
        job.events.put_nowait(event)


class WholeJob(ServedJob):
    """Work that is done in one go, under some changes of the model."""

    inputs: Sequence[Given] = ()

    def __init__(self, served: ServedRun, changes: tuple[Change, ...], cost: Cost, unsent: int):
        super().__init__(served, cost, unsent)
        self.changes = changes

    @staticmethod
    def compute(jobs: "Sequence[WholeJob]", stop: Stop) -> None:
        """Do work that is alike, until `stop()` is true."""
        with jobs[0].served.run.changed(*jobs[0].changes) if jobs[0].changes else nullcontext():
            jobs[0].perform(jobs, stop)

    def perform(self, jobs: "Sequence[WholeJob]", stop: Stop) -> None:
        """Do the work of jobs that are like this one, itself among them."""
        raise NotImplementedError


class CallJob(WholeJob):
    """Work that is done alone, by a call: a look, a sweep, alignments. The call may ask whether it is to stop."""

    def __init__(
        self,
        served: ServedRun,
        call: Callable[[Stop], Any],
        *,
        cost: Cost,
        unsent: int,
        changes: tuple[Change, ...] = (),
    ):
        super().__init__(served, changes, cost, unsent)
        self.call = call

    def perform(self, jobs: Sequence[WholeJob], stop: Stop) -> None:
        self.finish(self.call(stop))


class AskJob(WholeJob):
    """Inputs that are answered or made vectors of; equal settings are computed together."""

    def __init__(
        self,
        served: ServedRun,
        use: Use,
        inputs: Sequence[Given],
        how: Config,
        *,
        cost: Cost,
        unsent: int,
        listens: bool = False,
        changes: tuple[Change, ...] = (),
    ):
        """`changes` are those of the model, for this work alone."""
        super().__init__(served, changes, cost, unsent)
        self.use, self.inputs, self.how, self.listens = use, inputs, how, listens

    @property
    def like(self) -> Hashable | None:
        alone = self.listens or self.changes or not self.inputs
        return None if alone else (self.served, self.use, repr(self.how))

    def perform(self, jobs: Sequence[WholeJob], stop: Stop) -> None:
        run, every = self.served.run, [one for job in jobs for one in job.inputs]
        if self.use == "embed":
            vectors, start = embedded(run, every, self.how).vectors, 0
            for job in jobs:
                job.finish(vectors[start : start + len(job.inputs)])
                start += len(job.inputs)
            return

        def listen(row: int, text: str) -> None:
            self.say((row, text), len(text) + EVENT)

        found = list(ask(run, every, self.how, listen=listen if self.listens else None, stop=stop))
        start = 0
        for job in jobs:
            end = start + len(job.inputs)
            own: list[Answer] = [one for one in found if start <= one.input < end or not every]
            if job.left:
                job.fail(Refusal(GONE, "the answer was read too slowly, or not at all"))
            else:
                job.finish([(one.input - start, one) for one in own])
            start = end
