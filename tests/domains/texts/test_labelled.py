"""Texts with labels: whatever the file, the same texts; columns found or asked for; nothing lost in silence."""

import csv
import gzip
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from weft.domains.texts.reading.labelled import judge, read_labelled
from weft.domains.texts.reading.labelled_texts import Example, overlap, split_labelled, targets
from weft.errors import ConfigError, DataError
from weft.files.roles import LearnedColumn
from weft.files.survey import Survey

WORDS = "the a tea shop room bed train was is very not good bad slow warm loud clean old new and but we".split()  # noqa: SIM905


def sentences(count: int, seed: int = 0, shortest: int = 5, longest: int = 14) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(shortest, longest))) + f" {i}." for i in range(count)]


def rows(count: int = 60, labels: tuple[str, ...] = ("neg", "pos"), **more) -> list[tuple[str, str]]:
    return [(labels[i % len(labels)], text) for i, text in enumerate(sentences(count, **more))]


def table(path: Path, lines: list[tuple[str, ...]], separator: str = "\t") -> Path:
    text = "".join(separator.join(line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def looks_labelled(path: Path) -> bool:
    return judge(Survey([path])).level == "sure"


# Formats


def test_every_format_gives_the_same_texts(tmp_path: Path):
    data = rows()
    tsv = table(tmp_path / "a.tsv", data)
    packed = table(tmp_path / "a.tsv.gz", data)
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([("id", "review", "sentiment"), *((i, t, y) for i, (y, t) in enumerate(data))])
    lines = [json.dumps({"text": text, "label": label, "n": 3}) for label, text in data]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    expected = [Example(text, label) for label, text in data]
    found = [read_labelled(path) for path in (tsv, packed, tmp_path / "a.csv", tmp_path / "a.jsonl")]
    assert all(one.rows == expected for one in found)
    assert len({one.fingerprint for one in found}) == 1
    assert found[0].classes == ("neg", "pos") and found[2].columns == ("review", "sentiment")


def test_a_folder_of_classes_is_read_by_its_folders(tmp_path: Path):
    for i, (label, text) in enumerate(rows(20)):
        folder = tmp_path / "mails" / "inner" / label
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.txt").write_text(text)
    (tmp_path / "mails" / "inner" / "pos" / "notes.pdf").write_text("no")
    found = read_labelled(tmp_path / "mails" / "inner")
    assert found.by_class == {"neg": 10, "pos": 10} and any("notes.pdf" in name for name, _ in found.skipped)
    assert read_labelled(tmp_path / "mails").by_class == found.by_class, "a folder around all others does not matter"


def test_a_folder_with_training_and_test_data_says_how_to_name_them(tmp_path: Path):
    for part in ("train", "test"):
        for label in ("neg", "pos"):
            (tmp_path / part / label).mkdir(parents=True)
            (tmp_path / part / label / "1.txt").write_text("a text")
    with pytest.raises(DataError, match=r"training and test data in one(.|\n)*train --valid .*test"):
        read_labelled(tmp_path)


def test_a_plain_text_file_has_no_label(tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(DataError, match="a text without a label"):
        read_labelled(tmp_path / "a.txt")


def test_a_file_named_twice_is_read_once(tmp_path: Path):
    path = table(tmp_path / "a.tsv", rows())
    assert len(read_labelled([path, path])) == 60


# Columns


def test_columns_are_found_by_what_they_hold(tmp_path: Path):
    titled = [(label, " ".join(text.split()[:3]), text * 3) for label, text in rows()]
    found = read_labelled(table(tmp_path / "a.tsv", titled))
    assert found.rows[0] == Example(titled[0][2], "neg") and "column 3" in found.notes[0]


@pytest.mark.parametrize(
    "header", [("text", "label"), ("sentence", "gold_standard"), ("utterance", "what"), ("x", "score")]
)
def test_a_header_is_known_by_its_names_or_by_what_stands_below(tmp_path: Path, header: tuple[str, str]):
    found = read_labelled(table(tmp_path / "a.tsv", [header, *((text, label) for label, text in rows())]))
    assert len(found) == 60 and found.columns == header


def test_a_first_row_that_is_like_the_others_is_no_header(tmp_path: Path):
    acts = rows(labels=("question", "statement"))
    found = read_labelled(table(tmp_path / "a.tsv", acts))
    assert len(found) == 60 and found.classes == ("question", "statement")


def test_columns_can_be_asked_for_by_name_and_number(tmp_path: Path):
    lines = [("text", "place", "label"), *((t, "here" if i % 3 else "there", y) for i, (y, t) in enumerate(rows()))]
    path = table(tmp_path / "a.tsv", lines)
    assert read_labelled(path).classes == ("neg", "pos")
    assert read_labelled(path, label="Place").classes == read_labelled(path, label=2).classes == ("here", "there")
    with pytest.raises(DataError, match="did you mean 'place'"):
        read_labelled(path, label="plaice")
    with pytest.raises(DataError, match="text and label are both column 1"):
        read_labelled(path, text=1, label=1)
    with pytest.raises(DataError, match="from 1 to 3"):
        read_labelled(path, label="7")


def test_columns_that_could_be_either_are_listed_with_the_way_to_name_them(tmp_path: Path):
    two = [(y, "abc"[i % 3], t) for i, (y, t) in enumerate(rows())]
    with pytest.raises(DataError, match=r"label is not clear(.|\n)*1 \(2 different(.|\n)*--set text_column=…"):
        read_labelled(table(tmp_path / "a.tsv", two))
    alike = [(y, t, t[::-1]) for y, t in rows()]
    with pytest.raises(DataError, match=r"text is not clear(.|\n)*--set label_column=…"):
        read_labelled(table(tmp_path / "b.tsv", alike))
    assert len(read_labelled(tmp_path / "b.tsv", text=3)) == 60


def test_one_column_is_not_enough(tmp_path: Path):
    with pytest.raises(DataError, match="1 column, expected at least 2"):
        read_labelled(table(tmp_path / "a.tsv", [(text,) for _, text in rows()]))


# Classes and numbers


def test_few_small_whole_numbers_are_classes_in_their_order(tmp_path: Path):
    found = read_labelled(table(tmp_path / "a.tsv", rows(labels=("10", "9", "-1", "2.0"))))
    assert found.kind == "classes" and found.classes == ("-1", "2", "9", "10")
    assert targets(found.rows[:4], found.classes).tolist() == [3, 2, 0, 1]


@pytest.mark.parametrize("label", [lambda i: f"{i / 7:.3f}", lambda i: str(i * 37), lambda i: str(i % 45)])
def test_other_numbers_are_numbers(tmp_path: Path, label):
    data = [(text, label(i)) for i, (_, text) in enumerate(rows(120))]
    found = read_labelled(table(tmp_path / "a.tsv", [("text", "score"), *data]))
    assert found.kind == "numbers" and found.classes == () and "numbers from" in found.report()[0]
    assert targets(found.rows, None) == pytest.approx([float(y) for _, y in data])
    assert read_labelled(tmp_path / "a.tsv", kind="classes", learn=False).kind == "classes"


def test_a_word_among_numbers_is_refused_with_its_line_or_skipped(tmp_path: Path):
    data = [(text, f"{i / 7:.3f}") for i, (_, text) in enumerate(rows())]
    path = table(tmp_path / "a.tsv", [*data[:7], (data[7][0], "n/a"), *data[8:]])
    with pytest.raises(DataError, match=r"line 8: the label 'n/a' is not a number"):
        read_labelled(path)
    assert read_labelled(path, skip=1).bad == 1


def test_an_unknown_class_is_refused_with_the_nearest():
    with pytest.raises(DataError, match="did you mean 'pos'"):
        targets([Example("a", "poss")], ("neg", "pos"))


# What is wrong with data


def test_rows_without_text_or_label_are_left_out_and_counted(tmp_path: Path):
    data = rows()
    data[3], data[9], data[10] = ("", data[3][1]), (data[9][0], "  "), (data[10][0], "")
    found = read_labelled(table(tmp_path / "a.tsv", data))
    assert len(found) == 57 and found.without_label.count == 1 and found.without_text.count == 2
    assert found.without_text.first[0].endswith("line 10") and any("without a label: 1 " in s for s in found.report())
    assert [problem for _, problem in found.skipped] == ["a row without a label"] + ["a row without a text"] * 2
    assert len(read_labelled(tmp_path / "a.tsv", skip=3)) == 57
    with pytest.raises(DataError, match="bad rows: 3 so far, allowed: 2; the first: a row without a label"):
        read_labelled(tmp_path / "a.tsv", skip=2)


def test_json_null_is_missing_and_other_values_are_faults(tmp_path: Path):
    lines = [json.dumps({"text": text, "label": label}) for label, text in rows()]
    lines[2] = '{"text": "a b c", "label": null}'
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read_labelled(tmp_path / "a.jsonl").without_label.count == 1
    lines[5] = '{"text": "a b c", "label": ["pos"]}'
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r'line 6: the field "label" is a list'):
        read_labelled(tmp_path / "a.jsonl")


def test_true_and_false_are_classes(tmp_path: Path):
    lines = [json.dumps({"text": text, "label": label == "pos"}) for label, text in rows()]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read_labelled(tmp_path / "a.jsonl").classes == ("false", "true")


def test_a_row_of_another_width_is_refused_with_its_line(tmp_path: Path):
    data = [*rows(20), ("pos", "one", "two")]
    with pytest.raises(DataError, match=r"a.tsv, line 21: 3 columns, expected 2"):
        read_labelled(table(tmp_path / "a.tsv", data))
    assert read_labelled(tmp_path / "a.tsv", skip=0.1).bad == 1
    with pytest.raises(DataError, match="allowed: 1.00%"):
        read_labelled(tmp_path / "a.tsv", skip=0.01)


def test_other_encodings_are_named(tmp_path: Path):
    (tmp_path / "a.tsv").write_bytes("pos\tcafé crème\n".encode("latin-1") * 20)
    with pytest.raises(DataError, match="Latin-1"):
        read_labelled(tmp_path / "a.tsv")


def test_a_file_to_measure_on_may_name_its_columns_otherwise(tmp_path: Path):
    data = rows()
    bare = table(tmp_path / "bare.tsv", data)
    found = read_labelled(bare, text=LearnedColumn("review"), label=LearnedColumn("stars"), learn=False)
    assert [(row.label, row.text) for row in found.rows] == data
    turned = table(tmp_path / "turned.tsv", [("gold", "note", "other"), *((a, b, b[::-1]) for a, b in data)])
    learned = {"text": LearnedColumn("other"), "label": LearnedColumn("stars")}
    found = read_labelled(turned, **learned, learn=False)  # the name that is there counts
    assert [row.text[::-1] for row in found.rows] == [text for _, text in data]
    found = read_labelled(bare, text="2", label="1", learn=False)
    assert found.rows[0] == Example(data[0][1], data[0][0])
    with pytest.raises(DataError, match="no column 'review'"):
        read_labelled(bare, text="review", label="stars")


def test_one_class_too_few_texts_and_none_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match="same label, 'pos'"):
        read_labelled(table(tmp_path / "a.tsv", rows(labels=("pos",))))
    with pytest.raises(DataError, match="8 labelled texts are too few: at least 10"):
        read_labelled(table(tmp_path / "b.tsv", rows(8)))
    with pytest.raises(DataError, match="0 labelled texts"):
        read_labelled(table(tmp_path / "c.tsv", []))
    assert len(read_labelled(tmp_path / "a.tsv", learn=False)) == 60


def test_labels_that_are_no_classes_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match="60 different labels for 60 texts"):
        read_labelled(table(tmp_path / "a.tsv", rows()), text=1, label=2)


def test_unbalanced_classes_slips_repeats_and_contradictions_are_told(tmp_path: Path):
    data = [("neg" if i % 20 == 0 else "pos", text) for i, (_, text) in enumerate(rows(200))]
    data += [("and", "a slip of the pen"), ("pos", data[1][1].upper()), ("neg", data[2][1])]
    found = read_labelled(table(tmp_path / "a.tsv", data))
    told = "\n".join(found.report())
    assert "pos is 191 times as common as and; always answering pos would be right for 94%" in told
    assert "perhaps typing errors: 1 ('and')" in told and found.duplicates == 2 and found.conflicts == 1
    fewer = read_labelled(tmp_path / "a.tsv", fewest=5)
    assert fewer.classes == ("neg", "pos") and fewer.dropped == 1


def test_where_most_classes_are_small_they_are_no_typing_errors(tmp_path: Path):
    labels = ["neg", "pos", *(f"rare {i}" for i in range(8))]
    data = [*rows(40), *((label, f"a text of {label}, the {n}.") for label in labels[2:] for n in range(2))]
    found = read_labelled(table(tmp_path / "a.tsv", data))
    told = "\n".join(found.report())
    assert "8 of 10 classes have fewer than 5 texts: too few to learn; --set fewest=5 leaves them out" in told
    assert "typing" not in told and read_labelled(tmp_path / "a.tsv", fewest=5).classes == ("neg", "pos")
    split = split_labelled(found.rows)
    share = "12 of 56 texts: 21% (about 10% of each class, at least one where it has two) are held out, those"
    assert split.rule.startswith(share) and len(split.held_out) == 12
    assert split_labelled(found.rows[:40]).rule.startswith("4 of 40 texts: about 10% of each class are held out, those")


# Holding out


def test_a_split_is_even_over_classes_and_follows_the_texts_alone():
    data = [Example(text, "pos" if i % 4 else "neg") for i, text in enumerate(sentences(400))]
    split = split_labelled(data)
    assert Counter(row.label for row in split.held_out) == {"neg": 10, "pos": 30} and "40 of 400 texts" in split.rule
    shuffled = random.Random(1).sample(data, len(data))
    assert set(split_labelled(shuffled).held_out) == set(split.held_out)


def test_no_text_is_on_both_sides_whatever_its_label_case_or_spaces():
    texts = sentences(100)
    data = [Example(t, "ab"[i % 2]) for i, t in enumerate(texts)] + [Example(f"  {t.upper()}", "b") for t in texts]
    split = split_labelled(data)
    assert overlap(split.train, split.held_out) == 0 and len(split.train) + len(split.held_out) == 200
    assert overlap(data[:100], data[100:]) == 100


def test_numbers_are_held_out_without_regard_to_them():
    data = [Example(text, f"{i / 3}") for i, text in enumerate(sentences(50))]
    assert len(split_labelled(data, "numbers").held_out) == 5


def test_too_little_to_split_and_odd_shares_are_refused():
    with pytest.raises(DataError, match="too few to hold some out"):
        split_labelled([Example("one", "a"), Example("two", "b")])
    with pytest.raises(ConfigError, match="between 0 and 1"):
        split_labelled([], share=1.5)


# Recognition


def pairs(count: int) -> list[tuple[str, str]]:
    """As sorted lists of sentence pairs are: short sentences first, one of them with many translations."""
    draw = random.Random(3)
    sources = sorted(sentences(count // 6, shortest=1, longest=4), key=len)
    return [(s.removesuffix("."), " ".join(draw.choices(WORDS, k=len(s.split())))) for s in sources for _ in range(6)]


def test_labelled_tables_are_recognised(tmp_path: Path):
    data = rows(80)
    assert looks_labelled(table(tmp_path / "a.tsv", data)) and looks_labelled(table(tmp_path / "a.tsv.gz", data))
    assert looks_labelled(table(tmp_path / "b.tsv", [(t, y) for y, t in rows(200, tuple("abcdefghijklmnop"))]))
    assert looks_labelled(table(tmp_path / "c.tsv", [("text", "label"), *((t, y) for y, t in rows(4))]))
    assert looks_labelled(table(tmp_path / "d.tsv", [(y, t[:9], t * 2) for y, t in data]))
    assert looks_labelled(table(tmp_path / "e.csv", [(f"{i / 9:.2f}", t) for i, (_, t) in enumerate(data)], ","))
    (tmp_path / "a.jsonl").write_text(
        "\n".join(json.dumps({"review": t, "stars": i % 5}) for i, (_, t) in enumerate(data))
    )
    assert looks_labelled(tmp_path / "a.jsonl")


def test_pairs_of_sentences_and_other_tables_are_not(tmp_path: Path):
    assert not looks_labelled(table(tmp_path / "a.tsv", pairs(900)))
    assert not looks_labelled(table(tmp_path / "b.tsv", [("en", "fr"), *pairs(900)]))
    assert not looks_labelled(table(tmp_path / "c.tsv", [(a, b, b[::-1]) for a, b in pairs(900)]))
    assert not looks_labelled(table(tmp_path / "d.tsv", [("path", "label"), *((f"{i}.jpg", "cat") for i in range(50))]))
    assert not looks_labelled(table(tmp_path / "e.tsv", [(str(i), t) for i, (_, t) in enumerate(rows())]))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": t}) for _, t in rows()))
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({"source": a, "target": b}) for a, b in pairs(60)))
    (tmp_path / "c.txt").write_text("pos\tgood\n")
    assert not any(looks_labelled(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "c.txt", "absent.tsv"))


def test_a_folder_of_classes_is_recognised_and_a_library_is_not(tmp_path: Path):
    for i, (label, text) in enumerate(rows(20)):
        for place, content in (("mails", text), ("books", text * 1000)):
            (tmp_path / place / label).mkdir(parents=True, exist_ok=True)
            (tmp_path / place / label / f"{i}.txt").write_text(content)
    assert looks_labelled(tmp_path / "mails") and not looks_labelled(tmp_path / "books")
    (tmp_path / "mails" / "readme.txt").write_text("hello")
    assert not looks_labelled(tmp_path / "mails")


@pytest.mark.parametrize("folder, expected", [("classification", True), ("translation", False)])
def test_real_files_are_told_apart(shared_data: Path, folder: str, expected: bool):
    files = sorted((shared_data / folder).glob("*.tsv.gz"))
    assert files and [looks_labelled(path) for path in files] == [expected] * len(files)


def test_targets_of_classes_are_whole_numbers():
    assert targets([Example("a", "y")], ("x", "y")).dtype == np.int64
