"""Run: a trained model with the task it was trained for, back from its folder and ready for use."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from weft.config import from_json
from weft.core.changes import Change, Changed, active, changed
from weft.core.recording import Recorder
from weft.domains.registry import task_of
from weft.errors import ConfigError, NotNumbers, StorageError, Unfit, WeftError, listed, placed
from weft.files.remote import fetched
from weft.files.ways import read_options, reading
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.models.outline import own_tensors, unfilled
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.runs.asking import (
    NoSettings,
    answers,
    check_output,
    completed,
    document,
    embedded,
    given,
    look,
    picked,
    study,
    ways_of,
    with_row,
    written,
)
from weft.runs.finding import is_foreign, require_run
from weft.storage.soundness import broken_tensors
from weft.storage.store import inside, make_folder, shown, write_file
from weft.tasks.asks import Ways
from weft.tasks.card import Card
from weft.tasks.codec import codecs_from_json
from weft.tasks.parts import check_fit, check_parts
from weft.tasks.planning import AnyTask, record_of
from weft.tasks.record import DataRecord
from weft.tasks.request import Embedded, Loaded
from weft.tasks.settings.limits import as_options, take_baselines, with_settings
from weft.tasks.using import evaluate
from weft.training.base_run import WEIGHTS
from weft.training.card import with_section
from weft.training.devices import on_cpu, pick_device
from weft.training.folder import RunFolder
from weft.training.leftovers import sweep
from weft.training.precision import Weights
from weft.training.progress import Progress, read_counter
from weft.training.run import parameters, size_of
from weft.training.seal import CONFIG, EVALUATION, FileSeal

NOT_SAID = (None, False, ())  # ways of reading files that nobody asked for


class Run:
    """`run.model` is a torch module; `predict` and `evaluate` do what the run's task does."""

    def __init__(self, loaded: Loaded, *, reports: bool = True):
        """`reports` is false in the processes of a world that leave it to the first to tell how the run ended."""
        self._loaded, self._reports = loaded, reports

    @property
    def folder(self) -> Path:
        """Where the run lives."""
        return self._loaded.folder.path

    @property
    def loaded(self) -> Loaded:
        """What was brought back from the folder, as tasks take it."""
        return self._loaded

    @property
    def model(self) -> nn.Module:
        """The model, in fp32 and ready for evaluation."""
        return self._loaded.model

    @property
    def config(self) -> dict[str, Any]:
        """How the run was made, as config.json has it."""
        return dict(self._loaded.config)

    @property
    def report(self) -> dict[str, Any]:
        """How the run ended, as `weft train --json` gives it; less of it where the run is not finished."""
        if not self._reports:
            return {}
        config = self._loaded.config
        known = {"run": str(self.folder), "task": config.get("task"), "model": config.get("model_name")}
        return {**known, **config.get("result", {"parameters": parameters(self.model)})}

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return self._loaded.folder.metrics()

    @property
    def task(self) -> AnyTask:
        """The task the run was trained for."""
        task = task_of(self._loaded.config, f"{self.folder}/config.json")
        if task is None:
            foreign = "imported" in self._loaded.config
            problem = (
                "no task uses this imported model yet" if foreign else "this run was composed by hand and has no task"
            )
            raise WeftError(problem, where=str(self.folder), fix="use run.model directly")
        return task

    @contextmanager
    def changed(self, *changes: Change, given: Mapping[str, Recorder] | None = None) -> Iterator[Changed]:
        """While this block runs, the model is changed: `with run.changed(Without(3, head=2)): run.predict("…")`.

        Changes are checked against the model first. What `Replaced`, `Pinned` and `Added` name by `of` and `minus` is
        an input as `look` takes it, or one of the recordings `given`. What is given back says which changes no pass
        came to (`unmet`).
        """
        asked = {name for one in changes for key in ("of", "minus") if (name := getattr(one, key, None)) is not None}
        known = dict(given or {})
        known |= {name: self.study(name).recorded() for name in sorted(asked - set(known))}
        with changed(self.model, *changes, given=known) as found:
            yield found

    def study(self, input: Any, *, row: int | None = None, **settings: Any) -> Study:
        """An input as the stream that answers sees it, with the answer: for `lens`, `attribution`, `effects`, `kinds`.

        The input and the settings are those of `look`.
        """
        ways, how = ways_of(self, "look", settings)
        several = isinstance(input, list | tuple) and any(one.several for one in self.task.asks)
        with self.used(**ways.reading):
            found = picked(given(self, input if several else [input], ways=ways), row)
            return study(self, found, how)

    @contextmanager
    def used(self, **ways: Any) -> Iterator[None]:
        """While the run is used: how files are read, and which file of the run is to blame if it cannot compute."""
        try:
            with reading(**ways):
                yield
        except (NotNumbers, Unfit) as error:
            name = WEIGHTS if isinstance(error, NotNumbers) else f"{CONFIG}: model"
            raise type(error)(error.problem, where=f"{shown(self.folder)}/{name}", fix=error.fix) from None

    def predict(
        self,
        inputs: Any,
        *,
        listen: Callable[[int, str], None] | None = None,
        **settings: Any,
    ) -> list[dict[str, Any]]:
        """One object for each input, as the command line's `--json` gives them.

        Where the task asks for texts, a string is a text, and a `pathlib.Path` is a file: a table, of which each row is
        an input and stands in its object as `row`, or lines. `text_column="review"` names the column of the inputs.

        With `outside=True`, links and paths in inputs may lead out of the folders that are named; with
        `encoding="cp1252"`, files of text are decoded so. Both hold in all that follows.
        """
        ways, how = ways_of(self, "predict", settings)
        many = inputs if isinstance(inputs, list | tuple) else [inputs]
        refuse_headless(self._loaded)
        with self.used(**ways.reading):
            known = list(given(self, many, ways=ways))
            found = answers(self, known, how, listen=listen)
        written(found, how)
        return [with_row(one.values, known[one.input] if known else None) for one in found]

    def evaluate(
        self,
        data: str | Path | Sequence[str | Path] | None = None,
        *,
        quiet: bool = True,
        **settings: Any,
    ) -> dict[str, Any]:
        """Measures on data; on the run's own held-out part when none is named, which is read as it was in training.

        Plain methods that were fitted on the training data stand beside them, unless `baselines=False`.
        """
        named = [data] if isinstance(data, str | Path) else list(data or ())
        as_trained = {} if named else read_options(dict(self.config.get("training") or {}))
        options = as_options({**{name: said for name, said in as_trained.items() if said not in NOT_SAID}, **settings})
        ways = {name: said or as_trained.get(name) for name, said in read_options(settings).items()}
        columns = {name: str(settings.pop(name)) for name in self.task.names_of_columns() if name in settings}
        if columns and not named:
            fix = "name the data, or leave the column out: the run's own data is read as it was in training"
            raise ConfigError("a column of which table?", where=next(iter(columns)), fix=fix)
        baselines = take_baselines(settings)
        how = with_settings(self.task.Evaluate(), settings)
        run, progress = self.task.prepared(self._loaded.reading(columns), how), Progress(quiet=quiet)
        with self.used(**ways):
            trained = self._loaded if baselines else None
            sources = fetched([str(d) for d in named], read_counter(progress, "MB fetched"))
            found, what = evaluate(self.task, run, sources, progress, trained, options)
            pictures = found.pictures()
            further = self.task.examined(self._loaded, how, progress)
        written = {**self._illustrate(pictures, named), **self._noted(self.task.card_sections(further))}
        return {"run": str(self.folder), "task": self.task.name, "data": what, "examples": found.examples,
                "counted": found.counted, "metrics": dict(found.metrics),
                **found.more, **further, **written}  # fmt: skip

    def _illustrate(self, pictures: Mapping[str, bytes], data: Sequence[str | Path]) -> dict[str, Any]:
        """Write the pictures of an evaluation into the run folder, and say where they are."""
        if not pictures:
            return {}
        stem = f"{EVALUATION}{Path(data[0]).absolute().name.split('.')[0]}/" if data else ""
        try:
            make_folder(inside(self.folder, stem) if stem else self.folder)
            for name, picture in pictures.items():
                write_file(self.folder / f"{stem}{name}", picture)
        except StorageError as error:
            return {"pictures_not_written": str(error)}
        self._loaded.folder.seal_anew({f"{stem}{name}": FileSeal.of(one) for name, one in pictures.items()})
        return {"pictures": [str(self.folder / f"{stem}{name}") for name in pictures]}

    def _noted(self, sections: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Write what an evaluation found into the model card, and say where it is."""
        if not sections:
            return {}
        folder = self._loaded.folder
        try:
            card = folder.content("README.md").decode("utf-8")
            for title, paragraphs in sections.items():
                card = with_section(card, title, paragraphs)
            write_file(folder.path / "README.md", card.encode("utf-8"))
        except WeftError as error:
            return {"card_not_written": str(error)}
        folder.seal_anew({"README.md": FileSeal.of(card.encode("utf-8"))})
        return {"card": str(folder.path / "README.md")}

    def predict_file(self, path: str | Path, **settings: Any) -> tuple[str, list[dict[str, Any]]] | None:
        """A document with its texts replaced by predictions, and these; None where the task knows no documents."""
        file = document(self, path, ways=Ways(**read_options(dict(settings))))
        if file is None:
            return None
        found = self.predict(file.texts, **settings) if file.texts else []
        if len(found) != len(file.texts):
            raise WeftError("a document has room for one answer to each text", where="--set best", fix="leave it out")
        return file.with_texts([self.task.shown(one) for one in found]), found

    def embed(self, inputs: Any, **settings: Any) -> np.ndarray:
        """One vector for each input; for each picture of a folder, where the inputs are pictures."""
        return self.embedded(inputs, **settings).vectors

    def embedded(self, inputs: Any, **settings: Any) -> Embedded:
        """The same with the names of what the vectors are of."""
        ways, how = ways_of(self, "embed", settings)
        many = inputs if isinstance(inputs, list | tuple) else [inputs]
        with self.used(**ways.reading):
            return embedded(self, list(given(self, many, ways=ways)), how)

    def export(
        self, out: str | Path, *, to: Literal["hf", "onnx", "word2vec"] = "hf", **settings: Any
    ) -> dict[str, Any]:
        """Write the model for another tool, which proves in a process of its own that it computes the same.

        A translator of several languages is written for `source_language` and `target_language`.
        """
        from weft.runs.exporting import export_run

        run = self._loaded
        with on_cpu(run.model):
            if settings:
                run = self.task.prepared(run, with_settings((self.task.Export or NoSettings)(), settings))
            return export_run(run, out, to)

    def look(self, input: Any = None, *, row: int | None = None, **settings: Any) -> View:
        """What the model does inside with an input; shows itself in a notebook, and `save` writes it to a file.

        Of a table, `row` says which row is the input, from 1.

        Without an input, what was learned from all of them: `run.look(what="filters")` of a model for pictures.
        """
        ways, how = ways_of(self, "look", settings)
        several = isinstance(input, list | tuple) and any(one.several for one in self.task.asks)
        many = input if several else [] if input is None else [input]
        with self.used(**ways.reading):
            inputs = picked(given(self, many, ways=ways), row)
            view = look(self, inputs, how)
        view.complete = completed(self, inputs, how) if inputs and view.followed else None
        view.study = (self.model, lambda: study(self, inputs, how)) if inputs and active() is None else None
        view.origin = (self.folder.name, self.task.name)
        view.guard = lambda path: check_output(self, path, many, "save")
        return view

    def __repr__(self) -> str:
        task = self._loaded.config.get("task") or "composed by hand"
        return f"Run({str(self.folder)!r}: {task}, {parameters(self.model):,} parameters)"

    def _repr_html_(self) -> str:
        import base64
        import html

        picture = self.folder / "loss.png"
        shown = ""
        if picture.exists():
            data = base64.b64encode(picture.read_bytes()).decode()
            shown = f'<img alt="loss by step" width="560" src="data:image/png;base64,{data}">'
        return f"<p><code>{html.escape(repr(self))}</code></p>{shown}"


def load(folder: str | Path, *, device: str = "auto", broken: bool = False) -> Run:
    """The run in a folder, in this or another process: the same numbers. Or a Hugging Face folder.

    The network is never used: `weft import owner/name` fetches a model and makes a run of it. The model is on `device`
    (auto: a GPU where there is one; cpu, cuda, mps), and inputs follow it. `broken` lets weights with NaN or infinity
    pass, and files that changed since the run was written; both are refused otherwise.
    """
    place = pick_device(device)
    found = open_run(folder, broken=broken)
    found.model.to(place)
    return Run(found)


def open_run(folder: str | Path, *, broken: bool = False) -> Loaded:
    """Config, model and weights of a run on the CPU, each checked against the others."""
    place = RunFolder(require_run(folder), checked=not broken)
    if is_foreign(folder):
        from weft.runs.importing import load_foreign

        return load_foreign(folder, broken=broken)
    config = place.config()
    sweep(place.path)
    task_of(config, f"{place.path}/config.json")  # its parts are known from now on
    where = f"{place.path}/config.json: model"
    model_config = from_json(config.get("model"), Model.Config, where=where)
    with placed(where):
        size_of(model_config, training=False)
        model = unfilled(model_config)
    weights = str(place.weights_place())
    try:
        Weights(model, torch.float32).load(place.weights())
    except ConfigError as error:
        fix = error.fix or "config.json and the weights are of different runs"
        raise ConfigError(error.problem, where=error.where or weights, fix=fix) from None
    if not broken:
        refuse_broken(broken_tensors(own_tensors(model)), weights)
    return loaded(place, config, model.eval())


def loaded(folder: RunFolder, config: Mapping[str, Any], model: Model) -> Loaded:
    """A run with its codecs and the record of its data; one composed by hand has neither."""
    where = f"{folder.path}/config.json"
    task = task_of(config, where)
    codecs = codecs_from_json(config.get("codecs", {}), folder.content, where)
    check_fit(() if task is None else task.parts, codecs, model.config, str(folder.path))
    data = record_of(config, where) if "data" in config else DataRecord()
    if task is not None:
        check_settings(task.card, config, where)
        check_parts(task.name, task.parts, codecs, model.config, where, imported="imported" in config)
    return Loaded(folder, config, model, codecs, data)


def check_settings(card: Card, config: Mapping[str, Any], where: str) -> None:
    """Refuse settings that the task of a run does not know: measuring and resuming need them."""
    if config.get("training") is not None:
        from_json(config["training"], card.training, where=f"{where}: training")
    if config.get("objective") is not None:
        from_json(config["objective"], Objective.Config, where=f"{where}: objective")


def refuse_headless(run: Loaded) -> None:
    """Refuse to predict with a model that was imported without a head: it gives vectors alone."""
    if run.config.get("imported", {}).get("headless"):
        fix = "use weft embed and weft look, or fine-tune it: weft train DATA --from RUN"
        raise WeftError(
            "this model has no head that could answer: it came without one", where=str(run.folder.path), fix=fix
        )


def refuse_broken(names: Sequence[str], where: str) -> None:
    """Refuse to use a model with weights that are no numbers: nothing that it says means anything."""
    if names:
        raise WeftError(
            f"weights that are not finite numbers: {listed(names)}",
            where=where,
            fix="fetch or train the model again; predict, evaluate, look, embed and export take it as it is with "
            "--broken, weft.load with broken=True",
        )
