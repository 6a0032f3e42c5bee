"""Models of the Hugging Face library as runs: their codecs, and a run's config written down.

Such a run predicts, looks and is evaluated like one that was trained here, and others start from it (--from).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from weft.config import field_types
from weft.domains.registry import card_named
from weft.domains.texts.codec.text import TOKENIZER, TextCodec
from weft.domains.texts.exchange import tokenizer_of, without_task
from weft.domains.texts.settings import TextTraining
from weft.errors import WeftError, placed
from weft.interop import Imported, read_folder, read_source
from weft.interop.families import FAMILIES
from weft.interop.families.headless import task_without_head
from weft.interop.preprocessors import PREPROCESSOR_FILE
from weft.interop.word_files import is_word_file
from weft.modalities.image import PictureEmbed
from weft.runs.run import loaded, refuse_broken
from weft.runs.word_runs import import_words
from weft.storage.store import make_folder, shown
from weft.tasks.adopting import Adopted
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


def import_run(source: str | Path, out: str | Path | None = None) -> tuple[Loaded, tuple[str, ...]]:
    """A Hugging Face folder, owner/name on the Hub or a file of word vectors as a run; and remarks for the user."""
    if out is not None:
        check_place(RunFolder(out), resume=False)
    if is_word_file(source):
        return import_words(source, out)
    imported = read_source(source)
    config, files = as_run(imported)
    folder = RunFolder(out if out is not None else fresh_folder(imported.name))
    make_folder(folder.path)
    config["imported"]["digest"] = imported.digest()
    result = {"parameters": parameters(imported.model), "steps": 0, "seconds": 0.0, "metrics": {}}
    folder.finish(
        Weights(imported.model, torch.float32).tensors(),
        {**config, "result": result},
        {**files, "README.md": _card(folder, imported, config, result)},
    )
    return loaded(folder, folder.config(), imported.model), (*imported.warnings, *_unprepared(imported))


def _unprepared(imported: Imported) -> tuple[str, ...]:
    """What users should know of a model of pictures whose folder does not say how to prepare them."""
    pictures = isinstance(imported.config.reader().embed, PictureEmbed.Config)
    remark = f"no {PREPROCESSOR_FILE}: pictures are prepared as weft prepares its own, with their aspect kept"
    return (remark,) if pictures and imported.preparation is None else ()


def as_run(imported: Imported) -> tuple[dict[str, Any], dict[str, str]]:
    """The config.json of a run with this model, and the texts that go with it."""
    name = imported.task or task_without_head(imported.config)
    task = None if name is None else card_named(name).task
    adopted = (None if task is None else task.adopted(imported)) or without_task(imported)
    tokenizer = tokenizer_of(imported)
    record = DataRecord(described=f"data of its makers ({imported.name})", rule="not known")
    config = {
        "format": FORMAT,
        "task": name,
        "model_name": FAMILIES[imported.family].called,
        "preset": None,
        "from": None,
        "model": imported.config.to_json(),
        "objective": None if adopted.objective is None else adopted.objective.to_json(),
        "training": _training(imported, adopted, TextTraining if task is None else task.training),
        "budget": {"steps": None, "minutes": None, "epochs": None},
        "fingerprint": None,
        "data": record.to_json(),
        "codecs": {end: codec.to_json() for end, codec in adopted.codecs.items()},
        "imported": {
            "source": imported.hub or shown(imported.source.absolute()),
            **({"commit": imported.source.name} if imported.hub else {}),
            "family": imported.family,
            "architecture": imported.architecture,
            "marks": imported.marks.write(),
            **({"headless": True} if imported.task is None and name is not None else {}),
            **({"embed": imported.embed} if imported.embed else {}),
            **({"predict": imported.predict} if imported.predict else {}),
            **({"broken": list(imported.broken)} if imported.broken else {}),
        },
    }
    read = any(isinstance(codec, TextCodec.Config) for codec in adopted.codecs.values())
    return config, {TOKENIZER: tokenizer.to_json()} if tokenizer is not None and read else {}


def _training(imported: Imported, adopted: Adopted, kind: type[SizedTraining]) -> dict[str, Any]:
    """The settings of a training as the task would have written them, as far as they are known."""
    known = {name: value for name, value in adopted.settings.items() if name in field_types(kind)}
    with placed(shown(imported.source / "config.json")):
        return kind(**known).to_json()


def _card(folder: RunFolder, imported: Imported, config: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    facts = {
        "came from": config["imported"]["source"],
        "family": f"{imported.family} ({imported.architecture})",
        "digest": f"SHA-256 {config['imported']['digest']}",
        **({"remarks": "; ".join(imported.warnings)} if imported.warnings else {}),
    }
    use = f"weft tasks {config['task']}" if config["task"] else f'weft.load("{folder.path}").model'
    summary = "A model that was trained elsewhere, read by weft from a folder of the Hugging Face library."
    return model_card(folder.path.absolute().name, result, summary=summary, use=use, facts=facts)
