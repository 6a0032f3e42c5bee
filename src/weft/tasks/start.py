"""`weft train` and `weft.train`: from the user's words to a finished run. Knows no task by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.config import field_types, from_json
from weft.data.source import Source
from weft.errors import ConfigError, WeftError, nearest
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.tasks.registry import recognise, task_named
from weft.tasks.run import Run, load, open_run
from weft.tasks.task import Loaded, Request, Task
from weft.training.folder import RunFolder, fresh_folder
from weft.training.precision import pick_device
from weft.training.progress import Progress
from weft.training.run import Budget, Outcome, Work, perform
from weft.training.settings import Training
from weft.training.signals import StopRequest


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

    With no data, the sample that ships for the task is used.
    """
    sources = tuple(str(s) for s in ([data] if isinstance(data, str | Path) else data))
    progress = Progress(quiet=quiet)
    with StopRequest() as stop:
        if resume:
            given = {"model": model, "preset": preset, "from": from_, "valid": valid, "minutes": minutes, "steps": steps,
                     "epochs": epochs, **settings}  # fmt: skip
            outcome, chosen, config = _resume(sources, task, out, given, progress, stop)
        else:
            budget = Budget(steps=steps, minutes=minutes, epochs=epochs)
            origin = open_run(from_) if from_ is not None else None
            chosen = _choose(sources, task, origin)
            request = Request(
                sources=sources or chosen.samples(),
                model=model,
                preset=preset,
                budget=budget,
                valid=None if valid is None else str(valid),
                settings=settings,
                device=pick_device(),
                progress=progress,
                origin=origin,
            )
            outcome, config = _begin(chosen, request, out, stop)
        report = chosen.finish(outcome, config, progress)
    return Run(Loaded(outcome.folder, outcome.folder.config(), outcome.model), dict(report))


def _choose(sources: tuple[str, ...], name: str | None, origin: Loaded | None) -> Task:
    if name is not None:
        return task_named(name)
    if sources:
        return recognise(sources)
    if origin is not None and origin.config.get("task"):
        return task_named(origin.config["task"])
    raise WeftError(
        "no data named", where="weft train", fix="name your files, or a --task to use the sample that ships for it"
    )


def _begin(task: Task, request: Request, out: str | Path | None, stop: StopRequest) -> tuple[Outcome, dict[str, Any]]:
    if out is not None and RunFolder(out).exists:
        raise WeftError(
            "a run is already here", where=str(out), fix="go on with it by --resume, or choose another --out"
        )
    plan = task.plan(request)
    folder = RunFolder(out if out is not None else fresh_folder(plan.stem))
    for name, text in {**plan.lines, "run": str(folder.path)}.items():
        request.progress.say(f"  {name:<10} {text}")
    outcome = perform(plan.work, folder, resume=False, progress=request.progress, stop=stop)
    return outcome, folder.config()


def _resume(
    sources: tuple[str, ...],
    name: str | None,
    out: Any,
    given: Mapping[str, Any],
    progress: Progress,
    stop: StopRequest,
) -> tuple[Outcome, Task, dict[str, Any]]:
    if out is None:
        raise WeftError("which run?", where="--resume", fix="name its folder with --out")
    folder = RunFolder(out)
    if not folder.exists:
        raise WeftError("there is no run to resume", where=str(out), fix="leave out --resume to begin one")
    config = folder.config()
    task = task_named(name or config.get("task") or "")
    _check_given(task, config, given)
    work = task.restore(folder, config, sources)
    return perform(work, folder, resume=True, progress=progress, stop=stop), task, config


def _check_given(task: Task, config: dict[str, Any], given: Mapping[str, Any]) -> None:
    """What the user says again at a resume must be what the run began with."""
    began = {**config["training"], **config["budget"], "model": config.get("model_name"), "preset": config.get("preset"),
             "valid": config.get("data", {}).get("valid"), "from": config.get("from")}  # fmt: skip
    wanted = apply_settings(task.settings(), {k: v for k, v in given.items() if k in field_types(task.settings)})
    for key, value in given.items():
        if value is None:
            continue
        if key not in began:
            raise ConfigError(f"unknown setting {key!r}", where="--set", fix=nearest(key, began))
        value = getattr(wanted, key) if key in field_types(task.settings) else value
        if value != began[key]:
            raise ConfigError(
                f"this run began with {key}={began[key]}, not {value}",
                where="--resume",
                fix="leave it out, or start anew",
            )


def apply_settings(config: Any, settings: Mapping[str, Any]) -> Any:
    """A config with the user's settings; unknown names are refused with the nearest known one."""
    for name, value in settings.items():
        if name.split(".")[0] not in field_types(type(config)):
            raise ConfigError(f"unknown setting {name!r}", where="--set", fix=nearest(name, field_types(type(config))))
        config = config.set(name, value)
    return config


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
    from weft.inspect.curves import loss_curve

    folder, progress = RunFolder(out), Progress(quiet=quiet)
    if resume:
        config = folder.config()
        training = from_json(config["training"], Training)
        budget = Budget(**config["budget"])
    else:
        training = apply_settings(Training(), settings)
        budget = Budget(steps=steps, minutes=minutes, epochs=epochs)
    work = Work(model, objective, source, training, budget)
    with StopRequest() as stop:
        outcome = perform(work, folder, resume=resume, progress=progress, stop=stop)
    folder.finish(outcome.weights, {"loss.png": loss_curve(folder.metrics(), title=folder.path.name)})
    return load(folder.path)
