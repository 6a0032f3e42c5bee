"""Many labelled texts, in mapped files: what is found, held out, encoded and learned is the same to the bit."""

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.domains.texts import classify_text
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.labelled import LabelledDocuments
from weft.domains.texts.encoded.whole_texts import LabelledIds
from weft.domains.texts.reading import labelled
from weft.domains.texts.reading.kept import KeptExample
from weft.domains.texts.settings import LabelTraining
from weft.errors import DataError
from weft.files import kept_rows
from weft.files.labelled import LabelledData
from weft.modalities.encoding import ended
from weft.storage import file_marks
from weft.storage.prepared import prepared_in
from weft.tasks.labels import labelling

KINDS = {
    "classes": ["neg", "pos"],
    "numbers": ["0.5", "1.25", "7", "-3"],
    "several": ["sport", "money", "money,sport", "sport,food"],
}


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)


def table(path: Path, labels: list[str], rows: int = 80, more: str = "") -> str:
    lines = [
        f"Text {n % (rows - 5)} says {n * n % 91} ünd more {'x' * (n % 9)}\t{labels[n % len(labels)]}"
        for n in range(rows)
    ]
    path.write_text("text\tlabel\n" + "\n".join(lines) + "\n" + more)
    return str(path)


def read(source: str, **asked: Any) -> LabelledData[Any]:
    return LabelledDocuments().read([source], None, LabelTraining(**asked))


def facts(data: LabelledData[Any]) -> list[Any]:
    rows = [[(row.text, row.label, tuple(row.labels)) for row in side] for side in (data.train, data.held_out)]
    return [*rows, data.kind, data.classes, data.rule, data.fingerprint, data.described, data.notes, data.skipped]


def encoded(data: LabelledData[Any]) -> tuple[Any, LabelledIds]:
    codec = TextCodec.learn(ended(row.text for row in data.train), "bpe", 300, characters=10**4, role="whole")
    return codec, LabelledIds.of(data, codec, labelling.learned_from(data, {}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fewest", [1, 25])
def test_rows_in_mapped_files_are_those_in_memory(tmp_path: Path, kind: Any, fewest: int) -> None:
    gaps = "\tno text\nno label\t\n"
    source = table(tmp_path / "a.tsv", KINDS[kind], more=gaps)
    with prepared_in("none"):
        plain = read(source, labels=kind, fewest=fewest, skip=3)
    with prepared_in(str(tmp_path / "kept")):
        first, second = (read(source, labels=kind, fewest=fewest, skip=3) for _ in range(2))
        assert all(isinstance(row, KeptExample) for row in (*second.train, *second.held_out))
        assert facts(plain) == facts(first) == facts(second)
        sources = [encoded(data)[1].source(12, tokens=200, rows=8, seed=1) for data in (plain, second)]
        again = encoded(read(source, labels=kind, fewest=fewest, skip=3))[1]
    assert isinstance(again.train.rows.ids, np.memmap)  # type: ignore[attr-defined]
    for a, b in zip(*(one.batch(np.arange(4)).each for one in sources), strict=True):
        assert a.given.ids.equal(b.given.ids) and vars(a.wanted).keys() == vars(b.wanted).keys()
        assert all(one is None or one.equal(vars(b.wanted)[name]) for name, one in vars(a.wanted).items())


def test_a_second_start_reads_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = table(tmp_path / "a.tsv", KINDS["classes"])
    with prepared_in(str(tmp_path / "kept")):
        before = read(source)
        monkeypatch.setattr(labelled, "read_table", lambda *given, **how: pytest.fail("a table was read"))
        assert facts(before) == facts(read(source))
        monkeypatch.undo()
        monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)
        table(tmp_path / "a.tsv", KINDS["classes"], rows=90)
        assert read(source).fingerprint != before.fingerprint


def test_what_is_refused_in_memory_is_refused_in_files(tmp_path: Path) -> None:
    one = table(tmp_path / "one.tsv", ["same"])
    for place in ("none", str(tmp_path / "kept")):
        with prepared_in(place), pytest.raises(DataError, match="nothing to tell apart"):
            read(one)
        with prepared_in(place), pytest.raises(DataError, match="not a number"):
            read(table(tmp_path / "two.tsv", ["1.5", "2", "x"]), labels="numbers")


def test_memory_does_not_grow_with_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "TOGETHER", 8)
    sizes, rows = [], 300
    for name, length in (("short", 1), ("long", 800)):
        lines = "".join(f"{'word ' * length}{n}\t{'ab'[n % 2]}\n" for n in range(rows))
        (tmp_path / f"{name}.tsv").write_text("text\tlabel\n" + lines)
        with prepared_in(str(tmp_path / "kept")):
            read(str(tmp_path / f"{name}.tsv"))
            gc.collect()
            tracemalloc.start()
            data = read(str(tmp_path / f"{name}.tsv"))
            assert data.train[7].text.startswith("word")
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
    assert 12 * (sizes[1] - sizes[0]) < rows * 800 * 5  # but for the few rows near the last one that was looked at


@pytest.mark.slow
def test_a_run_learns_the_same_from_rows_in_mapped_files(tmp_path: Path) -> None:
    source = table(tmp_path / "a.tsv", KINDS["classes"])
    runs = [
        weft.train(source, preset="tiny", steps=3, quiet=True, baselines=False, out=tmp_path / name, prepared=place)
        for name, place in (("a", "none"), ("b", str(tmp_path / "kept")))
    ]
    a, b = (run.model.state_dict() for run in runs)
    assert all(a[name].equal(b[name]) for name in a) and runs[0].config["fingerprint"] == runs[1].config["fingerprint"]


def test_an_evaluation_in_parts_measures_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = table(tmp_path / "a.tsv", KINDS["classes"])
    run = weft.train(source, preset="tiny", steps=2, quiet=True, baselines=False, out=tmp_path / "run")
    whole = run.evaluate(source, baselines=False)
    held: list[int] = []

    def noted(model: Any, rows: Any, count: Any = None, was: Any = classify_text.text_values) -> Any:
        held.append(len(rows))
        return was(model, rows, count)

    monkeypatch.setattr(classify_text, "AT_ONCE", 16)
    monkeypatch.setattr(classify_text, "text_values", noted)
    with prepared_in(str(tmp_path / "kept")):
        parts = run.evaluate(source, baselines=False)
    assert held == [16] * 5 and parts["examples"] == whole["examples"] == 80
    assert parts["metrics"] == pytest.approx(whole["metrics"], rel=1e-5)
    excerpts = [[one["text"] for one in found["mistakes"]] for found in (parts, whole)]
    assert sorted(excerpts[0]) == sorted(excerpts[1])
