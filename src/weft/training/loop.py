"""The training loop: `Fit.run` is the page to read, in execution order. Knows no model, no modality and no task."""

import math
import statistics
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from weft.amounts import count
from weft.batches.source import apart
from weft.core.trunk import recompute_blocks
from weft.errors import Diverged, Interrupted
from weft.models.outline import own_tensors
from weft.training import passes
from weft.training.compiling import compile_blocks, compiles, uncompile
from weft.training.job import Clock, Job, State
from weft.training.optimizer import Optimizer
from weft.training.pace import EVALUATIONS, LEAST_PROBE, Pace
from weft.training.parallel import distribute
from weft.training.precision import LossScale, Weights, pick_precision
from weft.training.schedule import most_steps, rate
from weft.training.score import HeldOutScore
from weft.training.shards import Cut
from weft.training.slowness import Slowness
from weft.training.sums import Sums
from weft.training.watching import divergence, doing_well, jump

SAVE_EVERY = 60.0  # seconds between checkpoints, unless the user gives steps
LANDING_SHARE = 0.25  # of the steps made: the further steps after patience ends, while the rate falls to zero
AVERAGED_SHARE = 0.1  # share of the run, at its end, whose weights are averaged
MAX_ADVISED_LR = 1e-2  # the highest learning rate advised after a run has diverged


class Fit:
    """A run in progress: the weights, the optimizer, and where things stand."""

    def __init__(self, job: Job, state: State, saved: Mapping[str, dict[str, Tensor]] | None = None):
        """`saved` are the tensors of the checkpoint that `state` is from."""
        self.job, self.state, training = job, state, job.training
        self.mine = job.world.share(training.batch, apart=training.as_one and apart(job.source))
        if training.batch % (size := job.world.size):
            fix = f"--set batch={training.batch + size - training.batch % size} divides"
            job.progress.say(f"a batch of {training.batch} does not divide among {size} processes: some wait ({fix})")
        dtype = pick_precision(training.precision, job.device)
        recompute_blocks(job.model, bool(training.recompute))
        if saved is None:
            job.world.copy(own_tensors(job.model).values())
        distribute(job.compute, job.world, training, job.device, dtype)
        self.share = job.compute.share
        self.weights = Weights(job.model, dtype, self.share)
        self.scale = LossScale(dtype, state.scale, state.sound_steps)
        self.optimizer = Optimizer(self.weights, training, fast=dtype)
        self.best: dict[str, Tensor] | None = None
        self.average: dict[str, Tensor] | None = None
        if saved is not None:
            self.weights.load(saved["model"])
            self.optimizer.load(saved["optimizer"])
            self.best, self.average = saved.get("best"), saved.get("average")
        self.weights.spread()
        self.compiled = compiles(job)
        if self.compiled:
            compile_blocks(job.model, job.progress)
        self.clock = Clock(state.seconds)
        self.saved_at: float | None = None
        self.saved_step = state.step if saved is not None else -1
        self.at = state.step  # the step that is, or was last, computed
        self.times: deque[float] = deque(maxlen=50)
        self.slowness = Slowness(job.world)
        self.whole = True  # whether all of the last step is done, and nothing of the next one but its gradients
        learned, several = self.weights.master, job.world.size > 1
        self.changing = [name for name in own_tensors(job.model) if several and name not in learned]
        self.buffers: dict[str, Tensor] = {}  # what a forward pass may change, as it was before the present step
        if not state.evaluate_every:
            state.evaluate_every = training.evaluate_every or max(1, state.horizon.end // EVALUATIONS)
        self.pace = Pace(job.seconds, state, most_steps(job.source, training))
        self.stopping = False  # whether any process was asked to stop, as all know since the last step
        self.skipped = False  # whether a look was left out for want of time
        self.terms: tuple[str, ...] = ()  # the names of the further terms of the loss
        self.score: HeldOutScore | None = None  # of the weights that are kept, at the end

    def run(self) -> dict[str, Tensor]:
        """Train to the last step of the horizon; returns the best weights."""
        job, state = self.job, self.state
        job.stop.hold()
        job.progress.start(state.horizon.progress(state.step))
        self.pace.fit_end()
        try:
            with self.rescued():
                self.train()
            self.save(last=True)
        finally:
            job.progress.stop()
        if not self.ended():
            raise Interrupted(f"stopped by {job.stop.asked or 'another process'} at step {state.step}, and saved")
        job.stop.release()
        return self.choose()

    def train(self) -> None:
        """Step after step, until the end or until a process is asked to stop."""
        job = self.job
        self.stopping = job.world.add(job.stop.asked is not None)[0] > 0
        while not self.ended() and not self.asked():
            self.keep_buffers()
            line = self.step()
            self.buffers = {}  # from here on those of this step count
            self.pace.fit_end()
            self.blend()
            if self.pace.look_is_due() and self.affords_look():
                line["held_out"] = self.look()
            job.note(line)
            self.show(line)
            if self.due():
                self.save()
            self.whole = True

    @contextmanager
    def rescued(self) -> Iterator[None]:
        """Work in which another process may be lost: what this one has learned is saved before it leaves."""
        attendance = self.job.world.attendance
        if attendance is None:
            yield
            return
        attendance.rescue, attendance.say = self.rescue, self.job.progress.say if self.job.world.first else None
        try:
            yield
        except Interrupted as error:
            raise Interrupted(error.problem + self.rescue()) from None
        finally:
            attendance.rescue = attendance.say = None

    def rescue(self) -> str:
        """Save the last whole step, where this process can do so alone; what to say of it.

        It may be called beside a step that waits for ever: until all have met, the weights are those of the last step.
        """
        if self.divided:
            kept = "nothing is saved" if self.saved_step < 0 else f"the checkpoint of step {self.saved_step} is kept"
            return f"; {kept}: weights are shared, and one process cannot save them alone"
        if not self.job.world.first or not self.whole or self.state.step == 0:
            return ""
        self.save(last=True)
        return f"; saved at step {self.saved_step}"

    @property
    def cut(self) -> Cut | None:
        """What this process holds of each tensor, where it does not hold all."""
        shapes = {name: p.shape for name, p in self.weights.work.items()}
        return Cut(self.share, shapes) if self.share is not None and self.share.divided else None

    @property
    def divided(self) -> bool:
        """Whether each process holds a part of the weights alone, and all take part in whatever needs them."""
        return self.share is not None and self.share.divided

    def ended(self) -> bool:
        """Whether all steps are made."""
        return self.state.step >= self.state.horizon.end

    def asked(self) -> bool:
        """Whether any process was asked to stop; of others it is known since the last step."""
        return self.stopping if self.job.world.size > 1 else self.job.stop.asked is not None

    def step(self) -> dict[str, Any]:
        """Read a batch, go forward and backward, update; returns a line for metrics.jsonl."""
        job, state, training = self.job, self.state, self.job.training
        began = self.clock.now()
        self.at = state.step
        job.world.note(state.step)
        indices = np.arange(training.batch, dtype=np.int64) + state.step * training.batch
        waited = job.world.waited
        job.scale = self.scale.value
        own = passes.accumulate(job, indices, state.step, self.mine)
        if slow := self.slowness.note(self.clock.now() - began - (job.world.waited - waited)):
            job.progress.say(slow)
        self.weights.collect(self.scale.value)
        more = (job.stop.asked is not None, self.clock.now() if job.world.first else 0.0, self.optimizer.square())
        sums, (asked, seconds, square) = own.over(job.world, *more)
        self.stopping = asked > 0
        norm, factor = self.ready(sums, square)
        with job.world.turn:
            self.update(norm)
        skipped = not math.isfinite(norm) and math.isfinite(sums.loss) and not self.scale.exhausted
        if not math.isfinite(norm) and not skipped:
            if self.sound() and self.does_well():
                self.save()
            raise self.diverged("the loss or its gradient is not a finite number")
        jumped = jump(state, sums.loss)
        if grown := divergence(state, sums.loss):
            raise self.diverged(grown)
        if jumped:
            samples = f"samples {indices[0]} to {indices[-1]}"
            job.progress.say(f"the loss jumped {jumped} in step {state.step + 1} ({samples}); training goes on")
        state.step += 1
        self.times.append(self.clock.now() - began)
        state.seconds = self.clock.now() if job.world.size == 1 else seconds
        line = {"step": state.step, "loss": sums.loss, **sums.means, "norm": 0.0 if skipped else norm,
                "lr": training.lr * factor, "count": sums.count, "seconds": round(state.seconds, 3)}  # fmt: skip
        if self.scale.on:
            line |= {"scale": job.scale, "skipped": skipped}
        self.terms = tuple(sums.terms)
        return {**line, "samples": indices.tolist()} if training.record_samples or jumped else line

    def ready(self, sums: Sums, square: float) -> tuple[float, float]:
        """The norm of the gradients, and the factor on the learning rates. What waits for others is done here."""
        state, training = self.state, self.job.training
        factor = rate(state.step, state.horizon.progress(state.step), training.warmup, training.schedule, state.left)
        return self.optimizer.ready(sums.count, factor, square) if math.isfinite(sums.loss) else math.nan, factor

    def update(self, norm: float) -> None:
        """Change the weights by the gradients; nothing is changed where their norm is not a finite number."""
        self.whole = False
        state, model = self.state, self.job.model
        if math.isfinite(norm):
            self.optimizer.apply()
        self.scale.note(math.isfinite(norm))
        state.scale, state.sound_steps = (self.scale.value, self.scale.sound) if self.scale.on else (None, 0)
        if math.isfinite(norm) and model.follow(self.weights.master, state.horizon.progress(state.step)):
            self.weights.spread()
        self.weights.clear()

    def keep_buffers(self) -> None:
        """Keep what a forward pass may change, for a rescue in the middle of the step."""
        if self.changing:
            tensors = own_tensors(self.job.model)
            self.buffers = {name: tensors[name].detach().clone() for name in self.changing}

    def blend(self) -> None:
        """Take the weights into the average, at even distances through the last stretch of the run."""
        state, wanted = self.state, self.job.training.average
        left = (wanted - state.averaged - 1) / wanted if wanted else 0.0
        if state.averaged >= wanted or state.horizon.progress(state.step) < 1 - AVERAGED_SHARE * left:
            return
        state.averaged += 1
        now = self.weights.kept()
        if self.average is None:
            self.average = now
        else:
            for name, t in self.average.items():
                t.lerp_(now[name], 1 / state.averaged) if t.is_floating_point() else t.copy_(now[name])

    def sound(self) -> bool:
        """Whether all weights are finite numbers."""
        sound = all(bool(tensor.isfinite().all()) for tensor in self.weights.tensors().values())
        return sound if not self.divided else self.job.world.add(not sound)[0] == 0

    def does_well(self) -> bool:
        """Whether this state is worth going back to; where the target itself moves, losses do not tell."""
        return not self.job.objective.comparable or doing_well(self.state)

    def diverged(self, why: str) -> Diverged:
        """The error for a run that went wrong, noted in the metrics with the samples of the step."""
        training, first = self.job.training, self.at * self.job.training.batch
        samples = range(first, first + training.batch)
        self.job.note({"step": self.at + 1, "diverged": why, "samples": list(samples)})
        good = self.state.good_step
        aside: list[str] | None = None
        if good is not None and self.saved_step > good and self.job.world.first:
            aside = self.job.set_aside(good)
            self.saved_step = self.saved_step if aside is None else good
        kept = f"; the checkpoint of step {self.saved_step} is kept" if self.saved_step >= 0 else ""
        kept += f", later ones are set aside as {' and '.join(aside)}" if aside else ""
        return Diverged(
            f"training diverged in step {self.at + 1}: {why} (samples {samples[0]} to {samples[-1]})",
            fix=f"start again with a lower learning rate, for example --set lr={lower_rate(training.lr):g}{kept}",
        )

    def affords_look(self) -> bool:
        """Whether there is time for a look. A run by minutes first measures what looking costs."""
        if not self.pace.gauged:
            began = self.clock.now()
            passes.evaluate(self.job, most=LEAST_PROBE)
            self.pace.gauge(self.spent_since(began))
        affords = self.pace.affords_look()
        if not affords and not self.skipped and self.job.training.evaluate_every:
            self.job.progress.say("evaluations take long: some are left out, to keep them within a tenth of the time")
        self.skipped = self.skipped or not affords
        return affords

    def spent_since(self, began: float) -> float:
        """Seconds since a moment, now counted as the run's, in all processes."""
        agree, now = self.job.world.agree, self.clock.now()
        self.state.seconds = agree(now)
        return agree(now - began)

    def look(self) -> float:
        """Score part of the held-out data and keep the weights if they are the best so far."""
        state, began = self.state, self.clock.now()
        score = self.agreed(passes.evaluate(self.job, most=self.pace.probe))
        if not math.isfinite(score.loss):
            raise self.diverged("the held-out loss is not a finite number")
        if self.job.objective.comparable:
            if state.best is None or score.beats(state.best):
                state.best, state.best_step = score, state.step
                self.best = self.weights.kept()
            better = state.lowest is None or score.loss < state.lowest
            state.lowest, state.waited = (score.loss, 0) if better else (state.lowest, state.waited + 1)
        self.land()
        if self.job.world.first or self.divided:
            with self.job.compute.gathered():
                self.job.show(self.job.model)
        self.pace.looked(self.spent_since(began))
        return score.loss

    def agreed(self, score: HeldOutScore) -> HeldOutScore:
        """The first process's score, in all processes."""
        agree = self.job.world.agree
        return replace(score, loss=agree(score.loss), errors=None if score.errors is None else agree(score.errors))

    def land(self) -> None:
        """When patience ends, let the learning rate fall to zero soon: a run cut off at a high rate ends badly."""
        state, patience = self.state, self.job.training.patience
        if state.landing is not None or not patience or state.waited < patience:
            return
        soon = state.step + max(1, int(LANDING_SHARE * state.step))
        if soon < state.horizon.end:
            state.horizon = state.horizon.refit(state.step, soon)
            state.landing = state.horizon.done
            self.job.progress.say(
                f"no better held-out loss in {state.waited} evaluations: training ends early (early stopping), "
                f"at step {soon}"
            )

    def show(self, line: Mapping[str, Any]) -> None:
        """The numbers of this step for those who watch."""
        state, typical = self.state, statistics.median(self.times)
        values = {"step": f"{state.step}/{state.horizon.end}", "loss": f"{line['loss']:.3f}"}
        values |= {name: f"{line[name]:.3f}" for name in self.terms}
        if state.lowest is not None:
            values["held-out"] = f"{state.lowest:.3f}"
        values[f"{self.job.objective.unit}/s"] = count(line["count"] / typical)
        self.job.progress.step(state.horizon.progress(state.step), values, self.pace.left(typical))

    def due(self) -> bool:
        """Whether it is time for a checkpoint; the time that saving takes does not count."""
        every = self.job.training.checkpoint_every
        if every:
            return self.state.step % every == 0
        if self.saved_at is None:
            self.saved_at = self.state.seconds
        return self.state.seconds - self.saved_at >= SAVE_EVERY

    def save(self, *, last: bool = False) -> None:
        """Write a checkpoint, unless this step has one. Weights that are not finite never replace good ones."""
        if not self.sound():
            raise self.diverged("the weights are not finite numbers")
        tensors = {"model": {**self.weights.tensors(), **self.buffers}, "optimizer": self.optimizer.tensors()}
        if self.best is not None:
            tensors["best"] = self.best
        if self.average is not None:
            tensors["average"] = self.average
        good_before = self.state.good_step
        if self.does_well():
            self.state.good_step = self.state.step
        if (self.job.world.first or self.divided) and self.saved_step != self.state.step:
            state = self.state.to_json()
            if self.job.save(self.state.step, tensors, state, last=last, good=self.state.good_step, cut=self.cut):
                self.saved_step = self.state.step
            else:
                self.state.good_step = good_before
        self.saved_at = None

    def choose(self) -> dict[str, Tensor]:
        """The last weights, the average of late ones, or earlier ones that were clearly better on held-out data."""
        state, say = self.state, self.job.progress.say
        self.score = last = passes.evaluate(self.job, most=self.pace.probe)
        if self.average is not None:
            before = self.weights.kept()
            self.weights.load(self.average)
            averaged = passes.evaluate(self.job, most=self.pace.probe)
            if not last.beats(averaged):
                say(f"the average of {state.averaged} snapshots of the weights is kept (weight averaging)")
                self.score = last = averaged
            else:
                self.weights.load(before)
        if self.best is not None and state.best is not None and state.best.clearly_beats(last):
            say(f"the weights of step {state.best_step} did better on held-out data and are kept")
            self.weights.load(self.best)
            self.score = state.best
        if self.compiled:
            uncompile(self.job.model)
        return self.weights.whole(self.weights.kept())


def lower_rate(lr: float) -> float:
    """The learning rate advised where one was too high."""
    return float(f"{min(lr / 3, MAX_ADVISED_LR):.1g}")
