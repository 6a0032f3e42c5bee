"""The training loop, one page in execution order. Knows no model, no modality and no task."""

import hashlib
import math
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.data.source import Source
from weft.errors import Diverged, Interrupted
from weft.objectives.objective import Objective
from weft.train.optimizer import Optimizer
from weft.train.precision import Weights, pick_precision
from weft.train.progress import Progress, count
from weft.train.schedule import Horizon, rate
from weft.train.settings import Training
from weft.train.signals import StopRequest
from weft.train.world import World

REFIT_EVERY = 3.0  # seconds between looks at the clock in a run by minutes
SAVE_EVERY = 60.0  # seconds between checkpoints, unless the user gives steps
EVALUATIONS = 10  # in a run, unless the user gives steps
PROBE = 64  # held-out samples scored during training; the end scores all
RECENT = 20  # losses that tell a diverging run from a noisy one


@dataclass
class State:
    """Where a run stands: all that a checkpoint holds besides tensors."""

    step: int = 0
    seconds: float = 0.0
    horizon: Horizon = field(default_factory=lambda: Horizon(end=1))
    first_loss: float | None = None
    recent: list[float] = field(default_factory=list)
    best: float | None = None
    best_step: int = 0
    waited: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> "State":
        """What `to_json` gave."""
        return State(**{**data, "horizon": Horizon(**data["horizon"])})


@dataclass
class Job:
    """A run to be trained: the parts, the settings, and where notes and checkpoints go."""

    model: nn.Module
    objective: Objective
    source: Source
    training: Training
    device: torch.device
    seconds: float | None  # the budget of a run by minutes
    note: Callable[[dict[str, Any]], None]
    save: Callable[[int, dict[str, dict[str, Tensor]], dict[str, Any]], None]
    progress: Progress
    stop: StopRequest
    world: World


def fit(job: Job, state: State, saved: dict[str, dict[str, Tensor]] | None = None) -> tuple[State, dict[str, Tensor]]:
    """Train from `state` (and the tensors saved with it) to the end; returns the final state and the best weights."""
    training, world, stop = job.training, job.world, job.stop
    mine = world.share(training.batch)
    dtype = pick_precision(training.precision, job.device)
    weights = Weights(job.model.to(job.device), dtype)
    optimizer = Optimizer(weights, training, fast=dtype)
    best: dict[str, Tensor] | None = None
    if saved is not None:
        weights.load(saved["model"])
        optimizer.load(saved["optimizer"])
        best = saved.get("best")

    def checkpoint() -> None:
        tensors = {"model": weights.tensors(), "optimizer": optimizer.tensors()}
        if world.first:
            job.save(state.step, tensors | ({"best": best} if best is not None else {}), state.to_json())

    clock = Clock(state.seconds)
    saved_at = refitted_at = clock.now()
    evaluate_every = training.evaluate_every or max(1, state.horizon.end // EVALUATIONS)
    times: deque[float] = deque(maxlen=50)
    stop.hold()
    job.progress.start(state.horizon.progress(state.step))
    try:
        while state.step < state.horizon.end and not stop.asked:
            began = clock.now()
            indices = np.arange(training.batch, dtype=np.int64) + state.step * training.batch
            total, seen = accumulate(job, indices[mine], state.step)
            total, seen = world.add(total, seen)
            world.add_gradients(weights.work.values())
            weights.collect()
            progress = state.horizon.progress(state.step)
            good = math.isfinite(total)
            norm = optimizer.step(seen, rate(state.step, progress, training.warmup)) if good else math.nan
            weights.clear()
            if not math.isfinite(norm):
                checkpoint()
                raise diverged(job, state, indices, "the loss or its gradient is not a finite number")
            loss = total / max(seen, 1)
            watch(job, state, loss, indices)
            state.step += 1
            times.append(clock.now() - began)
            state.seconds = clock.now()
            line = {"step": state.step, "loss": loss, "norm": norm, "lr": training.lr * rate(state.step - 1, progress, training.warmup),
                    "seconds": round(state.seconds, 3)}  # fmt: skip
            if training.record_samples:
                line["samples"] = indices.tolist()
            last = state.step >= state.horizon.end
            if state.step % evaluate_every == 0 and not last:
                line["held_out"] = held_out = evaluate(job, most=PROBE)
                if state.best is None or held_out < state.best:
                    state.best, state.best_step, state.waited = held_out, state.step, 0
                    best = {name: t.clone() for name, t in weights.tensors().items()}
                else:
                    state.waited += 1
            job.note(line)
            speed = seen / statistics.median(times)
            show(job, state, loss, speed, statistics.median(times))
            if job.seconds is not None and clock.now() - refitted_at >= REFIT_EVERY:
                refitted_at = clock.now()
                left = (job.seconds - clock.now()) / statistics.fmean(times)
                state.horizon = state.horizon.refit(state.step, int(world.agree(state.step + max(1.0, left))[0]))
            if training.patience and state.waited >= training.patience:
                job.progress.say(f"stopped early: no better held-out loss in {state.waited} evaluations")
                break
            due = clock.now() - saved_at >= SAVE_EVERY
            if state.step % training.checkpoint_every == 0 if training.checkpoint_every else world.agree(due)[0]:
                checkpoint()
                saved_at = clock.now()
        state.seconds = clock.now()
        checkpoint()
    finally:
        job.progress.stop()
    if stop.asked and state.step < state.horizon.end:
        raise Interrupted(f"stopped by {stop.asked} at step {state.step}, and saved")
    stop.release()
    final = weights.tensors()
    if best is not None:
        now = evaluate(job, most=PROBE)
        if state.best is not None and state.best < now:
            weights.load(best)
            final = weights.tensors()
            job.progress.say(f"the weights of step {state.best_step} did better on held-out data and are kept")
        else:
            state.best_step = state.step
    return state, {name: t.clone() for name, t in final.items()}


def accumulate(job: Job, indices: np.ndarray, step: int) -> tuple[float, float]:
    """Forward and backward over this process's samples, in pieces of `micro`; returns the sum of losses and the count."""
    job.model.train()
    seed_step(job.training.seed, step, job.world.rank)
    batch = job.source.batch(indices).to(job.device)
    piece = job.training.micro or len(batch)
    total, seen = 0.0, 0
    for start in range(0, len(batch), piece):
        loss = job.objective(job.model, batch[start : start + piece])
        if loss.count:
            loss.total.backward()
        total += float(loss.total.detach())
        seen += loss.count
    return total, seen


@torch.inference_mode()
def evaluate(job: Job, *, most: int | None = None) -> float:
    """Mean held-out loss."""
    job.model.eval()
    total, seen = 0.0, 0
    for batch in job.source.held_out(most=most):
        loss = job.objective(job.model, batch.to(job.device))
        total, seen = total + float(loss.total), seen + loss.count
    return total / max(seen, 1)


def seed_step(seed: int, step: int, rank: int) -> None:
    """Dropout and the like depend on (seed, step, rank) alone, so resuming restores nothing and looking changes nothing."""
    digest = hashlib.sha256(f"{seed} {step} {rank}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def watch(job: Job, state: State, loss: float, indices: np.ndarray) -> None:
    """Stop a run whose loss has grown well past where it began."""
    state.first_loss = loss if state.first_loss is None else state.first_loss
    state.recent = [*state.recent[-RECENT + 1 :], loss]
    if len(state.recent) == RECENT and statistics.fmean(state.recent) > 2 * state.first_loss + 1:
        raise diverged(job, state, indices, f"the loss grew from {state.first_loss:.3g} to {loss:.3g}")


def diverged(job: Job, state: State, indices: np.ndarray, why: str) -> Diverged:
    """The error for a run that went wrong, noted in the metrics with the samples of the step."""
    job.note({"step": state.step, "diverged": why, "samples": indices.tolist()})
    lower = float(f"{job.training.lr / 3:.1g}")
    return Diverged(
        f"training diverged at step {state.step}: {why} (samples {indices[0]} to {indices[-1]})",
        fix=f"start again with a lower rate, say --set lr={lower:g}; earlier checkpoints are as they were",
    )


def show(job: Job, state: State, loss: float, speed: float, step_seconds: float) -> None:
    """The numbers of this step for those who watch."""
    values = {"step": f"{state.step}/{state.horizon.end}", "loss": f"{loss:.3f}"}
    if state.best is not None:
        values["held-out"] = f"{state.best:.3f}"
    values[f"{job.objective.unit}/s"] = count(speed)
    left = (state.horizon.end - state.step) * step_seconds
    job.progress.step(state.horizon.progress(state.step), values, left)


class Clock:
    """Seconds of training, earlier stretches of a resumed run included."""

    def __init__(self, before: float):
        self.before, self.start = before, time.monotonic()

    def now(self) -> float:
        """Seconds so far."""
        return self.before + time.monotonic() - self.start
