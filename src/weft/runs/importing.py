"""Models of the Hugging Face library as runs: what weft's tasks need to know of them, written down as a run's config.

Such a run predicts, looks and is evaluated like one that was trained here, and others start from it (--from).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from weft.config import field_types
from weft.data.images.frames import SMALL
from weft.errors import WeftError
from weft.interop import Imported, read_folder, read_source
from weft.modalities.image import PictureEmbed
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.objectives import MaskedToken, NextToken, Number, Tags, TargetToken, TextClass
from weft.objectives.classify import Classify
from weft.objectives.distil import Distil
from weft.objectives.reconstruct import Reconstruct
from weft.storage.store import make_folder, shown
from weft.tasks.registry import TASKS
from weft.tasks.task import Loaded, refuse_broken
from weft.training.card import model_card
from weft.training.folder import check_place
from weft.training.folder import RunFolder, fresh_folder
from weft.training.precision import Weights
from weft.training.run import parameters
from weft.training.settings import Training

OBJECTIVES = {
    "language-model": NextToken.Config(),
    "fill-mask": MaskedToken.Config(),
    "classify-text": TextClass.Config(),
    "tag-text": Tags.Config(),
    "translate": TargetToken.Config(),
    "classify-images": Classify.Config(),
    "reconstruct-images": Reconstruct.Config(),
    "distill-images": Distil.Config(),
    "caption": TargetToken.Config(),
}
OURS = {
    "gpt2": "gpt",
    "llama": "llama",
    "marian": "transformer",
    "vit": "vit",
    "resnet": "resnet",
    "vision-encoder-decoder": "transformer",
}  # by weft's names; fmt: skip


class ForeignFolder(RunFolder):
    """A folder of the Hugging Face library in the place of a run's; nothing is ever written into it."""

    def __init__(self, path: Path, files: Mapping[str, str]):
        super().__init__(path)
        self.files = files

    def text(self, name: str) -> str:
        """One of the texts that a run would have."""
        if name not in self.files:
            raise WeftError(
                f"this model came without {name}", where=str(self.path), fix="put it beside its config.json"
            )
        return self.files[name]


def load_foreign(source: str | Path, *, broken: bool = False) -> Loaded:
    """A Hugging Face folder, ready for use."""
    imported = read_folder(source)
    if not broken:
        refuse_broken(imported.broken, imported.source)
    config, files = as_run(imported)
    return Loaded(ForeignFolder(imported.source, files), config, imported.model)


def import_run(source: str | Path, out: str | Path | None = None) -> tuple[Loaded, tuple[str, ...]]:
    """A Hugging Face folder, or owner/name on the Hub, written as a run; what is to be said of it comes with it."""
    if out is not None:
        check_place(RunFolder(out), resume=False)
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
    return Loaded(folder, folder.config(), imported.model), imported.warnings


def as_run(imported: Imported) -> tuple[dict[str, Any], dict[str, str]]:
    """The config.json of a run with this model, and the texts that go with it."""
    tokenizer = None if imported.tokenizer_json is None else Tokenizer.from_json(imported.tokenizer_json)
    task = imported.task or _use_without_head(imported)
    objective = OBJECTIVES.get(task or "")
    if task == "classify-text" and len(imported.labels) < 2:
        objective = Number.Config()
    config = {
        "task": task if task in TASKS else None,
        "model_name": OURS.get(imported.family, imported.family),
        "preset": None,
        "from": None,
        "model": imported.config.to_json(),
        "objective": None if objective is None else objective.to_json(),
        "training": _training(imported, task),
        "budget": {"steps": None, "minutes": None, "epochs": None},
        "fingerprint": None,
        "data": _data(imported, task, tokenizer),
        "imported": {
            "source": imported.hub or shown(imported.source.absolute()),
            **({"commit": imported.source.name} if imported.hub else {}),
            "family": imported.family,
            "architecture": imported.architecture,
            "marks": imported.marks.write(),
            "opening": _opening(imported, tokenizer),
            **({"broken": list(imported.broken)} if imported.broken else {}),
        },
    }
    return config, {} if tokenizer is None else {"tokenizer.json": tokenizer.to_json()}


def _use_without_head(imported: Imported) -> str | None:
    """What a model that gives vectors alone can be used for: they, and looking inside."""
    if not isinstance(imported.model, Stream):
        return None
    return "distill-images" if isinstance(imported.model.config.embed, PictureEmbed.Config) else "fill-mask"


def _opening(imported: Imported, tokenizer: Tokenizer | None) -> list[int]:
    """What stands before a text that is written: of an encoder–decoder what its target begins with."""
    if isinstance(imported.model, Seq2Seq):
        return imported.marks.opening()
    return list(tokenizer.marks[0]) if tokenizer is not None and tokenizer.processed else []


def _reader(imported: Imported) -> Stream.Config:
    """The stream that reads what the user gives."""
    config: Any = imported.model.config
    return config.source if isinstance(config, Seq2Seq.Config) else getattr(config, "encoder", config)


def _training(imported: Imported, task: str | None) -> dict[str, Any]:
    """The settings of a training as the task would have written them, as far as they are known."""
    kind = TASKS[task].settings if task in TASKS else Training
    known = {name: value for name, value in _shape(imported).items() if name in field_types(kind)}
    return kind(**known).to_json()


def _shape(imported: Imported) -> dict[str, Any]:
    """The settings that later runs take over."""
    stream: Any = _reader(imported)
    blocks = stream.trunk.all_blocks()
    found: dict[str, Any] = {
        "dim": stream.dim,
        "depth": len(blocks) or None,
        "heads": getattr(blocks[0].mix, "heads", None) if blocks else None,
        "dropout": blocks[0].dropout if blocks else 0.0,
    }
    if isinstance(stream.embed, TextEmbed.Config):
        return {
            **found,
            "context": stream.embed.context,
            "tokenizer": None,
            "vocab": None,
            "batch": 8,
            **imported.settings,
        }
    size = max(side * stream.embed.stride for side in stream.embed.grid)
    summary = "class" if getattr(stream.embed, "class_tokens", 0) else "mean"
    return {
        **found,
        "size": size,
        "patch": getattr(stream.embed, "patch", None),
        "summary": summary,
        **imported.settings,
    }


def _data(imported: Imported, task: str | None, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """What a run says of its data, as far as it is known of a model that came from elsewhere."""
    found: dict[str, Any] = {"described": f"data of its makers ({imported.name})", "rule": "not known", "skipped": []}
    if tokenizer is not None:
        found |= {
            "tokenizer": tokenizer.kind,
            "tokenizer_digest": tokenizer.digest,
            "vocabulary": tokenizer.size,
        }
    labels = list(imported.labels)
    if task == "classify-text":
        found |= {"classes": labels if len(labels) > 1 else None, "kind": "classes" if len(labels) > 1 else "numbers"}
    if task == "tag-text":
        found |= {"tags": labels, "scheme": "BIO" if any(label.startswith("B-") for label in labels) else "plain"}
    stream: Any = _reader(imported)
    if isinstance(stream.embed, PictureEmbed.Config):
        height, width = (side * stream.embed.stride for side in stream.embed.grid)
        small = [height, width] if max(height, width) <= SMALL else None
        found |= {"size": max(height, width), "channels": stream.embed.channels, "shape": small, "classes": labels}
    return found


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
