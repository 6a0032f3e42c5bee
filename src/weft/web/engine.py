"""The engine: one thread that computes, behind a queue that is bounded by count, tokens and bytes.

Models compute with all cores already, so that two at once gain nothing; one thread needs no locks around models, and a
client's work waits for its turn in the order of arrival. Texts are written together, row by row, and go on between two
steps of any other work; what else waits and is alike is computed together.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context

import torch

from weft.web.jobs import ServedJob, WholeJob
from weft.web.limits import Limits
from weft.web.metrics import Metrics
from weft.web.replies import Refusal, reported
from weft.web.writing import RunWriter, WritingJob

DEAD = "the thread that computes has died: start the server anew"
RETRY = 1  # seconds after which a refused client may try again


class Engine:
    """`submit` takes a job or refuses it; `close` lets the thread end."""

    def __init__(self, limits: Limits, metrics: Metrics):
        self.limits, self.metrics = limits, metrics
        self.draining = False
        self.give_way: Callable[[], None] = lambda: None  # called before each step: others may go first
        self._waiting: deque[ServedJob] = deque()
        self._working: list[ServedJob] = []
        self._writers: dict[Hashable, RunWriter] = {}
        self._change, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._live, name="weft engine", daemon=True)
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

    @property
    def full(self) -> bool:
        """Whether no request finds room in the queue."""
        return len(self._waiting) >= self.limits.waiting

    def submit(self, job: ServedJob) -> None:
        """Put a job into the queue; refuse it where there is no room, or where the server is about to end."""
        limits = self.limits
        if job.cost.tokens > limits.tokens:
            raise Refusal(400, f"at most {limits.tokens:,} tokens can be asked for at once", where="max_tokens")
        with self._change:
            if self.draining or self._closed:
                problem = "the server is about to end" if self.alive else DEAD
                raise Refusal(503, problem, headers={"retry-after": "5"}, close=True)
            held = [*self._waiting, *self._working]
            full = (
                self.full
                or sum(one.cost.tokens for one in held) + job.cost.tokens > limits.tokens
                or (held and sum(one.cost.bytes for one in held) + job.cost.bytes > limits.bytes)
            )
            if full:
                self.metrics.count("weft_refused_total")
                raise crowded()
            self._waiting.append(job)
            self._note()
            self._change.notify()

    def close(self) -> None:
        """Let the thread end after its present step; what waits is refused."""
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
        self.metrics.set("weft_rows", sum(writer.rows for writer in self._writers.values()))

    def _live(self) -> None:
        """The thread. Should it ever fail, that is said, and nobody waits for it."""
        try:
            self._work()
        except BaseException as error:
            number = reported(error)
            with self._change:
                self._closed, lost = True, [*self._waiting, *self._working]
                self._waiting.clear()
                self._working.clear()
            for job in lost:
                job.post = None
                job.fail(Refusal(503, f"{DEAD}, error {number}", close=True))

    def _work(self) -> None:
        """What waits and what is being written, turn by turn."""
        torch.set_grad_enabled(False)
        while True:
            with self._change:
                while not self._waiting and not self._working and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                jobs = self._next()
            self.give_way()
            if jobs:
                self._compute(jobs)
                self._done(jobs)
            self._write()

    def _next(self) -> list[WholeJob]:
        """The first work that is done whole, and what is like it; called by who holds the lock."""
        for job in [one for one in self._waiting if one.left]:
            self._waiting.remove(job)
            self.metrics.count("weft_left_total")
        found: list[WholeJob] = []
        room = self.limits.rows
        for job in list(self._waiting):
            if not isinstance(job, WholeJob):
                continue
            if not found or (job.like is not None and job.like == found[0].like and len(job.inputs) <= room):
                self._waiting.remove(job)
                found.append(job)
                room -= len(job.inputs)
        self._working += found
        self._note()
        return found

    def _done(self, jobs: Sequence[ServedJob]) -> None:
        with self._change:
            self._working = [job for job in self._working if job not in jobs]
            self._note()

    def _compute(self, jobs: Sequence[WholeJob]) -> None:
        """One batch. What goes wrong is said to those who wait; where several do, each is then tried alone."""

        def stopped() -> bool:  # asked between two steps: texts go on meanwhile, as if no model were changed
            self.give_way()
            Context().run(self._write)
            return all(job.left for job in jobs)

        self.metrics.observe("weft_batch_rows", sum(len(job.inputs) for job in jobs))
        try:
            WholeJob.compute(jobs, stopped)
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

    def _write(self) -> None:
        """Let texts that wait join, as far as there is room, and write one step of all."""
        for job in self._joining():
            writer = self._writers.get(job.key)
            try:
                if writer is None:
                    writer = self._writers[job.key] = RunWriter(job.served, job.precision, job.changes)
            except Exception as error:
                job.fail(error)
            else:
                writer.add(job, self.metrics)
            if job.done:
                self._done([job])
        for key, writer in list(self._writers.items()):
            if writer.jobs:
                done = writer.step(self.metrics)
                if done:
                    self._done(done)
            if not writer.jobs:
                del self._writers[key]

    def _joining(self) -> list[WritingJob]:
        """The texts that wait and find room beside those that are being written, in their order."""
        with self._change:
            room, found = self.limits.rows - sum(writer.rows for writer in self._writers.values()), list[WritingJob]()
            for job in list(self._waiting):
                if isinstance(job, WritingJob) and not job.left:
                    if len(job.lines) > room:
                        break
                    self._waiting.remove(job)
                    found.append(job)
                    room -= len(job.lines)
            if found:
                self._working += found
                self._note()
            return found


def crowded() -> Refusal:
    """What is said where there is no room."""
    return Refusal(429, "too much is waiting already", headers={"retry-after": str(RETRY)})
