"""One training run from its parts to its folder: begin or resume, fit, finish. Knows no task and no file format."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from weft.config import Config, from_json
from weft.data.source import Source
from weft.errors import ConfigError, DataError, Interrupted, WeftError
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.training import loop
from weft.training.board import Board
from weft.training.disk import require_space
from weft.training.folder import RunFolder
from weft.training.lock import RunLock
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights, pick_device, pick_precision
from weft.training.progress import Progress
from weft.training.schedule import Horizon
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.world import World

MAX_PARAMETERS = 20_000_000_000


@dataclass(frozen=True)
class Budget:
    """How long to train: exactly one of the three."""

    steps: int | None = None
    minutes: float | None = None
    epochs: float | None = None

    def __post_init__(self) -> None:
        given = {k: v for k, v in vars(self).items() if v is not None}
        if len(given) > 1:
            raise ConfigError(f"give one of steps, minutes and epochs, not {' and '.join(given)}")
        for name, value in given.items():
            if not 0 < value < 1e12:
                raise ConfigError(f"must be above 0, found {value}", where=name)

    @property
    def seconds(self) -> float | None:
        """The time of a run by minutes."""
        return None if self.minutes is None else 60 * self.minutes

    def horizon(self, source: Source, batch: int, step_seconds: Callable[[], float]) -> Horizon:
        """From the first step to the last."""
        if self.steps is not None:
            return Horizon(end=self.steps)
        if self.epochs is not None:
            return Horizon(end=max(1, round(self.epochs * source.per_epoch / batch)))
        assert self.seconds is not None
        return Horizon(end=max(1, int(self.seconds / step_seconds())))


@dataclass(frozen=True)
class Work:
    """What is to be trained. `record` and `files` go into the run folder as they are."""

    model: Model.Config
    objective: Objective.Config
    source: Source
    training: Training
    budget: Budget
    record: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, Tensor] | None = None  # weights to begin with, instead of fresh ones


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    model: nn.Module
    steps: int
    seconds: float
    weights: Mapping[str, Tensor]


def perform(work: Work, folder: RunFolder, *, resume: bool, progress: Progress, stop: StopRequest) -> Outcome:
    """Train, from the start or from the last checkpoint, and leave the weights in the folder."""
    device = pick_device()
    world = World.join(device)
    _check_place(folder, resume)
    if not world.first:
        progress.quiet = True
        return _train(work, folder, resume, progress, stop, device, world)
    folder.path.mkdir(parents=True, exist_ok=True)
    with RunLock(folder.path):
        return _train(work, folder, resume, progress, stop, device, world)


def _train(
    work: Work,
    folder: RunFolder,
    resume: bool,
    progress: Progress,
    stop: StopRequest,
    device: torch.device,
    world: World,
) -> Outcome:
    found = None
    if resume:
        _check_same(work, folder.config(), folder)
        found = folder.resume(progress)
        progress.say(f"resuming from step {found.step}" if found else "no checkpoint yet: starting from the beginning")
    elif world.first:
        config = {**work.record, "model": work.model.to_json(), "objective": work.objective.to_json(),
                  "training": work.training.to_json(), "budget": vars(work.budget)}  # fmt: skip
        folder.begin({**config, "fingerprint": work.source.fingerprint}, work.files)
    model = build(work.model, work.training.seed, work.start)
    require_space(folder.path, 16 * parameters(model))
    job = loop.Job(
        model=model,
        objective=work.objective.build(),
        source=work.source,
        training=work.training,
        device=device,
        seconds=work.budget.seconds,
        note=_notes(work.training, folder, progress) if world.first else (lambda line: None),
        save=folder.save,
        progress=progress,
        stop=stop,
        world=world,
    )
    state, saved = loop.State(), None
    if found is not None:
        state = loop.State.from_json(found.state())
        stems = [name.removesuffix(".safetensors") for name in found.manifest["files"] if name.endswith(".safetensors")]
        saved = {stem: found.tensors(stem) for stem in stems}
    else:
        horizon = work.budget.horizon(work.source, work.training.batch, lambda: step_seconds(work, device))
        state.horizon = Horizon(end=int(world.agree(horizon.end)[0]))
    try:
        weights = loop.Fit(job, state, saved).run()
    except Interrupted as error:
        fix = f"go on with: weft train --resume --out {folder.path}"
        raise Interrupted(error.problem, fix=fix) from None
    model.float()
    model.load_state_dict(dict(weights), strict=False)
    world.wait()
    return Outcome(folder, model.eval(), state.step, state.seconds, weights)


def _notes(training: Training, folder: RunFolder, progress: Progress) -> Callable[[dict[str, Any]], None]:
    """Where the numbers of each step go."""
    board = Board(folder.path) if training.tensorboard else None

    def note(line: dict[str, Any]) -> None:
        folder.note(line, progress)
        if board is not None:
            board.note(line)

    return note


def build(config: Model.Config, seed: int, start: Mapping[str, Tensor] | None = None) -> nn.Module:
    """The model with its first weights, the same for the same seed, or with given ones."""
    check_size(config)
    torch.manual_seed(seed)
    model = config.build()
    if start is not None:
        Weights(model, torch.float32).load(dict(start))
    return model


def check_size(config: Model.Config) -> None:
    """Refuse a model that cannot be meant, before any memory is taken."""
    with torch.device("meta"):
        size = parameters(config.build())
    if size > MAX_PARAMETERS:
        raise ConfigError(
            f"a model of {size:,} parameters is beyond the limit of {MAX_PARAMETERS:,}", fix="make it smaller"
        )


def parameters(model: nn.Module) -> int:
    """The number of weights."""
    return sum(p.numel() for p in model.parameters())


def step_seconds(work: Work, device: torch.device, steps: int = 5) -> float:
    """Measured seconds of a training step, on a model that is thrown away."""
    import numpy as np

    model = build(work.model, work.training.seed).to(device)
    dtype = pick_precision(work.training.precision, device)
    weights = Weights(model, dtype)
    optimizer = Optimizer(weights, work.training, fast=dtype)
    objective = work.objective.build()
    job = loop.Job(model, objective, work.source, work.training, device, None, lambda line: None,
                   lambda *args: None, Progress(quiet=True), StopRequest(), World())  # fmt: skip
    times = []
    for step in range(steps + 2):
        start = time.perf_counter()
        _, seen = loop.accumulate(job, np.arange(work.training.batch) + step * work.training.batch, step)
        weights.collect()
        optimizer.step(seen, 1e-6)
        weights.clear()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def _check_place(folder: RunFolder, resume: bool) -> None:
    if resume and not folder.exists:
        raise WeftError("there is no run to resume", where=str(folder.path), fix="leave out --resume to begin one")
    if folder.exists and not resume:
        raise WeftError(
            "a run is already here", where=str(folder.path), fix="go on with it by --resume, or choose another --out"
        )
    if resume and folder.finished:
        raise WeftError(
            "this run is finished", where=str(folder.path), fix="start a new one from its weights with --from"
        )
    if not resume and folder.path.is_dir() and any(not p.name.startswith(".") for p in folder.path.iterdir()):
        raise WeftError("the folder is not empty", where=str(folder.path), fix="choose another --out")


def _check_same(work: Work, config: dict[str, Any], folder: RunFolder) -> None:
    """The parts that are about to go on must be those that began."""
    if config.get("fingerprint") != work.source.fingerprint:
        raise DataError(
            "the data has changed since this run began",
            where=str(folder.path),
            fix="put the data back as it was, or start a new run (with --from to keep the weights)",
        )
    for name, now in (("model", work.model), ("objective", work.objective), ("training", work.training)):
        was = from_json(config[name], Config, where=f"{folder.path}/config.json: {name}")
        if was != now:
            raise ConfigError(f"the {name} differs from the one this run began with", where=str(folder.path))
