"""Runs of every task and codec open, answer and go on as they did when they were made, each in a process of its own.

One process hides a missing import: what another run loaded is there for all that follow. tests/fixtures/README.md says
how the runs were made.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import fresh
from helpers.kept_runs import (
    EXPECTED_LINKED,
    FOREIGN,
    IMPORTED,
    KEPT,
    LINKED,
    RUNS,
    SLOW,
    STEPS,
    expected,
    of_imported,
    of_kept,
    of_linked,
    of_soup,
)
from helpers.opened import machine
from helpers.steps import few_quick

from weft.domains.registry import CARDS
from weft.tasks.codec import Codec

KNOWN, KNOWN_LINKED = expected(), expected(EXPECTED_LINKED)


def alike(found: Any, known: Any) -> bool:
    """Whether answers are the same: words exactly, numbers to 1e-4."""
    if isinstance(known, dict):
        return found.keys() == known.keys() and all(alike(found[key], value) for key, value in known.items())
    if isinstance(known, list):
        return len(found) == len(known) and all(map(alike, found, known))
    return found == pytest.approx(known, rel=1e-4, abs=1e-4) if isinstance(known, float) else found == known


def config_of(name: str, kind: str) -> dict[str, Any]:
    """The config.json of a kept run."""
    return json.loads((RUNS / name / kind / "config.json").read_text(encoding="utf-8"))


def final_codecs(kind: type[Codec]) -> set[str]:
    """The names of weft's codecs below one that nothing is derived from; another test may have loaded a plug-in's."""
    below = [one for one in kind.__subclasses__() if one.__module__.startswith("weft.")]
    return {name for one in below for name in final_codecs(one)} if below else {kind.__name__}


def test_every_task_and_every_codec_has_runs() -> None:
    assert all(card.task.name == name for name, card in CARDS.items())  # every task is loaded, with its codecs
    assert sorted(path.name for path in RUNS.iterdir()) == sorted(KEPT) == sorted(KNOWN)
    assert sorted(path.name for path in FOREIGN.iterdir()) == sorted(IMPORTED)
    assert sorted(KNOWN_LINKED) == sorted([*LINKED, *IMPORTED, "soup"])
    for kind in ("begun", "finished"):
        assert {config_of(name, kind)["task"] for name in KEPT} == set(CARDS)
        kept = {codec["type"] for name in KEPT for codec in config_of(name, kind)["codecs"].values()}
        assert kept == final_codecs(Codec)
    assert KNOWN_LINKED["bert-several"]["config"]["codecs"]["label"] == "SeveralCodec"


@pytest.mark.parametrize("name", few_quick(KEPT, set(KEPT) - SLOW))
def test_a_begun_run_goes_on_and_ends_as_it_did(name: str, process: fresh.Fresh, tmp_path: Path) -> None:
    found, known = of_kept(process.call, name, "begun", tmp_path), KNOWN[name]["begun"]
    assert len(found["losses"]) == STEPS and found["losses"] == pytest.approx(known["losses"], rel=1e-4)
    assert alike(found["weights"], known["weights"])
    assert alike(found["metrics"], known["metrics"]), found["metrics"]
    assert alike(found["answers"], known["answers"]), found["answers"]
    if machine() == known["machine"]:  # elsewhere sums differ in their last bits
        assert found["digest"] == known["digest"]


@pytest.mark.parametrize("name", few_quick(KEPT, SLOW & set(KEPT)))  # of others the begun run is opened quickly
def test_a_finished_run_answers_and_measures_as_it_did(name: str, process: fresh.Fresh, tmp_path: Path) -> None:
    found = of_kept(process.call, name, "finished", tmp_path)
    assert alike(found, KNOWN[name]["finished"]), found


@pytest.mark.parametrize("name", few_quick(LINKED, set(LINKED) - SLOW))
def test_a_run_that_begins_with_another_answers_as_it_did(name: str, process: fresh.Fresh, tmp_path: Path) -> None:
    found = of_linked(process.call, name, tmp_path)
    assert alike(found, KNOWN_LINKED[name]), found


def test_a_soup_answers_as_it_did(process: fresh.Fresh, tmp_path: Path) -> None:
    found = of_soup(process.call, tmp_path)
    assert alike(found, KNOWN_LINKED["soup"]), found


@pytest.mark.parametrize("name", IMPORTED)
def test_an_imported_model_answers_or_refuses_as_it_did(name: str, process: fresh.Fresh, tmp_path: Path) -> None:
    found = of_imported(process.call, name, tmp_path)
    assert alike(found, KNOWN_LINKED[name]), found
