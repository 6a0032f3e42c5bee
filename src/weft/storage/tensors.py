"""Tensors in files: safetensors written in a stream, and read whole. Knows nothing of checkpoints."""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.errors import DataError
from weft.storage import store
from weft.storage.tensor_file import TYPES, TensorEntry, TensorFile, refusal

_NAMES = {dtype: name for name, dtype in TYPES.items()}
_ORDER = list(_NAMES)


def write_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    before: store.OnWritten | None = None,
) -> str:
    """Write a .safetensors file, whole or not at all; at most one tensor is copied at a time. Returns its SHA-256.

    `before` is called when all is on disk, just before the file gets its name.
    """
    return write_checked(path, tensors, metadata, before=before)[0]


def write_checked(
    path: Path,
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    before: store.OnWritten | None = None,
) -> tuple[str, dict[str, int]]:
    """As `write_tensors`; also returns the CRC-32 of every tensor, by which damage can be located."""
    sums: dict[str, int] = {}
    ordered = _in_order(path, tensors)
    header = _header(ordered, metadata)

    def chunks() -> Iterator[bytes | memoryview]:
        yield header
        for name, tensor in ordered.items():
            view = bytes_of(tensor)
            sums[name] = zlib.crc32(view)
            yield view

    return store.write_file(path, chunks(), size=len(header) + tensor_bytes(tensors), before=before), sums


def tensor_bytes(tensors: Mapping[str, Tensor]) -> int:
    """What tensors take up in a file, but for the header."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def read_tensors(path: Path, *, check: Callable[[str], None] = lambda sha256: None) -> dict[str, Tensor]:
    """The tensors of any .safetensors file; whatever is wrong with it becomes a DataError or a StorageError.

    `check` may refuse the file by the SHA-256 of exactly the bytes that were read.
    """
    tensors, sha256 = read_checked(path)
    check(sha256)
    for name, tensor in tensors.items():
        if tensor.dtype == torch.bool and tensor.numel() and tensor.view(torch.uint8).max() > 1:
            raise refusal(path, f"tensor {name!r} is boolean and has bytes other than 0 and 1")
    return tensors


def read_checked(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file, and the SHA-256 of exactly the bytes they were made of."""
    tensors: dict[str, Tensor] = {}
    with TensorFile(path) as file:
        sha256 = hashlib.sha256(file.header)
        for name, entry in file.entries.items():
            tensors[name] = _empty(name, entry, path)
            view = bytes_of(tensors[name])
            file.fill(name, view)
            sha256.update(view)
    return tensors, sha256.hexdigest()


def damaged_tensors(path: Path, sums: Mapping[str, int]) -> list[str]:
    """The names of the tensors whose bytes are no longer those that were written."""
    found = {name: zlib.crc32(bytes_of(tensor)) for name, tensor in read_checked(path)[0].items()}
    return [name for name in sums if found.get(name) != sums[name]]


def _in_order(path: Path, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    for name, tensor in tensors.items():
        if name == "__metadata__" or tensor.dtype not in _NAMES or tensor.layout != torch.strided:
            kind = f"{tensor.dtype} {tensor.layout}".replace("torch.", "")
            raise DataError(f"tensor {name!r} cannot be stored: {kind}", where=store.shown(path))
    return dict(sorted(tensors.items(), key=lambda item: (_ORDER.index(item[1].dtype), item[0])))


def _header(ordered: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> bytes:
    entries: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for name, tensor in ordered.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        entries[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def bytes_of(tensor: Tensor) -> memoryview:
    """The memory of a tensor in row-major order: its own where it lies so on the CPU, else a copy."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().data


def _empty(name: str, entry: TensorEntry, path: Path) -> Tensor:
    try:
        return torch.empty(entry.shape, dtype=entry.dtype)
    except (RuntimeError, TypeError) as error:  # beyond the memory there is, or beyond 64 bits
        problem = f"tensor {name!r} of shape {entry.shape[:8]} cannot be held in memory"
        raise DataError(problem, where=store.shown(path)) from error
