"""Runs written for other tools: a Hugging Face folder or an ONNX model, proved by that tool in a fresh process."""

import shutil
from pathlib import Path
from typing import Any, Literal

from weft.domains.registry import exchange_of
from weft.errors import DataError, WeftError
from weft.interop import prove, write_folder, write_onnx
from weft.interop.proof import trial_inputs
from weft.interop.sentence_modules import write_modules
from weft.runs.export_card import export_card
from weft.storage.store import write_file
from weft.tasks.outgoing import Outgoing
from weft.tasks.proof import Proof
from weft.tasks.request import Loaded

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
    name = run.config.get("task")
    exchange = exchange_of(name, f"{run.folder.path}/config.json")
    if to not in exchange.targets:
        what = "a run without a task" if name is None else f"a run of the task {name}"
        fix = f"use --to {' or --to '.join(exchange.targets)}"
        raise WeftError(f"{what} cannot be written for {to}", where=f"--to {to}", fix=fix)
    if to not in FOLDERS:
        form = exchange.write_file(run, Path(out), to)
        return {"run": str(run.folder.path), "to": to, "folder": str(out), "model_type": form, "difference": 0.0}
    if (ending := Path(out).suffix.lower()) in FILE_ENDINGS:
        problem = f"an export is a folder, with the model and what it needs in files of it, not one file {ending}"
        raise WeftError(problem, where=f"--out {out}", fix=f"name a folder: --out {Path(out).with_suffix('')}")
    found, proof = exchange.outgoing(run), None
    if to == "onnx":
        kind = "onnx"
        difference = write_onnx(
            out,
            found.model,
            tokenizer_json=found.tokenizer_json,
            labels=found.labels,
            marks=found.marks,
            unit=found.unit,
            problem=found.problem,
            pooling=found.pooling,
        )
    else:
        tolerance = TOLERANCE * (found.unit or 1.0)
        # what cannot be asked here is said before anything is written
        proof = exchange.proof(run, tolerance)
        kind = write_folder(
            out,
            found.model,
            tokenizer_json=found.tokenizer_json,
            marks=found.marks,
            labels=found.labels,
            settings=run.config.get("training"),
            model_type=run.config["imported"]["family"] if run.imported else None,
            preparation=found.preparation,
            extra=write_modules(run.config.get("imported", {}).get("embed", {}), getattr(found.model.config, "dim", 0)),
            generation=found.generation,
            problem=found.problem,
        )
        difference = _proved(Path(out), found, proof if proof is not None and proof.inputs else None, tolerance)
    tried = len(proof.inputs) if proof is not None else 0
    write_file(Path(out) / "README.md", export_card(run, found, kind, difference, tried).encode())
    return {"run": str(run.folder.path), "to": to, "folder": str(out), "model_type": kind, "difference": difference,
            **({"same_answers": tried} if tried else {})}  # fmt: skip


def _proved(folder: Path, found: Outgoing, proof: Proof | None, tolerance: float) -> float:
    """The largest difference; an export with other values or other answers than the run's is removed."""
    tokenizer = found.tokenizer
    vocab = None if tokenizer is None else tokenizer.size
    special = found.marks.ids() | (set() if tokenizer is None else set(tokenizer.special.tolist()))
    inputs = trial_inputs(found.model, vocab, special)
    try:
        difference = prove(folder, found.model, inputs, found.trial_texts, proof)
        if not difference <= tolerance:
            raise DataError(f"its values differ by {difference:.2g} there, more than {tolerance:g}", where=str(folder))
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, DataError):
            error.problem = f"the export was removed, because it failed its trial: {error.problem}"
            error.args = (error.problem, error.where, error.fix)
        raise
    return difference


def check_target(to: str) -> None:
    """Refuse what cannot be written."""
    if to not in ("hf", "onnx", "word2vec"):
        raise WeftError(
            f"cannot write for {to!r}", where="--to", fix="use hf or onnx, or word2vec for vectors of words"
        )
