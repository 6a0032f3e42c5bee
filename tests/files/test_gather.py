"""Rows out of files: what each becomes, what is wrong with others, and all that some files gave."""

from pathlib import Path

import pytest

from weft.errors import DataError
from weft.files.bad_rows import Gap
from weft.files.gather import GatheredRows, ReadFile, Reading, fingerprint, raising, tried
from weft.files.known_roles import LABELLED
from weft.files.tables import Row, Table, open_table


def number(text: str) -> int | None:
    if text == "x":
        raise DataError("no number", where=text, fix="write one")
    return int(text) if text else None


def table(path: Path, text: str) -> Table:
    path.write_text(text, encoding="utf-8")
    return open_table(path, LABELLED)


def test_a_row_becomes_a_value_or_nothing_or_what_is_wrong_with_it():
    earlier = DataError("damaged")
    found = list(tried(["1", "", "x", earlier, "2"], number))
    assert found[0] == 1 and found[-1] == 2 and len(found) == 4
    assert isinstance(found[1], DataError) and found[1].problem == "no number" and found[2] is earlier


def test_strict_rows_raise_the_first_bad_one():
    rows = raising(tried(["1", "x", "2"], number))
    assert next(rows) == 1
    with pytest.raises(DataError, match="no number"):
        next(rows)


def test_files_are_gathered_with_counts_and_what_was_left_out():
    gathered = GatheredRows[int](1, [("b", "hidden")])
    first = gathered.take(Reading((Path("a"),), ["fuzzy", 1, 2, "fuzzy"], notes=("two",)))  # type: ignore[list-item]
    second = gathered.take(Reading((Path("c"), Path("d")), tried(["x", "3"], number)))
    assert (first, second, gathered.rows, gathered.notes) == (2, 1, [1, 2, 3], ["two"])
    assert gathered.files == [ReadFile(Path("a"), 2), ReadFile(Path("c"), 1), ReadFile(Path("d"), 1)]
    assert gathered.left_out == (("b", "hidden"), ("a", "2 of its entries: fuzzy"), ("x", "no number"))
    with pytest.raises(DataError, match="bad rows: 2 so far, allowed: 1; the first: no number"):
        gathered.take(Reading((Path("e"),), tried(["x"], number)))


def test_a_gap_is_no_fault_where_nobody_set_a_bound_and_its_places_are_counted():
    gathered = GatheredRows[int]()
    gathered.take(Reading((Path("a"),), [Gap("label", f"line {i}") for i in range(7)]))
    gaps = gathered.bad.gaps["label"]
    assert (gaps.count, len(gaps.first)) == (7, 5) and str(gaps).endswith("line 4; …)")
    with pytest.raises(DataError, match="no number") as caught:
        gathered.take(Reading((Path("a"),), tried(["x"], number)))
    assert "--set skip=100" in caught.value.fix


def test_a_row_of_a_table_comes_with_its_number_and_all_its_cells(tmp_path: Path):
    found = table(tmp_path / "a.csv", "id,text,label\n7,it is fine,good\n\n8,it is not,bad,ly\n9,it was, bad\n")

    def read(row: Row) -> tuple[int, str, dict[str, str]]:
        return row.line, found.text(row, 1), found.record(row)

    first, wrong, last = found.each(read)
    assert first == (2, "it is fine", {"id": "7", "text": "it is fine", "label": "good"})
    assert isinstance(wrong, DataError) and wrong.where.endswith("a.csv, line 4")
    assert last == (5, "it was", {"id": "9", "text": "it was", "label": "bad"})


def test_uneven_rows_come_where_the_reader_takes_them(tmp_path: Path):
    found = table(tmp_path / "a.tsv", "text\tlabel\none\ttwo\nthree\n")
    assert list(found.each(lambda row: len(row.cells), even=False)) == [2, 1]


def test_of_a_table_without_columns_only_faults_come(tmp_path: Path):
    for text, faults in (("", 0), ("{}\n[1]\n", 1)):
        found = table(tmp_path / "a.jsonl", text)
        assert len(list(found.each(lambda row: row))) == faults
        assert len(list(table(tmp_path / "a.jsonl", text).faults())) == faults


def test_a_fingerprint_tells_apart_what_runs_together():
    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"]) != fingerprint(["abc"])
    assert fingerprint(["ab", b"\n"]) == fingerprint([b"2:ab\n"])
