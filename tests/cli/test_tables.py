"""Tables in, tables out: what predict, embed, look and evaluate do with the files that training reads."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Weft
from helpers.tables import read_cells, write_table
from PIL import Image

from weft import check
from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files.names import files_named
from weft.files.table_writing import LONGEST_CELL, TableWriter
from weft.runs.run import Run, open_run
from weft.runs.start import Asked
from weft.tasks.planning import record_of
from weft.training.schedule import Budget

TINY = ["--steps", "4", "--set", "dim=8", "--set", "depth=1", "--set", "heads=1", "--set", "tokenizer=characters",
        "--set", "baselines=false"]  # fmt: skip
NAMES = ["id", "text", "label", "note"]
ROWS = [
    ["007", 'the cat\nnumber 3, "big"', "good", "x"],
    ["008", "the dog", "bad", ""],
    ["009", "=the dog", "bad", "ü"],
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that learned labels of texts from the columns text and label, and a table to label."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [[i, f"the {'cat' if i % 2 else 'dog'} number {i}", "good" if i % 2 else "bad"] for i in range(60)]
    write_table(folder / "train.csv", ["id", "text", "label"], rows)
    done = Weft(folder, folder)("train", "train.csv", *TINY, "--out", "run")
    assert done.code == 0, done.err
    write_table(folder / "test.csv", NAMES, ROWS)
    return folder


@pytest.fixture
def there(place: Path, tmp_path: Path) -> Weft:
    return Weft(place, tmp_path)


def test_a_table_comes_back_with_its_answers_behind_its_columns(there: Weft, tmp_path: Path) -> None:
    done = there("predict", "run", "--input", "test.csv", "--output", tmp_path / "out.csv")
    assert done.code == 0 and done.out == "" and "3 rows" in done.err
    assert "the table has a column 'label' already: the answer is in 'predicted_label'" in done.err
    names, rows = read_cells(tmp_path / "out.csv")
    assert names == [*NAMES, "predicted_label", "probability"]
    assert [row[:4] for row in rows] == ROWS and {row[4] for row in rows} <= {"good", "bad"}
    alone = there("predict", "run", ROWS[0][1], "--json").json["predictions"][0]
    assert rows[0][4] == alone["label"] and float(rows[0][5]) == alone["probabilities"][alone["label"]]


def test_a_table_is_printed_or_given_as_objects(there: Weft) -> None:
    shown = there("predict", "run", "test.csv")
    assert shown.code == 0 and shown.out.split("\n")[0].split() == [*NAMES, "predicted_label", "probability"]
    assert len(shown.out.splitlines()) == 4
    found = there("predict", "run", "test.csv", "--json").json["predictions"]
    assert [one["row"] for one in found] == [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert {"input", "label", "probabilities", "row", "where"} == set(found[0]) and found[1]["where"].endswith("line 4")


def test_packed_tables_go_in_and_out(there: Weft, place: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress((place / "test.csv").read_bytes()))
    assert there("predict", "run", tmp_path / "in.csv.gz", "--output", tmp_path / "out.tsv.gz").code == 0
    lines = gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode().splitlines()
    assert lines[1].split("\t")[:2] == ["007", 'the cat number 3, "big"'] and len(lines) == 4


def test_rows_that_fail_are_named_and_stay(there: Weft, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,text\n1,the cat\n2,\n3,the,dog\n4,the dog\n")
    done = there("predict", "run", tmp_path / "bad.csv", "--output", tmp_path / "out.csv")
    assert done.code == 2 and "2 inputs could not be used" in done.err
    assert "bad.csv, line 3" in done.err and "bad.csv, line 4" in done.err
    _, rows = read_cells(tmp_path / "out.csv")
    assert [row[0] for row in rows] == ["1", "2", "3", "4"] and [bool(row[-1]) for row in rows] == [
        True,
        False,
        False,
        True,
    ]
    failed = there("predict", "run", tmp_path / "bad.csv", "--json").json
    assert len(failed["failed"]) == 2 and len(failed["predictions"]) == 2


def test_a_table_without_the_column_that_was_learned_is_refused(there: Weft, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("id,words\n1,the cat\n2,the dog\n")
    for use in (["predict", "run"], ["embed", "run", "-o", tmp_path / "v.npy"], ["look", "run"]):
        said = there.refused(*use, tmp_path / "other.csv")
        assert "no column 'text'" in said and "'id', 'words'" in said and "--set text_column=" in said
    done = there("predict", "run", tmp_path / "other.csv", "--set", "text_column=words", "--output", tmp_path / "o.csv")
    assert done.code == 0 and read_cells(tmp_path / "o.csv")[0] == ["id", "words", "label", "probability"]
    assert "no column 'wrds'" in there.refused("predict", "run", tmp_path / "other.csv", "--set", "text_column=wrds")


def test_texts_and_lines_become_a_table_where_one_is_written(there: Weft, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("the cat, black\nthe dog\n")
    for words in ([tmp_path / "lines.txt"], ["the cat, black", "the dog"]):
        assert there("predict", "run", *words, "--output", tmp_path / "out.csv").code == 0
        names, rows = read_cells(tmp_path / "out.csv")
        assert names == ["text", "label", "probability"] and [row[0] for row in rows] == ["the cat, black", "the dog"]


def test_a_table_is_embedded_row_by_row_and_searched(there: Weft, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,text\n1,the cat\n2,\n3,the dog\n")
    done = there("embed", "run", tmp_path / "bad.csv", "-o", tmp_path / "v.npy", "--query", "the dog", "--json")
    vectors = np.load(tmp_path / "v.npy")
    assert done.code == 2 and vectors.shape == (3, 8) and np.isnan(vectors[1]).all() and np.isfinite(vectors[0]).all()
    best = done.json["nearest"][0]
    assert best == {"input": "the dog", "similarity": 1.0, "row": {"id": "3", "text": "the dog"}}


def test_one_row_of_a_table_is_looked_at(there: Weft, place: Path) -> None:
    assert "dog" in there("look", "run", "test.csv", "--row", "2").out
    assert "--row 1 … 3" in there.refused("look", "run", "test.csv")
    assert "there is no row 9" in there.refused("look", "run", "test.csv", "--row", "9")


def test_an_evaluation_takes_the_columns_of_the_run_or_those_that_are_named(there: Weft, tmp_path: Path) -> None:
    write_table(
        tmp_path / "t.csv", ["label", "stars", "text", "title"], [["good", "1", "the cat", "the dog is here"]] * 12
    )
    assert there("evaluate", "run", tmp_path / "t.csv", "--json").json["examples"] == 12
    (tmp_path / "u.csv").write_text("text,verdict\n" + "the cat,good\nthe dog,bad\n" * 6)
    said = there.refused("evaluate", "run", tmp_path / "u.csv")
    assert "no column 'label'" in said and "'verdict'" in said and "--set label_column=" in said
    assert there("evaluate", "run", tmp_path / "u.csv", "--set", "label_column=verdict").code == 0
    (tmp_path / "n.csv").write_text("id,text\n" + "1,the cat\n2,the dog\n" * 6)
    assert "no column 'label'" in there.refused("evaluate", "run", tmp_path / "n.csv")
    said = there.refused("evaluate", "run", tmp_path / "t.csv", "--set", "label_column=verdict")
    assert "no column 'verdict'" in said and "'label', 'stars', 'text', 'title'" in said


def test_the_name_of_a_file_is_no_text(there: Weft, place: Path) -> None:
    for word in ("none.csv", "*.jpg", "x.npz", "run/none.json"):
        assert "no such file" in there.refused("predict", "run", word) and "--text" in there.refused(
            "look", "run", word
        )
    said = there("predict", "run", "none.csv", "the cat", "--json")
    assert said.code == 2 and [one["input"] for one in said.json["predictions"]] == ["the cat"]
    (place / "near.csv").write_text("x")
    assert "did you mean 'near.csv'? — to take it as a text" in there.refused("predict", "run", "naer.csv")
    for word in ("I love node.js", "node.js", "really?", "[MASK]", "https://example.com/a.jpg"):
        assert there("predict", "run", word, "--json").json["predictions"][0]["input"] == word
    assert there("predict", "run", "none.csv", "--text", "--json").json["predictions"][0]["input"] == "none.csv"
    (place / "x.bin.npz").write_bytes(bytes(2000))
    assert "binary" in there.refused("look", "run", "x.bin.npz")
    piped = "import io, sys\nsys.stdin = io.StringIO('the cat\\nnone.csv\\n')\n"
    found = there("predict", "run", "-", "--json", before=piped).json["predictions"]
    assert [one["input"] for one in found] == ["the cat", "none.csv"]


def test_words_are_texts_unless_they_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.csv").write_text("x")
    (tmp_path / "notes").write_text("x")
    assert files_named("a b.csv") == [Path("a b.csv")] == files_named("*.csv") and files_named("notes")
    assert not any(map(files_named, ("c d.csv", "", "x" * 2000, "a\nb.csv", "wow.", "48.1,11.6", "www.x.org/y.html")))


def test_runs_in_a_folder_are_listed_by_its_name(there: Weft, place: Path) -> None:
    assert [run["run"] for run in there("runs", ".", "--json").json["runs"]] == ["run"]
    assert there("runs", "--json", ".").json == there("runs", "list", ".", "--json").json
    for words in (["runs", "./nowhere"], ["runs", "lst"], ["rns"]):
        assert "Placeholder" not in there.refused(*words)
    assert "did you mean 'list'?" in there.refused("runs", "lst")
    assert "weft runs zzz: no such folder" in there.refused("runs", "zzz")


def test_suggested_commands_keep_what_the_user_said(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / f"{name}.png")
    said = Asked(
        (str(tmp_path),), None, "vit", None, Budget(minutes=3), None, None, {"lr": "1e-3", "encoding": "utf-8"}
    )
    with pytest.raises(DataError, match="not clear") as error:
        recognise(said.sources, said.options)
    ways = [line for line in error.value.fix.splitlines() if "weft train" in line]
    assert ways and all(line.endswith("--model vit --minutes 3 --set lr=1e-3 --set encoding=utf-8") for line in ways)
    write_table(tmp_path / "t.csv", ["text", "label"], [[f"the text {i}", "ab"[i % 2]] for i in range(20)])
    (use, *_) = check(tmp_path / "t.csv", plan=False, lr="1e-3").uses
    assert use["command"] == f"weft train {tmp_path / 't.csv'} --set lr=1e-3"


def test_a_run_whose_data_is_gone_names_a_command_with_its_settings(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "run", tmp_path / "run")
    config = json.loads((tmp_path / "run/config.json").read_text())
    config["data"]["sources"], config["training"]["encoding"] = [str(tmp_path / "gone.csv")], "cp1252"
    with pytest.raises(DataError) as error:
        Run(replace(open_run(tmp_path / "run"), config=config, data=record_of(config, ""))).evaluate(precision="bf16")
    assert error.value.fix.endswith("/run NEW/PATH --set encoding=cp1252 --set precision=bf16")


def test_what_a_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    rows = [["a\tb", 1.5], ["x" * (LONGEST_CELL + 1), None]]
    for ending, words in ((".tsv", "tabs or newlines"), (".xlsx", "cells cut")):
        writer = TableWriter(tmp_path / f"t{ending}")
        (tmp_path / f"t{ending}").write_bytes(b"".join(writer.chunks(["a", "b"], rows)))
        assert words in writer.remarks[0] and writer.remarks[0].endswith(": 1")
        assert read_cells(tmp_path / f"t{ending}")[1][0] == ["a b" if ending == ".tsv" else "a\tb", "1.5"]


def test_objects_keep_fields_that_come_late_or_hold_lists(there: Weft, tmp_path: Path) -> None:
    lines = [{"text": "the cat", "tags": ["a", "b"]}, {"text": "the dog", "more": {"x": 1}}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert there("predict", "run", tmp_path / "in.jsonl", "--output", tmp_path / "out.jsonl").code == 0
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found[0]["tags"] == ["a", "b"] and found[1]["more"] == {"x": 1} and found[0]["label"] in ("good", "bad")
