"""Runs written for other tools: a Hugging Face folder or an ONNX model, each proved by the tool itself in a fresh process."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from weft.codecs.classes import ClassCodec
from weft.codecs.codec import Codec
from weft.codecs.numbers import NumberCodec
from weft.codecs.picture import PictureCodec
from weft.codecs.several import SeveralCodec
from weft.codecs.symbols import SymbolCodec
from weft.codecs.tags import TagCodec
from weft.codecs.text import TextCodec
from weft.config import Config, field_types
from weft.domains.registry import card_named
from weft.errors import DataError, WeftError
from weft.inspect.texts import TextVectors
from weft.interop import Marks, prove, write_folder, write_onnx
from weft.interop.generation import write_generation
from weft.interop.proof import trial_inputs
from weft.interop.sentence_modules import write_modules
from weft.interop.signatures import TextPooling
from weft.interop.tokenizer_files import marked_tokenizer
from weft.models.adapted import has_adapters, merged
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.models.word_vectors import WordVectors
from weft.runs.export_card import export_card
from weft.runs.trying import USUAL, Trial, trial_of
from weft.runs.user_units import from_unit, in_unit
from weft.runs.word_runs import export_words
from weft.storage.store import write_file
from weft.tasks.recipes.language import context_of
from weft.tasks.request import Loaded
from weft.tasks.writing import SPARE_TOKENS

FILE_ENDINGS = (
    ".onnx",
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".json",
    ".zip",
)  # of what people may take an export for
TOLERANCE = 1e-4  # the largest difference of a value at which an export counts as the same model


def export_run(run: Loaded, out: str | Path, to: Literal["hf", "onnx", "word2vec"] = "hf") -> dict[str, Any]:
    """Write a run for another tool; returns where, what, and by how much its values differ there."""
    check_target(to)
    if to == "word2vec":
        return export_words(run, out)
    if (ending := Path(out).suffix.lower()) in FILE_ENDINGS:
        problem = f"an export is a folder, with the model and what it needs in files of it, not one file {ending}"
        raise WeftError(problem, where=f"--out {out}", fix=f"name a folder: --out {Path(out).with_suffix('')}")
    if isinstance(run.model, WordVectors):
        problem = "vectors of words are no model of theirs"
        raise WeftError(problem, where=f"--to {to}", fix="use --to word2vec")
    model, unit = in_unit(run, merged(run.model) if has_adapters(run.model) else run.model)
    model = from_unit(run, model)
    codec = next((codec for codec in reversed(list(run.codecs.values())) if isinstance(codec, TextCodec)), None)
    answers = (run.codecs.get(end) for end in ("label", "tags"))
    labels = next((tuple(c.names) for c in answers if isinstance(c, ClassCodec | SeveralCodec | TagCodec)), ())
    marks = _marks(run, codec)
    text = None if codec is None else _written(codec, run.codecs.get("source"))
    kind_of_labels, trial = _problem(run), None
    vectors, said = run.usual(TextVectors, "embed"), run.config.get("imported", {}).get("embed", {})
    if to == "onnx":
        kind = "onnx"
        difference = write_onnx(
            out,
            model,
            tokenizer_json=text,
            labels=labels,
            marks=marks,
            unit=unit,
            problem=kind_of_labels,
            pooling=TextPooling(vectors.summary, vectors.normalise),
        )
    else:
        origin = run.config["imported"]["family"] if run.imported else None
        settings = run.config.get("training")
        picture = run.codecs.get("picture")
        preparation = picture.config.preparation if isinstance(picture, PictureCodec) else None
        tolerance = TOLERANCE * (unit or 1.0)
        trial = trial_of(run, tolerance)  # what cannot be asked here is said before anything is written
        kind = write_folder(
            out,
            model,
            tokenizer_json=text,
            marks=marks,
            labels=labels,
            settings=settings,
            model_type=origin,
            preparation=preparation,
            extra=write_modules(said, getattr(model.config, "dim", 0)),
            generation=_generation(run, marks),
            problem=kind_of_labels,
        )
        difference = _proved(Path(out), model, codec, marks, trial, tolerance)
    tried = len(trial.inputs) if trial is not None else 0
    write_file(Path(out) / "README.md", export_card(run, kind, difference, tried, numbers=unit is not None).encode())
    return {"run": str(run.folder.path), "to": to, "folder": str(out), "model_type": kind, "difference": difference,
            **({"same_answers": tried} if tried else {})}  # fmt: skip


def _proved(
    folder: Path, model: Model, codec: TextCodec | None, marks: Marks, trial: Trial | None, tolerance: float
) -> float:
    """The largest difference; an export with other values or other answers than the run's is removed."""
    vocab = None if codec is None else codec.tokenizer.size
    special = marks.ids() | (set() if codec is None else set(codec.tokenizer.special.tolist()))
    inputs = trial_inputs(model, vocab, special)
    try:
        difference = prove(folder, model, inputs, USUAL if codec is not None else (), trial)
        if not difference <= tolerance:
            raise DataError(f"its values differ by {difference:.2g} there, more than {tolerance:g}", where=str(folder))
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, DataError):
            error.problem = f"the export was removed, because it failed its trial: {error.problem}"
            error.args = (error.problem, error.where, error.fix)
        raise
    return difference


def _marks(run: Loaded, codec: TextCodec | None) -> Marks:
    """The ids that begin and end texts, under the names that the other library has for them."""
    if codec is not None and isinstance(run.model, DualEncoder):
        before, after = codec.marks.before, codec.marks.after
        return Marks(bos=next(iter(before), None), eos=after[:1], pad=next(iter(after), None))
    if run.imported:
        known = Marks.read(run.config["imported"]["marks"], where="config.json")
        named = codec is not None and codec.config.language is not None and len(codec.marks.before) > 1
        return replace(known, first=codec.marks.before[1]) if codec is not None and named else known
    if codec is None:
        return Marks()
    end, target = codec.tokenizer.end, run.codecs.get("target")
    marks = target.marks if isinstance(target, SymbolCodec) else codec.marks
    if not isinstance(run.model, Seq2Seq):
        return Marks(bos=end, eos=(end,), pad=end)
    first = marks.before[1] if codec.config.languages and len(marks.before) > 1 else None
    return Marks(bos=marks.end, eos=(marks.end,), pad=marks.end, start=marks.start, first=first)


def _problem(run: Loaded) -> str | None:
    """What the other library calls labels that are not one of several classes."""
    kinds = {SeveralCodec: "multi_label_classification", NumberCodec: "regression"}
    return kinds.get(type(run.codecs.get("label")))  # type: ignore[arg-type]


def _generation(run: Loaded, marks: Marks) -> dict[str, Any]:
    """How texts are written, as far as the run writes any: by the settings that its predictions have by default."""
    kind: type[Config] | None = card_named(run.config["task"]).task.Predict if run.config.get("task") else None
    if kind is None or "temperature" not in field_types(kind):
        return {}
    how, opening = run.usual(kind), len(marks.opening()) or 1
    context = context_of(getattr(run.model.config, "target", run.model.config))
    longest = context - opening + 1
    if (known := run.data.amounts.get("longest")) is not None:
        longest = min(longest, int(known) + SPARE_TOKENS)
    return write_generation(how.to_json(), longest=longest)


def _written(codec: TextCodec, source: Codec | None) -> str:
    """The tokenizer.json; it puts the marks around a text that the run puts there, and around sources in a language."""
    if isinstance(source, TextCodec) and source.config.language is not None:
        return marked_tokenizer(codec.tokenizer, source.marks.before, source.marks.after)
    marks = codec.marks
    writes = codec.config.role in ("source", "target", "caption")  # a decoder starts from an opening of its own
    return marked_tokenizer(codec.tokenizer, () if writes else marks.before, marks.after)


def check_target(to: str) -> None:
    """Refuse what cannot be written."""
    if to not in ("hf", "onnx", "word2vec"):
        raise WeftError(
            f"cannot write for {to!r}", where="--to", fix="use hf or onnx, or word2vec for vectors of words"
        )
