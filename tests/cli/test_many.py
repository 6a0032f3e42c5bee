"""Many inputs: output as it goes, stopped and resumed, in shards that are joined."""

import json
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from helpers.commands import Weft
from helpers.tables import read_cells, write_table

from weft.runs import many

RUN = Path(__file__).parents[1] / "fixtures" / "finished" / "classify-text"
COUNT = 23


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """A folder with a table and a run; batches are small, and every one is kept."""
    monkeypatch.setattr("weft.runs.many.BATCH", 3)
    monkeypatch.setattr("weft.storage.growing.KEEP_EVERY", 0.0)
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "notes").mkdir()
    shutil.copytree(RUN, folder / "run")
    rows = [[number, f"the dog number {number}", "x,\ny"] for number in range(COUNT)]
    write_table(folder / "in.csv", ["id", "text", "note"], rows)
    (folder / "lines.txt").write_text("".join(f"the cat number {number}\n" for number in range(COUNT)))
    return Weft(folder, tmp_path / "notes")


def test_shards_joined_are_the_whole(there: Weft) -> None:
    there.here("predict", "run", "in.csv", "--output", "whole.csv")
    for number in (1, 2, 3):
        done = there.here("predict", "run", "in.csv", "--output", f"s{number}.csv", "--shard", f"{number}/3")
        assert done.code == 0, done.err
    assert len(read_cells(there.folder / "s2.csv")[1]) in (7, 8)
    assert there.here("predict", "run", "s3.csv", "s1.csv", "s2.csv", "--join", "--output", "all.csv").code == 0
    assert (there.folder / "all.csv").read_bytes() == (there.folder / "whole.csv").read_bytes()
    assert "missing: 2/3" in there.refused_here("predict", "run", "s1.csv", "s3.csv", "--join", "--output", "no.csv")
    shutil.copy(there.folder / "s1.csv", there.folder / "copy.csv")
    shutil.copy(there.folder / "s1.csv.shard.json", there.folder / "copy.csv.shard.json")
    said = there.refused_here("predict", "run", "s1.csv", "copy.csv", "s3.csv", "--join", "--output", "no.csv")
    assert "copy.csv: is shard 1 of 3, as s1.csv is" in said
    (there.folder / "s2.csv").write_bytes((there.folder / "s2.csv").read_bytes().replace(b"dog", b"cat", 1))
    said = there.refused_here("predict", "run", *(f"s{n}.csv" for n in (1, 2, 3)), "--join", "--output", "no.csv")
    assert "s2.csv: has changed since it was written" in said


def test_shards_of_another_work_or_none_are_refused(there: Weft) -> None:
    for number, given in ((1, "in.csv"), (2, "lines.txt")):
        there.here("predict", "run", given, "--output", f"s{number}.csv", "--shard", f"{number}/2")
    said = there.refused_here("predict", "run", "s1.csv", "s2.csv", "--join", "--output", "no.csv")
    assert "s2.csv: belongs to another work than s1.csv: inputs differ" in said
    assert "not written by --shard" in there.refused_here("predict", "run", "in.csv", "--join", "--output", "no.csv")
    assert "expected I/N" in there.refused_here("predict", "run", "in.csv", "--output", "a.csv", "--shard", "3/2")
    assert "needs a file" in there.refused_here("predict", "run", "in.csv", "--resume")
    assert ".jsonl" in there.refused_here("predict", "run", "in.csv", "--output", "a.xlsx", "--shard", "1/2")


def test_shards_of_lines_and_vectors_are_joined_too(there: Weft) -> None:
    there.here("predict", "run", "lines.txt", "--output", "whole.parquet")
    there.here("embed", "run", "lines.txt", "-o", "whole.npy")
    for number in (1, 2):
        shard = ("--shard", f"{number}/2")
        assert there.here("predict", "run", "lines.txt", "--output", f"s{number}.jsonl", *shard).code == 0
        assert there.here("embed", "run", "lines.txt", "-o", f"s{number}.npy", *shard).code == 0
    assert there.here("embed", "run", "s1.npy", "s2.npy", "--join", "-o", "all.npy").code == 0
    assert np.load(there.folder / "all.npy").shape[0] == COUNT
    assert (there.folder / "all.npy").read_bytes() == (there.folder / "whole.npy").read_bytes()
    assert there.here("predict", "run", "s1.jsonl", "s2.jsonl", "--join", "--output", "all.jsonl").code == 0
    found = [json.loads(line)["input"] for line in (there.folder / "all.jsonl").read_text().splitlines()]
    assert found == [f"the cat number {number}" for number in range(COUNT)]


@pytest.mark.parametrize(
    ("given", "out"), [("in.csv", "out.csv"), ("lines.txt", "out.jsonl"), ("lines.txt", "out.txt")]
)
def test_what_was_stopped_goes_on_and_computes_nothing_twice(there: Weft, given: str, out: str) -> None:
    from weft.runs import answered

    computed: list[str] = []

    def ask(run, some, *args, **more):
        if len(computed) == 12:
            raise KeyboardInterrupt
        computed.extend(one.name for one in some)
        return answered_ask(run, some, *args, **more)

    answered_ask = answered.ask
    assert there.here("predict", "run", given, "--output", f"whole{out}").code == 0
    with mock.patch.object(answered, "ask", ask):
        there.here("predict", "run", given, "--output", out)
        assert (there.folder / f"{out}.part").exists() and not (there.folder / out).exists()
        assert "--resume" in there.refused_here("predict", "run", given, "--output", out)
        assert "begun otherwise" in there.refused_here(
            "predict", "run", given, "--output", out, "--resume", "--set", "top=1"
        )
        computed.append("")
        done = there.here("predict", "run", given, "--output", out, "--resume")
    assert done.code == 0 and len(computed) == COUNT + 1 == len(set(computed))
    assert (there.folder / out).read_bytes() == (there.folder / f"whole{out}").read_bytes()
    assert not [path.name for path in there.folder.iterdir() if ".part" in path.name]


def test_inputs_that_failed_before_a_stop_are_counted(there: Weft) -> None:
    write_table(there.folder / "bad.csv", ["id", "text"], [[1, ""], [2, "the dog"], [3, "the dog"], [4, "the cat"]])
    before = many.BATCH
    assert before == 3
    with mock.patch("weft.runs.answered.GrowingFile.finish", side_effect=KeyboardInterrupt):
        there.here("predict", "run", "bad.csv", "--output", "out.csv")
    done = there.here("predict", "run", "bad.csv", "--output", "out.csv", "--resume")
    assert done.code == 2 and "1 input could not be used" in done.err
    assert [row[0] for row in read_cells(there.folder / "out.csv")[1]] == ["1", "2", "3", "4"]
