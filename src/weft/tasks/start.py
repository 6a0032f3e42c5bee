"""`weft train` and `weft.train`: from the user's words to a finished run. Knows no task by name.

In a world of several processes the first one plans and writes; the others take what it wrote and train beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from weft.config import field_types, from_json
from weft.data.source import Source
from weft.errors import ConfigError, WeftError, nearest
from weft.inspect.curves import loss_curve
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.storage.store import shown
from weft.tasks.registry import recognise, task_named
from weft.tasks.run import Run, load, open_run
from weft.tasks.task import Loaded, Plan, Request, Task, with_settings
from weft.training.card import finite, model_card
from weft.training.claim import check_place, claim
from weft.training.folder import RunFolder
from weft.training.precision import pick_device
from weft.training.progress import Progress
from weft.training.run import Budget, Outcome, Work, parameters, perform
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.world import World


def train(
    data: str | Path | Sequence[str | Path] = (),
    *,
    task: str | None = None,
    model: str | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    from_: str | Path | None = None,
    valid: str | Path | None = None,
    resume: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> Run:
    """Train on files and return the run. The names are those of the command line; `settings` are what `--set` takes.

    With no data, the sample that ships for the task is used. `resume` goes on with the run in `out`.
    """
    sources = tuple(str(s) for s in ([data] if isinstance(data, str | Path) else data))
    budget = Budget(steps=steps, minutes=minutes, epochs=epochs)
    given = {"model": model, "preset": preset, "from": from_, "valid": valid, **vars(budget), **settings}
    device = pick_device()
    with torch.random.fork_rng(devices=[]), StopRequest() as stop, World.join(device) as world:
        progress = Progress(quiet=quiet or not world.first)
        if not world.first:
            told = world.tell()
            if not told:
                return Run(open_run(out or ""), reports=False)
            out, plan = told, _restore(RunFolder(told), sources)
        elif resume:
            if out is None:
                raise WeftError("which run?", where="--resume", fix="name its folder with --out")
            folder = RunFolder(out)
            check_place(folder, resume)
            _check_given(folder.config(), task, given)
            if folder.finished:
                progress.say(f"{shown(folder.path)}: this run is finished; train on from its weights with --from")
                world.tell("")  # nothing to do
                return load(out)
            plan = _restore(folder, sources)
        else:
            if out is not None:
                check_place(RunFolder(out), resume)
            origin = open_run(from_) if from_ is not None else None
            chosen, why = _choose(sources, task, origin)
            valid = None if valid is None else str(valid)
            plan = chosen.plan(Request(sources, model, preset, budget, valid, settings, device, origin, progress))
            plan = replace(plan, lines={"task": "", **why, **plan.lines})
        work = plan.work if resume or not world.first else plan.work.decided(device)
        with claim(work, out, resume=resume, world=world, stem=plan.stem) as folder:
            for name, text in {**plan.lines, "run": shown(folder.path)}.items():
                progress.say(f"  {name:<10} {text}")
            outcome = perform(work, folder, resume=resume, progress=progress, stop=stop, world=world)
            if world.first:
                _finish(outcome, progress)
    return Run(Loaded(folder, folder.config(), outcome.model), reports=world.first)


def _choose(sources: tuple[str, ...], name: str | None, origin: Loaded | None) -> tuple[Task, dict[str, str]]:
    """The task that is named, or that the files or the run to start from are of; also a line that says why."""
    why: dict[str, str] = {}
    was = None if origin is None else origin.config.get("task")
    if name is not None:
        chosen = task_named(name)
    elif sources:
        chosen, reason = recognise(sources)
        why = {"found": reason}
    elif was is not None:
        chosen = task_named(was)
    else:
        fix = "name your files, or a --task to use the sample that ships for it"
        raise WeftError("no data named", where="weft train", fix=fix)
    if origin is not None and was not in (chosen.name, *chosen.takes):
        raise WeftError(f"the run to start from is of the task {was}, not {chosen.name}", where="--from")
    return chosen, why


def _restore(folder: RunFolder, sources: tuple[str, ...]) -> Plan:
    """The plan of a run that was begun."""
    config = folder.config()
    if not config.get("task"):
        fix = "call weft.fit with resume=True"
        raise WeftError("this run was composed by hand and has no task", where=shown(folder.path), fix=fix)
    return Plan(task_named(config["task"]).restore(folder, config, sources), {}, "")


def _check_given(config: dict[str, Any], task: str | None, given: Mapping[str, Any]) -> None:
    """What the user says again at a resume must be what the run began with."""
    settings = task_named(config.get("task") or "").settings
    began = {**config["training"], **config["budget"], "model": config.get("model_name"), "preset": config.get("preset"),
             "valid": config.get("data", {}).get("valid"), "from": config.get("from"), "task": config.get("task")}  # fmt: skip
    for key, value in {**given, "task": task}.items():
        if value is None or value == "auto":
            continue
        if key in ("valid", "from"):
            value = str(Path(value).absolute())
        elif key in field_types(settings):
            value = getattr(with_settings(settings(), {key: value}), key)
        elif key.startswith("model."):
            was = from_json(config["model"], Model.Config)
            began[key] = value if with_settings(was, {key.removeprefix("model."): value}) == was else "something else"
        elif key not in began:
            raise ConfigError(f"unknown setting {key!r}", where="--set", fix=nearest(key, field_types(settings)))
        if value != began[key]:
            problem = f"this run began with {key}={began[key]}, not {value}"
            raise ConfigError(problem, where="--resume", fix="leave it out, or start a new run")


def _finish(outcome: Outcome, progress: Progress) -> None:
    """Measure the run; write its card, its curve, its result and at last its weights."""
    folder, model = outcome.folder, outcome.model
    config = folder.config()
    ending = task_named(config["task"]).finish(Loaded(folder, config, model), outcome, progress)
    result = {
        "parameters": parameters(model),
        "steps": outcome.steps,
        "seconds": round(outcome.seconds, 1),
        "metrics": finite(ending.metrics),
        "sample": ending.sample,
    }
    name = shown(Path(folder.path.absolute().name))
    curve = loss_curve(folder.metrics(), unit=ending.unit, title=name)
    card = model_card(name, result, summary=ending.summary, use=ending.use, facts=ending.facts)
    folder.finish(
        outcome.weights, {**config, "result": result}, {**ending.pictures, "README.md": card, "loss.png": curve}
    )


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
        told = "" if world.first else world.tell()
        if resume or not world.first:
            check_place(RunFolder(told or out), resume=True)
            config = RunFolder(told or out).config()
            training, budget = from_json(config["training"], Training), Budget(**config["budget"])
            if not told and RunFolder(out).finished:
                if world.first:
                    world.tell("")  # nothing to do
                return load(out)
            again = {name: value for name, value in settings.items() if value != "auto"}  # was decided when it began
            work = Work(model, objective, source, with_settings(training, again), budget)
        else:
            if budget == Budget():
                raise ConfigError("how long?", where="weft.fit", fix="give steps, minutes or epochs")
            work = Work(model, objective, source, with_settings(Training(), settings), budget).decided(device)
        with claim(work, told or out, resume=resume, world=world) as folder:
            outcome = perform(work, folder, resume=resume, progress=progress, stop=stop, world=world)
            if world.first:
                result = {"parameters": parameters(outcome.model), "steps": outcome.steps, "metrics": {},
                          "seconds": round(outcome.seconds, 1)}  # fmt: skip
                curve = loss_curve(folder.metrics(), title=shown(Path(folder.path.absolute().name)))
                folder.finish(outcome.weights, {**folder.config(), "result": result}, {"loss.png": curve})
    return Run(Loaded(folder, folder.config(), outcome.model))
