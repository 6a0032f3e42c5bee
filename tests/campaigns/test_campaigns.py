"""A sample of every campaign, and the whole of each with the slow tests: nothing is missed."""

import os
import pickle
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import fresh

import weft
from campaigns import families
from campaigns import hostile as folders
from campaigns import uploads as inputs
from campaigns.answers import answers
from campaigns.flips import flips
from campaigns.hostile import hostile
from campaigns.kills import kills
from campaigns.lies import EVERY
from campaigns.links import COMMANDS, KINDS, links
from campaigns.lying import lying
from campaigns.model_types import model_types
from campaigns.mutants import mutants
from campaigns.outputs import outputs
from campaigns.outputs import tried as output_tried
from campaigns.saves import disk_faults
from campaigns.subjects import every, fixtures
from campaigns.tally import Tally, table, write_between
from weft.interop import Imported, read_folder

SAMPLED = ("finished classify-text", "finished classify-images", "finished language-model-sealed")


def test_a_sample_of_mutants_works_or_is_refused_by_name(tmp_path: Path) -> None:
    found = mutants([one for one in fixtures() if one.name in SAMPLED], 30, tmp_path, measured=0.0)
    assert found.total == 30 and found.problems == []


def test_a_sample_of_hostile_folders_runs_no_code(tmp_path: Path) -> None:
    found = hostile(tmp_path, every=25)
    assert found.total >= 10 and found.problems == []


def test_code_that_runs_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that runs what it finds: seen by its canary and by the interpreter, and not where there is no code."""

    def careless(model: Path, given: object) -> None:
        for path in model.glob("*.bin"):
            pickle.loads(path.read_bytes())
        for path in model.glob("*.py"):
            exec(compile(path.read_bytes(), path, "exec"), {})

    attacks = [
        ("pickles", partial(folders.pickled, name="model.bin", alone=False)),
        ("code", partial(folders.code, name="setup.py")),
        ("quiet code", partial(folders.text, name="setup.py", content=b"pass")),
        ("nothing", partial(folders.text, name="notes.txt", content=b"pass")),
    ]
    monkeypatch.setattr(folders, "_use", careless)
    monkeypatch.setattr(folders, "attacks", lambda: iter(attacks))
    found = folders.hostile(tmp_path)
    assert found.tried == dict.fromkeys(("pickles", "code", "quiet code", "nothing"), 2)
    assert [problem.endswith("its code ran") for kind in ("pickles", "code") for problem in found.missed[kind]] == [
        True
    ] * 4
    assert all("seen: ['exec" in problem for problem in found.missed["quiet code"]) and "nothing" not in found.missed


QUICK = ("predict", "runs clean", "runs verify")


def test_a_sample_of_links_changes_nothing_outside(tmp_path: Path) -> None:
    found = links(tmp_path, names=QUICK, every=3)
    assert found.total >= 10 and found.problems == []


def test_a_door_that_follows_links_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.storage.lock.refuse_link", lambda path: None)
    monkeypatch.setattr("weft.storage.store.refuse_link", lambda path: None)
    monkeypatch.setattr("weft.storage.lock.open_own", lambda path, flags: os.open(path, flags, 0o600))
    monkeypatch.setattr("weft.storage.lock.RunLock._is_at_path", lambda self, file: True)
    found = links(tmp_path, names=("runs clean",))
    assert any(".lock: changed outside" in problem for problem in found.problems)
    assert any("checkpoints: changed outside" in problem for problem in found.problems)


def sampled_outputs(place: str) -> list[Any]:
    """The number of outputs tried, and the problems."""
    found = outputs(Path(place), every=31)
    return [found.total, found.problems]


def test_a_sample_of_outputs_costs_no_input_and_no_run(tmp_path: Path, process: fresh.Fresh) -> None:
    """In a process that has computed no gradients: a child of one that has cannot compute any (`look` does)."""
    total, problems = process.call("campaigns.test_campaigns.sampled_outputs", str(tmp_path))
    assert total >= 4 and problems == []


def test_an_output_that_costs_an_input_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.runs.asking.refuse_output", lambda *args, **more: None)
    home = tmp_path / "home"
    home.mkdir()
    assert output_tried(home, ".txt", "the input") == "changed: in.txt"


def test_a_sample_of_families_is_read_as_the_other_library_reads_it(tmp_path: Path) -> None:
    found = families.families(tmp_path, every=90)
    assert sum(result.models for result in found.values()) == 3 and all(result.refused for result in found.values())
    assert [problem for result in found.values() for problem in result.problems] == []


def test_a_weight_that_is_read_wrongly_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(folder: Path) -> Imported:
        imported = read_folder(folder)
        with torch.no_grad():
            next(imported.model.parameters()).mul_(1.001)
        return imported

    monkeypatch.setattr(families, "read_folder", careless)
    found = families.families(tmp_path, every=90)
    assert all(any("values differ by" in problem for problem in result.problems) for result in found.values())


def test_a_sample_of_lying_files_is_refused_by_name(tmp_path: Path) -> None:
    quick = [kind for kind in EVERY if kind not in ("Parquet", "fields")]  # whose libraries take long to load
    found = lying(tmp_path, quick, most=1)
    assert found.total == len(quick) == 7 and found.problems == []


def sampled_uploads() -> list[str | None]:
    """What was wrong with the answers to some hostile inputs, and, last, to a whole one."""
    from helpers.serving import FINISHED, asked

    from weft.web.app import application
    from weft.web.guard import Allowed
    from weft.web.table import RunTable, ServedRun

    served = [ServedRun("classify-images", weft.load(FINISHED / "classify-images"))]
    served.append(ServedRun("graph", weft.load(inputs.RUNS / "graph" / "finished")))
    app, state = application(RunTable(served), Allowed(1))

    def ask(run: str, ending: str, body: bytes) -> tuple[int, bytes]:
        return asked(app, f"/api/predict/{run}", body, kind="application/octet-stream", query=f"ending={ending}")

    try:
        whole = inputs.Upload("classify-images", ".png", lambda: inputs.GOOD["classify-images"][1], "a whole picture")
        some = (*islice(inputs.pictures(), 0, None, 9), *islice(inputs.graphs(), 0, 12, 2), whole)
        return [inputs.tried(ask, one) for one in some]
    finally:
        state.engine.close()


def test_a_sample_of_hostile_inputs_is_refused_by_a_server_with_a_reason(process: fresh.Fresh) -> None:
    """In a process without checks of shapes: these would read pictures, and call what is damaged a fault of weft."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    *found, whole = process.call("campaigns.test_campaigns.sampled_uploads")
    assert len(found) >= 18 and not any(found), found
    assert "a whole picture: 200" in whole, "what is answered is noticed"


@pytest.mark.slow
def test_hostile_inputs_are_refused_by_a_server_with_a_reason(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    found = inputs.uploads(tmp_path)
    assert found.total >= 270 and found.problems == []


@pytest.mark.slow
def test_lying_files_are_refused_by_name(tmp_path: Path) -> None:
    found = lying(tmp_path)
    assert found.total >= 140 and found.problems == []


@pytest.mark.slow
def test_every_family_is_read_as_the_other_library_reads_it(tmp_path: Path) -> None:
    tally = families.tally_of(families.families(tmp_path))
    assert tally.total >= 170 and tally.problems == []


@pytest.mark.slow
def test_mutants_of_every_kind_of_run_work_or_are_refused_by_name(tmp_path: Path) -> None:
    found = mutants(every(tmp_path / "runs"), 5000, tmp_path, seed=1)
    assert found.total == 5000 and found.problems == []


@pytest.mark.slow
def test_hostile_folders_run_no_code(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    assert found.total >= 111 and found.problems == []


@pytest.mark.slow
def test_links_in_a_run_change_nothing_outside(tmp_path: Path) -> None:
    found = links(tmp_path)
    assert found.total >= 15 * (len(KINDS) - 1) * len(COMMANDS) and found.problems == []


@pytest.mark.slow
def test_outputs_cost_no_input_and_no_run(tmp_path: Path) -> None:
    found = outputs(tmp_path)
    assert found.total >= 120 and found.problems == []


@pytest.mark.slow
def test_runs_killed_at_any_call_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    found = kills(200, tmp_path / "kills")
    assert found.total >= 177 and found.tried["inside a save of a checkpoint"] >= 74 and found.problems == []


def test_a_sample_of_answers_killed_at_random_bytes_loses_and_doubles_no_row(tmp_path: Path) -> None:
    found = answers(2, tmp_path / "answers", outputs=("out.csv", "out.npy"), seed=1, shards=False)
    assert found.total >= 2 and found.problems == []


@pytest.mark.slow
def test_answers_killed_at_random_bytes_lose_and_double_no_row(tmp_path: Path) -> None:
    found = answers(100, tmp_path / "answers")
    assert found.total >= 100 and found.problems == []


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


@pytest.mark.slow
def test_every_model_type_that_weft_does_not_know_is_refused_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    found = model_types(tmp_path)
    assert found.total >= 285 and found.problems == []
