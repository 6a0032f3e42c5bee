"""`weft plan`: what a training would take, on this machine and on others."""

import json
from pathlib import Path

import pytest
from helpers.trials import EVERY

from weft.cli.app import run as command
from weft.errors import ConfigError, DataError
from weft.runs.scaling import plan

BOOK = [str(path) for path in EVERY["language-model"].data]
SIZE = {"dim": 64, "depth": 2, "heads": 2, "precision": "bf16", "optimizer": "adamw", "batch": 8, "parallel": "shard"}


def test_more_devices_hold_less_each_and_send() -> None:
    one, many = (plan(BOOK, steps=10, devices=devices, memory=1, **SIZE).numbers for devices in (1, 8))
    assert one["parameters"] == many["parameters"] and one["memory"] > many["memory"]
    assert one["network_bytes"] == 0 < many["network_bytes"] and many["steps"] == one["steps"] == 10


def test_a_plan_says_what_does_not_fit_and_what_the_network_bounds() -> None:
    tight = plan(BOOK, steps=10, memory=1e-4, devices=8, network=1e-3, **SIZE)
    assert not tight.numbers["fits"] and "does NOT fit" in tight.lines["memory"] and "micro" in tight.lines["advice"]
    assert tight.numbers["recompute"], "computed again where memory would not suffice"
    assert tight.lines["bound"].startswith("network-bound: HSDP")
    copies = plan(BOOK, steps=10, memory=1e-4, devices=8, network=1e-3, **{**SIZE, "parallel": "replicate"})
    assert "parallel=shard" in copies.lines["advice"] and copies.lines["parallel"] == "replicate on 8 devices"
    assert "HSDP" not in copies.lines["bound"]
    quick = plan(BOOK, steps=10, memory=80, devices=8, network=1e6, speed=1e-6, **SIZE)
    assert quick.numbers["fits"] and not quick.numbers["recompute"] and "bound" not in quick.lines


def test_the_command_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"--set={name}={value}" for name, value in {**SIZE, "devices": 4, "memory": 1}.items()]
    assert command(["plan", *BOOK, "--steps", "3", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["devices"] == 4
    assert command(["plan", *BOOK, "--steps", "3", *words]) == 0
    said = capsys.readouterr().out
    assert "GB a device: fits" in said and "network" in said and "parameters" in said


def test_what_cannot_be_planned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="whole number above 0"):
        plan(BOOK, steps=1, devices="some")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError):
        plan(str(tmp_path / "odd.csv"), steps=1)
