"""Domains of other packages: found by their entry points, listed after weft's own; one that fails fails alone."""

import os
import sys
from pathlib import Path

import pytest
from helpers import processes
from helpers.trials import DATA

import weft
from weft.domains import registry
from weft.domains.recognising import recognise
from weft.domains.registry import CARDS, card_named, card_of
from weft.errors import WeftError

SOURCE = Path(weft.__file__).parents[1]
CARD = """
from weft.tasks.card import Card
from weft.domains.texts.settings import TextTraining

def card(name):
    return Card(name=name, summary="learn bells", files=".bell", sample="none", example="ding",
                home="bells.task.Bells", reads="bells.reading.Bells", training=TextTraining,
                models={"one": "the default"}, presets={"tiny": "1 layer, 8 wide"})
"""
READER = """
from weft.files.survey import Judgement

class Bells:
    def judge(self, survey):
        found = all(source.path.suffix == ".bell" for source in survey.sources)
        return Judgement("sure", "bells") if found else Judgement("no")
"""


def installed(place: Path, points: dict[str, str], **modules: str) -> dict[str, str]:
    """A package `bells` with these modules and entry points on the path of a new process; its environment."""
    package = place / "bells"
    package.mkdir()
    for name, text in {"__init__": "", "made": CARD, "reading": READER, **modules}.items():
        (package / f"{name}.py").write_text(text)
    about = place / "bells-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bells\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[weft.domains]", *lines, ""]))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(SOURCE)])}


def done(code: str, environment: dict[str, str]) -> tuple[list[str], list[str]]:
    """The lines that a process writes to stdout and to stderr."""
    ran = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return ran.stdout.splitlines(), ran.stderr.splitlines()


def test_the_tasks_of_a_plug_in_stand_behind_wefts_own(tmp_path: Path) -> None:
    cards = "from bells.made import card\nCARDS = (card('ring'), card('toll'))"
    environment = installed(tmp_path, {"bells": "bells.cards"}, cards=cards)
    names, remarks = done("from weft.domains.registry import all_cards; print(*all_cards(), sep='\\n')", environment)
    assert names == [*CARDS, "ring", "toll"] and remarks == []
    listed, _ = done("from weft.cli import main; import sys; sys.argv = ['weft', 'tasks']; main()", environment)
    assert any(line.startswith("ring") for line in listed) and any(line.startswith("parse") for line in listed)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("import a_module_that_is_not_there", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("CARDS = ['ring']", "TypeError: it has no tuple CARDS of cards"),
    ],
)
def test_a_plug_in_that_fails_is_one_remark_and_no_other_task_fails(tmp_path: Path, broken: str, said: str) -> None:
    points = {"a": "bells.broken", "b": "bells.cards"}
    environment = installed(
        tmp_path, points, broken=broken, cards="from bells.made import card\nCARDS = (card('ring'),)"
    )
    code = "from weft.domains.registry import all_cards; all_cards(); print(*all_cards(), sep='\\n')"
    names, remarks = done(code, environment)
    assert names == [*CARDS, "ring"]
    assert remarks == [f"weft: the plug-in 'a' (bells) cannot be used: {said}"]


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    cards = "from bells.made import card\nCARDS = (card('parse'), card('ring'))"
    again = "from bells.made import card\nCARDS = (card('ring'),)"
    environment = installed(tmp_path, {"a": "bells.cards", "b": "bells.again"}, cards=cards, again=again)
    code = "from weft.domains.registry import all_cards; print(all_cards()['parse'].summary, *all_cards(), sep='\\n')"
    (summary, *names), remarks = done(code, environment)
    assert summary == CARDS["parse"].summary and names == [*CARDS, "ring"]
    assert len(remarks) == 2
    assert "its task 'parse' is left out, weft has one of that name" in remarks[0]
    assert "its task 'ring' is left out, another plug-in has one of that name" in remarks[1]


def test_files_that_no_task_of_wefts_claims_are_a_plug_ins(tmp_path: Path) -> None:
    cards = "from dataclasses import replace\nfrom bells.made import card\n"
    cards += "CARDS = (replace(card('cracked'), reads='bells.nowhere.Bells'), card('ring'))"
    environment = installed(tmp_path, {"bells": "bells.cards"}, cards=cards)
    (tmp_path / "x.bell").write_bytes(b"\0\1\2 ding")
    code = f"from weft.domains.recognising import recognise; print(recognise([{str(tmp_path / 'x.bell')!r}])[0].name)"
    found, remarks = done(code, environment)
    assert found == ["ring"]
    assert len(remarks) == 1 and "the task 'cracked' of a plug-in was not asked" in remarks[0]


def test_plug_ins_are_not_looked_for_where_weft_knows_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: looked.append(group) or ())
    registry.plugged_in.cache_clear()
    assert card_named("parse").name == "parse" and recognise([str(DATA / "book.txt")])[0].name == "language-model"
    assert looked == []
    for _ in range(2):
        registry.all_cards()
    assert looked == [registry.GROUP]
    registry.plugged_in.cache_clear()


def test_a_run_whose_task_is_not_installed_says_which_is_missing() -> None:
    with pytest.raises(WeftError, match="there is no task 'ring' here: the one that this run is of is not installed"):
        card_of({"task": "ring"}, "run/config.json")
    assert card_of({}, "run/config.json") is None


def test_a_run_of_a_plug_in_whose_task_cannot_be_imported_is_refused_in_words(tmp_path: Path) -> None:
    cards = "from bells.made import card\nCARDS = (card('ring'),)"
    environment = installed(tmp_path, {"bells": "bells.cards"}, cards=cards, task="raise RuntimeError('no bell')")
    code = """if True:
        from weft.domains.registry import task_of
        from weft.errors import WeftError
        try:
            task_of({"task": "ring"}, "run/config.json")
        except WeftError as error:
            print(error.problem)
    """
    assert done(code, environment)[0] == ["the task 'ring' of this run cannot be used: RuntimeError: no bell"]
