"""How files are read where the guess is wrong: headers, endings, marks of encodings; and files that cost themselves."""

import codecs
from pathlib import Path

import pytest

from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.recognising import recognise
from weft.domains.texts.dataset.running import read_texts
from weft.domains.texts.reading.corpus import read_corpus
from weft.domains.texts.reading.labelled import read_labelled
from weft.errors import DataError
from weft.files.documents import units
from weft.files.known_roles import ALL
from weft.files.tables import open_table
from weft.files.ways import read_options, reading

SPAM = [("ham" if i % 4 else "spam", f"Go until point {i}, available only for £{i}") for i in range(40)]
WIDE = [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be")]  # fmt: skip


def test_blank_columns_without_a_name_are_none(tmp_path: Path):
    path = tmp_path / "spam.csv"
    lines = ["v1,v2,,,", *(f'{label},"{text}",,,' for label, text in SPAM), 'ham,"a broken one"," and its rest",,']
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with reading(encoding="latin-1"):
        table = open_table(path, ALL)
        assert table.header and table.names == ["v1", "v2"]
        assert recognise([str(path)])[0].name == "classify-text"
        assert read_labelled(path).classes == ("ham", "spam")


def test_a_column_of_row_numbers_needs_no_name(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text(",v1,v2\n" + "".join(f'{i},{label},"{text}"\n' for i, (label, text) in enumerate(SPAM)))
    assert open_table(path, ALL).names == ["", "v1", "v2"]


@pytest.mark.parametrize("said", [True, False])
def test_the_user_says_whether_the_first_row_is_a_header(said: bool, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("tea,cake\njam,bread\nmilk,water\n")
    with reading(**read_options({"header": str(said).lower()})):
        table = open_table(path, ALL)
    assert table.header is said and len([*table.rows()]) == 3 - said


@pytest.mark.parametrize(("mark", "encoding"), WIDE)
def test_text_with_the_mark_of_a_wide_encoding_is_read(mark: bytes, encoding: str, tmp_path: Path):
    def saved(name: str, text: str) -> Path:
        (tmp_path / name).write_bytes(mark + text.encode(encoding))
        return tmp_path / name

    table = saved("a.csv", "text,label\n" + "".join(f"größer als {i},{'ab'[i % 2]}\n" for i in range(20)))
    assert read_labelled(table).rows[0].text == "größer als 0"
    pairs = saved("a.tsv", "".join(f"the house {i}\tdas Haus {i}\n" for i in range(20)))
    assert read_pairs([pairs]).rows[3].target == "das Haus 3"
    assert read_corpus([saved("a.txt", "größer\r\nals")]).characters == 10
    assert units(saved("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nGröße\n")).texts == ["Größe"]
    catalogue = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a house"\nmsgstr "ein Haus"\n'
    assert read_pairs([saved("a.po", catalogue)]).rows[0].target == "ein Haus"


def folder_of(root: Path, count: int, bad: int) -> Path:
    for i in range(count):
        place = root / "ab"[i % 2] / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(f"text number {i} caf".encode() + ("é" if i >= bad else "").encode() + b"\xe9" * (i < bad))
    return root


def test_one_unreadable_file_of_many_costs_itself(tmp_path: Path):
    root = folder_of(tmp_path / "one", 150, 1)
    texts, labelled = read_corpus([root]), read_labelled(root)
    assert texts.documents == len(labelled.rows) == 149
    for skipped in (texts.skipped, labelled.skipped):
        assert [where.endswith("a/0.txt, line 1") and "0xE9" in why for where, why in skipped] == [True]
    assert any("left out, as they cannot be read: 1 of 150" in note for note in labelled.notes)


def test_several_unreadable_files_are_refused_unless_allowed(tmp_path: Path):
    root = folder_of(tmp_path / "two", 150, 2)
    for read in (read_corpus, read_labelled):
        with pytest.raises(DataError, match="(?s)not UTF-8.*--set skip=100"):
            read([root])
        found = read([root], skip=2)
        assert len(found.skipped) == 2
    with pytest.raises(DataError, match="not UTF-8"):
        read_corpus([folder_of(tmp_path / "few", 10, 1)])


def project(root: Path) -> Path:
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# A project\nsome words on it\n")
    for i in range(9):
        (root / "src" / f"m{i}.py").write_text(f"def f{i}(x):\n    return x + {i}\n" * 40)
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(9999))
    return root


def test_a_readme_beside_a_source_tree_is_not_taken_silently(tmp_path: Path):
    root = project(tmp_path / "p")
    notes = read_texts([str(root)], None, None).notes
    assert "of the text in the folder is taken (.md)" in notes[1] and "--set endings=py,md" in notes[1]
    with reading(**read_options({"endings": "py,md"})):
        found = read_texts([str(root)], None, None)
    assert found.corpus.documents == 10 and "warning" not in " ".join(found.notes)
    with reading(endings=("js",)), pytest.raises(DataError, match="0 files to read"):
        read_corpus([root])


def test_metadata_beside_the_texts_of_classes_are_no_texts(tmp_path: Path):
    root = folder_of(tmp_path / "c", 40, 0)
    for i in range(40):
        (root / "ab"[i % 2] / f"{i}.json").write_text('{"id": 1}')
        (root / "ab"[i % 2] / f"{i}.xml").write_text("<id/>")
    card, why = recognise([str(root)])
    assert card.name == "classify-text" and "80 files beside the texts" in why
    assert len(read_labelled(root).rows) == 40
