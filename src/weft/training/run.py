"""One training run from its parts to its folder: begin or resume, fit, finish. Knows no task and no file format."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from weft.amounts import count
from weft.batches.features import InputSource
from weft.core.threads import suited_threads
from weft.errors import ConfigError, StorageError, listed, placed
from weft.machine import memory
from weft.models.outline import built, outline, own_tensors
from weft.models.stream import Model
from weft.storage.soundness import broken_tensors
from weft.storage.store import shown
from weft.training import loop, passes
from weft.training.board import Board
from weft.training.checkpoint import STATE, Checkpoint, latest, set_aside
from weft.training.devices import device_memory, pick_device
from weft.training.features import FeatureStore, frozen_reader, kept_inputs
from weft.training.folder import RunFolder
from weft.training.parallel import share_of
from weft.training.precision import Weights, pick_precision
from weft.training.progress import Progress, read_counter
from weft.training.schedule import Horizon
from weft.training.settings import Training
from weft.training.shards import Cut
from weft.training.shares import Share
from weft.training.signals import StopRequest
from weft.training.trial import step_seconds
from weft.training.work import SINGLE_THREAD_WEIGHTS, Work, build
from weft.training.world import World

TRAINING_BYTES_PER_WEIGHT = 16  # the weight, its gradient, and the state of the optimizer


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    model: Model
    steps: int
    seconds: float
    weights: Mapping[str, Tensor]
    warning: str = ""  # what is wrong with the model, if anything is known to be


def perform(
    work: Work, folder: RunFolder, *, resume: bool, progress: Progress, stop: StopRequest, world: World
) -> Outcome:
    """Train, from the start or from the last checkpoint, in a folder that was claimed."""
    world.compare(work.identity())
    device = pick_device()
    if world.size == 1 and work.training.parallel == "shard":
        progress.say("parallel=shard: this is the only process, and holds all weights (torchrun starts several)")
    if world.size > 1 and work.training.compile == "always":
        progress.say("compile=always: not where several processes compute a step; blocks are computed as they are")
    model = build(work.model, work.training.seed, work.start, work.frozen)
    with suited_threads(model, small=SINGLE_THREAD_WEIGHTS):
        found = _found(folder, resume, progress, world)
        share = share_of(world, work.training)
        saved = None if found is None else _saved(found, work, model, share)
        began = time.monotonic()
        whole = found.tensors("model") if found is not None and work.versions else {}
        work = _with_features(work, model, folder, whole, progress, stop, world)
        job = loop.Job(
            model=model,
            objective=work.objective.build(),
            source=work.source,
            training=work.training,
            device=device,
            seconds=work.budget.seconds,
            note=_notes(work.training, folder, progress, found) if world.first else (lambda line: None),
            save=partial(folder.save, progress=progress),
            show=_shows(work, folder if world.first else None, progress),
            progress=progress,
            stop=stop,
            world=world,
            set_aside=partial(set_aside, folder.path),
        )
        if saved is None:
            spent = world.agree(time.monotonic() - began) if work.versions else 0.0  # counts as time of the run
            timed = partial(step_seconds, work, device, share=world.computing_at_once)
            horizon = work.budget.horizon(work.source, work.training, timed)
            state = loop.State(horizon=Horizon(end=int(world.agree(horizon.end))), seconds=spent)
        else:
            state = saved[0]
        with placed(shown(folder.path if found is None else found.path)):
            fit = loop.Fit(job, state, None if saved is None else saved[1])
        with placed(shown(folder.path)):
            weights = fit.run()
        warning = _worse_than_nothing(work, job, fit) if world.first else ""
        if warning:
            progress.say(f"warning: {warning}")
    if job.compute.share is not None:  # the processes part: each has a model of its own again
        model = built(work.model).freeze(*work.frozen)
    model.float()
    model.load_state_dict(dict(weights), strict=False)
    with torch.inference_mode(), suited_threads(model, small=SINGLE_THREAD_WEIGHTS):
        job.objective.calibrate(model.eval(), (batch.to(device) for batch in work.source.held_out()))
    return Outcome(folder, model, state.step, state.seconds, Weights(model, torch.float32).tensors(), warning)


def _with_features(
    work: Work,
    model: Model,
    folder: RunFolder,
    weights: Mapping[str, Tensor],
    progress: Progress,
    stop: StopRequest,
    world: World,
) -> Work:
    """The work on the features of a frozen encoder, where they are computed once; `weights` are of a checkpoint."""
    if not work.versions:
        return work
    reader, source = frozen_reader(model), cast(InputSource, work.source)
    assert reader is not None, "features are kept of a frozen encoder alone"
    model.load_state_dict(dict(weights), strict=False)
    stop.stage = "while features were computed: those that are done are kept"
    if not world.first:
        world.tell()  # the first process computes them
    device = pick_device()
    dtype = pick_precision(work.training.precision, device)
    store = FeatureStore(reader, folder.path, device, dtype, writes=world.first)
    kept = kept_inputs(source, work.versions, store, read_counter(progress, "encoded"))
    progress.stop()
    if world.first:
        world.tell()
    return replace(work, source=source.with_inputs(kept))


def _saved(
    found: Checkpoint, work: Work, model: Model, share: Share | None
) -> tuple[loop.State, dict[str, dict[str, Tensor]]]:
    """Where a run stands, and the tensors of its checkpoint by group; refused where they are not this run's.

    Of tensors that processes share, the part of this one.
    """
    where = shown(found.path / STATE)
    state = loop.State.from_json(found.state(), where)
    end = state.horizon.end
    if (
        not 0 <= state.step <= end or state.step != found.step or end > (work.budget.steps or end)
    ):  # patience ends earlier
        problem = f"the run stands at step {state.step} of {end}, against {found.step} of {work.budget.steps or end}"
        raise ConfigError(problem, where=where, fix="restore the folder from a copy, or start a new run")
    weights = {name: p.shape for name, p in model.named_parameters()}
    saved = found.groups(Cut(share, weights) if share is not None and share.divided else None)
    for stem in ("model", "optimizer"):
        if stem not in saved:
            found.tensors(stem)  # refuses
    shapes = {name: (t if share is None or name not in weights else share.of(t)).shape
              for name, t in own_tensors(model).items()}  # fmt: skip
    for stem in saved:
        place = shown(found.path / f"{stem}.safetensors")
        if broken := broken_tensors(saved[stem]):
            raise StorageError(f"numbers that are not finite: {listed(broken)}", where=place)
        odd = [name for name, tensor in saved[stem].items() if stem != "optimizer" and shapes.get(name) != tensor.shape]
        if odd:
            raise ConfigError(f"tensors that do not fit this run's model: {listed(odd)}", where=place)
    return state, saved


def _worse_than_nothing(work: Work, job: loop.Job, fit: loop.Fit) -> str:
    """What to say where the weights do worse on held-out data than fresh ones, which are tried only if in doubt."""
    score, first = fit.score, fit.state.first_loss
    if not job.objective.comparable or score is None or first is None or score.loss <= first:
        return ""
    try:
        with torch.random.fork_rng(devices=[]):
            fresh = build(work.model, work.training.seed).to(job.device)
            nothing = passes.evaluate(replace(job, model=fresh), most=fit.pace.probe)
    except torch.OutOfMemoryError:  # the trained model and its optimizer are still there
        return ""
    if not nothing.clearly_beats(score):
        return ""
    return (
        f"this model is worse than an untrained one: held-out loss {score.loss:.3g}, untrained {nothing.loss:.3g}; "
        f"start again with a lower learning rate, for example --set lr={loop.lower_rate(work.training.lr):g}"
    )


def _found(folder: RunFolder, resume: bool, progress: Progress, world: World) -> Checkpoint | None:
    """The checkpoint to go on from, if there is one."""
    if not resume:
        return None
    found = folder.resume(progress) if world.first else latest(folder.path, report=progress.say)
    progress.say(f"resuming from step {found.step}" if found else "no checkpoint yet: starting from the beginning")
    return found


def _notes(
    training: Training, folder: RunFolder, progress: Progress, found: Checkpoint | None
) -> Callable[[dict[str, Any]], None]:
    """Where the numbers of each step go."""
    board = Board(folder.path, since=found.step if found else 0) if training.tensorboard else None

    def note(line: dict[str, Any]) -> None:
        folder.note(line, progress)
        if board is not None:
            board.note(line)

    return note


def _shows(work: Work, folder: RunFolder | None, progress: Progress) -> Callable[[Model], None]:
    """What draws pictures of a model into the run folder, if there is one; a full disk is no reason to stop."""

    def show(model: Model) -> None:
        if work.illustrate is None:
            return
        try:
            for name, picture in work.illustrate(model).items():
                if folder is not None:
                    folder.write(name, picture)
        except StorageError as error:
            progress.say(f"warning: {error}")

    return show


def size_of(config: Model.Config, *, training: bool, room: float | None = None) -> int:
    """The number of weights, without making any; refuses what cannot be meant or cannot fit in memory.

    `room` are the bytes there are; by default those of the device that trains, or of the machine that loads.
    """
    size = parameters(outline(config))
    each = TRAINING_BYTES_PER_WEIGHT if training else 4
    device = pick_device()
    room = room or (device_memory(device) if training else memory())
    owner = "this machine" if device.type == "cpu" or not training else "its GPU"
    if size * each > room:
        raise ConfigError(
            f"a model of {count(size)} parameters needs {count(size)} x {each} bytes = {size * each / 1e9:,.1f} GB to "
            f"be {'trained' if training else 'loaded'}, and {owner} has {room / 1e9:,.1f} GB",
            where="model",
            fix="make it smaller: fewer or narrower layers (depth, dim)",
        )
    return size


def parameters(model: nn.Module) -> int:
    """The number of weights."""
    return sum(p.numel() for p in model.parameters())
