"""Runs written for other tools: a Hugging Face folder or an ONNX model, each proved by the tool itself in a fresh process."""

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch

from weft.codecs import ClassCodec, GraphCodec, NumberCodec, PictureCodec, SymbolCodec, TagCodec, TextCodec
from weft.errors import DataError, WeftError
from weft.interop import Marks, prove, write_folder, write_onnx
from weft.interop.proof import trial_inputs
from weft.modalities.tokenizer import Tokenizer
from weft.models.adapted import has_adapters, merged
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.models.word_vectors import WordVectors
from weft.runs.word_runs import export_words
from weft.storage.store import write_file
from weft.tasks.request import Loaded
from weft.version import VERSION

TOLERANCE = 1e-4  # the largest difference of a value at which an export counts as the same model
MIN_SPREAD_PARTS = 100  # a spread below this part of the mean is lost in fp32, as far as TOLERANCE sees
KEPT_ASPECT = (
    "weft reads pictures with their aspect kept. Tools that follow preprocessor_config.json scale every picture to one"
    " size, whatever its aspect: the same for pictures of that size, other values for others."
)
TRIED = ("The quick brown fox jumps over the lazy dog.", "Once upon a time, 12 kings met.", "Ja, naïve façades: ½ × 3!")


def export_run(run: Loaded, out: str | Path, to: Literal["hf", "onnx", "word2vec"] = "hf") -> dict[str, Any]:
    """Write a run for another tool; returns where, what, and by how much its values differ there."""
    check_target(to)
    if to == "word2vec":
        return export_words(run, out)
    if isinstance(run.model, WordVectors):
        problem = "vectors of words are no model of theirs"
        raise WeftError(problem, where=f"--to {to}", fix="use --to word2vec")
    model, unit = _in_unit(run, merged(run.model) if has_adapters(run.model) else run.model)
    model = _from_unit(run, model)
    codec = next((codec for codec in reversed(list(run.codecs.values())) if isinstance(codec, TextCodec)), None)
    answers = (run.codecs.get(end) for end in ("label", "tags"))
    labels = next((tuple(c.names) for c in answers if isinstance(c, ClassCodec | TagCodec)), ())
    marks = _marks(run, codec)
    text = None if codec is None else _written(codec)
    if to == "onnx":
        kind = "onnx"
        difference = write_onnx(out, model, tokenizer_json=text, labels=labels, marks=marks, unit=unit)
    else:
        origin = run.config["imported"]["family"] if run.imported else None
        settings = run.config.get("training")
        picture = run.codecs.get("picture")
        preparation = picture.config.preparation if isinstance(picture, PictureCodec) else None
        kind = write_folder(
            out,
            model,
            tokenizer_json=text,
            marks=marks,
            labels=labels,
            settings=settings,
            model_type=origin,
            preparation=preparation,
        )
        difference = _proved(Path(out), model, codec, TOLERANCE * (unit or 1.0))
    write_file(Path(out) / "README.md", _card(run, kind, difference, numbers=unit is not None).encode())
    return {"run": str(run.folder.path), "to": to, "folder": str(out), "model_type": kind, "difference": difference}


def _in_unit(run: Loaded, model: Model) -> tuple[Model, float | None]:
    """A model that has learned numbers around 0 made to give them in the user's unit, and what differences are small to.

    Mean and spread become part of the head's map, so that no other tool has to know them.
    """
    codec = run.codecs.get("label")
    if not isinstance(codec, NumberCodec):
        return model, None
    twin: Any = copy.deepcopy(model)
    last, scale = twin.head.out, codec.config
    with torch.no_grad():
        last.weight.copy_(last.weight.double() * scale.spread)
        last.bias.copy_(codec.restored(last.bias))
    return twin, max(scale.spread, abs(scale.mean) / MIN_SPREAD_PARTS)


def _from_unit(run: Loaded, model: Model) -> Model:
    """A model of vectors made to take them in the user's unit: mean and spread become part of the embedder's map."""
    codec = run.codecs.get("graph")
    if not isinstance(codec, GraphCodec) or not codec.config.mean:
        return model
    twin: Any = copy.deepcopy(model)
    mean, spread = (torch.tensor(side, dtype=torch.double) for side in (codec.config.mean, codec.config.spread))
    with torch.no_grad():
        table, offset = twin.embed.features.weight, twin.embed.offset
        scaled = table.double().cpu() / spread[:, None]
        offset.copy_(offset.double().cpu() - mean @ scaled)
        table.copy_(scaled)
    return twin


def _proved(folder: Path, model: Model, codec: TextCodec | None, tolerance: float) -> float:
    """The largest difference; an export that is not the same model is taken back."""
    vocab = None if codec is None else codec.tokenizer.size
    try:
        difference = prove(folder, model, trial_inputs(model, vocab), TRIED if codec is not None else ())
        if not difference <= tolerance:
            raise DataError(f"its values differ by {difference:.2g} there, more than {tolerance:g}", where=str(folder))
    except DataError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return difference


def _marks(run: Loaded, codec: TextCodec | None) -> Marks:
    """The ids that begin and end texts, under the names that the other library has for them."""
    if run.imported:
        return Marks.read(run.config["imported"]["marks"], where="config.json")
    if codec is None:
        return Marks()
    end, target = codec.tokenizer.end, run.codecs.get("target")
    marks = target.marks if isinstance(target, SymbolCodec) else codec.marks
    if not isinstance(run.model, Seq2Seq):
        return Marks(bos=end, eos=(end,), pad=end)
    return Marks(bos=marks.end, eos=(marks.end,), pad=marks.end, start=marks.start)


def _written(codec: TextCodec) -> str:
    """The tokenizer.json; where texts are read whole, it says which marks stand around them."""
    tokenizer = codec.tokenizer
    data = json.loads(tokenizer.to_json())
    if codec.config.role != "whole" or data.get("post_processor") is not None:
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
    picture = run.codecs.get("picture")
    if isinstance(picture, PictureCodec) and picture.config.preparation is None:
        lines += ["", KEPT_ASPECT]
    if metrics:
        lines += ["", "| measured on held-out data | value |", "|---|---|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in metrics.items()]
    return "\n".join([*lines, ""])


def check_target(to: str) -> None:
    """Refuse what cannot be written."""
    if to not in ("hf", "onnx", "word2vec"):
        raise WeftError(
            f"cannot write for {to!r}", where="--to", fix="use hf or onnx, or word2vec for vectors of words"
        )
