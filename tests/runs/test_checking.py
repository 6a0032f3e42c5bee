"""Looking at data before training: what it is, what could be learned from it, what is wrong with it."""

import sys
from pathlib import Path

import pytest
from helpers import processes
from helpers.pictures import encoded, scene
from helpers.trials import DATA

import weft
from weft.cli.checked import report
from weft.errors import DataError

ROWS = [f"the {'cat' if i % 2 else 'dog'} is number {i},{('good', 'bad')[i % 2]}" for i in range(1200)]


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_table_is_told_with_its_columns_rows_and_every_defect(tmp_path: Path):
    torn = [f"one,two,{i}" for i in range(120)]
    path = write(tmp_path / "a.csv", "\n".join(["text,label", *ROWS, *torn]) + "\n")
    found = weft.check(path, plan=False)
    assert (found.task, found.certainty) == ("classify-text", "sure")
    assert [(column.name, column.role) for column in found.columns] == [("text", "text"), ("label", "label")]
    assert found.facts.first_rows[0] == "the dog is number 0 | good" and found.scripts == {"Latin": 1.0}
    assert len(found.defects) == 120 and found.defects[0].where.endswith("a.csv, line 1202")
    assert found.refused is not None and "--set skip=120" in found.refused["fix"]
    text = report(found)
    assert "and 100 more" in text and "3 columns, expected 2" in text and max(map(len, text.splitlines())) < 250
    assert len(found.to_json()["defects"]) == 120


def test_a_table_without_a_task_says_what_it_lacks(tmp_path: Path):
    blanks = write(tmp_path / "b.csv", "a b c\n" + "1 2 3\n4 5 6\n" * 9)
    found = weft.check(blanks, plan=False)
    assert found.task is None and "separated by blanks" in report(found) and "tr -s" in report(found)
    ragged = write(tmp_path / "c.csv", "".join(f"{i}," * (1 + i % 4) + "x\n" for i in range(40)))
    found = weft.check(ragged, plan=False)
    assert len(found.defects) > 10 and "different numbers of columns" in (found.refused or {})["fix"]


def test_pictures_without_classes_are_shown_and_their_tasks_named(tmp_path: Path):
    for i in range(6):
        write(tmp_path / f"flat/{i}.png", encoded(scene(seed=i)))
    write(tmp_path / "flat/torn.png", b"\x89PNG\r\n\x1a\n torn")
    found = weft.check(tmp_path / "flat", plan=False)
    assert found.task is None and {use["task"] for use in found.uses} == {"reconstruct-images", "distill-images"}
    assert found.facts.pictures["kinds"] == {".png": 5} and "typical" in found.facts.pictures["sizes"]
    assert [defect.where for defect in found.defects] == ["torn.png"]
    with pytest.raises(DataError, match="a PDF document"):
        weft.check(write(tmp_path / "a.pdf", b"%PDF-1.7"), plan=False)


def test_trees_are_told_with_their_labels():
    found = weft.check(DATA / "trees.mrg", plan=False)
    assert found.task == "parse" and "labels of phrases" in report(found) and not found.defects


@pytest.mark.slow
def test_a_plan_and_a_sheet_are_made_and_nothing_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for i in range(6):
        write(tmp_path / f"pets/{'cat' if i % 2 else 'dog'}/{i}.png", encoded(scene(seed=i)))
    assert weft.check("pets", plan=False).sheet()[:4] == b"\x89PNG"
    path = write(tmp_path / "a.csv", "\n".join(["text,label", *ROWS]) + "\n")
    found = weft.check(path, minutes=0.1, dim=16, depth=1, heads=2)
    assert "6 s on" in found.plan["training"] and not (tmp_path / "runs").exists() and found.refused is None


def test_looking_without_a_plan_loads_no_torch(tmp_path: Path):
    path = write(tmp_path / "a.csv", "\n".join(["text,label", *ROWS]) + "\n")
    code = f"import sys, weft; weft.check({str(path)!r}, plan=False); print('torch' in sys.modules)"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
