"""Models of other tools as runs: folders of the Hugging Face library, and single files. A run's config is written down.

Such a run predicts, looks and is evaluated like one that was trained here, and others start from it (--from).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from weft.config import field_types
from weft.domains.registry import all_cards, exchange_of
from weft.errors import WeftError, placed
from weft.interop import Imported, read_folder, read_source
from weft.interop.families import FAMILIES
from weft.interop.families.headless import task_without_head
from weft.interop.preprocessors import PREPROCESSOR_FILE
from weft.modalities.image import PictureEmbed
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.runs.run import loaded, refuse_broken
from weft.storage.store import digest, make_folder, shown
from weft.tasks.adopting import Adopted, AdoptedFile
from weft.tasks.planning import files_of
from weft.tasks.record import DataRecord
from weft.tasks.request import Loaded
from weft.tasks.settings.sized import SizedTraining
from weft.training.base_run import WEIGHTS
from weft.training.card import model_card
from weft.training.folder import FORMAT, RunFolder, check_place
from weft.training.naming import fresh_folder
from weft.training.precision import Weights
from weft.training.run import parameters


class ForeignFolder(RunFolder):
    """A folder of the Hugging Face library in the place of a run's; nothing is ever written into it."""

    def __init__(self, path: Path, files: Mapping[str, str]):
        super().__init__(path)
        self.files = files

    def content(self, name: str) -> bytes:
        """What a file that a run would have holds."""
        if name not in self.files:
            fix = "put it beside its config.json"
            raise WeftError(f"this model came without {name}", where=str(self.path), fix=fix)
        return self.files[name].encode()


def load_foreign(source: str | Path, *, broken: bool = False) -> Loaded:
    """A Hugging Face folder, ready for use."""
    imported = read_folder(source)
    if not broken:
        refuse_broken(imported.broken, shown(imported.source / WEIGHTS))
    config, files = as_run(imported)
    return loaded(ForeignFolder(imported.source, files), config, imported.model)


def import_run(
    source: str | Path, out: str | Path | None = None, task: str | None = None
) -> tuple[Loaded, tuple[str, ...]]:
    """A Hugging Face folder, owner/name on the Hub or a file that a task takes as a run; and remarks for the user.

    `task` is what a model is to be used for, where it serves several.
    """
    if out is not None:
        check_place(RunFolder(out), resume=False)
    if (file := _in_a_file(Path(source))) is not None:
        return _import_file(Path(source), *file, out), ()
    imported = read_source(source, task)
    config, files = as_run(imported)
    config["imported"]["digest"] = imported.digest()
    facts = {
        "came from": config["imported"]["source"],
        "family": f"{imported.family} ({imported.architecture})",
        "digest": f"SHA-256 {config['imported']['digest']}",
        **({"remarks": "; ".join(imported.warnings)} if imported.warnings else {}),
    }
    summary = "A model that was trained elsewhere, read by weft from a folder of the Hugging Face library."
    folder = RunFolder(out if out is not None else fresh_folder(imported.name))
    run = _written(folder, imported.model, config, files, summary, facts)
    return run, (*imported.warnings, *_unprepared(imported))


def _in_a_file(path: Path) -> tuple[str, AdoptedFile] | None:
    """The name of the task that takes a file as a model, and the model; None without a file or such a task."""
    for name, card in all_cards().items() if path.is_file() else ():
        if card.adopts_files and (found := card.task.adopted_file(path)) is not None:
            return name, found
    return None


def _import_file(path: Path, task: str, found: AdoptedFile, out: str | Path | None) -> Loaded:
    """The model of a file, written as a run of the task that takes it."""
    config = _config(task, found.model_name, found.model, found.objective, found.training.to_json(), path.name)
    config["codecs"] = {end: codec.config.to_json() for end, codec in found.codecs.items()}
    config["imported"] = {
        "source": shown(path.absolute()),
        "family": found.family,
        "architecture": found.form,
        "digest": digest(path)[1],
    }
    facts = {"came from": config["imported"]["source"], "form": found.form, **found.facts}
    name = path.name.removesuffix(".gz").split(".")[0]
    folder = RunFolder(out if out is not None else fresh_folder(name))
    return _written(folder, found.model.eval(), config, files_of(found.codecs), found.summary, facts)


def _written(
    folder: RunFolder,
    model: Model,
    config: Mapping[str, Any],
    files: Mapping[str, str | bytes],
    summary: str,
    facts: Mapping[str, str],
) -> Loaded:
    """A run folder with a model from elsewhere, opened again; `summary` and `facts` are for its model card."""
    make_folder(folder.path)
    result = {"parameters": parameters(model), "steps": 0, "seconds": 0.0, "metrics": {}}
    use = f"weft tasks {config['task']}" if config["task"] else f'weft.load("{folder.path}").model'
    card = model_card(folder.path.absolute().name, result, summary=summary, use=use, facts=facts)
    tensors = Weights(model, torch.float32).tensors()
    folder.finish(tensors, {**config, "result": result}, {**files, "README.md": card})
    return loaded(folder, folder.config(), model)


def _unprepared(imported: Imported) -> tuple[str, ...]:
    """What users should know of a model of pictures whose folder does not say how to prepare them."""
    pictures = isinstance(imported.config.reader().embed, PictureEmbed.Config)
    remark = f"no {PREPROCESSOR_FILE}: pictures are prepared as weft prepares its own, with their aspect kept"
    return (remark,) if pictures and imported.preparation is None else ()


def as_run(imported: Imported) -> tuple[dict[str, Any], dict[str, str]]:
    """The config.json of a run with this model, and the texts that go with it."""
    name = imported.task or task_without_head(imported.config)
    exchange = exchange_of(name)
    adopted = exchange.adopted(imported) or exchange_of(None).adopted(imported)
    assert adopted is not None
    training = _training(imported, adopted, exchange.training)
    called = FAMILIES[imported.family].called
    config = _config(name, called, imported.model, adopted.objective, training, imported.name)
    config["codecs"] = {end: codec.to_json() for end, codec in adopted.codecs.items()}
    config["imported"] = {
        "source": imported.hub or shown(imported.source.absolute()),
        **({"commit": imported.source.name} if imported.hub else {}),
        "family": imported.family,
        "architecture": imported.architecture,
        "marks": imported.marks.write(),
        **({"headless": True} if imported.task is None and name is not None else {}),
        **({"embed": imported.embed} if imported.embed else {}),
        **({"predict": imported.predict} if imported.predict else {}),
        **({"broken": list(imported.broken)} if imported.broken else {}),
    }
    return config, dict(adopted.files)


def _config(
    task: str | None,
    model_name: str,
    model: Model,
    objective: Objective.Config | None,
    training: Mapping[str, Any],
    data: str,
) -> dict[str, Any]:
    """The config.json of a run that was not trained here, but for its codecs and where it came from."""
    return {
        "format": FORMAT,
        "task": task,
        "model_name": model_name,
        "preset": None,
        "from": None,
        "model": model.config.to_json(),
        "objective": None if objective is None else objective.to_json(),
        "training": training,
        "budget": {"steps": None, "minutes": None, "epochs": None},
        "fingerprint": None,
        "data": DataRecord(described=f"data of its makers ({data})", rule="not known").to_json(),
    }


def _training(imported: Imported, adopted: Adopted, kind: type[SizedTraining]) -> dict[str, Any]:
    """The settings of a training as the task would have written them, as far as they are known."""
    known = {name: value for name, value in adopted.settings.items() if name in field_types(kind)}
    with placed(shown(imported.source / "config.json")):
        return kind(**known).to_json()
