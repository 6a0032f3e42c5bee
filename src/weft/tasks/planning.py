"""From a request to the work of a run, and back to it when the run is resumed: one flow for every task.

read -> codecs -> encode -> budget -> model -> source -> Work, and once more from `model` on where its steps were timed.
Where no model is named and the card lets some race, each has a short run first, on other rows than are measured.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

from weft.amounts import count
from weft.config import from_json
from weft.files.dataset import Dataset
from weft.models.describing import in_words
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.tasks.codec import Codecs, codecs_from_json
from weft.tasks.finetuning import first_training, frozen_parts, with_features, with_learned_parts
from weft.tasks.parts import check_fit
from weft.tasks.race import Race, affordable, length, race, wall_clock
from weft.tasks.recipe import choose_budget
from weft.tasks.record import DataRecord
from weft.tasks.request import Draft, Json, Loaded, Request
from weft.tasks.settings.sized import SizedTraining
from weft.tasks.sizing import Sizing
from weft.tasks.task import Task
from weft.training.fitting import chunk_in_words, in_chunks
from weft.training.folder import RunFolder
from weft.training.precision import pick_precision, why_precision
from weft.training.progress import Progress
from weft.training.run import size_of
from weft.training.schedule import Budget
from weft.training.score import HeldOutScore
from weft.training.short_run import short_run
from weft.training.trial import undisturbed_step_seconds
from weft.training.work import Work

M = TypeVar("M", bound=Model.Config)
AnyTask = Task[Any, Any, Any]
AnyData = Dataset[Any, Any]
AnyDraft = Draft[Any, Any, Any]
SIZES = {"dim", "depth"}  # settings by which a user says the size


@dataclass(frozen=True)
class Plan:
    """What will be done: the work, the data that it is on, and the lines that tell the user about it."""

    work: Work
    data: AnyData
    lines: Mapping[str, str]


def plan(task: AnyTask, request: Request, data: AnyData, *, timing: bool = True) -> Plan:
    """Decide everything that the user left open; with `timing`, the size by a few steps that are timed.

    What the recipe of the task does not know is refused first.
    """
    request = task.starting(request)
    task.recipe.check(request)
    request, raced = _raced(task, request, data, timing=timing)
    draft = _draft(task, request, data)
    work = _work(task, draft)
    if timing and draft.sizing.worth_timing and not SIZES.intersection(request.settings):
        draft = replace(draft, sizing=_timed(draft.sizing, work, request))
        work = _work(task, draft, work)
    if isinstance(raced, Race):
        work = replace(work, record={**work.record, "race": raced.record()})
    lines = {
        **draft.encoded.lines(),
        "model": _model_line(request, work),
        **task.model_lines(draft.encoded, work.model, work.record["model_name"]),
        **({"chosen": raced if isinstance(raced, str) else raced.in_words()} if raced else {}),
        **({"sized": words} if (words := draft.sizing.in_words()) else {}),
        **({"loss": words} if (words := chunk_in_words(work)) else {}),
        "training": _training_line(request, work, task.batch_in_words(work.training, work.source)),
        **({"advice": words} if (words := _advice(task, request, data)) else {}),
    }
    return Plan(work, data, lines)


def _advice(task: AnyTask, request: Request, data: AnyData) -> str:
    """That a pretrained model may help, where a user's data is little and nothing was learned before."""
    known = task.card.pretrained
    return known.advice(len(data.train)) if known and request.sources and not request.runs else ""


def _draft(task: AnyTask, request: Request, data: AnyData) -> AnyDraft:
    """All that is known before the model is."""
    origin = request.origin
    training = first_training(task.training, task.recipe, request, task.model_name(request))
    codecs = task.codecs(data, training, request.known)
    known = None if origin is None else origin.model.config
    encoded = task.encode(data, codecs, training, known, request.progress)
    request.progress.stop()
    budget = choose_budget(request, encoded.minutes)
    at_once = request.world.computing_at_once
    sizing = Sizing.guessed(budget, task.recipe.efficiency, request.device, training.precision, at_once)
    return Draft(request, data, codecs, encoded, training, budget, sizing)


def _raced(task: AnyTask, request: Request, data: AnyData, *, timing: bool) -> tuple[Request, Race | str | None]:
    """The request with the model that won a race and the budget that is left; and the race, or words in its place."""
    names = task.card.races
    rehearsal = task.rehearsal(data) if names and not request.model and not request.runs else None
    if rehearsal is None:
        return request, None
    draft = _draft(task, request, rehearsal)
    if not affordable(draft.budget, len(names)):
        return request, f"the default: {length(draft.budget)} are too short to try {', '.join(names)} first"
    if not timing:
        return request, f"when training begins, by short runs of {', '.join(names)}"

    def score(name: str, budget: Budget) -> HeldOutScore:
        own = replace(request, model=name, budget=budget)
        training = first_training(task.training, task.recipe, own, name)
        sizing = Sizing.guessed(draft.budget, task.recipe.efficiency, own.device, training.precision)
        tried = replace(draft, request=own, training=training, budget=budget, sizing=sizing)
        own.progress.say(f"trying {name} for {length(budget)}")
        return short_run(_work(task, tried), own.device)

    found = race(names, draft.budget, score, wall_clock)
    return replace(request, model=found.winner, budget=found.left), found


def _timed(sizing: Sizing, work: Work, request: Request) -> Sizing:
    """The choice of a size anew, by the speed of a few training steps with the size that was guessed."""
    size_of(work.model, training=True, room=request.room)  # refuses what does not fit into memory
    request.progress.say("timing a few steps, to choose the size")
    seconds = undisturbed_step_seconds(work, request.device, share=request.world.computing_at_once)
    return sizing.timed(work.training.batch / work.source.per_epoch / seconds)


def _work(task: AnyTask, draft: AnyDraft, before: Work | None = None) -> Work:
    """What is trained, for a draft; `before` is that of an earlier one on the same data, whose parts are kept."""
    request, codecs, encoded = draft.request, draft.codecs, draft.encoded
    origin = request.origin
    model, training = task.sized(draft) if origin is None else task.continued(draft, origin)
    start = _start(task, request.runs, codecs, model)
    training = with_learned_parts(training, model, start or {})
    frozen = frozen_parts(task.recipe, training, model)
    training = with_features(training, model, frozen)
    same = before is not None and (model, training) == (before.model, before.training)
    source = before.source if same and before else task.source(encoded, codecs, model, training)
    objective = in_chunks(task.objective(encoded, codecs, training), model, training, source)
    usual = task.usual_answer(draft.data, codecs)
    record = DataRecord.of(draft.data, request.sources, request.valid, encoded.amounts, usual)
    sizing = draft.sizing.record()
    return Work(
        model=model,
        objective=objective,
        source=source,
        training=training,
        budget=draft.budget,
        record={
            "task": task.name,
            "model_name": task.model_name(request),
            "preset": request.preset,
            "from": None if origin is None else str(origin.folder.path.absolute()),
            "began_with": {word: run.described for word, run in request.runs.items()},
            "data": record.to_json(),
            "codecs": {end: codec.config.to_json() for end, codec in codecs.items()},
            **({} if sizing is None else {"sizing": sizing}),
        },
        files={**files_of(codecs), **task.kept_files(encoded)} if before is None else before.files,
        start=start,
        frozen=frozen,
        versions=getattr(training, "versions", 0),
        illustrate=task.illustrate(encoded, model),
    )


def _start(task: AnyTask, runs: Mapping[str, Loaded], codecs: Codecs, model: Model.Config) -> dict[str, Tensor] | None:
    """The tensors to begin with: what codecs say, the run's to start from, a language model's for the decoder."""
    found: dict[str, Tensor] = {}
    if "from" in runs:
        found |= task.start(runs["from"], codecs, model)
    else:
        found |= task.known_tensors(codecs, model)
    if "decoder" in runs:
        found |= task.start_decoder(runs["decoder"], model)
    return found if found or runs else None


def restore(
    task: AnyTask,
    folder: RunFolder,
    data: AnyData,
    sources: tuple[str, ...],
    progress: Progress,
    runs: Mapping[str, Loaded] | None = None,
) -> Plan:
    """The work of a run that was begun, to go on with; `sources` are given where its data has moved.

    `runs` are those whose weights it begins with, where it has none of its own yet.
    """
    config, where = folder.config(), f"{folder.path}/config.json"
    training = training_of(task, config, where)
    model = from_json(config["model"], Model.Config, where=f"{where}: model")
    codecs = codecs_from_json(config["codecs"], folder.content, where)
    check_fit(task.parts, codecs, model, str(folder.path))
    encoded = task.encode(data, codecs, training, model, progress)
    progress.stop()
    record = record_of(config, where)
    work = Work(
        model=model,
        objective=from_json(config["objective"], Objective.Config, where=f"{where}: objective"),
        source=task.source(encoded, codecs, model, training),
        training=training,
        budget=Budget(**config["budget"]),
        record={"data": record.moved(sources).to_json()} if sources else {},
        files=_files_in(folder, (*files_of(codecs), *task.keeps)),
        start=_start(task, runs or {}, codecs, model),
        frozen=frozen_parts(task.recipe, training, model),
        versions=getattr(training, "versions", 0),
        illustrate=task.illustrate(encoded, model),
    )
    return Plan(work, data, {})


def training_of(task: AnyTask, config: Json, where: str) -> SizedTraining:
    """The settings that a run was begun with."""
    return from_json(config["training"], task.training, where=f"{where}: training")


def record_of(config: Json, where: str) -> DataRecord:
    """What config.json says of a run's data."""
    return from_json(config["data"], DataRecord, where=f"{where}: data")


def files_of(codecs: Codecs) -> dict[str, bytes]:
    """The files that codecs keep in the run folder, by name."""
    return {name: data for codec in codecs.values() for name, data in codec.files().items()}


def _files_in(folder: RunFolder, names: Iterable[str]) -> dict[str, bytes]:
    """Those of the files that a run has, as they are on disk."""
    return {name: folder.content(name) for name in names if (folder.path / name).exists()}


def _training_line(request: Request, work: Work, batch: str) -> str:
    training, budget = work.training, work.budget
    dtype = pick_precision(training.precision, request.device)
    precision = why_precision(training.precision, request.device, dtype)
    most = (
        "" if training.most_epochs is None or budget.minutes is None else f", {training.most_epochs:g} epochs at most,"
    )
    return f"{length(budget)}{most} on {request.device.type} in {precision}, {batch}, learning rate {training.lr:g}"


def _model_line(request: Request, work: Work) -> str:
    words = {"from": "from", "decoder": "decoder from"}
    start = "".join(f", {words[word]} {run.folder.path}" for word, run in request.runs.items())
    lora, freeze = getattr(work.training, "lora", None), getattr(work.training, "freeze", False)
    kept = " (its pretrained weights are frozen)" if freeze else f" (LoRA of rank {lora})" if lora else ""
    size = count(size_of(work.model, training=True, room=request.room))
    return f"{work.record['model_name']}, {in_words(work.model)}, {size} parameters{start}{kept}"
