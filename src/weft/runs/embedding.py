"""`weft embed`: vectors of what the user names, as an array, and the inputs nearest to queries, as a list or sheet.

Vectors alone are written batch by batch to a file that grows; for queries all of them are held in memory.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.files.table_writing import plain
from weft.files.writing import plain_place, write_made
from weft.inspect.sheets import contact_sheet
from weft.runs.answered import MOST_FAILURES, Failures
from weft.runs.asking import check_output, embedded, given, parted, ways_of
from weft.runs.many import ManyInputs, Shard
from weft.runs.run import Run
from weft.runs.shards import ShardRecord, write_record
from weft.storage.growing import GrowingFile
from weft.tasks.asks import Given
from weft.tasks.request import Embedded

HEADER = 128  # bytes of a .npy file before its numbers


def embed_inputs(
    run: Run,
    words: Sequence[object],
    out: Path | None,
    queries: Sequence[str],
    best: int,
    settings: Mapping[str, Any],
    *,
    resume: bool = False,
    shard: Shard = Shard(),
    said: Sequence[str] = (),
) -> tuple[dict[str, Any], Failures, int]:
    """What `weft embed --json` says: how many vectors there are and where, and what is nearest to each query.

    Also the first inputs that cannot be used, each with its error, and how many there are in all.
    """
    kind = _checked(out, queries)
    check_output(run, out, [*words, *queries], "-o")
    place = plain_place(out) if out is not None and kind == ".npy" and not queries else None
    if place is None and (resume or shard.of > 1):
        what = "--resume" if resume else "--shard"
        raise WeftError("goes with -o FILE.npy alone, a plain file", where=what, fix="leave --query out")
    ways, how = ways_of(run, "embed", settings)
    if place is not None:
        grown = GrowingVectors(run, ManyInputs(run, words, ways, shard), how)
        with run.used(**ways.reading):
            grown.write(place, said, resume=resume)
        report = {"task": run.task.name, "count": grown.count, "width": grown.width, "output": str(out)}
        return report, grown.failed, grown.all_failed
    with run.used(**ways.reading):
        inputs = list(given(run, words, ways=ways))
        if not inputs:
            raise _no_input()
        parts = list(parted(lambda _, some: embedded(run, some, how), inputs))
    failed = [(inputs[first].name, part) for first, part in parts if isinstance(part, WeftError)]
    made = [part for _, part in parts if not isinstance(part, WeftError)]
    if not made:
        raise failed[0][1]
    if any(one.rows for one in inputs):  # one vector a row, also where a row cannot be used
        blank = np.full((1, made[0].vectors.shape[1]), np.nan, np.float32)
        made = [Embedded([inputs[i].name], blank) if isinstance(part, WeftError) else part for i, part in parts]
    vectors = _joined(made)
    if queries and len(vectors.vectors) != len(vectors.names):
        problem = (
            f"{len(vectors.vectors)} vectors for {len(vectors.names)} inputs: which is nearest cannot be said by input"
        )
        raise WeftError(problem, where="--query", fix="write the vectors with -o vectors.npy")
    count, width = vectors.vectors.shape
    found: dict[str, Any] = {"task": run.task.name, "count": count, "width": width}
    orders = [nearest(run, vectors, query, best, settings) for query in queries]
    rows = [one.rows[0].values if one.rows else None for one in inputs]
    known = rows if len(rows) == count else [None] * count
    near = [[_found(vectors.names[i], s, known[i]) for i, s in order] for order in orders]
    if out is not None:
        write_made(out, _npy(vectors.vectors) if kind == ".npy" else _sheet(vectors, queries, orders, kind))
        found["output"] = str(out)
    if queries:
        found["queries"] = [{"query": query, "nearest": one} for query, one in zip(queries, near, strict=True)]
    if len(queries) == 1:
        found["nearest"] = near[0]
    return found, failed, len(failed)


class GrowingVectors:
    """Vectors of inputs, written batch by batch; a row of a table that cannot be used has numbers that are NaN."""

    def __init__(self, run: Run, inputs: ManyInputs, how: Any):
        self.run, self.inputs, self.how = run, inputs, how
        self.failed: Failures = []  # the first of them
        self.count = self.width = self.all_failed = self.made = 0
        self.blank = 0  # rows without a vector before the width of one is known

    def write(self, place: Path, said: Sequence[str], *, resume: bool) -> None:
        """Write all vectors that are still to be made; the file has its name once it is whole."""
        if self.inputs.first is None:
            raise _no_input()
        about = self.inputs.about("embed", said, place)
        with GrowingFile(place, about, resume=resume, reserved=HEADER) as file:
            for name, value in (file.state or {}).items():
                setattr(self.inputs if name == "begun" else self, name, value)
            for some in self.inputs.batches():
                for vectors in self._vectors(some):
                    file.add(vectors.tobytes())
                self.inputs.begun += len(some)
                if file.due():
                    file.keep(self._state())
            if not self.made:
                file.remove()
                raise self.failed[0][1] if self.failed else _no_input()
            file.keep(self._state())
            if self.inputs.shard.of > 1:
                more = {"width": self.width}
                record = ShardRecord(about, file.size, file.crc, 0, HEADER, self.count, self.all_failed, more)
                write_record(place, record)
            file.finish(first=npy_header(self.count, self.width))

    def _vectors(self, inputs: Sequence[Given]) -> Iterator[np.ndarray]:
        """The vectors of a batch, in parts."""
        for first, part in parted(lambda _, some: embedded(self.run, some, self.how), inputs):
            if not isinstance(part, WeftError):
                found = np.ascontiguousarray(part.vectors, np.float32)
                self.width = found.shape[1]
                if self.blank:
                    yield np.full((self.blank, self.width), np.nan, np.float32)
                self.made, self.blank = self.made + len(found), 0
            else:
                self.all_failed += 1
                self.failed += [(inputs[first].name, part)] if len(self.failed) < MOST_FAILURES else []
                if not inputs[first].rows:
                    continue
                self.blank += not self.width
                found = np.full((1, self.width), np.nan, np.float32)
            self.count += len(found)
            yield found

    def _state(self) -> dict[str, int]:
        names = ("count", "width", "all_failed", "made", "blank")
        return {"begun": self.inputs.begun, **{name: getattr(self, name) for name in names}}


def npy_header(count: int, width: int) -> bytes:
    """The first bytes of a .npy file of vectors."""
    buffer = io.BytesIO()
    data = {"descr": "<f4", "fortran_order": False, "shape": (count, width)}
    np.lib.format.write_array_header_1_0(buffer, data)
    assert buffer.tell() == HEADER
    return buffer.getvalue()


def _joined(parts: Sequence[Embedded]) -> Embedded:
    """Vectors of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    rows = [(part, row) for part in parts for row in range(len(part.names))]
    names, vectors = [name for part in parts for name in part.names], np.concatenate([part.vectors for part in parts])
    return Embedded(names, vectors, lambda row: rows[row][0].pixels(rows[row][1]))


def nearest(run: Run, vectors: Embedded, query: str, best: int, settings: Mapping[str, Any]) -> list[tuple[int, float]]:
    """The rows nearest to a query and their cosines, the nearest first."""
    asked = run.embed([query], **settings)
    if len(asked) != 1:
        fix = "name one, or say a text that is also the name of a folder in more words"
        raise WeftError(f"{query!r:.60} stands for {len(asked)} inputs", where="--query", fix=fix)
    cosine = _unit(vectors.vectors) @ _unit(asked[0])
    order = [int(i) for i in np.argsort(-cosine, kind="stable") if np.isfinite(cosine[i])]
    return [(i, float(cosine[i])) for i in order[: max(1, best)]]


def _found(name: str, similarity: float, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is near to a query: its name, how near, and its row where it stands in a table."""
    return {"input": name, "similarity": round(similarity, 6), **({} if row is None else {"row": plain(row)})}


def _checked(out: Path | None, queries: Sequence[str]) -> str:
    """The ending of the file to write; what cannot be meant is refused before anything is computed."""
    if out is None and not queries:
        raise WeftError("nothing to do with the vectors", where="weft embed", fix="add -o vectors.npy, or --query TEXT")
    kind = "" if out is None else out.suffix.lower()
    if kind not in ("", ".npy", ".png", ".svg") or (out is not None and not kind):
        problem = (
            f"vectors are written as .npy and the nearest pictures as .png or .svg, not {kind or 'without an ending'}"
        )
        raise WeftError(problem, where=f"-o {out}", fix="name it -o vectors.npy, or with --query TEXT -o found.png")
    if kind in (".png", ".svg") and not queries:
        fix = "add --query TEXT, or write the vectors with -o vectors.npy"
        raise WeftError("a picture shows what is nearest to a query, and there is none", where=f"-o {out}", fix=fix)
    return kind


def _sheet(
    vectors: Embedded, queries: Sequence[str], orders: Sequence[Sequence[tuple[int, float]]], kind: str
) -> bytes:
    """A sheet of the nearest pictures, a row for each query."""
    pictures, captions = [], []
    for query, order in zip(queries, orders, strict=True):
        for row, similarity in order:
            pixels = vectors.pixels(row)
            if pixels is None:
                fix = "leave -o out, or write the vectors with -o vectors.npy"
                raise WeftError(f"{vectors.names[row]!r:.60} is no picture", where="-o", fix=fix)
            pictures.append(pixels)
            captions.append(f"{similarity:.2f} {query if len(queries) > 1 else Path(vectors.names[row]).name}")
    title = f"nearest to: {queries[0]}" if len(queries) == 1 else "nearest to each query, a row each"
    columns = max(map(len, orders))
    return contact_sheet(pictures, captions, columns=columns, title=title, format="svg" if kind == ".svg" else "png")


def _no_input() -> WeftError:
    return WeftError("no input", where="weft embed", fix="give texts, a file with one a line, or pipe lines in")


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _npy(vectors: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, vectors, allow_pickle=False)
    return buffer.getvalue()
