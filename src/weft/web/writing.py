"""Texts that are written together: a job of several lines, and the writer of a run that its lines join and leave."""

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from weft.core.changes import Change
from weft.generate.compute import prepared
from weft.generate.prompts import Prompt
from weft.generate.together import Scored, Together, Unread, WrittenLine, scored_prompt
from weft.models.stream import Stream
from weft.web.jobs import EVENT, Cost, Post, ServedJob
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
        self._begun: float | None = time.perf_counter()  # until a first token is written

    @property
    def key(self) -> Hashable:
        """Lines with the same are written together."""
        return self.served, self.precision, self.changes

    def start(self, together: Together, metrics: Metrics) -> None:
        """Let the lines join those that are written; prompts are scored at once, and read by the steps that follow."""
        for prompt, group in zip(self.prompts, self.groups, strict=True):
            if self.echo and self.likeliest is not None:
                self.echoed.append(scored_prompt(together.model, prompt.ids, self.likeliest))
            together.join(group)
        metrics.count("weft_prompt_tokens_total", sum(len(one.ids) for one in self.prompts))

    def tell(self, metrics: Metrics) -> None:
        """Let the client hear what is new; once all lines have ended, the job is done."""
        if self._begun is not None and any(line.ids or line.ended for line in self.lines):
            metrics.observe("weft_first_token_seconds", time.perf_counter() - self._begun)
            self._begun = None
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
        self.served, self.changes, self.jobs, self._post = served, changes, list[WritingJob](), Post()
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
        """Let the lines of a job join; one that fails leaves no line behind."""
        try:
            with self._changed():
                job.start(self.together, metrics)
        except Exception as error:
            self.together.leave(job.lines)
            job.fail(error)
            return
        job.tell(metrics)
        if not job.done:
            job.post = self._post
            self.jobs.append(job)

    def step(self, metrics: Metrics) -> list[WritingJob]:
        """Drop the lines of clients that have left, write one step more; returns the jobs that are done or dropped."""
        for job in [job for job in self.jobs if job.left]:
            metrics.count("weft_left_total")
            self._drop([job], Refusal(GONE, "the answer was read too slowly, or not at all"))
        before = {id(line): len(line.ids) for job in self.jobs for line in job.lines}
        try:
            with self._changed():
                self.together.draw()
                self._tell(metrics)
                self.together.advance()
        except Unread as failed:
            lost = {id(line) for line in failed.lines}
            owners = [job for job in self.jobs if any(id(line) in lost for line in job.lines)]
            self._drop(owners, failed.__cause__ or failed)
        except Exception as error:
            self.together = Together(self.together.model)
            self._drop([job for job in self.jobs if not job.done], error)
        new = sum(len(line.ids) - before.get(id(line), 0) for job in self.jobs for line in job.lines)
        metrics.count("weft_tokens_total", new)
        self._tell(metrics)
        done = [job for job in self.jobs if job.done]
        self.jobs = [job for job in self.jobs if not job.done]
        return done

    def _tell(self, metrics: Metrics) -> None:
        """Let all clients hear what is new."""
        for job in self.jobs:
            if not job.done:
                job.tell(metrics)
        self._post.send()

    def _drop(self, jobs: Sequence[WritingJob], error: BaseException) -> None:
        """Go on without these jobs."""
        self.together.leave([line for job in jobs for line in job.lines])
        for job in jobs:
            job.fail(error)
