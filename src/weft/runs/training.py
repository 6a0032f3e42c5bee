"""Runs in training: planned, trained, measured, written. In a world of several processes the first one plans and
writes; the others take what it wrote and train beside it.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from weft.batches.source import Source
from weft.config import field_types, from_json
from weft.domains.registry import card_named
from weft.errors import ConfigError, WeftError
from weft.files.dataset import stem
from weft.files.finding import require_data
from weft.files.remote import fetched
from weft.files.ways import WAYS, reading
from weft.inspect.curves import loss_curve
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.runs.run import Run, load, loaded, open_run
from weft.runs.start import Asked, choose, reading_settings
from weft.storage.store import shown
from weft.tasks.baselines import COMPARED
from weft.tasks.card import Card
from weft.tasks.finetuning import kept_settings
from weft.tasks.planning import AnyData, Plan, plan, record_of, restore, training_of
from weft.tasks.request import Loaded, Request
from weft.tasks.settings.limits import with_settings
from weft.tasks.using import finish
from weft.training.card import model_card
from weft.training.claim import claim
from weft.training.devices import pick_device
from weft.training.folder import RunFolder, check_place
from weft.training.progress import Progress, read_counter
from weft.training.retention import checkpoints_in, committed
from weft.training.run import Outcome, parameters, perform
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.work import Work
from weft.training.world import World

KEPT_MEASURES = ("intervals", *COMPARED)  # of an evaluation, beside its metrics, in the result of a run


def together() -> World:
    """The processes that train together, to be entered ahead of all that one of them may refuse."""
    return World.join(pick_device())


def train_new(
    asked: Asked,
    card: Card,
    data: AnyData,
    why: str,
    place: RunFolder | None,
    progress: Progress,
    stop: StopRequest,
    origin: Loaded | None = None,
) -> Run:
    """A new run on data that was read; `why` says why the task was taken."""
    device = pick_device()
    with torch.random.fork_rng(devices=[]), World.join(device) as world:
        request = replace(_request(asked, card, device, origin, progress), world=world)
        made = plan(card.task, request, data)
        taken = {"because": f"weft found {why} (for another task: --task NAME)"} if why else {}
        lines = {"task": f"{card.name}: {card.summary}", **taken, **made.lines}
        unset = {} if asked.baselines else {"baselines": False}
        made = replace(made, work=replace(made.work, record={**made.work.record, **unset}))
        work, name = made.work.decided(device), stem(asked.sources, card.reader.sample)
        with claim(work, None if place is None else place.path, resume=False, world=world, stem=name) as folder:
            for title, text in lines.items():
                progress.say(f"  {title:<10} {text}")
            progress.claimed(folder.path)
            outcome = perform(work, folder, resume=False, progress=progress, stop=stop, world=world)
            return _finished(card, made, outcome, progress)


def _request(asked: Asked, card: Card, device: torch.device, origin: Loaded | None, progress: Progress) -> Request:
    """What is asked of a task, with the runs that it begins with."""
    request = Request(asked.sources, asked.model, asked.preset, asked.budget, asked.valid, asked.settings, device,
                      origin, progress=progress)  # fmt: skip
    return _with_decoder(request, card)


def planned_lines(asked: Asked, card: Card, data: AnyData, progress: Progress) -> dict[str, str]:
    """The lines of the plan for data that was read; nothing is written, nothing trained and no step timed."""
    return dict(planned(asked, card, data, progress).lines)


def planned(asked: Asked, card: Card, data: AnyData, progress: Progress, room: float | None = None) -> Plan:
    """The plan for data that was read, on devices with `room` bytes in all; nothing is written, trained or timed."""
    with torch.random.fork_rng(devices=[]):
        request = replace(_request(asked, card, pick_device(), None, progress), room=room)
        return plan(card.task, request, data, timing=False)


def train_from(asked: Asked, place: RunFolder | None, progress: Progress, stop: StopRequest) -> Run:
    """A new run that starts from the weights of another."""
    origin = open_run(asked.origin or "")
    was = origin.config.get("task")
    with asked.reading():
        card, why = choose(asked, was)
    if was not in (card.name, *card.task.starts_from):
        raise WeftError(f"the run to start from is of the task {was}, not {card.name}", where="--from")
    kept = kept_settings(card.training, card.task.recipe, origin.config["training"])
    settings = reading_settings(card, asked, {name: value for name, value in kept.items() if value is not None})
    with asked.reading():
        data = card.reader.read(asked.sources, asked.valid, settings, read_counter(progress))
    progress.stop()
    return train_new(asked, card, data, why, place, progress, stop, origin)


def _with_decoder(request: Request, card: Card) -> Request:
    """The request with the run of a language model that it names, if the task takes one."""
    named = request.settings.get("decoder") if "decoder" in field_types(card.training) else None
    if named is None:
        return request
    settings = {**request.settings, "decoder": str(Path(str(named)).absolute())}
    return replace(request, decoder=open_run(str(named)), settings=settings)


def resume_run(
    card: Card,
    sources: tuple[str, ...],
    place: RunFolder,
    progress: Progress,
    stop: StopRequest,
    how: Mapping[str, Any] = {},
) -> Run:
    """A run that was stopped goes on, in the same way or in another (`how`); a finished one is left as it is."""
    with torch.random.fork_rng(devices=[]), World.join(pick_device()) as world:
        if place.finished:
            progress.say(f"{shown(place.path)}: this run is finished; train on from its weights with --from")
            world.announce("")  # nothing to do
            return load(place.path)
        again = _restored(card, place, sources, progress)
        training = with_settings(again.work.training, how)
        record = {**again.work.record, "training": training.to_json()} if how else again.work.record
        again = replace(again, work=replace(again.work, training=training, record=record))
        with claim(again.work, place.path, resume=True, world=world) as folder:
            progress.claimed(folder.path)
            outcome = perform(again.work, folder, resume=True, progress=progress, stop=stop, world=world)
            return _finished(card, again, outcome, progress)


def train_beside(sources: tuple[str, ...], place: RunFolder | None, stop: StopRequest) -> Run:
    """The part of a process that is not the first of its world: it trains beside it, and writes nothing."""
    progress = Progress(quiet=True)
    with torch.random.fork_rng(devices=[]), World.join(pick_device()) as world:
        named = world.announce()
        if not named:
            return Run(open_run("" if place is None else place.path), reports=False)
        folder = RunFolder(named)
        with world.refusing():
            work = _restored(card_named(folder.config()["task"]), folder, sources, progress).work
        outcome = perform(work, folder, resume=True, progress=progress, stop=stop, world=world)
        return Run(loaded(folder, folder.config(), outcome.model), reports=False)


def _restored(card: Card, folder: RunFolder, sources: tuple[str, ...], progress: Progress) -> Plan:
    """The plan of a run that was begun, its data read again."""
    sources = fetched(sources, read_counter(progress, "MB fetched"))
    config, where = folder.config(), f"{folder.path}/config.json"
    record, training = record_of(config, where), training_of(card.task, config, where)
    if not sources:
        require_data(
            record.sources, str(folder.path), f"weft train NEW/PATH --resume --out {shlex.quote(str(folder.path))}"
        )
    with reading(**{name: getattr(training, name) for name in WAYS}):
        data = card.reader.read(sources or record.sources, record.valid, training, read_counter(progress))
    progress.stop()
    runs = {} if committed(checkpoints_in(folder.path)) else _began_with(card, folder, record.sources)
    return restore(card.task, folder, data, sources, progress, runs)


def _began_with(card: Card, folder: RunFolder, sources: tuple[str, ...]) -> dict[str, Loaded]:
    """The runs whose weights a run begins with that has no checkpoint yet; refused where they are others now."""
    config = folder.config()
    found = {word: open_run(known["run"]) for word, known in config.get("began_with", {}).items()}
    for word, run in found.items():
        if run.described["fingerprint"] != config["began_with"][word]["fingerprint"]:
            problem = f"{run.folder.path} is another run now, and this one has no weights of its own yet"
            raise WeftError(problem, where=str(folder.path), fix="begin anew: weft train … --from RUN")
    request = Request(sources, config["model_name"], config["preset"], Budget(**config["budget"]), None, {},
                      pick_device(), found.get("from"), found.get("decoder"))  # fmt: skip
    return card.task.starting(request).runs


def _finished(card: Card, made: Plan, outcome: Outcome, progress: Progress) -> Run:
    """Measure the run; write its card, its curve, its result and at last its weights."""
    folder = outcome.folder
    run = loaded(folder, folder.config(), outcome.model)
    ending = finish(card.task, run, made.data, progress)
    result = {
        "parameters": parameters(outcome.model),
        "steps": outcome.steps,
        "seconds": round(outcome.seconds, 1),
        "metrics": dict(ending.measured.metrics),
        **{key: ending.measured.more[key] for key in KEPT_MEASURES if ending.measured.more.get(key)},
        "sample": ending.sample,
        "example": ending.example,
        **({"warning": outcome.warning} if outcome.warning else {}),
    }
    name = shown(Path(folder.path.absolute().name))
    curve = loss_curve(folder.metrics(progress), unit=card.task.unit, title=name)
    readme = model_card(name, result, summary=ending.summary, use=ending.use, facts=ending.facts)
    files: dict[str, str | bytes] = {**ending.measured.pictures(), "README.md": readme, "loss.png": curve}
    base = run.config["from"] if run.config["training"].get("lora") else None
    folder.finish(outcome.weights, {**run.config, "result": result}, files, base=base)
    return Run(loaded(folder, folder.config(), outcome.model))


def same_model(card: Card, config: Any, key: str, value: Any) -> bool:
    """Whether a setting of a part of the model changes nothing; `card` is of the task that its parts come with."""
    _ = card.task
    was = from_json(config, Model.Config)
    return bool(with_settings(was, {key.removeprefix("model."): value}) == was)


def _begun_with(folder: RunFolder, settings: Mapping[str, Any]) -> tuple[Training, Budget]:
    """The settings and the budget of a run that `fit` began; `settings` are given again and must fit them."""
    config = folder.config()
    again = {name: value for name, value in settings.items() if value != "auto"}  # was decided when it began
    return with_settings(from_json(config["training"], Training), again), Budget(**config["budget"])


def fit(
    model: Model.Config,
    objective: Objective.Config,
    source: Source,
    *,
    out: str | Path,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    resume: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> Run:
    """Train a model composed by hand, on data of any kind, in the same loop and run folder as everything else."""
    device, budget = pick_device(), Budget(steps=steps, minutes=minutes, epochs=epochs)
    with torch.random.fork_rng(devices=[]), StopRequest() as stop, World.join(device) as world:
        progress = Progress(quiet=quiet or not world.first)
        place = out if world.first else world.announce()
        if not place:
            return load(out)
        with world.refusing():
            if resume or not world.first:
                check_place(RunFolder(place), resume=True)
                if world.first and RunFolder(place).finished:
                    world.announce("")  # nothing to do
                    return load(place)
                training, budget = _begun_with(RunFolder(place), settings)
                work = Work(model, objective, source, training, budget)
            else:
                if budget == Budget():
                    raise ConfigError("how long?", where="weft.fit", fix="give steps, minutes or epochs")
                work = Work(model, objective, source, with_settings(Training(), settings), budget).decided(device)
        with claim(work, place, resume=resume, world=world) as folder:
            outcome = perform(work, folder, resume=resume, progress=progress, stop=stop, world=world)
            if world.first:
                result = {"parameters": parameters(outcome.model), "steps": outcome.steps, "metrics": {},
                          "seconds": round(outcome.seconds, 1),
                          **({"warning": outcome.warning} if outcome.warning else {})}  # fmt: skip
                curve = loss_curve(folder.metrics(progress), title=shown(Path(folder.path.absolute().name)))
                folder.finish(outcome.weights, {**folder.config(), "result": result}, {"loss.png": curve})
    return Run(loaded(folder, folder.config(), outcome.model))
