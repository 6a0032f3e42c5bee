"""Reading a Hugging Face folder: config.json, weights in safetensors, tokenizer.json. Runs no code that it finds.

imported = read_folder("gpt2")         a folder
imported = read_source("owner/name")   a folder, or a model on the Hub: the only way to the network
imported.model                         built and filled, ready for use
"""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.core import Pooled
from weft.errors import ConfigError, DataError, listed, placed
from weft.interop import hub
from weft.interop.adapters import adapter_alone, merge_adapter
from weft.interop.families import FAMILIES
from weft.interop.family import Family
from weft.interop.generation import Writing, read_generation
from weft.interop.labels import with_labels
from weft.interop.marks import Marks
from weft.interop.preprocessors import PREPROCESSOR_FILE, PROCESSOR_FILE
from weft.interop.rules import Unused
from weft.interop.sentence_modules import read_modules
from weft.interop.their_config import TheirConfig
from weft.interop.tokenizer_files import check_tokenizer, read_tokenizer, within_table
from weft.interop.weights import OTHER_FORMATS, PICKLES, Shards, fill, inside
from weft.json_text import read_json
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.preparation import Preparation
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer_json import names_by_id
from weft.models.dual_encoder import DualEncoder
from weft.models.outline import outline, own_tensors, unfilled
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.storage import store
from weft.storage.tensor_file import pickle_error

ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst")
CHAT_TEMPLATE = "chat_template.jinja"


@dataclass(frozen=True)
class Imported:
    """A model of another library, built and filled. `task` is what weft calls its use; None where it has no head."""

    model: Model
    family: str
    architecture: str
    task: str | None
    source: Path
    tokenizer_json: str | None = None
    labels: tuple[str, ...] = ()
    marks: Marks = Marks()
    tokenizer_config: dict[str, Any] = field(default_factory=dict)  # how their library uses the tokenizer
    chat_template: str | None = None  # how its makers mark the turns of a talk (Jinja)
    preparation: Preparation | None = None  # how pictures get their size; None where no file says it
    settings: dict[str, Any] = field(default_factory=dict)  # how it was trained, in our words
    several: bool = False  # whether its labels do not exclude each other
    embed: dict[str, Any] = field(default_factory=dict)  # how its makers sum up texts, in the words of weft embed
    predict: dict[str, Any] = field(default_factory=dict)  # how its makers let it write, in the words of weft predict
    warnings: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()  # tensors of theirs with NaN or infinity
    hub: str | None = None  # owner/name, where the folder was fetched
    files: tuple[Path, ...] = field(default=(), repr=False)

    @property
    def config(self) -> Model.Config:
        """The model's config."""
        return self.model.config

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.source.absolute().name if self.hub is None else self.hub.split("/")[1]

    def digest(self) -> str:
        """The SHA-256 of the files that the model was read from, by name and content. Reads them once more."""
        whole = hashlib.sha256()
        for path in self.files:
            whole.update(f"{path.name} {store.digest(path)[1]}\n".encode())
        return whole.hexdigest()


def read_folder(source: str | Path, task: str | None = None) -> Imported:
    """The model in a folder, for a `task` where it serves several. The network is never used."""
    folder = Path(source)
    _refuse_files(folder)
    data = _json(folder, "config.json")
    if data is None:
        raise adapter_alone(folder) or DataError(
            "no config.json here", where=store.shown(folder), fix="name a folder that save_pretrained wrote"
        )
    where = store.shown(folder / "config.json")
    family, architecture, remarks = _family(data, where)
    task = _use(family, architecture, task, where)
    labels: tuple[str, ...] = ()
    if family.labelled(architecture):
        data, labels, noticed = with_labels(data, where)
        remarks += noticed
    given = TheirConfig(data, where, known_code=family.known_code)
    with placed(where):
        config = family.read(given, architecture)
    remarks += given.finish(family.harmless | family.settings.keys())
    preprocessor, place = _preprocessor(folder)
    config = family.prepared(config, preprocessor, place)
    preparation, unknown = family.preparation(preprocessor, place)
    remarks += unknown
    tokenizer, names = read_tokenizer(folder, family.name), _json(folder, "tokenizer_config.json") or {}
    config = family.worded(config, _filler(tokenizer, names, store.shown(folder / "tokenizer.json")))
    model, noticed, broken = _filled(folder, family, config)
    remarks += noticed
    if tokenizer is None and task is not None and _has_texts(config):
        remarks.append("no tokenizer.json: texts have to be given as ids")
    nested, texts = (part if isinstance(part := data.get(key), dict) else {} for key in ("decoder", "text_config"))
    vocab = data.get("vocab_size", nested.get("vocab_size", texts.get("vocab_size")))
    if tokenizer is not None and type(vocab) is int:
        place = store.shown(folder / "tokenizer.json")
        tokenizer, noticed = within_table(tokenizer, vocab, where=place)
        remarks += noticed
        check_tokenizer(tokenizer, vocab, where=place)
    generation = _json(folder, "generation_config.json")
    unforced = data if generation is None else {**data, "forced_bos_token_id": None}  # that file alone says it then
    marks = Marks.read(family.marks(data), generation or {}, unforced, nested, where=where)
    predict, unfollowed = _writing(folder, data, None if task is None else _way_of_writing(config), config, marks)
    remarks += unfollowed
    return Imported(
        model=model,
        family=family.name,
        architecture=architecture,
        task=task,
        source=folder,
        tokenizer_json=tokenizer,
        labels=labels,
        several=bool(labels) and data.get("problem_type") == "multi_label_classification",
        embed=read_modules(lambda name: _content(folder, name), store.shown(folder)),
        marks=marks,
        predict=predict,
        tokenizer_config=names,
        chat_template=_chat_template(folder, names),
        preparation=preparation,
        settings={ours: data[theirs] for theirs, ours in family.settings.items() if theirs in data},
        warnings=tuple(remarks),
        broken=broken,
        files=tuple(path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".safetensors", ".txt")),
    )


def read_source(source: str | Path, task: str | None = None) -> Imported:
    """The model in a folder, or fetched from the Hub where no such folder exists and the name is like owner/name.

    A few models have short names (`hub.SHORT_NAMES`).
    """
    name = hub.full_name(str(source))
    if Path(source).exists() or not hub.is_name(name):
        return read_folder(source, task)
    return replace(read_folder(hub.fetch(name), task), hub=name)


def _use(family: Family, architecture: str, asked: str | None, where: str) -> str | None:
    """What a model is used for: the task that is asked for, or the usual one."""
    usual = family.tasks[architecture]
    known = [task for task in (usual, *family.other_uses.get(architecture, ())) if task is not None]
    if asked in (None, *known):
        return asked or usual
    problem = f"{architecture} does not serve the task {asked!r:.60}"
    raise ConfigError(problem, where=where, fix=f"it serves: {', '.join(known)}" if known else "leave --task out")


def _filled(folder: Path, family: Family, config: Model.Config) -> tuple[Model, list[str], tuple[str, ...]]:
    """The filled model, remarks on its weights, and those not finite. Nothing is made before the files fit."""
    with Shards(folder) as theirs:
        config = family.fitted(config, theirs.shapes)
        table = family.table(config).fitting(theirs.shapes)
        table.check(theirs.shapes, own_tensors(outline(config)), where=store.shown(folder))
        model = unfilled(config)
        found, unused = fill(table, own_tensors(model), theirs), table.ignored(theirs.shapes, Unused)
    remarks = merge_adapter(folder, table, own_tensors(model))
    remarks += [f"weights that are not finite numbers: {listed(found.broken)}"] * bool(found.broken)
    remarks += [f"weights so small that computing with them is slow: {listed(found.denormal)}"] * bool(found.denormal)
    remarks += [f"weights of parts that weft leaves out were not read: {listed(unused)}"] * bool(unused)
    return model.eval(), remarks, tuple(found.broken)


def _writing(
    folder: Path, data: dict[str, Any], writing: Writing | None, config: Model.Config, marks: Marks
) -> tuple[dict[str, Any], list[str]]:
    """How its makers let a model write; files from before generation_config.json have that in config.json."""
    name = "generation_config.json" if inside(folder / "generation_config.json", folder) else "config.json"
    given, where = _json(folder, name) or data, store.shown(folder / name)
    context = getattr(getattr(config, "target", config.reader()).embed, "context", 0)
    return read_generation(given, writing, context=context, marks=marks, where=where)


def _chat_template(folder: Path, names: dict[str, Any]) -> str | None:
    """The template by which a talk becomes a text: in a file of its own, or in tokenizer_config.json; None without one.

    Of several it is the one called default.
    """
    path = folder / CHAT_TEMPLATE
    if inside(path, folder):
        return store.read_file(path).decode("utf-8", "replace")
    found = names.get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _filler(tokenizer: str | None, names: dict[str, Any], where: str) -> int | None:
    """The id that fills texts up, by its name in tokenizer_config.json; None where that says none."""
    name = names.get("pad_token")
    name = name.get("content") if isinstance(name, dict) else name
    known = [] if tokenizer is None else names_by_id(read_json(tokenizer, where=where), where)
    return known.index(name) if name in known else None


def _has_texts(config: Model.Config) -> bool:
    """Whether a model reads or writes texts."""
    return isinstance(config, Seq2Seq.Config | DualEncoder.Config) or isinstance(
        config.reader().embed, TextEmbed.Config | PictureTextEmbed.Config
    )


def _way_of_writing(config: Model.Config) -> Writing | None:
    """How a model with a head writes texts; None where it writes none."""
    if isinstance(config, Seq2Seq.Config | DualEncoder.Config):
        return "answers"
    embed, labels = config.reader().embed, isinstance(getattr(config, "head", None), Pooled.Config)
    writes = isinstance(embed, TextEmbed.Config) and embed.reading == "line" and not labels
    return "continues" if writes else None


def _refuse_files(path: Path) -> None:
    """Only folders hold models."""
    if path.is_dir():
        return
    if not path.exists():
        raise DataError(
            "no such folder", where=store.shown(path), fix="name a folder; weft import also takes owner/name"
        )
    suffix = path.suffix.lower()
    if suffix in PICKLES:
        raise pickle_error(path)
    if suffix in ARCHIVES:
        raise DataError("an archive; weft unpacks none", where=store.shown(path), fix="unpack it and name the folder")
    kind = "in a format that weft does not read" if suffix in OTHER_FORMATS else "a single file"
    raise DataError(f"{kind}; expected a folder", where=store.shown(path), fix="name the folder with config.json")


def _content(folder: Path, name: str) -> Any:
    """What a JSON file of the folder holds; None where it is not there."""
    path = folder / name
    return read_json(store.read_file(path), where=store.shown(path)) if inside(path, folder) else None


def _json(folder: Path, name: str) -> dict[str, Any] | None:
    data = _content(folder, name)
    if data is not None and not isinstance(data, dict):
        raise ConfigError("expected an object", where=store.shown(folder / name))
    return data


def _preprocessor(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """How pictures are prepared, and the file that says it; newer folders say it in a part of processor_config.json."""
    whole = (_json(folder, PROCESSOR_FILE) or {}).get("image_processor")
    if isinstance(whole, dict):
        return whole, store.shown(folder / PROCESSOR_FILE)
    return _json(folder, PREPROCESSOR_FILE), store.shown(folder / PREPROCESSOR_FILE)


def _family(data: dict[str, Any], where: str) -> tuple[Family, str, list[str]]:
    """Whose model it is, and what it is for."""
    name = data.get("model_type")
    if not isinstance(name, str):
        raise ConfigError("no model_type: not a config.json of the Hugging Face library", where=where)
    if name not in FAMILIES:
        raise ConfigError(
            f"weft does not know the model type {name!r:.80}", where=where, fix=f"known: {', '.join(sorted(FAMILIES))}"
        )
    family, named = FAMILIES[name], data.get("architectures")
    if not named:
        first = next(iter(family.tasks))
        return family, first, [f"config.json names no architecture: taken for {first}"]
    if not isinstance(named, list) or not isinstance(named[0], str):
        raise ConfigError(f"architectures: expected a list of names, found {named!r:.80}", where=where)
    if named[0] not in family.tasks:
        problem = f"weft does not know the architecture {named[0]!r:.80} of {name}"
        raise ConfigError(problem, where=where, fix=f"known: {', '.join(family.tasks)}")
    return family, named[0], []
