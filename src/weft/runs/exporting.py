"""Runs written for other tools: a Hugging Face folder or an ONNX model, proved by that tool in a fresh process."""

from pathlib import Path
from typing import Any, Literal

from weft.domains.registry import exchange_of
from weft.errors import DataError, WeftError
from weft.files.writing import refuse_output
from weft.interop import prove, write_folder, write_onnx
from weft.interop.proof import trial_inputs
from weft.interop.sentence_modules import write_modules
from weft.interop.staging import unnamed
from weft.runs.export_card import export_card
from weft.storage.store import write_file
from weft.tasks.outgoing import Outgoing
from weft.tasks.proof import Proof
from weft.tasks.request import Loaded
from weft.training.signals import StopRequest

FILE_ENDINGS = (
    ".onnx",
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".json",
    ".zip",
)  # of what people may take an export for
FOLDERS = ("hf", "onnx")  # targets that are a folder, which the other tool proves; others are one file
TOLERANCE = 1e-4  # the largest difference of a value at which an export counts as the same model


def export_run(run: Loaded, out: str | Path, to: Literal["hf", "onnx", "word2vec"] = "hf") -> dict[str, Any]:
    """Write a run for another tool; returns where, what, and by how much its values differ there."""
    check_target(to)
    name, target = run.config.get("task"), Path(out)
    exchange = exchange_of(name, f"{run.folder.path}/config.json")
    if to not in exchange.targets:
        what = "a run without a task" if name is None else f"a run of the task {name}"
        fix = f"use --to {' or --to '.join(exchange.targets)}"
        raise WeftError(f"{what} cannot be written for {to}", where=f"--to {to}", fix=fix)
    refuse_output(target, runs=[run.folder.path], option="--out")
    report = {"run": str(run.folder.path), "to": to, "folder": str(out)}
    if to not in FOLDERS:
        return {**report, "model_type": exchange.write_file(run, target, to), "difference": 0.0}
    if (ending := target.suffix.lower()) in FILE_ENDINGS:
        problem = f"an export is a folder, with the model and what it needs in files of it, not one file {ending}"
        raise WeftError(problem, where=f"--out {out}", fix=f"name a folder: --out {target.with_suffix('')}")
    found = exchange.outgoing(run)
    # what cannot be asked here is said before anything is written
    proof = exchange.proof(run, _tolerance(found)) if to == "hf" else None
    tried = len(proof.inputs) if proof is not None else 0
    with StopRequest("before the export was proved: nothing is left of it"), unnamed(target) as folder:
        if to == "onnx":
            kind, difference = "onnx", _write_graph(folder, found)
        else:
            kind = _write_folder(folder, run, found)
            difference = _proved(folder, target, found, proof if tried else None)
        write_file(folder / "README.md", export_card(run, found, kind, difference, tried).encode())
    return {**report, "model_type": kind, "difference": difference, **({"same_answers": tried} if tried else {})}


def _words(found: Outgoing) -> dict[str, Any]:
    """What both kinds of folder are told besides the model: how texts are cut, and what labels are called."""
    return {name: getattr(found, name) for name in ("tokenizer_json", "marks", "labels", "problem")}


def _write_graph(folder: Path, found: Outgoing) -> float:
    """Write an ONNX model, which is proved there; returns the largest difference."""
    return write_onnx(folder, found.model, **_words(found), unit=found.unit, pooling=found.pooling)


def _write_folder(folder: Path, run: Loaded, found: Outgoing) -> str:
    """Write a folder of the Hugging Face library, which is not proved yet; returns its model type."""
    imported = run.config.get("imported", {})
    return write_folder(
        folder,
        found.model,
        **_words(found),
        settings=run.config.get("training"),
        model_type=imported.get("family"),
        preparation=found.preparation,
        extra=write_modules(imported.get("embed", {}), getattr(found.model.config, "dim", 0)),
        generation=found.generation,
        chat_template=found.chat_template,
    )


def _tolerance(found: Outgoing) -> float:
    return TOLERANCE * (found.unit or 1.0)


def _proved(folder: Path, target: Path, found: Outgoing, proof: Proof | None) -> float:
    """The largest difference; an export with other values or other answers than the run's is refused."""
    tokenizer, tolerance = found.tokenizer, _tolerance(found)
    vocab = None if tokenizer is None else tokenizer.size
    special = found.marks.ids() | (set() if tokenizer is None else set(tokenizer.special.tolist()))
    inputs = trial_inputs(found.model, vocab, special)
    try:
        difference = prove(folder, found.model, inputs, found.trial_texts, proof)
        if not difference <= tolerance:
            raise DataError(f"its values differ by {difference:.2g} there, more than {tolerance:g}", where=str(folder))
    except DataError as error:
        error.problem = f"the export was removed, because it failed its trial: {error.problem}"
        error.where = error.where.replace(str(folder), str(target))
        error.args = (error.problem, error.where, error.fix)
        raise
    return difference


def check_target(to: str) -> None:
    """Refuse what cannot be written."""
    if to not in ("hf", "onnx", "word2vec"):
        raise WeftError(
            f"cannot write for {to!r}", where="--to", fix="use hf or onnx, or word2vec for vectors of words"
        )
