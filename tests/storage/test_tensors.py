"""Files of tensors from anyone: read exactly, or refused with the reason; never unpickled."""

import json
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
import safetensors.torch
import torch

from weft.errors import DataError, StorageError, WeftError
from weft.storage import tensor_file
from weft.storage.tensor_file import MAX_HEADER_BYTES, TYPES
from weft.storage.tensors import damaged_tensors, read_tensors, write_checked, write_tensors


def every_type() -> dict[str, torch.Tensor]:
    tensors = {
        f"of {name}": torch.arange(4).view(2, 2).to(dtype) for name, dtype in TYPES.items() if "E8M0" not in name
    }
    return {
        **tensors,
        "scalar": torch.tensor(5),
        "empty": torch.zeros(0, 4),
        'é"\n': torch.randn(3, generator=torch.Generator().manual_seed(0)),
    }


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*bits)


def put(path: Path, header, body: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + body)
    return path


def entry(**changes) -> dict:
    return {"dtype": "U8", "shape": [2], "data_offsets": [0, 2], **changes}


def test_files_are_those_of_the_safetensors_library_byte_for_byte(tmp_path):
    write_tensors(tmp_path / "a.safetensors", every_type(), {"format": "pt"})
    assert (tmp_path / "a.safetensors").read_bytes() == safetensors.torch.save(every_type(), {"format": "pt"})


def test_every_type_and_shape_comes_back_with_the_same_bits(tmp_path):
    write_tensors(tmp_path / "a.safetensors", every_type())
    found = read_tensors(tmp_path / "a.safetensors")
    assert found.keys() == every_type().keys()
    assert all(same_bits(found[name], tensor) for name, tensor in every_type().items())


def test_views_are_written_as_what_they_show(tmp_path):
    whole = torch.arange(24.0).view(4, 6)
    shown = {"turned": whole.t(), "part": whole[1:3, ::2], "conjugate": torch.randn(3, dtype=torch.complex64).conj()}
    write_tensors(tmp_path / "a.safetensors", shown)
    found = read_tensors(tmp_path / "a.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in shown.items())


def test_tensors_at_unaligned_offsets_are_read(tmp_path):
    header = {"a": entry(shape=[1], data_offsets=[0, 1]), "b": entry(dtype="F32", shape=[1], data_offsets=[1, 5])}
    put(tmp_path / "a.safetensors", header, b"\x07" + struct.pack("<f", 1.5))
    assert read_tensors(tmp_path / "a.safetensors")["b"].item() == 1.5


def test_the_bytes_of_tensors_never_become_python_objects(tmp_path):
    tensors = {str(i): torch.zeros(2**18) for i in range(8)}
    tracemalloc.start()
    write_tensors(tmp_path / "a.safetensors", tensors)
    read_tensors(tmp_path / "a.safetensors")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20  # of Python's own memory; the tensors have eight times as much


HOSTILE = {
    "nothing": b"",
    "seven bytes": b"1234567",
    "a length alone": struct.pack("<Q", 2),
    "length 0": ({"a": entry()}, b"ab", 0),
    "length 7": ({"a": entry()}, b"ab", 7),
    "length 2^63": ({"a": entry()}, b"ab", 2**63),
    "length 2^64-1": ({"a": entry()}, b"ab", 2**64 - 1),
    "length beyond the file": ({"a": entry()}, b"ab", 100),
    "length beyond the cap": ({"a": entry()}, b"ab", MAX_HEADER_BYTES + 1),
    "not UTF-8": (b'{"\xff": {}}',),
    "a list": (b"[]      ",),
    "a number": (b"12345678",),
    "padded with zeros": (b"{}\0\0\0\0\0\0",),
    "nested deeply": (b'{"a":' + b"[" * 100_000 + b"}",),
    "nested deeply in an object": (b'{"a":' * 100_000,),
    "a name twice": (b'{"a":%s,"a":%s}' % ((json.dumps(entry()).encode(),) * 2), b"ab"),
    "a key twice": (b'{"a":{"dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2]}}', b"ab"),
    "metadata not text": ({"__metadata__": {"a": 1}},),
    "metadata a list": ({"__metadata__": []},),
    "NaN": (b'{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,2]}}', b"ab"),
    "overlap": ({"a": entry(), "b": entry(data_offsets=[1, 3])}, b"abc"),
    "a hole": ({"a": entry(), "b": entry(data_offsets=[3, 5])}, b"abcde"),
    "a hole at the start": ({"a": entry(data_offsets=[1, 3])}, b"abc"),
    "negative offset": ({"a": entry(data_offsets=[-1, 1])}, b"ab"),
    "offsets turned round": ({"a": entry(data_offsets=[2, 0])}, b"ab"),
    "three offsets": ({"a": entry(data_offsets=[0, 1, 2])}, b"ab"),
    "huge offsets": ({"a": entry(data_offsets=[0, 2**63])}, b"ab"),
    "trailing bytes": ({"a": entry()}, b"abc"),
    "missing bytes": ({"a": entry()}, b"a"),
    "shape larger than data": ({"a": entry(shape=[3])}, b"ab"),
    "type wider than data": ({"a": entry(dtype="F32")}, b"ab"),
    "negative shape": ({"a": entry(shape=[-2])}, b"ab"),
    "two negative lengths": ({"a": entry(shape=[-1, -2])}, b"ab"),
    "product overflows": ({"a": entry(shape=[2**32, 2**32, 2])}, b"ab"),
    "fraction in a shape": ({"a": entry(shape=[2.0])}, b"ab"),
    "truth in a shape": ({"a": entry(shape=[True, 2])}, b"ab"),
    "no shape": ({"a": {"dtype": "U8", "data_offsets": [0, 2]}}, b"ab"),
    "no entry": ({"a": None}, b"ab"),
    "unknown type": ({"a": entry(dtype="X9")}, b"ab"),
    "type not text": ({"a": entry(dtype=8)}, b"ab"),
    "a type weft does not know": ({"a": entry(dtype="F4", shape=[4])}, b"ab"),
    "truth that is neither": ({"a": entry(dtype="BOOL")}, b"\x01\x02"),
    "many lists": (b'{"a":[' + b"[]," * 4_000_000 + b"[]]}",),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_quickly_and_in_little_memory(tmp_path, name):
    path, case = tmp_path / "a.safetensors", HOSTILE[name]
    path.write_bytes(case) if isinstance(case, bytes) else put(path, *case)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(DataError, match="not a valid safetensors file: .+") as caught:
        read_tensors(path)
    assert time.process_time() - start < 1
    assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    tracemalloc.stop()
    assert str(path) in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", [n for n in HOSTILE if n != "many lists" and "metadata" not in n])
def test_hostile_files_are_refused_even_if_the_library_accepts_them(tmp_path, monkeypatch, name):
    monkeypatch.setattr(tensor_file, "_judge", lambda path: None)
    path, case = tmp_path / "a.safetensors", HOSTILE[name]
    path.write_bytes(case) if isinstance(case, bytes) else put(path, *case)
    with pytest.raises(DataError, match="not a valid safetensors file: .+"):
        read_tensors(path)


def test_shapes_beyond_torch_are_refused_and_long_ones_are_read(tmp_path):
    put(tmp_path / "a.safetensors", {"a": entry(shape=[0, 2**63], data_offsets=[0, 0])})
    with pytest.raises(DataError, match="cannot be held in memory"):
        read_tensors(tmp_path / "a.safetensors")
    put(tmp_path / "b.safetensors", {"a": entry(shape=[1] * 60 + [2])}, b"ab")
    assert read_tensors(tmp_path / "b.safetensors")["a"].shape == (*[1] * 60, 2)


def test_a_file_truncated_at_any_byte_is_an_error(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, every_type())
    data = path.read_bytes()
    for cut in range(len(data)):
        os.truncate(path, len(data) - 1 - cut)
        with pytest.raises(DataError):
            read_tensors(path)


def test_a_file_truncated_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"a": torch.zeros(1000), "b": torch.zeros(1000)})
    empty = torch.empty

    def truncate(*args, **options):
        os.truncate(path, 5000)
        return empty(*args, **options)

    monkeypatch.setattr(torch, "empty", truncate)
    with pytest.raises(DataError, match="ends too early"):
        read_tensors(path)


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin", "x.CKPT", "x.pth", "x.pkl"])
def test_pickles_are_refused_by_name_without_being_opened(tmp_path, name):
    with pytest.raises(DataError, match="pickle"):
        read_tensors(tmp_path / name)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickles_are_refused_by_content_with_advice(tmp_path, zipped):
    path = tmp_path / "model.safetensors"
    torch.save({"a": torch.zeros(2)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match="safetensors.torch.save_file"):
        read_tensors(path)


def test_a_header_length_that_looks_like_a_pickle_is_none(tmp_path):
    put(tmp_path / "a.safetensors", b"{}" + b" " * 0x27E)
    assert (tmp_path / "a.safetensors").read_bytes().startswith(b"\x80\x02")
    assert read_tensors(tmp_path / "a.safetensors") == {}


def test_what_is_not_a_plain_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    for name in ("pipe.safetensors", "absent.safetensors", "."):
        with pytest.raises(StorageError):
            read_tensors(tmp_path / name)


def test_tensors_no_file_can_hold_are_refused_before_anything_is_written(tmp_path):
    for tensor in (torch.zeros(2, dtype=torch.complex128), torch.eye(2).to_sparse()):
        with pytest.raises(WeftError, match="tensor 'a' cannot be stored"):
            write_tensors(tmp_path / "a.safetensors", {"a": tensor})
    assert os.listdir(tmp_path) == []


def test_sums_tell_which_tensor_is_damaged(tmp_path):
    path = tmp_path / "a.safetensors"
    _, sums = write_checked(path, {"a": torch.zeros(4), "b": torch.zeros(4, dtype=torch.bool)})
    data = bytearray(path.read_bytes())
    data[-1] = 9
    path.write_bytes(data)
    assert damaged_tensors(path, sums) == ["b"]
