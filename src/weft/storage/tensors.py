"""Tensors in files: safetensors written in a stream, and read without trust. Knows nothing of checkpoints.

    8 bytes        length of the header, little-endian
    header         JSON: {name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {text: text}}
    data           the bytes of the tensors, without gaps

The safetensors library judges the header of a file before anything here believes it. The data are then read
straight into the tensors: nothing is mapped, so a file that shrinks meanwhile is an error and not a crash, and
nothing is held twice. Pickles are never opened: to load one is to run it.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from weft.config import read_json
from weft.errors import ConfigError, DataError
from weft.storage import store

MAX_HEADER_BYTES = 32 * 2**20

# In the order of the safetensors library, wide types first: every tensor is then aligned to its own width.
_TYPES = {
    "U64": torch.uint64,
    "I64": torch.int64,
    "F64": torch.float64,
    "C64": torch.complex64,
    "F32": torch.float32,
    "U32": torch.uint32,
    "I32": torch.int32,
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "U16": torch.uint16,
    "I16": torch.int16,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_ORDER = list(_NAMES)
_PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> str:
    """Write a .safetensors file, whole or not at all; at most one tensor is copied at a time. Returns its SHA-256."""
    return write_checked(path, tensors, metadata)[0]


def write_checked(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> tuple[str, dict[str, int]]:
    """As `write_tensors`; also returns the CRC-32 of every tensor, by which damage can be located."""
    sums: dict[str, int] = {}
    ordered = _in_order(path, tensors)
    header = _header(ordered, metadata)

    def chunks() -> Iterator[bytes | memoryview]:
        yield header
        for name, tensor in ordered.items():
            view = _bytes(tensor)
            sums[name] = zlib.crc32(view)
            yield view

    return store.write_file(path, chunks(), size=len(header) + tensor_bytes(tensors)), sums


def tensor_bytes(tensors: Mapping[str, Tensor]) -> int:
    """What tensors take up in a file, but for the header."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of any .safetensors file; whatever is wrong with it becomes a DataError or a StorageError."""
    tensors, _ = read_checked(path)
    for name, tensor in tensors.items():
        if tensor.dtype == torch.bool and tensor.numel() and tensor.view(torch.uint8).max() > 1:
            raise _refusal(path, f"tensor {name!r} is boolean and has bytes other than 0 and 1")
    return tensors


def read_checked(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file, and the SHA-256 of exactly the bytes they were made of."""
    tensors: dict[str, Tensor] = {}
    sha256 = hashlib.sha256()
    _refuse_pickle_name(path)
    with open(store.open_file(path), "rb", buffering=0) as file:
        try:
            header, entries = _read_header(file, path)
            sha256.update(header)
            for name, (dtype, shape) in entries.items():
                tensors[name] = _empty(name, shape, dtype, path)
                view = _bytes(tensors[name])
                _fill(file, view, path)
                sha256.update(view)
        except OSError as error:
            raise store.storage_error(error, path) from error
    return tensors, sha256.hexdigest()


def damaged_tensors(path: Path, sums: Mapping[str, int]) -> list[str]:
    """The names of the tensors whose bytes are no longer those that were written."""
    found = {name: zlib.crc32(_bytes(tensor)) for name, tensor in read_checked(path)[0].items()}
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


def _bytes(tensor: Tensor) -> memoryview:
    """The memory of a tensor in row-major order: its own where it lies so on the CPU, else a copy."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().data


def _read_header(file: BinaryIO, path: Path) -> tuple[bytes, dict[str, tuple[torch.dtype, list[int]]]]:
    """The raw header, and type and shape of every tensor in the order of their data, which cover the file exactly."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{":
        _refuse_pickle_content(start, path)
        raise _refusal(path, f"no header: {size} bytes, and no '{{' after the first 8")
    if length > MAX_HEADER_BYTES:
        raise _refusal(path, f"its header is said to have {length} bytes; {MAX_HEADER_BYTES} are allowed")
    if length > size - 8:
        raise _refusal(path, f"its header is said to have {length} bytes, the file has {size}")
    _judge(path)
    text = bytearray(length)
    text[:1] = b"{"
    _fill(file, memoryview(text)[1:], path)
    try:
        entries = read_json(bytes(text), where=store.shown(path))
    except ConfigError as error:
        raise _refusal(path, f"its header: {error.problem}") from None
    entries.pop("__metadata__", None)
    return start[:8] + text, _check_cover(entries, size - 8 - length, path)


def _judge(path: Path) -> None:
    """Ask the library, which parses hostile headers fast and in little memory; it maps nothing in this mode."""
    try:
        with safe_open(path, framework="pt", backend="pread"):
            pass
    except SafetensorError as error:
        raise _refusal(path, str(error).removeprefix("Error while deserializing header: ")) from None


def _check_cover(entries: Any, size: int, path: Path) -> dict[str, tuple[torch.dtype, list[int]]]:
    """What is believed about the data, checked once more on the very header that was read."""
    result, end = {}, 0
    try:
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            if entry["dtype"] not in _TYPES:
                known = f"types weft reads: {', '.join(_TYPES)}"
                raise _refusal(path, f"tensor {name!r} has type {entry['dtype']}", fix=known)
            dtype, shape, count = _TYPES[entry["dtype"]], entry["shape"], 1
            for length in shape:
                count *= length
            begin, end = end, end + count * dtype.itemsize
            if entry["data_offsets"] != [begin, end] or not all(type(n) is int and n >= 0 for n in shape):
                raise _refusal(path, f"tensor {name!r} is not where its shape and type say")
            result[name] = dtype, shape
    except (KeyError, TypeError, AttributeError):
        raise _refusal(path, "its header changed while it was read") from None
    if end != size:
        raise _refusal(path, f"its tensors take {end} bytes, the file holds {size}")
    return result


def _empty(name: str, shape: list[int], dtype: torch.dtype, path: Path) -> Tensor:
    try:
        return torch.empty(shape, dtype=dtype)
    except (RuntimeError, TypeError) as error:  # beyond the memory there is, or beyond 64 bits
        problem = f"tensor {name!r} of shape {shape[:8]} cannot be held in memory"
        raise DataError(problem, where=store.shown(path)) from error


def _fill(file: BinaryIO, view: memoryview, path: Path) -> None:
    while view:
        count = file.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise _refusal(path, "it ends too early")
        view = view[count:]


def _refuse_pickle_name(path: Path) -> None:
    if path.suffix.lower() in _PICKLES:
        raise _pickle(path)


def _refuse_pickle_content(start: bytes, path: Path) -> None:
    if start.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        raise _pickle(path)


def _pickle(path: Path) -> DataError:
    return DataError(
        "a pickle or an archive of pickles; weft does not open these, because loading one runs the code inside",
        where=store.shown(path),
        fix="convert it where it comes from and you trust it: "
        'safetensors.torch.save_file(torch.load(FILE, weights_only=True), "model.safetensors")',
    )


def _refusal(path: Path, problem: str, *, fix: str = "fetch or export the file again") -> DataError:
    return DataError(f"not a valid safetensors file: {problem}", where=store.shown(path), fix=fix)
