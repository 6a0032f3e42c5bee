"""What tasks on pictures share: reading and sizing them, planning, going on with a run, looking inside.

`PictureTask` leaves to the tasks built on it which model is wrapped around the backbone, what it learns, and how it is used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from weft.config import Config, from_json
from weft.data.ahead import Ahead
from weft.data.images.album import Album
from weft.data.readers import images
from weft.data.source import Source
from weft.data.survey import Judgement, Survey
from weft.errors import DataError, WeftError
from weft.inspect.vision import LearnedView, PictureView
from weft.models.stream import Model, Stream
from weft.objectives.objective import Objective
from weft.tasks.backbones import backbone_config
from weft.tasks.picture_data import PictureData, Seen, picture_lines, picture_record, read_pictures, see, working_size
from weft.tasks.picture_input import Seeing, as_read, given_pictures
from weft.tasks.picture_plan import (
    CATALOGUE,
    EFFICIENCY,
    PRESETS,
    PictureTraining,
    backbone_name,
    budget_for,
    choose_size,
    decided,
    embed_of,
    make_of,
    operations,
    plan_lines,
    shape,
    usual_size,
)
from weft.tasks.planning import Catalogue, work_of
from weft.tasks.task import Loaded, Plan, Request, Task, View, with_settings
from weft.training.folder import RunFolder
from weft.training.precision import Weights
from weft.training.progress import Progress
from weft.training.run import Work
from weft.training.schedule import Budget

TUNED = 0.3  # of the usual rate, for weights that have learned already
Known = tuple[RunFolder, Mapping[str, Any]]  # a run's folder and config
KEPT = ("size", "patch", "summary", "dim", "depth", "heads")


class PictureTask(Task):
    """Learns from pictures."""

    presets = {
        n: f"{s.depth} layers, {s.dim} wide, {s.heads} heads, patches of {s.patch} pixels; "
        f"as resnet {'-'.join(map(str, s.net.widths))} wide"
        for n, s in PRESETS.items()
    }
    sample = "scikit-learn's digits (1,797 pictures of 8 x 8 pixels)"
    sampled: ClassVar[str] = "digits"  # the name of a run on it
    settings: ClassVar[type[PictureTraining]] = PictureTraining
    catalogue: ClassVar[Catalogue] = CATALOGUE
    labelled: ClassVar[bool] = False
    ladders: ClassVar[Mapping[str, str]] = {}  # models that are sized like others
    without: ClassVar[tuple[str, ...]] = ()  # changes to pictures that would make an answer wrong
    frozen: ClassVar[tuple[str, ...]] = ("embed", "trunk")  # what stays as it is where `freeze` is set

    def judge(self, survey: Survey) -> Judgement:
        return images.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, settings: PictureTraining, progress: Progress | None = None
    ) -> PictureData:
        """The pictures in files, or of the sample where none are named."""
        return read_pictures(sources, valid, labels=self.labelled, skip=settings.allowed, progress=progress)

    def prepared(self, data: PictureData, settings: PictureTraining, run: Known | None) -> PictureData:
        """The data with all that is made of it before training; `run` is the one to go on with or to start from."""
        return data

    def wrapped(self, backbone: Stream.Config, data: PictureData, settings: PictureTraining) -> Model.Config:
        """The model that learns, around a backbone."""
        raise NotImplementedError

    def model(
        self, request: Request, backbone: Stream.Config, data: PictureData, settings: PictureTraining
    ) -> Model.Config:
        """The model for a request."""
        return self.wrapped(backbone, data, settings)

    def facts(self, data: PictureData) -> dict[str, Any]:
        """What config.json says of the data beside the pictures."""
        return {"classes": list(data.train.classes)} if self.labelled else {}

    def lines(self, data: PictureData, seen: Seen) -> Mapping[str, str]:
        """The data in words."""
        return picture_lines(data, seen, data.train.classes if self.labelled else None)

    def files_of(self, data: PictureData) -> Mapping[str, str]:
        """What else the run folder holds."""
        return {}

    def shape(self, model: Model.Config) -> str:
        """The sizes of a model in words."""
        return shape(backbone_config(model))

    def objective(self, settings: PictureTraining) -> Objective.Config:
        """What is learned."""
        raise NotImplementedError

    def source(self, data: PictureData, seen: Seen, settings: PictureTraining, stride: int) -> Source:
        """The samples."""
        raise NotImplementedError

    def cost(self, backbone: Stream.Config, settings: PictureTraining) -> float:
        """Floating-point operations to learn from one picture."""
        return operations(backbone)

    def outputs(self, data: PictureData) -> int | None:
        """The size of the backbone's head; None where it has none."""
        return None

    def plan(self, request: Request) -> Plan:
        self.catalogue.check(request)
        settings = self.first_settings(request)
        data = self.read(request.sources, request.valid, settings, request.progress)
        known = None if request.origin is None else (request.origin.folder, request.origin.config)
        data = self.prepared(data, settings, known)
        size = working_size(data.train, settings.size, usual_size(request))
        budget = budget_for(request, len(data.train), size)
        origin = None if request.origin is None else request.origin.model.backbone()
        channels = None if origin is None else embed_of(origin[0]).channels
        seen = see(data, size, channels, request.progress)
        name = self.model_name(request)
        if origin is not None:
            backbone, start = self.outgoing(origin[0], data), self.start(request, data)
            backbone = backbone.replace(embed=embed_of(backbone).replace(drop=settings.drop))
        else:
            make = make_of(self.catalogue.models[name], settings, seen.sight, self.outputs(data))
            costs = lambda sized: self.cost(make(sized), settings)  # noqa: E731
            ladder = self.ladders.get(name, name)
            backbone, start = make(choose_size(request, settings, ladder, len(data.train), size, budget, costs)), None
        rounds = self.rounds(request, settings, budget, backbone, len(data.train))
        without = (*self.without, *(["flip"] if seen.sight.channels == 1 else []))
        settings = decided(request, settings, backbone, size, rounds=rounds, without=without)
        model = with_settings(self.model(request, backbone, data, settings), request.model_settings, prefix="model.")
        work = Work(
            model=model,
            objective=self.objective(settings),
            source=self.ready(data, seen, settings, backbone),
            training=settings,
            budget=budget,
            record={
                **self.catalogue.record(self.name, replace(request, origin=None, model=name)),
                "from": None if request.origin is None else str(request.origin.folder.path.absolute()),
                "data": {
                    **picture_record(request.sources, request.valid, data, seen),
                    **self.facts(data),
                },
            },
            files=self.files_of(data),
            start=start,
            frozen=self.frozen if settings.freeze else (),
            illustrate=self.illustrations(seen, embed_of(backbone).stride),
        )
        lines = {
            "task": f"{self.name}: {self.summary}",
            **self.lines(data, seen),
            **plan_lines(request, name, self.shape(model), model, settings, budget),
        }
        return Plan(work, lines, stem(request.sources) or self.sampled)

    def first_settings(self, request: Request) -> PictureTraining:
        """The settings before anything is known of the data."""
        plain = {k: v for k, v in request.settings.items() if not k.startswith("augment.")}
        asked = replace(request, settings=plain)
        if request.origin is None or self.goes_on(request):
            settings = self.catalogue.first_settings(asked, self.settings, KEPT if request.origin else ())
        else:  # the backbone is known, and its head learns anew
            settings = self.catalogue.first_settings(
                replace(asked, origin=None, model=self.model_name(request)), self.settings, ()
            )
        if request.origin is not None:
            given = {} if "lr" in request.settings else {"lr": TUNED * settings.lr}
            settings = settings.replace(size=request.origin.config["training"]["size"], **given)
        elif settings.freeze:
            fix = "add --from RUN"
            raise WeftError("there is nothing to freeze: no run to start from", where="--set freeze", fix=fix)
        return settings

    def goes_on(self, request: Request) -> bool:
        """Whether the run to start from is of this very task."""
        return request.origin is not None and request.origin.config.get("task") == self.name

    def model_name(self, request: Request) -> str:
        """The name of the model that is asked for, given or inherited."""
        if request.origin is None or self.goes_on(request):
            return self.catalogue.model_name(request)
        return backbone_name(request.origin.model.backbone()[0])

    def rounds(
        self, request: Request, settings: PictureTraining, budget: Budget, backbone: Stream.Config, pictures: int
    ) -> float:
        """About how often each picture will be seen."""
        if budget.epochs is not None:
            return budget.epochs
        if budget.steps is not None:
            return budget.steps * settings.batch / pictures
        return EFFICIENCY * work_of(request, settings, budget) / self.cost(backbone, settings) / pictures

    def outgoing(self, backbone: Stream.Config, data: PictureData) -> Stream.Config:
        """A backbone that was trained, ready for this task."""
        return backbone

    def start(self, request: Request, data: PictureData) -> Mapping[str, Tensor]:
        """The weights to begin with: all of the run to start from, which is of this very task."""
        assert request.origin is not None
        return Weights(request.origin.model, torch.float32).tensors()

    def ready(self, data: PictureData, seen: Seen, settings: PictureTraining, backbone: Stream.Config) -> Source:
        """The samples, read ahead where they come from files."""
        source = self.source(data, seen, settings, embed_of(backbone).stride)
        return source if seen.train.kept else Ahead(source)

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        where, record = f"{folder.path}/config.json", config["data"]
        settings = from_json(config["training"], self.settings, where=f"{where}: training")
        model = from_json(config["model"], Model.Config, where=f"{where}: model")
        data = self.read(sources or tuple(record["sources"]), record["valid"], settings)
        data = self.prepared(data, settings, (folder, config))
        backbone = backbone_config(model)
        seen = see(data, record["size"], record["channels"])
        moved = {"sources": [str(Path(source).absolute()) for source in sources], "sample": False}
        return Work(
            model=model,
            objective=from_json(config["objective"], Objective.Config, where=f"{where}: objective"),
            source=self.ready(data, seen, settings, backbone),
            training=settings,
            budget=Budget(**config["budget"]),
            record={"data": {**record, **moved}} if sources else {},
            files=self.files_of(data),
            frozen=self.frozen if settings.freeze else (),
            illustrate=self.illustrations(seen, embed_of(backbone).stride),
        )

    def illustrations(self, seen: Seen, stride: int) -> Callable[[Model], Mapping[str, bytes]] | None:
        """Pictures to be drawn now and then during training: file names and what they hold."""
        return None

    looking: ClassVar[type[Config] | None] = Seeing

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        how = with_settings(Seeing(), settings)
        config, prefix = run.model.backbone()
        stream = run.model.get_submodule(prefix.rstrip(".")) if prefix else run.model
        assert isinstance(stream, Stream)
        if how.what is not None:
            return LearnedView(stream, how.wanted)
        if input is None:
            raise WeftError("no picture", where="weft look", fix="name one, or ask for --what filters,positions")
        names, pictures = given_pictures(run, [input])
        if len(pictures) != 1:
            raise WeftError(f"expected one picture, found {len(pictures)}", where="weft look")
        read = as_read(run, pictures[0], embed_of(config), how)
        return PictureView(stream, read, pictures[0].pixels, how.glance, title=names[0])

    def own_data(self, run: Loaded) -> tuple[Album, str]:
        """The held-out part of the run's own data, if that is still what it was."""
        record = run.config["data"]
        settings = from_json(run.config["training"], self.settings)
        data = self.read(tuple(record["sources"]), record["valid"], settings)
        if data.fingerprint != run.config["fingerprint"]:
            problem = "the data of this run has changed since it was trained"
            raise DataError(problem, where=str(run.folder.path), fix="name the data to evaluate on")
        return data.held_out, f"held out: {data.rule}"


def stem(sources: Sequence[str]) -> str:
    """A name for a run on these files; none where there are no files."""
    if not sources:
        return ""
    name = Path(sources[0]).absolute().name
    for end in (".gz", ".tar", ".tgz", ".zip", ".npz", ".npy", ".csv", ".tsv", ".jsonl"):
        name = name.removesuffix(end)
    return name or "pictures"
