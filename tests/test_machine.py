"""Machines with faults are used all the same: matrix tiles that are not described, users without a home."""

import os
import stat
from pathlib import Path

import pytest

from weft import machine
from weft.machine import CACHES, WITHOUT_AMX, avoid_broken_amx, do_without_home
from weft.native.build import cache_folder


@pytest.mark.parametrize(
    ("flags", "level", "kept_away"),
    [
        ("fpu amx_bf16 amx_tile avx512f", 28, True),
        ("fpu amx_bf16 amx_tile avx512f", 31, False),
        ("fpu avx2", 13, False),
    ],
    ids=["tiles not described", "tiles described", "no tiles"],
)
def test_tiles_are_avoided_where_the_machine_hides_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, level: int, kept_away: bool
):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    info = tmp_path / "cpuinfo"
    info.write_text(f"processor\t: 0\ncpuid level\t: {level}\nflags\t\t: {flags}\n\n")
    avoid_broken_amx(info)
    assert (os.environ.pop("ONEDNN_MAX_CPU_ISA", None) == WITHOUT_AMX) is kept_away


def test_a_choice_of_the_users_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    (tmp_path / "cpuinfo").write_text("cpuid level : 28\nflags : amx_tile\n")
    avoid_broken_amx(tmp_path / "cpuinfo")
    assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX2"


def test_a_machine_that_tells_nothing_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    avoid_broken_amx(tmp_path / "nothing")
    assert "ONEDNN_MAX_CPU_ISA" not in os.environ


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without HOME and without an entry in the list of users; the folder for temporary files."""
    pwd = pytest.importorskip("pwd")

    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CACHE_HOME", *CACHES.values()):
        monkeypatch.setenv(name, "")  # so that what is set meanwhile is undone
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_user_without_a_home_has_private_caches(nobody: Path):
    do_without_home()
    private = nobody / f"weft-{os.getuid()}"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert {name: os.environ[variable] for name, variable in CACHES.items()} == {n: f"{private}/{n}" for n in CACHES}
    assert cache_folder() == private / "weft" / "native"


@pytest.mark.parametrize("kind", ["open to others", "a link", "a file"])
def test_a_folder_that_others_could_change_is_not_used_as_a_cache(nobody: Path, kind: str):
    planted, elsewhere = nobody / f"weft-{os.getuid()}", nobody / "elsewhere"
    elsewhere.mkdir()
    if kind == "a link":
        planted.symlink_to(elsewhere)
    elif kind == "a file":
        planted.touch()
    else:
        planted.mkdir()
        planted.chmod(0o770)
    do_without_home()
    used = Path(os.environ["WEFT_CACHE"]).parent
    assert used.parent == nobody and used not in (planted, elsewhere) and stat.S_IMODE(used.stat().st_mode) == 0o700


def test_a_home_that_cannot_be_written_keeps_the_caches_that_it_has(nobody: Path, monkeypatch: pytest.MonkeyPatch):
    (nobody / "home" / ".cache" / "huggingface").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(nobody / "home"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("MPLCONFIGDIR", "their own")
    do_without_home()
    assert "HF_HOME" not in os.environ and os.environ["MPLCONFIGDIR"] == "their own"
    assert os.environ["WEFT_CACHE"] == f"{nobody}/weft-{os.getuid()}/weft"


def test_a_home_that_can_be_written_is_used(nobody: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(nobody / "home"))
    do_without_home()
    assert "WEFT_CACHE" not in os.environ and cache_folder() == nobody / "home" / ".cache" / "weft" / "native"


def test_memory_is_what_a_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    limits = tmp_path / "memory.max"
    limits.write_text("max\n")
    whole = machine.memory_within(limits)
    limits.write_text("1000000\n")
    assert machine.memory_within(limits) == 1e6 < whole
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(machine, "_addresses_in_use", lambda: 3000.0)
    for most, left in ((5000, 2000), (1000, 0)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, most=most: (most, most))
        assert machine.memory_within(limits) == left


def test_addresses_in_use_are_those_of_this_process():
    assert machine._addresses_in_use() > 2**20 or not Path("/proc/self/statm").exists()
