"""Texts that are written together: a job of several lines, and the writer of a run that its lines join and leave."""

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from weft.core.changes import Change
from weft.generate.compute import prepared
from weft.generate.prompts import Prompt
from weft.generate.together import Scored, Together, WrittenLine, scored_prompt
from weft.models.stream import Stream
from weft.web.jobs import EVENT, Cost, ServedJob
from weft.web.metrics import Metrics
from weft.web.replies import GONE, Refusal
from weft.web.table import ServedRun

Piece = tuple[int, str, list[Scored], str | None]  # the number of a line, its new text, scored tokens, how it ended


class WritingJob(ServedJob):
    """Some prompts, each continued by some lines. The result is the job itself, with its lines at their ends.

    With `echo`, the tokens of prompts are scored too, where tokens are scored at all.
    """

    def __init__(
        self,
        served: ServedRun,
        prompts: Sequence[Prompt],
        samples: int,
        precision: str,
        *,
        cost: Cost,
        unsent: int,
        likeliest: int | None = None,
        echo: bool = False,
        streams: bool = False,
        changes: tuple[Change, ...] = (),
    ):
        """`changes` are those of the model, for these lines alone."""
        super().__init__(served, cost, unsent)
        self.prompts, self.precision, self.echo, self.streams = prompts, precision, echo, streams
        self.likeliest, self.changes = likeliest, changes
        self.groups = [[WrittenLine(one, sample, likeliest) for sample in range(samples)] for one in prompts]
        self.lines = [line for group in self.groups for line in group]
        self.echoed: list[list[Scored]] = []  # the scored tokens of each prompt
        self._told = [0] * len(self.lines)
        self._ends: list[str | None] = [None] * len(self.lines)
        self._begun = time.perf_counter()

    @property
    def key(self) -> Hashable:
        """Lines with the same are written together."""
        return self.served, self.precision, self.changes

    def start(self, together: Together, metrics: Metrics) -> None:
        """Read the prompts."""
        for prompt, group in zip(self.prompts, self.groups, strict=True):
            if self.echo and self.likeliest is not None:
                self.echoed.append(scored_prompt(together.model, prompt.ids, self.likeliest))
            together.join(group)
        metrics.count("weft_prompt_tokens_total", sum(len(one.ids) for one in self.prompts))
        metrics.observe("weft_first_token_seconds", time.perf_counter() - self._begun)

    def tell(self) -> None:
        """Let the client hear what is new; once all lines have ended, the job is done."""
        for i, line in enumerate(self.lines):
            text, new = line.fresh(), line.scored[self._told[i] :]
            if self.streams and (text or new or line.ended != self._ends[i]):
                size = (EVENT + len(text)) * (1 + len(new))
                self.say((i, text, new, line.ended), size)
            self._told[i], self._ends[i] = len(line.scored), line.ended
        if all(line.ended is not None for line in self.lines):
            self.finish(self)


class RunWriter:
    """The lines of one run that are being written, under the same changes of its model."""

    def __init__(self, served: ServedRun, precision: str, changes: tuple[Change, ...] = ()):
        self.served, self.changes, self.jobs = served, changes, list[WritingJob]()
        with self._changed():
            model = prepared(served.run.model, precision)
            assert isinstance(model, Stream)
            self.together = Together(model)

    @contextmanager
    def _changed(self) -> Iterator[None]:
        if not self.changes:
            yield
            return
        with self.served.run.changed(*self.changes):
            yield

    @property
    def rows(self) -> int:
        """The number of lines."""
        return len(self.together.lines)

    def add(self, job: WritingJob, metrics: Metrics) -> None:
        """Read the prompts of a job; one that fails leaves no line behind."""
        try:
            with self._changed():
                job.start(self.together, metrics)
        except Exception as error:
            self.together.leave(job.lines)
            job.fail(error)
            return
        job.tell()
        if not job.done:
            self.jobs.append(job)

    def step(self, metrics: Metrics) -> list[WritingJob]:
        """Drop the lines of clients that have left, write one step more; returns the jobs that are done or dropped."""
        gone = [job for job in self.jobs if job.left]
        if gone:
            self.together.leave([line for job in gone for line in job.lines])
            metrics.count("weft_left_total", len(gone))
            for job in gone:
                job.fail(Refusal(GONE, "the answer was read too slowly, or not at all"))
        going = [job for job in self.jobs if not job.left]
        before = sum(len(line.ids) for job in going for line in job.lines)
        try:
            with self._changed():
                self.together.step()
        except Exception as error:
            self.together = Together(self.together.model)
            for job in going:
                job.fail(error)
            self.jobs = []
            return [*gone, *going]
        metrics.count("weft_tokens_total", sum(len(line.ids) for job in going for line in job.lines) - before)
        for job in going:
            job.tell()
        self.jobs = [job for job in going if not job.done]
        return [*gone, *(job for job in going if job.done)]
