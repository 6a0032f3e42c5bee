"""How long a training step takes, tried on a model that is thrown away. Changes nothing of the run to come."""

import itertools
import math
import statistics
import time
from collections.abc import Iterator

import numpy as np
import torch

from weft.core.threads import suited_threads
from weft.core.trunk import recompute_blocks
from weft.models.outline import outline
from weft.models.stream import Model
from weft.training import loop, passes
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights, pick_precision
from weft.training.progress import Progress
from weft.training.schedule import rate
from weft.training.signals import StopRequest
from weft.training.work import SINGLE_THREAD_WEIGHTS, Work, build
from weft.training.world import World

MEASURING_SHARE = 0.1  # the most of a run by minutes that goes into measuring its steps beforehand
WARM_UP, FEWEST_STEPS = 2, 4  # steps that are not counted, as the first are slow; steps that are, unless time is short
TRIAL_SECONDS = 2.0  # in which steps are timed before the size of a model is decided


def trial_job(work: Work, model: Model, device: torch.device) -> loop.Job:
    """What a model is trained by where nothing of it is kept: no notes, no checkpoints, no pictures."""
    objective, seconds = work.objective.build(), work.budget.seconds
    return loop.Job(model, objective, work.source, work.training, device, seconds, lambda line: None,
                    lambda *a, **b: True, lambda model: None, Progress(quiet=True), StopRequest(), World())  # fmt: skip


def trial_steps(work: Work, device: torch.device, share: float = 1.0) -> Iterator[float]:
    """The seconds of one training step after another, on a model that is thrown away.

    Where `share` processes compute at once, the steps are of the samples that one of them takes.
    It learns as in the run: with a rate near zero, matrices would stay denormal, and Muon took five times as long.
    """
    model = build(work.model, work.training.seed, frozen=work.frozen).to(device)
    recompute_blocks(model, bool(work.training.recompute))
    job = trial_job(work, model, device)
    dtype = pick_precision(work.training.precision, device)
    weights = Weights(model, dtype)
    optimizer = Optimizer(weights, work.training, fast=dtype)
    samples = max(1, round(work.training.batch / share))
    for step in itertools.count():
        start = time.perf_counter()
        sums = passes.accumulate(job, np.arange(samples) + step * work.training.batch, step)
        weights.collect()
        optimizer.step(sums.count, rate(step, 0.0, work.training.warmup, work.training.schedule))
        weights.clear()
        yield time.perf_counter() - start


def step_seconds(work: Work, device: torch.device, steps: int = 5, share: float = 1.0) -> float:
    """Measured seconds of a training step; fewer steps are tried where they are slow."""
    times: list[float] = []
    for seconds in itertools.islice(trial_steps(work, device, share), steps + WARM_UP):
        times.append(seconds)
        if sum(times) > MEASURING_SHARE * (work.budget.seconds or math.inf):
            break
    return statistics.median(times[WARM_UP:] or times[-1:])


def undisturbed_step_seconds(
    work: Work, device: torch.device, seconds: float = TRIAL_SECONDS, share: float = 1.0
) -> float:
    """Seconds of a training step while no other program is in the way: those that the fastest quarter of steps takes.

    No random state is changed, and the model is gone afterwards.
    """
    times: list[float] = []
    with torch.random.fork_rng(devices=[]), suited_threads(outline(work.model), small=SINGLE_THREAD_WEIGHTS):
        for one in trial_steps(work, device, share):
            times.append(one)
            enough = sum(times[WARM_UP:]) > seconds and len(times) >= WARM_UP + FEWEST_STEPS
            if enough or sum(times) > MEASURING_SHARE * (work.budget.seconds or math.inf):
                break
    counted = sorted(times[WARM_UP:] or times[-1:])
    return counted[(len(counted) - 1) // 4]
