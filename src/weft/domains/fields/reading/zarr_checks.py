"""Whether a zarr store is whole and stays within itself: its metadata and chunk names, checked before zarr opens it.

Codecs that could run code are refused, and so are sizes that cannot be true. A chunk that is not there is named.
Writers leave out chunks that hold nothing but the fill value. Where that value means "missing", the cells count as
missing, with a note; where it is a number, the chunk may as well be lost, and the store is refused.
"""

import base64
import binascii
import json
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import DataError, listed
from weft.files.decoding import shown

MOST_CHUNK = 2**30  # bytes of one chunk, which has to be held in memory whole
MOST_CHUNKS = 10**7
MOST_METADATA = 2**24  # bytes
COMPRESSORS = ("blosc", "zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "shuffle", "delta", "fixedscaleoffset",
               "bitround", "quantize", "packbits", "astype", "crc32", "crc32c", "adler32", "fletcher32",
               "jenkins_lookup3")  # fmt: skip
CODECS = {*COMPRESSORS, *(f"numcodecs.{name}" for name in COMPRESSORS), "bytes", "endian", "transpose",
          "sharding_indexed", "vlen-utf8", "vlen-bytes"}  # fmt: skip
WHOLE = "copy the store again, or write it with write_empty_chunks=True"


@dataclass(frozen=True)
class Array:
    """One array of a store, by its metadata."""

    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]  # of a file; shards where there are any
    itemsize: int
    missing: bool  # whether the fill value means that a value is missing
    prefix: str
    separator: str

    def chunk_names(self) -> Iterator[str]:
        """The names of all chunks."""
        for index in np.ndindex(self.grid):
            yield self.prefix + (self.separator.join(map(str, index)) if index else "0" if not self.prefix else "")

    @property
    def grid(self) -> tuple[int, ...]:
        """How many chunks lie along each axis."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True))


def check_zarr(path: Path) -> list[str]:
    """Refuse a store that is not whole or could run code; returns lines for people."""
    names = set(_names(path))
    notes: list[str] = []
    for name in sorted(names):
        folder, _, file = name.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        if file not in (".zarray", "zarr.json"):
            continue
        where = f"{shown(path)}, {name}"
        metadata = _metadata(path, name, where)
        if file == ".zarray":
            array = _second(metadata, prefix, where)
        elif metadata.get("node_type") == "array":
            array = _third(metadata, prefix, where)
        else:
            continue
        notes += _check_chunks(array, names, where)
    return notes


def _names(path: Path) -> Iterator[str]:
    """The names of all files in a store, with / between folders."""
    if path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError) as error:
            raise DataError(f"cannot be read as a zip file: {error}", where=shown(path)) from None
        bad = next((name for name in names if name.startswith("/") or ".." in name.split("/")), None)
        if bad is not None:
            raise DataError(f"a name leads out of the store: {bad!r}", where=shown(path), fix="do not use this file")
        yield from names
        return
    root = os.path.realpath(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            full = os.path.join(folder, name)
            if os.path.islink(full) and not os.path.realpath(full).startswith(root + os.sep):
                raise DataError("a link leads out of the store", where=shown(Path(full)), fix="copy what is linked")
        yield from (os.path.relpath(os.path.join(folder, name), path).replace(os.sep, "/") for name in files)


def _metadata(path: Path, name: str, where: str) -> dict[str, Any]:
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(name)
            content = archive.read(info) if info.file_size <= MOST_METADATA else b""
    else:
        file = path / name
        content = file.read_bytes() if file.stat().st_size <= MOST_METADATA else b""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"this is no metadata of zarr: {error}", where=where) from None
    if not isinstance(found, dict):
        raise DataError("this is no metadata of zarr: expected an object", where=where)
    return found


def _second(said: Mapping[str, Any], prefix: str, where: str) -> Array:
    """An array of zarr's second version."""
    codecs = [said.get("compressor"), *(said.get("filters") or ())]
    ids = [str(codec.get("id")) if isinstance(codec, dict) else repr(codec) for codec in codecs if codec is not None]
    _check_codecs(ids, where)
    dtype = said.get("dtype")
    if isinstance(dtype, str) and dtype.endswith("O") and not any(one.startswith("vlen-") for one in ids):
        raise DataError("an array of Python objects is never read", where=where, fix="write it as numbers")
    shape, chunks = _sizes(said.get("shape"), where, "shape"), _sizes(said.get("chunks"), where, "chunks")
    separator = "/" if said.get("dimension_separator") == "/" else "."
    return _array(
        prefix, (shape, chunks), _itemsize(dtype), said.get("fill_value") is not None, (prefix, separator), where
    )


def _third(said: Mapping[str, Any], prefix: str, where: str) -> Array:
    """An array of zarr's third version."""
    _check_codecs(list(_codec_names(said.get("codecs"), where)), where)
    if said.get("storage_transformers"):
        raise DataError("storage transformers are not known", where=where)
    layout = said.get("chunk_grid")
    if not isinstance(layout, dict) or layout.get("name") != "regular":
        raise DataError("expected a regular grid of chunks", where=where)
    shape = _sizes(said.get("shape"), where, "shape")
    chunks = _sizes((layout.get("configuration") or {}).get("chunk_shape"), where, "chunk_shape")
    encoding = said.get("chunk_key_encoding") or {}
    separator = str(
        (encoding.get("configuration") or {}).get("separator", "/" if encoding.get("name") == "default" else ".")
    )
    if separator not in ("/", "."):
        raise DataError(f"chunks are named with {separator!r} between numbers; expected / or .", where=where)
    lead = "c" + (separator if shape else "") if encoding.get("name", "default") == "default" else ""
    fill, attributes = said.get("fill_value"), said.get("attributes") or {}
    means = [_number(attributes.get(key)) for key in ("_FillValue", "missing_value")]
    missing = fill == "NaN" or (_number(fill) is not None and _number(fill) in means)
    return _array(prefix, (shape, chunks), _itemsize(said.get("data_type")), missing, (prefix + lead, separator), where)


def _array(
    folder: str,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    itemsize: int,
    missing: bool,
    keys: tuple[str, str],
    where: str,
) -> Array:
    shape, chunks = sizes
    if len(shape) != len(chunks):
        raise DataError(f"{len(shape)} axes, but chunks along {len(chunks)}", where=where)
    array = Array(folder.rstrip("/") or "the array", shape, chunks, itemsize, missing, *keys)
    held = float(np.prod([float(min(c, n)) for c, n in zip(chunks, shape, strict=True)])) * itemsize
    number = float(np.prod([float(n) for n in array.grid]))
    if (
        held > MOST_CHUNK
        or number > MOST_CHUNKS
        or float(np.prod([float(c) for c in chunks])) * itemsize > 4 * MOST_CHUNK
    ):
        problem = (
            f"shape {list(shape)} in chunks of {list(chunks)} cannot be read: {number:,.0f} chunks of {held:,.0f} bytes"
        )
        raise DataError(problem, where=where, fix=f"expected chunks of at most {MOST_CHUNK:,} bytes")
    return array


def _check_chunks(array: Array, names: set[str], where: str) -> list[str]:
    """Compare the chunks that should be there with those that are."""
    gone = list(islice((key for key in array.chunk_names() if key not in names), 1000))
    if not gone or 0 in array.shape:
        return []
    number = "1000 or more" if len(gone) == 1000 else str(len(gone))
    words = f"{number} of {int(np.prod(array.grid)):,} chunks are not in the store: {listed(gone)}"
    if len(array.shape) < 2 or not array.missing:
        raise DataError(words, where=where, fix=WHOLE)
    return [f"{array.name}: {words}; their cells count as missing"]


def _check_codecs(names: list[str], where: str) -> None:
    for name in names:
        if name.removeprefix("numcodecs.") == "pickle":
            raise DataError(
                "its values are pickled Python objects, which are never read", where=where, fix="write numbers"
            )
        if name not in CODECS:
            raise DataError(
                f"the codec {name!r} is not known", where=where, fix=f"known: {', '.join(sorted(COMPRESSORS))}"
            )


def _codec_names(codecs: Any, where: str) -> Iterator[str]:
    """The names of codecs, those inside of shards too."""
    if not isinstance(codecs, list):
        raise DataError("expected a list of codecs", where=where)
    for codec in codecs:
        name = codec.get("name") if isinstance(codec, dict) else codec
        yield str(name)
        inner = (codec.get("configuration") or {}) if isinstance(codec, dict) else {}
        for key in ("codecs", "index_codecs"):
            if key in inner:
                yield from _codec_names(inner[key], where)


def _sizes(given: Any, where: str, name: str) -> tuple[int, ...]:
    least = 0 if name == "shape" else 1
    if not isinstance(given, list) or any(type(n) is not int or not least <= n < 2**53 for n in given):
        raise DataError(f"{name} is {given!r}; expected whole numbers from {least}", where=where)
    return tuple(given)


def _itemsize(dtype: Any) -> int:
    try:
        return int(np.dtype(dtype).itemsize) or 1
    except TypeError:
        return 8


def _number(given: Any) -> float | None:
    """A number as xarray writes it among attributes: plain, or the bytes of a float64 as base64."""
    if isinstance(given, str):
        try:
            return float(struct.unpack("<d", base64.b64decode(given, validate=True))[0])
        except (struct.error, binascii.Error, ValueError):
            return None
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None
