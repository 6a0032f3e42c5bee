"""From a request to the work of a run, and back to it when the run is resumed: one flow for every task.

read -> codecs -> encode -> budget -> model -> source -> Work
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from weft.amounts import count, counted, duration
from weft.codecs import Codecs, codecs_from_json
from weft.config import from_json
from weft.data.datasets import Dataset
from weft.errors import ConfigError
from weft.models.describing import in_words
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.objectives.objective import Objective
from weft.tasks.decoders import language_weights
from weft.tasks.finetuning import first_training, frozen_parts, with_learned_parts
from weft.tasks.recipes.recipe import choose_budget
from weft.tasks.record import DataRecord
from weft.tasks.request import Draft, Json, Request
from weft.tasks.settings import SizedTraining, with_settings
from weft.tasks.task import Task
from weft.training.folder import RunFolder
from weft.training.precision import pick_precision
from weft.training.progress import Progress
from weft.training.run import Work, size_of
from weft.training.schedule import Budget

M = TypeVar("M", bound=Model.Config)
AnyTask = Task[Any, Any, Any]
AnyData = Dataset[Any, Any]


@dataclass(frozen=True)
class Plan:
    """What will be done: the work, the data that it is on, and the lines that tell the user about it."""

    work: Work
    data: AnyData
    lines: Mapping[str, str]


def plan(task: AnyTask, request: Request, data: AnyData) -> Plan:
    """Decide everything that the user left open."""
    origin, name = request.origin, task.model_name(request)
    training = first_training(task.training, task.recipe, request, name)
    codecs = task.codecs(data, training, request.known)
    known = None if origin is None else origin.model.config
    encoded = task.encode(data, codecs, training, known, request.progress)
    request.progress.stop()
    budget = choose_budget(request, encoded.minutes)
    draft = Draft(request, data, codecs, encoded, training, budget)
    model, training = task.sized(draft) if origin is None else task.continued(draft, origin)
    start = _start(task, request, codecs, model)
    training = with_learned_parts(training, model, start or {})
    source = task.source(encoded, codecs, model, training)
    record = DataRecord.of(data, request.sources, request.valid, encoded.amounts)
    work = Work(
        model=model,
        objective=task.objective(encoded, codecs, training),
        source=source,
        training=training,
        budget=budget,
        record={
            "task": task.name,
            "model_name": name,
            "preset": request.preset,
            "from": None if origin is None else str(origin.folder.path.absolute()),
            "began_with": {word: run.described for word, run in request.runs.items()},
            "data": record.to_json(),
            "codecs": {end: codec.config.to_json() for end, codec in codecs.items()},
        },
        files={**files_of(codecs), **task.kept_files(encoded)},
        start=start,
        frozen=frozen_parts(task.recipe, training, model),
        illustrate=task.illustrate(encoded, model),
    )
    lines = {
        **encoded.lines(),
        "model": _model_line(request, name, model, training),
        "training": _training_line(request, training, budget, task.batch_in_words(training, source)),
    }
    return Plan(work, data, lines)


def _start(task: AnyTask, request: Request, codecs: Codecs, model: Model.Config) -> dict[str, Tensor] | None:
    """The weights to begin with: those of the run to start from, and those of a language model for the decoder."""
    found: dict[str, Tensor] = {}
    if request.origin is not None:
        found |= task.start(request.origin, codecs)
    if request.decoder is not None:
        assert isinstance(model, Seq2Seq.Config)
        found |= language_weights(request.decoder, model)
    return found if request.runs else None


def with_model_settings(config: M, request: Request) -> M:
    """A model's config with the user's settings of its parts."""
    return with_settings(config, request.model_settings, prefix="model.")


def restore(task: AnyTask, folder: RunFolder, data: AnyData, sources: tuple[str, ...], progress: Progress) -> Plan:
    """The work of a run that was begun, to go on with; `sources` are given where its data has moved."""
    config, where = folder.config(), f"{folder.path}/config.json"
    training = training_of(task, config, where)
    model = from_json(config["model"], Model.Config, where=f"{where}: model")
    codecs = codecs_from_json(config["codecs"], folder.content, where)
    check_fit(codecs, model, str(folder.path))
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
        frozen=frozen_parts(task.recipe, training, model),
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


def check_fit(codecs: Codecs, model: Model.Config, where: str) -> None:
    """Refuse codecs that are not those of the model's embedders."""
    ends = {"target": "target", "caption": "target", "answer": "target"}
    if isinstance(model, DualEncoder.Config):
        ends = {"picture": "picture", "caption": "text"}
    for name, codec in codecs.items():
        side: Any = getattr(model, ends.get(name, "source"), model)
        if hasattr(side, "embed"):
            codec.check_fit(side.embed, where)


def check_vocabulary(config: Stream.Config, vocab: int, where: str = "model.embed") -> None:
    """Refuse a vocabulary that was set for the model alone."""
    if config.embed.size != vocab:
        problem = f"the tokenizer has {vocab} tokens, the model {config.embed.size}"
        raise ConfigError(problem, where=f"--set {where}.vocab", fix="leave it out, or set vocab with tokenizer=bpe")


def _training_line(request: Request, training: SizedTraining, budget: Budget, batch: str) -> str:
    precision = "bf16" if pick_precision(training.precision, request.device) is torch.bfloat16 else "fp32"
    if budget.minutes is not None:
        length = duration(60 * budget.minutes)
    else:
        length = counted(budget.steps, "step") if budget.steps else counted(budget.epochs or 0.0, "epoch")
    return f"{length} on {request.device.type} in {precision}, {batch}, lr {training.lr:g}"


def _model_line(request: Request, name: str, config: Model.Config, training: SizedTraining) -> str:
    words = {"from": "from", "decoder": "decoder from"}
    start = "".join(f", {words[word]} {run.folder.path}" for word, run in request.runs.items())
    kept = " (what was learned stays as it is)" if training.freeze else f" (LoRA of rank {training.lora})"
    size = count(size_of(config, training=True))
    return f"{name}, {in_words(config)}, {size} parameters{start}" + (kept if training.freeze or training.lora else "")
