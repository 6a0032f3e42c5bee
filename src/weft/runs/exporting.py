"""Runs written for other tools: a Hugging Face folder or an ONNX model, each proved by the tool itself in a fresh process."""

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from weft.config import from_json
from weft.errors import DataError, WeftError
from weft.interop import Marks, prove, write_folder, write_onnx
from weft.modalities.image import PictureEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.adapted import has_adapters, merged
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.objectives import Number
from weft.objectives.objective import Objective
from weft.storage.store import write_file
from weft.tasks.encoders import EncoderTask
from weft.tasks.registry import TASKS
from weft.tasks.task import Loaded
from weft.tasks.text_data import around_of
from weft.version import VERSION

TOLERANCE = 1e-4  # the largest difference of a value at which an export counts as the same model
DIGITS = 100  # a spread below this part of the mean is lost in fp32, as far as TOLERANCE sees
TRIED = ("The quick brown fox jumps over the lazy dog.", "Once upon a time, 12 kings met.", "Ja, naïve façades: ½ × 3!")


def export_run(run: Loaded, out: str | Path, to: Literal["hf", "onnx"] = "hf") -> dict[str, Any]:
    """Write a run for another tool; returns where, what, and by how much its values differ there."""
    model, unit = _in_unit(run, merged(run.model) if has_adapters(run.model) else run.model)
    tokenizer = _tokenizer(run)
    labels = tuple(run.config.get("data", {}).get("classes") or run.config.get("data", {}).get("tags") or ())
    marks = _marks(run, tokenizer)
    text = None if tokenizer is None else _written(run, tokenizer)
    if to == "onnx":
        kind = "onnx"
        difference = write_onnx(out, model, tokenizer_json=text, labels=labels, marks=marks, unit=unit)
    else:
        kind = write_folder(
            out, model, tokenizer_json=text, marks=marks, labels=labels, settings=run.config.get("training")
        )
        difference = _proved(Path(out), model, tokenizer, TOLERANCE * (unit or 1.0))
    write_file(Path(out) / "README.md", _card(run, kind, difference, numbers=unit is not None).encode())
    return {"run": str(run.folder.path), "to": to, "folder": str(out), "model_type": kind, "difference": difference}


def _in_unit(run: Loaded, model: Model) -> tuple[Model, float | None]:
    """A model that has learned numbers around 0 made to give them in the user's unit, and what differences are small to.

    Mean and spread become part of the head's map, so that no other tool has to know them.
    """
    objective = run.config.get("objective")
    scale = None if objective is None else from_json(objective, Objective.Config)
    if not isinstance(scale, Number.Config):
        return model, None
    twin: Any = copy.deepcopy(model)
    last = twin.head.out
    with torch.no_grad():
        last.weight.copy_(last.weight.double() * scale.spread)
        last.bias.copy_(scale.restored(last.bias))
    return twin, max(scale.spread, abs(scale.mean) / DIGITS)


def _proved(folder: Path, model: Model, tokenizer: Tokenizer | None, tolerance: float) -> float:
    """The largest difference; an export that is not the same model is taken back."""
    try:
        difference = prove(folder, model, trial(model, tokenizer), TRIED if tokenizer is not None else ())
        if not difference <= tolerance:
            raise DataError(f"its values differ by {difference:.2g} there, more than {tolerance:g}", where=str(folder))
    except DataError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return difference


def trial(model: Model, tokenizer: Tokenizer | None) -> dict[str, Tensor]:
    """Inputs that both are tried with, by the names that the Hugging Face library has for them."""
    draw = np.random.default_rng(0)
    config: Any = model.config
    if isinstance(config, Seq2Seq.Config):
        target = _ids(draw, config.target.embed.size, 2, 7)
        if isinstance(config.source.embed, PictureEmbed.Config):
            return {"pixel_values": _pixels(draw, config.source.embed), "decoder_input_ids": target}
        return {"input_ids": _ids(draw, config.source.embed.size, 2, 9), "decoder_input_ids": target}
    stream: Any = config if isinstance(config, Stream.Config) else config.encoder
    if isinstance(stream.embed, PictureEmbed.Config):
        inputs = {"pixel_values": _pixels(draw, stream.embed)}
        if stream is not config:
            inputs["noise"] = torch.from_numpy(draw.random((2, stream.embed.grid[0] * stream.embed.grid[1]))).float()
        return inputs
    length = min(16, stream.embed.context)
    size = tokenizer.size if tokenizer is not None else stream.embed.size
    ids = _ids(draw, size, 2, length)
    mask = torch.ones_like(ids)
    if stream.embed.reading == "free":
        mask[1, length // 2 :] = 0
        return {"input_ids": ids, "attention_mask": mask}
    return {"input_ids": ids}


def _ids(draw: np.random.Generator, size: int | None, rows: int, length: int) -> Tensor:
    return torch.from_numpy(draw.integers(0, size or 2, (rows, length)))


def _pixels(draw: np.random.Generator, embed: PictureEmbed.Config) -> Tensor:
    height, width = (side * embed.stride for side in embed.grid)
    return torch.from_numpy(draw.normal(size=(2, embed.channels, height, width))).float()


def _tokenizer(run: Loaded) -> Tokenizer | None:
    if "tokenizer" not in run.config.get("data", {}):
        return None
    return Tokenizer.from_json(run.folder.text("tokenizer.json"))


def _marks(run: Loaded, tokenizer: Tokenizer | None) -> Marks:
    """The ids that begin and end texts, as the other library is told them."""
    if "imported" in run.config:
        return Marks.read(run.config["imported"]["marks"], where="config.json")
    if tokenizer is None:
        return Marks()
    end = tokenizer.end
    start = None
    if isinstance(run.model, Seq2Seq):
        around = around_of(run.config, tokenizer)
        start, end = around.start, around.end
    return Marks(bos=end, eos=(end,), pad=end, start=start)


def _written(run: Loaded, tokenizer: Tokenizer) -> str:
    """The tokenizer.json; where texts are read whole, it says which marks stand around them."""
    data = json.loads(tokenizer.to_json())
    task = TASKS.get(run.config.get("task") or "")
    if not isinstance(task, EncoderTask) or data.get("post_processor") is not None:
        return tokenizer.to_json()
    name = tokenizer.names[tokenizer.end]
    mark, text = {"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    other = {"Sequence": {"id": "B", "type_id": 1}}
    data["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [mark, text, mark],
        "pair": [mark, text, mark, other, mark],
        "special_tokens": {name: {"id": name, "ids": [tokenizer.end], "tokens": [name]}},
    }
    return Tokenizer.from_json(json.dumps(data)).to_json()


def _card(run: Loaded, kind: str, difference: float, *, numbers: bool) -> str:
    metrics: Mapping[str, float] = run.config.get("result", {}).get("metrics", {})
    lines = [
        f"# {run.folder.path.absolute().name}",
        "",
        f"Written by weft {VERSION} from a run of the task {run.config.get('task') or 'none'}, as {kind}.",
        "",
        f"Opened again by the other tool in a fresh process, its values differ from the run's by {difference:.2g} at most.",
    ]
    if numbers:
        lines += ["", "It gives numbers in the unit of the data that it learned from; nothing is left to be scaled."]
    if metrics:
        lines += ["", "| measured on held-out data | value |", "|---|---|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in metrics.items()]
    return "\n".join([*lines, ""])


def check_target(to: str) -> None:
    """Refuse what cannot be written."""
    if to not in ("hf", "onnx"):
        raise WeftError(f"cannot write for {to!r}", where="--to", fix="use hf or onnx")
