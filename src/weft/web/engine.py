"""The engine: one thread that computes, behind a queue that is bounded by count, tokens and bytes.

Models compute with all cores already, so that two at once gain nothing; one thread needs no locks around models, and a
client's work waits for its turn in the order of arrival. What waits and is alike is computed together.
"""

import threading
from collections import deque
from collections.abc import Sequence

import torch

from weft.web.jobs import Cost, Job, Whole
from weft.web.limits import Limits
from weft.web.metrics import Metrics
from weft.web.replies import Refusal

RETRY = 1  # seconds after which a refused client may try again


class Engine:
    """`submit` takes a job or refuses it; `close` lets the thread end."""

    def __init__(self, limits: Limits, metrics: Metrics):
        self.limits, self.metrics = limits, metrics
        self.draining = False
        self._waiting: deque[Job] = deque()
        self._working: list[Job] = []
        self._change, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._work, name="weft engine", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread that computes runs."""
        return self._thread.is_alive()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        with self._change:
            return not self._waiting and not self._working

    def submit(self, job: Job) -> None:
        """Put a job into the queue; refuse it where there is no room, or where the server is about to end."""
        limits, most = self.limits, Cost(self.limits.bytes, self.limits.tokens)
        if job.cost.tokens > most.tokens:
            raise Refusal(400, f"at most {most.tokens:,} tokens can be asked for at once", where="max_tokens")
        with self._change:
            if self.draining or self._closed:
                raise Refusal(503, "the server is about to end", headers={"retry-after": "5"}, close=True)
            held = [*self._waiting, *self._working]
            full = (
                len(self._waiting) >= limits.waiting
                or sum(one.cost.tokens for one in held) + job.cost.tokens > most.tokens
                or (held and sum(one.cost.bytes for one in held) + job.cost.bytes > most.bytes)
            )
            if full:
                self.metrics.count("weft_refused_total")
                raise Refusal(429, "too much is waiting already", headers={"retry-after": str(RETRY)})
            self._waiting.append(job)
            self._note()
            self._change.notify()

    def close(self) -> None:
        """Let the thread end after its present work; what waits is refused."""
        with self._change:
            self._closed = True
            for job in self._waiting:
                job.fail(Refusal(503, "the server has ended", close=True))
            self._waiting.clear()
            for job in self._working:
                job.leave()
            self._change.notify()
        self._thread.join(10)

    def _note(self) -> None:
        self.metrics.set("weft_queue", len(self._waiting))
        self.metrics.set("weft_working", len(self._working))

    def _work(self) -> None:
        """The thread: what waits, one batch after the other."""
        torch.set_grad_enabled(False)
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                jobs = self._working = self._next()
                self._note()
            if jobs:
                self._compute(jobs)
            with self._change:
                self._working = []
                self._note()

    def _next(self) -> list[Job]:
        """The first job that somebody waits for, and those that are like it."""
        for job in [one for one in self._waiting if one.left]:
            self._waiting.remove(job)
            self.metrics.count("weft_left_total")
        if not self._waiting:
            return []
        first = self._waiting.popleft()
        found, room = [first], self.limits.rows - _size(first)
        if first.like is not None:
            for job in list(self._waiting):
                if job.like == first.like and _size(job) <= room:
                    self._waiting.remove(job)
                    found.append(job)
                    room -= _size(job)
        return found

    def _compute(self, jobs: Sequence[Job]) -> None:
        """One batch. What goes wrong is said to those who wait; where several do, each is then tried alone."""
        try:
            whole = [job for job in jobs if isinstance(job, Whole)]
            self.metrics.observe("weft_batch_rows", sum(map(_size, whole)))
            Whole.compute(whole)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fail(error)
            else:
                for job in jobs:
                    self._compute([job])
            return
        for job in jobs:
            if job.left:
                self.metrics.count("weft_left_total")


def _size(job: Job) -> int:
    return len(job.inputs) if isinstance(job, Whole) else 1
