"""Shards: the files of a checkpoint that several processes write and any number of processes reads.

    shard-00001-model-00001-of-00001.safetensors    what the first process holds: {group}/{name} -> rows of a tensor
    shard-00002-model-00001-of-00001.safetensors    what the second one holds, and so on

They are written by torch's distributed checkpoints, which note in each file where its rows belong. They are read as all
files here are: checked while they are read, one file after the other. Knows tensors and files, not what they mean.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.errors import StorageError
from weft.storage import store
from weft.storage.tensor_file import TensorEntry, TensorFile, refusal
from weft.storage.tensors import read_checked
from weft.training.shares import Share

SHARD = re.compile(r"shard-\d{5}-[A-Za-z0-9_.-]+\.safetensors")
PLACES, PLACE = "DCP_SHARDING_INFO", "saved_offsets"  # in the metadata of a file, for each tensor
SAVING_PATIENCE = 600.0  # seconds that a process which is asked to stop waits for the others' files

Groups = dict[str, dict[str, Tensor]]


@dataclass(frozen=True)
class Cut:
    """What this process holds of each tensor; `shapes` are those of whole weights, by name."""

    share: Share
    shapes: Mapping[str, torch.Size]

    def whole_shape(self, group: str, name: str, tensor: Tensor) -> torch.Size | None:
        """The shape of the whole of which a tensor is a part; None of what each process holds whole."""
        return None if tensor.ndim == 0 else self.shapes.get(_weight(group, name))

    def of(self, group: str, name: str, tensor: Tensor) -> Tensor:
        """The part of a whole tensor that this process holds."""
        whole = self.whole_shape(group, name, tensor)
        return tensor if whole is None or tensor.shape != whole else self.share.of(tensor).clone()

    def rows(self, group: str, name: str, count: int) -> slice:
        """The rows of a tensor that this process holds."""
        shape = self.shapes.get(_weight(group, name))
        return slice(0, count) if shape is None or shape[0] != count else self.share.rows(count)


def _weight(group: str, name: str) -> str:
    """The weight that a tensor belongs to: what an optimizer remembers is named WEIGHT/QUANTITY."""
    return name.rpartition("/")[0] if group == "optimizer" else name


def write_shards(staged: Path, groups: Mapping[str, Mapping[str, Tensor]], cut: Cut) -> dict[str, dict[str, Any]]:
    """Write what this process holds; the lengths and digests of the files of all processes, in all of them."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import CheckpointException

    world, state = cut.share.world, dict[str, Tensor]()
    for group, tensors in groups.items():
        for name, tensor in tensors.items():
            shape = cut.whole_shape(group, name, tensor)
            state[f"{group}/{name}"] = tensor if shape is None else cut.share.tensor(tensor, shape)
    writer = dcp.HuggingFaceStorageWriter(str(staged), save_distributed=True)
    try:
        with world.together(SAVING_PATIENCE):
            dcp.save(state, storage_writer=writer)
    except CheckpointException as error:
        rank, (cause, _) = min(error.failures.items())
        if isinstance(cause, OSError):
            raise store.storage_error(cause, staged.parent) from None
        raise StorageError(
            f"process {rank} could not write: {cause!s:.200}", where=store.shown(staged.parent)
        ) from None
    own = {}
    for path in sorted(staged.glob(f"shard-{world.rank + 1:05d}-*.safetensors")):
        length, sha256 = store.digest(path)
        own[path.name] = {"bytes": length, "sha256": sha256}
    every = world.gather(json.dumps(own), SAVING_PATIENCE)
    return {name: entry for text in every for name, entry in json.loads(text).items()}


def shards_in(folder: Path, names: Iterator[str] | Mapping[str, Any]) -> list[Path]:
    """The files of a checkpoint that are shards."""
    return [folder / name for name in sorted(names) if SHARD.fullmatch(name)]


def read_shards(paths: list[Path], digests: Mapping[str, str], cut: Cut | None) -> tuple[Groups, list[Path]]:
    """All tensors by group: whole, or what one process holds of them; and the files that are not what was written."""
    found, filled, sizes = Groups(), dict[str, int](), dict[str, int]()
    for path in paths:
        for full, (entry, at) in _pieces(path).items():
            sizes[full] = max(sizes.get(full, 0), at + (entry.shape[0] if entry.shape else 1))
            filled[full] = filled.get(full, 0) + (entry.shape[0] if entry.shape else 1)
    if holes := [full for full in sizes if filled[full] != sizes[full]]:
        raise refusal(paths[0], f"the files together do not hold all of {holes[0]!r}")
    changed = []
    for path in paths:
        pieces = _pieces(path)
        tensors, sha256 = read_checked(path)
        changed += [path] if sha256 != digests[path.name] else []
        for full, tensor in tensors.items():
            group, _, name = full.partition("/")
            into = found.setdefault(group, {})
            if tensor.ndim == 0:
                into[name] = tensor
                continue
            rows = slice(0, sizes[full]) if cut is None else cut.rows(group, name, sizes[full])
            if name not in into:
                into[name] = tensor.new_empty(rows.stop - rows.start, *tensor.shape[1:])
            at = pieces[full][1]
            low, high = max(rows.start, at), min(rows.stop, at + len(tensor))
            if low < high:
                into[name][low - rows.start : high - rows.start] = tensor[low - at : high - at]
    return found, changed


def _pieces(path: Path) -> dict[str, tuple[TensorEntry, int]]:
    """The tensors of a file, and the row of the whole tensor that each begins at."""
    with TensorFile(path) as file:
        try:
            places = json.loads(file.metadata.get(PLACES, "{}"))
            at = {name: places[name][PLACE] for name in file.entries}
            if not all(isinstance(p, list) and all(type(n) is int and n >= 0 for n in p) for p in at.values()):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise refusal(path, "it does not say where its rows belong") from None
        if odd := [name for name, place in at.items() if any(place[1:])]:
            raise refusal(path, f"{odd[0]!r} is not cut by rows")
        return {name: (entry, at[name][0] if at[name] else 0) for name, entry in file.entries.items()}
