"""A sample of every campaign, and the whole of each with the slow tests: nothing is missed."""

from pathlib import Path

import pytest

from campaigns.flips import flips
from campaigns.hostile import hostile
from campaigns.kills import kills
from campaigns.mutants import mutants
from campaigns.saves import disk_faults
from campaigns.subjects import every, fixtures
from campaigns.tally import Tally, table, write_between

SAMPLED = ("finished classify-text", "finished classify-images", "finished language-model-sealed")


def test_a_sample_of_mutants_works_or_is_refused_by_name(tmp_path: Path) -> None:
    found = mutants([one for one in fixtures() if one.name in SAMPLED], 100, tmp_path, measured=0.0)
    assert found.total == 100 and found.problems == []


def test_a_sample_of_hostile_folders_runs_no_code(tmp_path: Path) -> None:
    found = hostile(tmp_path, every=25)
    assert found.total >= 10 and found.problems == []


@pytest.mark.slow
def test_mutants_of_every_kind_of_run_work_or_are_refused_by_name(tmp_path: Path) -> None:
    found = mutants(every(tmp_path / "runs"), 5000, tmp_path, seed=1)
    assert found.total == 5000 and found.problems == []


@pytest.mark.slow
def test_hostile_folders_run_no_code(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    assert found.total >= 111 and found.problems == []


@pytest.mark.slow
def test_runs_killed_at_any_call_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    found = kills(200, tmp_path / "kills")
    assert found.total >= 177 and found.tried["inside a save of a checkpoint"] >= 74 and found.problems == []


@pytest.mark.slow
def test_a_disk_that_fails_at_any_call_of_a_save_loses_nothing(tmp_path: Path) -> None:
    found = disk_faults(tmp_path / "disk")
    assert found.total >= 73 and found.problems == []


@pytest.mark.slow
def test_flipped_bits_are_noticed(tmp_path: Path) -> None:
    found = flips(1000, tmp_path)
    assert found.total >= 260 and found.problems == []


def test_a_tally_is_written_between_its_marks(tmp_path: Path) -> None:
    page, tally = tmp_path / "page.md", Tally()
    tally.count("a bit", times=3)
    tally.add(Tally({"a byte": 1}, {"a byte": ["not noticed"]}))
    page.write_text("before\n<!-- campaign: flips -->\nold\n<!-- end of flips -->\nbehind\n")
    write_between(page, "flips", table(("what", "times", "missed"), tally.rows()))
    assert page.read_text().splitlines() == [
        "before",
        "<!-- campaign: flips -->",
        "| what | times | missed |",
        "| --- | --: | --: |",
        "| a bit | 3 | 0 |",
        "| a byte | 1 | 1 |",
        "| **all** | **4** | **1** |",
        "<!-- end of flips -->",
        "behind",
    ]
    assert tally.problems == ["a byte: not noticed"]
    with pytest.raises(SystemExit, match="expected the marks"):
        write_between(page, "kills", "")
