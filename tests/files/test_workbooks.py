"""Sheets as people leave them: wrong sizes, titles, margins, merged cells, several sheets."""

import datetime
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from weft.domains.recognising import recognise
from weft.domains.texts.reading.labelled import read_labelled
from weft.files.known_roles import LABELLED
from weft.files.tables import open_table

openpyxl = pytest.importorskip("openpyxl")
ROWS = [(f"the {'cat' if i % 2 else 'dog'} is number {i} of them all", ("good", "bad")[i % 2]) for i in range(40)]


def saved(path: Path, *sheets: list[Any], merged: tuple[str, ...] = ()) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
        for cells in merged:
            sheet.merge_cells(cells)
    book.save(path)
    return path


def check(path: Path) -> None:
    assert recognise([str(path)])[0].name == "classify-text"
    assert [(row.text, row.label) for row in read_labelled(path).rows] == ROWS


def test_a_sheet_that_claims_to_be_one_cell_is_read_whole(tmp_path: Path):
    whole, path = saved(tmp_path / "a.xlsx", [("text", "label"), *ROWS]), tmp_path / "b.xlsx"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1"', old.read(name))
            new.writestr(name, data)
    check(path)


def test_titles_margins_and_sheets_without_a_table_are_passed_by(tmp_path: Path):
    margin = [(None, None, *row) for row in ROWS]
    check(saved(tmp_path / "a.xlsx", [("Reviews of 2024",), (), ("text", "label"), *ROWS], merged=("A1:B1",)))
    check(
        saved(tmp_path / "b.xlsx", [("about",), ("see the other sheet",)], [(), (None, None, "text", "label"), *margin])
    )
    check(saved(tmp_path / "c.xlsx", [("What they wrote", "Kind"), *ROWS]))


def test_a_merged_cell_is_the_label_of_all_its_rows(tmp_path: Path):
    rows = [(("animals", "food")[i // 20] if i % 20 == 0 else None, text) for i, (text, _) in enumerate(ROWS)]
    path = saved(tmp_path / "a.xlsx", [("category", "sentence"), *rows], merged=("A2:A21", "A22:A41"))
    found = read_labelled(path)
    assert [row.label for row in found.rows] == ["animals"] * 20 + ["food"] * 20


def test_cells_are_what_people_see(tmp_path: Path):
    day = datetime.datetime(2024, 5, 6)
    path = saved(tmp_path / "a.xlsx", [("text", "label", "when"), ("a", True, day), ("b", 2.0, day.replace(hour=3))])
    rows = [row.cells for row in open_table(path, LABELLED).rows()]  # type: ignore[union-attr]
    assert rows == [["a", "true", "2024-05-06"], ["b", "2", "2024-05-06 03:00:00"]]
