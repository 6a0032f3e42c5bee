"""The weights of a model folder: one .safetensors file, or several with an index. Read piece by piece, never twice.

Pickles and archives are recognised by their names and never opened. Every name in an index is a plain name of a file
inside the folder, and nothing outside the folder is looked at.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from weft.errors import DataError, listed
from weft.interop.rules import Piece
from weft.interop.weight_table import WeightTable
from weft.json_text import read_json
from weft.storage import store
from weft.storage.soundness import denormal, finite
from weft.storage.tensor_file import PICKLES, TensorEntry, TensorFile, pickle_error
from weft.storage.tensors import bytes_of

FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
EXACT_IN_FP32 = (torch.float32, torch.bfloat16, torch.float16)  # types whose values fp32 holds without loss
OTHER_FORMATS = (*PICKLES, ".h5", ".msgpack", ".onnx", ".tflite", ".gguf", ".npz")
MAX_SHARDS = 10_000
BUFFER_BYTES = 16 * 2**20  # read at a time where numbers cannot be read straight into their tensor


class Shards:
    """The tensors of theirs by name, wherever they lie: `with Shards(folder) as theirs:`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._files: dict[str, TensorFile] = {}  # by the name of a tensor
        with ExitStack() as opened:
            for path, names in _listed(folder).items():
                file = opened.enter_context(TensorFile(path))
                self._add(file, names)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.close()

    @property
    def shapes(self) -> dict[str, list[int]]:
        """The shape of every tensor."""
        return {name: file.entries[name].shape for name, file in self._files.items()}

    def entry(self, name: str) -> TensorEntry:
        """One tensor's type and shape."""
        return self._files[name].entries[name]

    def where(self, name: str) -> str:
        """The file that a tensor is in."""
        return store.shown(self._files[name].path)

    def read(self, name: str, start: int, into: Tensor) -> None:
        """Copy rows of a tensor, from row `start` of ours on, into a tensor of ours, exactly."""
        file, entry = self._files[name], self.entry(name)
        each = (into[0].numel() if into.ndim and len(into) else 1) * entry.dtype.itemsize
        if into.is_contiguous() and into.dtype == entry.dtype and into.device.type == "cpu":
            file.fill(name, bytes_of(into), start * each)
            return
        rows = into if into.ndim else into[None]
        step = max(1, BUFFER_BYTES // max(1, each))
        buffer = torch.empty((min(step, len(rows)), *rows.shape[1:]), dtype=entry.dtype)
        for first in range(0, len(rows), step):
            part = buffer[: len(rows) - first]
            file.fill(name, bytes_of(part), (start + first) * each)
            _copy(part.to(into.dtype), rows[first : first + step])

    def _add(self, file: TensorFile, expected: set[str] | None) -> None:
        where, found = store.shown(file.path), set(file.entries)
        twice = sorted(found & set(self._files))
        if twice:
            raise DataError(f"{listed(twice)} also in {self._files[twice[0]].path.name}", where=where)
        if expected is not None and found != expected:
            absent, extra = sorted(expected - found), sorted(found - expected)
            said = f"lacks {listed(absent)}" if absent else f"holds {listed(extra)}"
            raise DataError(f"{said}, against {INDEX}", where=where, fix="fetch all files of the model again")
        self._files |= dict.fromkeys(file.entries, file)


@dataclass
class Odd:
    """Tensors of theirs with NaN or infinity, and with numbers that are slow to compute with."""

    broken: list[str] = field(default_factory=list)
    denormal: list[str] = field(default_factory=list)


def fill(table: WeightTable, ours: Mapping[str, Tensor], theirs: Shards) -> Odd:
    """Read their weights into ours, in place; returns the names of those that are no sound numbers."""
    table.check(theirs.shapes, ours, where=store.shown(theirs.folder))
    pieces, tied = table.pieces(ours), table.tied(theirs.shapes)
    for name in (*pieces, *tied):
        counts = name in pieces and pieces[name].views[0].dtype == theirs.entry(name).dtype
        if theirs.entry(name).dtype not in EXACT_IN_FP32 and not counts:
            kind = str(theirs.entry(name).dtype).removeprefix("torch.")
            fix = "use a copy of the model in float32, bfloat16 or float16"
            raise DataError(f"{name} is in {kind}, which weft does not compute with", where=theirs.where(name), fix=fix)
    odd = Odd()
    for name, piece in pieces.items():
        _read(theirs, name, piece, odd)
    for name, piece in pieces.items():
        _fold(theirs, name, piece, odd)
    for name, own in tied.items():
        if not _equal(theirs, name, ours[own]):
            raise DataError(
                f"{name} differs from the table of embeddings, and config.json says that they are one",
                where=theirs.where(name),
                fix='set "tie_word_embeddings": false in config.json if the model has a head of its own',
            )
    return odd


def _copy(part: Tensor, into: Tensor) -> None:
    """Copy; torch turns matrices fast where the target lies in order, so both are turned where it does not."""
    if part.ndim == 2 and not into.is_contiguous():
        into.t().copy_(part.t())
    else:
        into.copy_(part)


def _read(theirs: Shards, name: str, piece: Piece, odd: Odd) -> None:
    """Fill a piece, and judge its numbers."""
    start = piece.front
    for view in piece.views:
        theirs.read(name, start, view)
        start += len(view) if view.ndim else 1
    if not all(map(finite, piece.views)):
        odd.broken.append(name)
    elif any(map(denormal, piece.views)):
        odd.denormal.append(name)


def _fold(theirs: Shards, name: str, piece: Piece, odd: Odd) -> None:
    """Add the rows in front to what they belong to, which has been read by now."""
    if not piece.front:
        return
    rows = torch.empty(piece.front, *piece.views[0].shape[1:])
    theirs.read(name, 0, rows)
    if not finite(rows) and name not in odd.broken:
        odd.broken.append(name)
    if piece.onto is not None:
        piece.onto.view(rows.shape).add_(rows)
    elif rows.any():
        problem = f"{name} begins with a place of the class token that is not zero, which weft does not compute"
        raise DataError(problem, where=theirs.where(name))


def _equal(theirs: Shards, name: str, ours: Tensor) -> bool:
    """Whether a tensor of theirs is the same as ours, compared in parts."""
    step = max(1, BUFFER_BYTES // max(1, ours[0].numel() * 4))
    buffer = torch.empty((min(step, len(ours)), *ours.shape[1:]), dtype=ours.dtype)
    for first in range(0, len(ours), step):
        own = ours[first : first + step]
        theirs.read(name, first, buffer[: len(own)])
        if not torch.equal(buffer[: len(own)], own):
            return False
    return True


def _listed(folder: Path) -> dict[Path, set[str] | None]:
    """The files to read, with the names that an index says are in them."""
    one, index = folder / FILE, folder / INDEX
    if inside(one, folder):
        return {one: None}
    if not inside(index, folder):
        raise _no_weights(folder)
    data = read_json(store.read_file(index), where=store.shown(index))
    weights = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise DataError('expected an object "weight_map" with a file for each tensor', where=store.shown(index))
    files: dict[Path, set[str] | None] = {}
    for name, file in weights.items():
        if not isinstance(file, str) or file in ("", ".", "..") or any(c in file for c in "/\\\0:"):
            raise DataError(f"{name!r:.80} is said to be in {file!r:.80}, not a plain name", where=store.shown(index))
        files.setdefault(folder / file, set()).add(name)  # type: ignore[union-attr]
    if len(files) > MAX_SHARDS:
        raise DataError(f"names {len(files)} files; expected at most {MAX_SHARDS}", where=store.shown(index))
    for path in files:
        if path.suffix.lower() != ".safetensors":
            raise pickle_error(path)
        if not inside(path, folder):
            fix = "fetch all files of the model again"
            raise DataError(f"{path.name} is missing; {INDEX} names it", where=store.shown(folder), fix=fix)
    return files


def inside(path: Path, folder: Path) -> bool:
    """Whether a file of the folder exists; one that leads out of it is refused.

    A cache of the Hub keeps files beside its snapshots, as links from `snapshots/<commit>/` into `blobs/`.
    """
    if not os.path.lexists(path):
        return False
    home = folder.resolve()
    homes = [home, home.parent.parent / "blobs"] if home.parent.name == "snapshots" else [home]
    target = Path(os.path.realpath(path))
    if not any(target.is_relative_to(place) for place in homes):
        raise DataError("a link that leads out of the folder", where=store.shown(path), fix="put the file itself there")
    return path.exists()


def _no_weights(folder: Path) -> DataError:
    others = sorted(path for path in folder.iterdir() if path.suffix.lower() in OTHER_FORMATS)
    pickles = [path for path in others if path.suffix.lower() in PICKLES]
    if pickles:
        return pickle_error(pickles[0])
    found = f", only {listed([path.name for path in others])}" if others else ""
    fix = "save the model with save_pretrained, which writes safetensors"
    return DataError(f"no {FILE} here{found}", where=store.shown(folder), fix=fix)
