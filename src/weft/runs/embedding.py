"""`weft embed`: vectors of what the user names, written as an array, and the inputs nearest to a query."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.data.decoding import read_text
from weft.errors import WeftError
from weft.runs.run import Run
from weft.storage.store import write_file


def embed_inputs(
    run: Run, given: Sequence[str], out: Path | None, query: str | None, best: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What `weft embed --json` says: how many vectors there are and where, and what is nearest to the query."""
    if out is None and query is None:
        raise WeftError("nothing to do with the vectors", where="weft embed", fix="add -o vectors.npy, or --query TEXT")
    if out is not None and out.suffix != ".npy":
        raise WeftError(f"vectors are written as .npy, not {out.suffix or 'without an ending'}", where=f"-o {out}")
    inputs = _lines(run, given)
    if not inputs:
        raise WeftError("no input", where="weft embed", fix="give texts, a file with one a line, or pipe lines in")
    vectors = run.embed(inputs, **settings)
    if query is not None and len(vectors) != len(inputs):
        problem = f"{len(vectors)} vectors for {len(inputs)} inputs: which is nearest cannot be said by input"
        raise WeftError(problem, where="--query", fix="write the vectors with -o vectors.npy")
    found: dict[str, Any] = {"task": run.task.name, "count": len(vectors), "width": vectors.shape[1]}
    if out is not None:
        write_file(out, _npy(vectors))
        found["output"] = str(out)
    if query is not None:
        asked = run.embed([query], **settings)[0]
        cosine = _unit(vectors) @ _unit(asked)
        order = np.argsort(-cosine, kind="stable")[: max(1, best)]
        found["nearest"] = [{"input": inputs[i], "similarity": round(float(cosine[i]), 6)} for i in order]
    return found


def _lines(run: Run, given: Sequence[str]) -> list[str]:
    """Texts as they are; of files the lines, where the task reads texts."""
    if not run.task.reads_lines:
        return list(given)
    found: list[str] = []
    for one in given:
        if len(one) < 1024 and Path(one).is_file():
            found += [line for line in "".join(read_text(Path(one))).splitlines() if line.strip()]
        else:
            found.append(one)
    return found


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _npy(vectors: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, vectors, allow_pickle=False)
    return buffer.getvalue()
