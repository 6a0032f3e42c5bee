"""The library is found, built where it is missing, and refused where it is not what it should be."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import torch
from helpers import processes
from helpers.tiny import language_model

from weft.generate import Session
from weft.native import build
from weft.native import loading as door
from weft.native.loading import INSTRUCTION_SETS, OFF, Library

FORKED = """
import os, signal, torch
from weft.generate import Session
from weft.models.zoo import LANGUAGE_MODELS, Size
torch.set_num_threads(2)
model = LANGUAGE_MODELS["gpt"](Size(dim=256, depth=2, heads=4, context=64), vocab=2000).build().eval()
def logits():
    session = Session(model, capacity=16)
    return session.step(session.start([[1, 2, 3]] * 8).argmax(-1))
with torch.inference_mode():
    wanted = logits()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        print("same" if torch.equal(logits(), wanted) else "other", flush=True)
        os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which no library was built yet."""
    monkeypatch.delenv(OFF, raising=False)
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    monkeypatch.setattr(door, "_found", door._found.__wrapped__)
    return tmp_path


def test_without_a_compiler_there_is_no_library_and_models_write_all_the_same(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(build, "compiler", lambda: None)
    monkeypatch.setattr(door, "__file__", str(fresh / "loading.py"))  # nothing was built at installing either
    assert door.library() is None
    assert door.state() == "not used: there is no C compiler (cc)"
    session = Session(language_model("swift", dtype=torch.float32))
    assert session.program is None
    session.start([[1, 2]])
    assert session.step(torch.tensor([3])).shape == (1, 11)


def test_a_compiler_that_fails_is_quoted(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    bad = fresh / "cc"
    bad.write_text("#!/bin/sh\necho 'error: no room' >&2\nexit 1\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CC", str(bad))
    assert build.build(fresh / "native") == "the compiler refused: error: no room"
    assert list((fresh / "native").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_no_fault(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    (fresh / "native").write_text("a file where the folder should be")
    monkeypatch.setattr(build, "compiler", lambda: "cc")
    assert "cannot be written" in str(build.build(fresh / "native"))


def test_native_code_can_be_left_out(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(OFF, "0")
    assert door.library() is None
    assert door.state() == "not used: left out by WEFT_NATIVE=0"


def test_a_file_that_is_no_library_is_named(fresh: Path):
    file = fresh / "_kernels.so"
    file.write_bytes(b"not a library")
    assert "_kernels.so cannot be loaded" in str(door._loaded(file))


@pytest.fixture
def whole() -> bytes:
    """The library of this machine."""
    known = door.library()
    return pytest.skip("there is no C compiler") if known is None else known.path.read_bytes()


@pytest.fixture
def quick(whole: bytes, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that copies the library of this machine, and a package folder without one."""
    monkeypatch.setattr(build, "compiled", lambda command, made: made.write_bytes(whole) and None)
    monkeypatch.setattr(door, "__file__", str(fresh / "loading.py"))
    return fresh / "native"


def test_a_library_is_kept_and_one_that_was_torn_is_built_anew(whole: bytes, quick: Path):
    found = door.library()
    assert found is not None and found.path.parent == quick and build.kept(quick) == found.path
    assert found.path.stat().st_mode & 0o077 == 0
    for torn in (whole[:-1], whole[: len(whole) // 2], b"", whole[:-1] + b"\1"):
        found.path.unlink()  # the loaded one stays mapped
        found.path.write_bytes(torn)
        assert build.kept(quick) is None and not found.path.exists()
        again = door.library()
        assert again is not None and again.path.read_bytes() == whole


def test_nothing_is_built_where_installing_built_a_library(whole: bytes, quick: Path, fresh: Path):
    (fresh / "_kernels.so").write_bytes(whole)
    found = door.library()
    assert found is not None and found.path == fresh / "_kernels.so" and not quick.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_library_that_others_could_have_planted_is_never_loaded(quick: Path, monkeypatch: pytest.MonkeyPatch):
    planted = door.library()
    assert planted is not None
    planted.path.chmod(0o722)
    assert build.kept(quick) is None and not planted.path.exists()
    opened: list[Path] = []
    monkeypatch.setattr(door, "_loaded", lambda path: opened.append(path) or "not loaded")
    quick.chmod(0o777)
    assert "not loaded" in door.state() and opened[0].parent != quick and not opened[0].exists()
    quick.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)  # the folder is somebody else's
    assert "not loaded" in door.state() and opened[1].parent != quick
    monkeypatch.undo()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_process_that_was_forked_writes_on_after_its_parent_wrote_with_threads():
    """In a process of its own: threads that were once made stay."""
    done = processes.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["same", "0"], done.stdout + done.stderr


def test_where_there_is_a_compiler_there_is_a_library():
    found = door.library()
    if shutil.which("cc") is None:
        assert found is None
        return
    assert isinstance(found, Library)
    assert found.sources == build.digest()
    assert door.state() == INSTRUCTION_SETS[found.widest]
