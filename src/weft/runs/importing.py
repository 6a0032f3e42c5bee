"""Models of the Hugging Face library as runs: their codecs, and a run's config written down.

Such a run predicts, looks and is evaluated like one that was trained here, and others start from it (--from).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from weft.codecs.classes import ClassCodec
from weft.codecs.codec import Codec
from weft.codecs.numbers import NumberCodec
from weft.codecs.picture import PictureCodec
from weft.codecs.several import SeveralCodec
from weft.codecs.tags import TagCodec
from weft.codecs.text import TextCodec
from weft.config import field_types
from weft.data.images.frames import SMALL
from weft.domains.registry import CARDS
from weft.errors import WeftError, placed
from weft.interop import Imported, read_folder, read_source
from weft.interop.language_marks import LanguageMarks
from weft.interop.preprocessors import PREPROCESSOR_FILE
from weft.interop.word_files import is_word_file
from weft.modalities.image import PictureEmbed
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.dual_encoder import DualEncoder
from weft.models.stream import Stream
from weft.objectives import Classify, MaskedToken, NextToken, Number, Tags, TargetToken
from weft.objectives.distil import Distil
from weft.objectives.reconstruct import Reconstruct
from weft.runs.run import loaded, refuse_broken
from weft.runs.word_runs import import_words
from weft.storage.store import make_folder, shown
from weft.tasks.record import DataRecord
from weft.tasks.request import Loaded
from weft.training.base_run import WEIGHTS
from weft.training.card import model_card
from weft.training.folder import FORMAT, RunFolder, check_place
from weft.training.places import fresh_folder
from weft.training.precision import Weights
from weft.training.run import parameters

OBJECTIVES = {
    "language-model": NextToken.Config(),
    "fill-mask": MaskedToken.Config(),
    "classify-text": Classify.Config(),
    "tag-text": Tags.Config(),
    "translate": TargetToken.Config(),
    "classify-images": Classify.Config(),
    "reconstruct-images": Reconstruct.Config(),
    "distill-images": Distil.Config(),
    "caption": TargetToken.Config(),
}
OUR_NAMES = {
    "gpt2": "gpt",
    "llama": "llama",
    "marian": "transformer",
    "vit": "vit",
    "resnet": "resnet",
    "vision-encoder-decoder": "transformer",
}  # of models, by the names of their families
USUAL_BATCH = 8  # texts in a step, where a run goes on from a model that does not say


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
    """A Hugging Face folder, owner/name on the Hub, or a file of word vectors, written as a run; also what users should know."""
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
    tokenizer = None
    if imported.tokenizer_json is not None:
        tokenizer = Tokenizer.from_json(imported.tokenizer_json, shown(imported.source / "tokenizer.json"))
    task = imported.task or _use_without_head(imported)
    codecs = _codecs(imported, task, tokenizer)
    objective = Number.Config() if isinstance(codecs.get("label"), NumberCodec.Config) else OBJECTIVES.get(task or "")
    objective = None if imported.several else objective
    if isinstance(imported.model, DualEncoder):  # others start from its pictures; it learns nothing itself
        objective = None
    record = DataRecord(described=f"data of its makers ({imported.name})", rule="not known")
    config = {
        "format": FORMAT,
        "task": task if task in CARDS else None,
        "model_name": OUR_NAMES.get(imported.family, imported.family),
        "preset": None,
        "from": None,
        "model": imported.config.to_json(),
        "objective": None if objective is None else objective.to_json(),
        "training": _training(imported, task),
        "budget": {"steps": None, "minutes": None, "epochs": None},
        "fingerprint": None,
        "data": record.to_json(),
        "codecs": {end: codec.to_json() for end, codec in codecs.items()},
        "imported": {
            "source": imported.hub or shown(imported.source.absolute()),
            **({"commit": imported.source.name} if imported.hub else {}),
            "family": imported.family,
            "architecture": imported.architecture,
            "marks": imported.marks.write(),
            **({"embed": imported.embed} if imported.embed else {}),
            **({"predict": imported.predict} if imported.predict else {}),
            **({"broken": list(imported.broken)} if imported.broken else {}),
        },
    }
    return config, {} if tokenizer is None else {"tokenizer.json": tokenizer.to_json()}


def _use_without_head(imported: Imported) -> str | None:
    """What a model that gives vectors alone can be used for: vectors, and looking inside."""
    if not isinstance(imported.model, Stream):
        return None
    return "distill-images" if isinstance(imported.model.config.embed, PictureEmbed.Config) else "fill-mask"


def _codecs(imported: Imported, task: str | None, tokenizer: Tokenizer | None) -> dict[str, Codec.Config]:
    """The ends of the model's samples, as far as the folder says what they are."""
    found = {} if tokenizer is None else _text_codecs(imported, task, tokenizer)
    names = tuple(imported.labels)
    if task == "tag-text":
        scheme = "BIO" if any(name.startswith("B-") for name in names) else "plain"
        found["tags"] = TagCodec.Config(names=names, scheme=scheme)
    elif imported.several:
        found["label"] = SeveralCodec.Config(names=names)
    elif (task in ("classify-text", "classify-images") and len(names) == 1) or (task == "classify-text" and not names):
        found["label"] = NumberCodec.Config()
    elif task in ("classify-text", "classify-images") and names:
        found["label"] = ClassCodec.Config(names=names)
    embed = imported.config.reader().embed
    if isinstance(embed, PictureEmbed.Config):
        shape = tuple(side * embed.stride for side in embed.grid)
        small = shape if max(shape) <= SMALL else None
        found["picture"] = PictureCodec.Config(size=max(shape), shape=small, preparation=imported.preparation)
    return found


def _text_codecs(imported: Imported, task: str | None, tokenizer: Tokenizer) -> dict[str, Codec.Config]:
    """The ends that are texts, with the marks that their makers put around them."""
    text = TextCodec.Config(digest=tokenizer.digest)
    opening, end = tuple(imported.marks.opening()) or None, next(iter(imported.marks.eos), None)
    ends = imported.marks.eos
    if task == "language-model":
        before = tuple(tokenizer.marks[0]) if tokenizer.processed else ()
        return {"text": text.replace(role="line", opening=before, ends=ends)}
    if task == "translate":
        known = LanguageMarks.read(tokenizer, imported.marks, imported.tokenizer_config)
        text = text.replace(languages=known.tokens, language_place=known.place, end=end)
        target = text.replace(role="target", opening=opening, ends=ends, language=known.target)
        return {"source": text.replace(role="source", language=known.source), "target": target}
    if isinstance(imported.model, DualEncoder):
        _check_end(imported.model, tokenizer)
        return {"caption": text}
    if task == "caption":
        return {"caption": text.replace(role="caption", opening=opening, end=end, ends=ends)}
    return {"text": text}


def _check_end(model: DualEncoder, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that ends texts by another mark than the one where the model reads their vectors."""
    embed, after = model.config.text.embed, tokenizer.marks[1]
    if isinstance(embed, TextEmbed.Config) and embed.end is not None and after[:1] != (embed.end,):
        problem = f"texts end by the ids {list(after)}, and the model reads their vectors at {embed.end}"
        fix = "fetch the model's config.json and tokenizer.json from one place"
        raise WeftError(problem, where="tokenizer.json", fix=fix)


def _training(imported: Imported, task: str | None) -> dict[str, Any]:
    """The settings of a training as the task would have written them, as far as they are known."""
    kind = CARDS[task].training if task in CARDS else CARDS["language-model"].training
    known = {name: value for name, value in _shape(imported).items() if name in field_types(kind)}
    with placed(shown(imported.source / "config.json")):
        return kind(**known).to_json()


def _shape(imported: Imported) -> dict[str, Any]:
    """The settings that later runs take over."""
    stream = imported.config.reader()
    blocks, embed = stream.trunk.all_blocks(), stream.embed
    found: dict[str, Any] = {
        "dim": stream.dim,
        "depth": len(blocks) or None,
        "heads": getattr(blocks[0].mix, "heads", None) if blocks else None,
        "dropout": blocks[0].dropout if blocks else 0.0,
    }
    if isinstance(embed, PictureEmbed.Config):
        found["size"] = max(side * embed.stride for side in embed.grid)
        found["patch"] = getattr(embed, "patch", None)
        found["summary"] = "class" if embed.class_tokens else "mean"
    elif isinstance(embed, TextEmbed.Config):
        found |= {"context": embed.context, "batch": USUAL_BATCH}
    return {**found, **imported.settings}


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
