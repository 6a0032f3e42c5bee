"""Rows of tensors in several processes: cut as torch cuts them, and read back by any number of processes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from weft.errors import DataError
from weft.storage import store
from weft.training.shards import PLACE, PLACES, Cut, read_shards
from weft.training.shares import Share, rows_of
from weft.training.world import World

WHOLE = {"model/a": torch.arange(21.0).view(7, 3), "model/b": torch.arange(2.0), "optimizer/a/step": torch.tensor(5.0)}


@pytest.mark.parametrize("count", [1, 2, 5, 7, 16])
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 8])
def test_rows_are_cut_as_torch_cuts_them(count: int, parts: int) -> None:
    expected = torch.arange(count).chunk(parts)
    found = [torch.arange(count)[rows_of(count, part, parts)] for part in range(parts)]
    assert [part.tolist() for part in found if len(part)] == [part.tolist() for part in expected]
    assert sum(map(len, found)) == count


def written(folder: Path, parts: int, whole: dict[str, Tensor]) -> tuple[list[Path], dict[str, str]]:
    """Shards as torch's distributed checkpoints write them."""
    paths = []
    for part in range(parts):
        tensors, places = {}, {}
        for name, tensor in whole.items():
            if tensor.ndim == 0 and part:
                continue
            rows = rows_of(len(tensor), part, parts) if tensor.ndim else slice(0)
            tensors[name] = tensor[rows].clone() if tensor.ndim else tensor
            places[name] = {PLACE: [rows.start, *[0] * (tensor.ndim - 1)] if tensor.ndim else []}
        path = folder / f"shard-{part + 1:05d}-model-00001-of-00001.safetensors"
        save_file(tensors, path, metadata={PLACES: json.dumps(places)})
        paths.append(path)
    return paths, {path.name: store.digest(path)[1] for path in paths}


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
@pytest.mark.parametrize("readers", [1, 2, 3])
def test_what_some_processes_wrote_others_read(tmp_path: Path, parts: int, readers: int) -> None:
    paths, digests = written(tmp_path, parts, WHOLE)
    shapes = {"a": torch.Size([7, 3]), "b": torch.Size([2])}
    for reader in range(readers):
        share = Share(World(reader, readers), parts=readers)
        found, changed = read_shards(paths, digests, None if readers == 1 else Cut(share, shapes))
        assert not changed and torch.equal(found["model"]["a"], share.of(WHOLE["model/a"]))
        assert torch.equal(found["model"]["b"], share.of(WHOLE["model/b"]))
        assert torch.equal(found["optimizer"]["a/step"], torch.tensor(5.0))


def test_torch_reads_the_same_of_the_same_files(tmp_path: Path) -> None:
    paths, digests = written(tmp_path, 3, WHOLE)
    state = {name: torch.zeros_like(tensor) for name, tensor in WHOLE.items()}
    import torch.distributed.checkpoint as dcp  # takes a second

    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path)), no_dist=True)
    found, _ = read_shards(paths, digests, None)
    assert all(torch.equal(state[f"{group}/{name}"], t) for group, some in found.items() for name, t in some.items())


def test_shards_that_are_changed_missing_or_without_places_are_noticed(tmp_path: Path) -> None:
    paths, digests = written(tmp_path, 2, WHOLE)
    content = bytearray(paths[1].read_bytes())
    content[-1] ^= 1
    paths[1].write_bytes(content)
    assert read_shards(paths, digests, None)[1] == [paths[1]]
    with pytest.raises(DataError, match="do not hold all of 'model/a'"):
        read_shards(paths[1:], digests, None)
    odd: dict[str, Any] = {PLACES: json.dumps({"model/a": {PLACE: [0, 3]}})}
    for metadata in ({}, {PLACES: "[1]"}, odd):
        save_file({"model/a": torch.zeros(2, 2)}, paths[0], metadata=metadata)
        with pytest.raises(DataError, match="where its rows belong|is not cut by rows"):
            read_shards(paths[:1], digests, None)
