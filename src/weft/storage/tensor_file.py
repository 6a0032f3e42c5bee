"""One .safetensors file, held open: what is in it, checked, and its bytes by name. Nothing in it is believed unseen.

    8 bytes        length of the header, little-endian
    header         JSON: {name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {text: text}}
    data           the bytes of the tensors, without gaps

The safetensors library judges the header of a file before anything here believes it. Data are read straight to where
they belong: nothing is mapped, so a file that shrinks meanwhile is an error and not a crash, and nothing is held twice.
Pickles are never opened: to load one is to run it.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open

from weft.errors import ConfigError, DataError
from weft.json_text import read_json
from weft.storage import store

MAX_HEADER_BYTES = 32 * 2**20

# In the order of the safetensors library, wide types first: every tensor is then aligned to its own width.
TYPES = {
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
PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")


@dataclass(frozen=True)
class TensorEntry:
    """One tensor of a file; `begin` is its first byte, counted from the start of the file."""

    dtype: torch.dtype
    shape: list[int]
    begin: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


class TensorFile:
    """`with TensorFile(path) as file:` gives `file.entries` by name in the order of their data, and `file.fill`.

    `file.metadata` is what its writer noted besides; nothing of it was checked.
    """

    def __init__(self, path: Path):
        if path.suffix.lower() in PICKLES:
            raise pickle_error(path)
        self.path = path
        self._file = open(store.open_file(path), "rb", buffering=0)  # noqa: SIM115 - closed by close
        try:
            self.header, self.entries = self._read_header()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise store.storage_error(error, path) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def fill(self, name: str, view: memoryview, at: int = 0) -> None:
        """Read a tensor's bytes, from byte `at` of it on, into memory of the same length."""
        entry = self.entries[name]
        assert at + len(view) <= entry.size
        try:
            self._file.seek(entry.begin + at)
            self._fill(view)
        except OSError as error:
            raise store.storage_error(error, self.path) from error

    def _fill(self, view: memoryview) -> None:
        while view:
            count = self._file.readinto(view)
            if not count:
                raise refusal(self.path, "it ends too early")
            view = view[count:]

    def _read_header(self) -> tuple[bytes, dict[str, TensorEntry]]:
        """The raw header, and the tensors, whose data cover the rest of the file exactly."""
        path, size = self.path, os.fstat(self._file.fileno()).st_size
        start = self._file.read(9)
        length = int.from_bytes(start[:8], "little")
        if start[8:] != b"{":
            if start.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
                raise pickle_error(path)
            raise refusal(path, f"no header: {size} bytes, and no '{{' after the first 8")
        if length > MAX_HEADER_BYTES:
            raise refusal(path, f"its header is said to have {length} bytes; {MAX_HEADER_BYTES} are allowed")
        if length > size - 8:
            raise refusal(path, f"its header is said to have {length} bytes, the file has {size}")
        _judge(path)
        text = bytearray(length)
        text[:1] = b"{"
        self._fill(memoryview(text)[1:])
        try:
            entries = read_json(bytes(text), where=store.shown(path))
        except ConfigError as error:
            raise refusal(path, f"its header: {error.problem}") from None
        metadata = entries.pop("__metadata__", None)
        self.metadata: dict[str, str] = metadata if isinstance(metadata, dict) else {}
        return start[:8] + text, _covering(entries, 8 + length, size, path)


def _judge(path: Path) -> None:
    """Ask the library, which parses hostile headers fast and in little memory; it maps nothing in this mode."""
    try:
        with safe_open(path, framework="pt", backend="pread"):
            pass
    except (
        MemoryError
    ):  # the file is larger than the memory that may be asked for: what it says of itself is judged below
        return
    except SafetensorError as error:
        raise refusal(path, str(error).removeprefix("Error while deserializing header: ")) from None


def _covering(entries: Any, start: int, size: int, path: Path) -> dict[str, TensorEntry]:
    """What is believed about the data, checked once more on the very header that was read."""
    result, end = {}, 0
    try:
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            if entry["dtype"] not in TYPES:
                known = f"types weft reads: {', '.join(TYPES)}"
                raise refusal(path, f"tensor {name!r} has type {entry['dtype']}", fix=known)
            dtype, shape, count = TYPES[entry["dtype"]], entry["shape"], 1
            for length in shape:
                count *= length
            begin, end = end, end + count * dtype.itemsize
            if entry["data_offsets"] != [begin, end] or not all(type(n) is int and n >= 0 for n in shape):
                raise refusal(path, f"tensor {name!r} is not where its shape and type say")
            result[name] = TensorEntry(dtype, shape, start + begin)
    except (KeyError, TypeError, AttributeError):
        raise refusal(path, "its header changed while it was read") from None
    if start + end != size:
        raise refusal(path, f"its tensors take {end} bytes, the file holds {size - start}")
    return result


def pickle_error(path: Path) -> DataError:
    """Why a pickle is not opened, and what to do instead."""
    return DataError(
        "a pickle or an archive of pickles; weft does not open these, because loading one runs the code inside",
        where=store.shown(path),
        fix="convert it where it comes from and you trust it: "
        'safetensors.torch.save_file(torch.load(FILE, weights_only=True), "model.safetensors")',
    )


def refusal(path: Path, problem: str, *, fix: str = "fetch or export the file again") -> DataError:
    """What is wrong with a file of tensors."""
    return DataError(f"not a valid safetensors file: {problem}", where=store.shown(path), fix=fix)
