"""A machine that offers matrix tiles without describing them is used without them."""

import os
from pathlib import Path

import pytest

from weft.machine import WITHOUT_AMX, avoid_broken_amx


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
