"""Tables: dialects, headers, what columns hold, and which of them is which."""

import gzip
import json
from pathlib import Path

import pytest

from weft.errors import DataError
from weft.files.columns import Column, columns_of
from weft.files.known_roles import ALL, LABELLED, PAIR
from weft.files.roles import choose, is_header
from weft.files.tables import Row, Table, open_table

ROWS = [("en", "fr", "n"), ("a dog; it runs", "un chien, il court", "1"), ("a cat", "un chat", "2")]


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def opened(path: Path, **more) -> Table:
    return open_table(path, ALL, **more)


def cells(table: Table) -> list[list[str]]:
    return [list(row.cells) for row in table.rows() if isinstance(row, Row)]


# Dialects


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "separator"), [("a.tsv", "\t"), ("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t")])
def test_the_separator_is_found_by_what_the_rows_agree_on(tmp_path: Path, name: str, separator: str, packed: bool):
    quote = "" if name == "a.tsv" else '"'
    text = "".join(separator.join(f"{quote}{cell}{quote}" for cell in row) + "\n" for row in ROWS)
    path = tmp_path / (name + ".gz" * packed)
    table = opened(write(path, gzip.compress(text.encode()) if packed else text))
    assert table.separator == separator and table.header and table.names == ["en", "fr", "n"]
    assert cells(table) == [list(row) for row in ROWS[1:]]


def test_lines_of_json_are_a_table_of_their_fields(tmp_path: Path):
    lines = [json.dumps({"b": "x y", "a": 1}), "", json.dumps({"b": "z", "c": None}), "no json"]
    table = opened(write(tmp_path / "a.jsonl", "\n".join(lines)), objects="write objects")
    assert table.names == ["b", "a", "c"] and [len(column.values) for column in table.columns] == [2, 1, 0]
    first, second, bad = table.rows()
    assert isinstance(first, Row) and isinstance(second, Row) and isinstance(bad, DataError)
    assert table.text(first, 0) == "x y" and table.value(first, 1) == 1 and table.value(second, 2) is None
    assert bad.where.endswith("a.jsonl, line 4") and bad.fix == "write objects"
    with pytest.raises(DataError, match='the field "a" is a number'):
        table.text(first, 1)


def test_blank_rows_are_empty_and_rows_of_another_width_are_faults(tmp_path: Path):
    table = opened(write(tmp_path / "a.tsv", "\na dog\tun chien\n\t\nalone\nx\ty\tz\na cat\tun chat\n"))
    found = list(table.rows())
    assert table.line == 2 and [row.line for row in found if isinstance(row, Row)] == [2, 3, 6]
    assert found[1] == Row(3, [])
    assert [(e.where.rpartition(" ")[2], e.problem) for e in found if isinstance(e, DataError)] == [
        ("4", "1 column, expected 2 as in line 2: 'alone'"),
        ("5", "3 columns, expected 2 as in line 2: 'x | y | z'"),
    ]


def test_a_file_of_blank_rows_is_no_table(tmp_path: Path):
    for text in ("", "\n\n", ",,\n"):
        table = opened(write(tmp_path / "a.csv", text))
        assert not table.columns and all(row.cells == [] for row in table.rows())


# Headers


@pytest.mark.parametrize(
    ("first", "rest", "expected"),
    [
        (("text", "label"), [], True),
        (("English", "fr-CA"), [], True),
        (("image", "caption_1"), [], True),
        (("source", "note"), [], False),
        (("name", "price"), [("tea", "3.5"), ("cake", "4")], True),
        (("name", "day"), [("tea", "2024-01-02"), ("cake", "2024-01-03"), ("jam", "2024-02-03")], True),
        (("x", "y"), [(f"{i}.png", "a dog runs") for i in range(3)], True),
        (("0.png", "title"), [(f"{i}.png", "a dog runs") for i in range(1, 4)], False),
        (("tea", "cake"), [("jam", "bread"), ("milk", "water")], False),
        (("good", "pos"), [("bad", "neg"), ("fine", "pos")], False),
        (("a", "a"), [("1", "2"), ("3", "4")], False),
        (("note", "kind"), [("a long sentence about tea", "x"), ("another one about cake", "y")], True),
    ],
)
def test_a_header_is_told_by_its_words_and_by_what_stands_below(first, rest, expected: bool):
    assert is_header(first, rest, ALL) is expected


def test_a_first_pair_that_looks_like_names_is_a_pair_where_that_is_doubtful():
    rest = [("We went home when it rained.", "Nous sommes rentrés quand il a plu.")] * 3
    assert is_header(("Run", "Cours"), rest, LABELLED) and not is_header(("Run", "Cours"), rest, PAIR, doubtful=False)


# What columns hold


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        (["1", "2.5", "-3e4", "1,200", "NA", "40%"], "number"),
        (["2024-01-02", "3/4/1999", "1 Jan 2001", "12:30"], "date"),
        (["https://a.org/x", "me@there.com", "data/x.txt"], "address"),
        (["a.png", "b/c.JPG"], "picture"),
        (["x12", "x13", "y-7"], "code"),
        ([f"CC-BY 2.0 (France) Attribution: tatoeba.org #{i}" for i in range(9)], "code"),
        (["pos", "neg"] * 5, "label"),
        (["a good film", "not so good", "I liked it"], "text"),
        (["一部好电影", "不太好", "我喜欢它"], "text"),
        (["???", "!!", "--!"], "other"),
        ([], "empty"),
    ],
)
def test_columns_are_known_by_what_nearly_all_values_look_like(values: list[str], looks: str):
    assert Column(0, None, tuple(values)).looks == looks


def test_a_column_shows_its_name_count_example_and_kind():
    column = columns_of(["Kind of tea"], [["green"], ["black"], ["green"], [" "], ["black"]])[0]
    assert str(column) == "1 'Kind of tea' (2 different in 4 rows, as 'green'; few different values)"
    assert column.called == "1" and Column(3, "label_2", ()).called == "label_2"


# Which is which


def texts(count: int = 40) -> list[list[str]]:
    return [[str(i), f"the {'good' if i % 2 else 'bad'} tea number {i} was cold", "pn"[i % 2]] for i in range(count)]


def test_roles_are_given_by_asking_then_by_name_then_by_content():
    columns = columns_of(["id", "what", "kind"], texts())
    assert choose(columns, LABELLED, (None, None), where="", fix="") == ((1, 2), ("by what it holds",) * 2)
    found = choose(columns, LABELLED, ("what", "3"), where="", fix="")
    assert found.places == (1, 2) and found.named
    named = columns_of(["label", "text", "kind"], texts())
    assert choose(named, LABELLED, (None, None), where="", fix="").places == (1, 0), "a name counts more than content"


def test_an_unclear_role_lists_the_columns_and_says_what_to_do():
    columns = columns_of(["id", "what", "kind", "sort"], [[*row, row[2]] for row in texts()])
    with pytest.raises(
        DataError, match=r"holds the label is not clear(.|\n)*3 'kind' \(2 different in 40 rows"
    ) as error:
        choose(columns, LABELLED, (None, None), where="t.csv", fix="say so")
    assert (error.value.where, error.value.fix) == ("t.csv", "say so")


def test_pairs_pass_over_numbers_and_dates_but_never_turn_two_columns():
    numbered = columns_of([None] * 4, [[str(i), f"tea {i} is hot", str(i * 7), f"le thé {i}"] for i in range(20)])
    assert choose(numbered, PAIR, (None, None), where="", fix="").places == (1, 3)
    assert choose(numbered, PAIR, (None, "4"), where="", fix="").places == (1, 3)
    spelt = columns_of([None] * 2, [[str(i), f"number {i} in words"] for i in range(20)])
    assert choose(spelt, PAIR, (None, None), where="", fix="").places == (0, 1)
