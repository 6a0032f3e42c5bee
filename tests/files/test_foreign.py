"""Formats that people have: those that are read beside plain text and pictures, and those named with a remedy."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.recognising import recognise
from weft.domains.texts.reading.corpus import read_corpus
from weft.domains.texts.reading.labelled import read_labelled
from weft.errors import ConfigError, DataError
from weft.files import foreign
from weft.files.decoding import read_text, reading_as
from weft.files.known_roles import ALL
from weft.files.parquet import parquet_rows
from weft.files.pictures.decoding import decode
from weft.files.tables import is_table, open_table

ROWS = [(f"the {'cat' if i % 2 else 'dog'} is number {i} of all of them", ("good", "bad")[i % 2]) for i in range(40)]


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def workbook(path: Path, rows: list[tuple]) -> Path:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def parquet(path: Path, rows: list[dict]) -> Path:
    pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
    return path


def test_a_workbook_is_a_table(tmp_path: Path):
    path = workbook(tmp_path / "a.xlsx", [("text", "label", "n"), *((*row, i) for i, row in enumerate(ROWS))])
    assert recognise([str(path)])[0].name == "classify-text"
    assert [(row.text, row.label) for row in read_labelled(path).rows] == ROWS
    assert [c.looks for c in open_table(path, ALL).columns] == ["text", "label", "number"]
    longer = workbook(tmp_path / "b.xlsx", [("text", "label"), *ROWS, ("a", "good", "too many")])
    with pytest.raises(DataError, match="3 columns, expected 2 as in the header") as caught:
        read_labelled(longer)
    assert caught.value.where.endswith("b.xlsx, row 42")
    with pytest.raises(DataError, match="damaged or protected Excel workbook"):
        open_table(write(tmp_path / "c.xlsx", b"PK\3\4 no workbook"), ALL)


def test_texts_as_bytes_and_times_of_parquet_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "text": pyarrow.array(["thé".encode(), b"\x89PNG\0"], pyarrow.binary()),
        "when": pyarrow.array([0, 1_700_000_000_123_456_789], pyarrow.timestamp("ns")),
    }
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pandas", None)  # without which pyarrow reads no nanoseconds
    assert [cells for _, cells in parquet_rows(tmp_path / "a.parquet")] == [
        {"text": "thé", "when": "1970-01-01"},
        {"text": None, "when": "2023-11-14 22:13:20.123456"},
    ]


def test_parquet_is_a_table_of_pairs_or_of_texts(tmp_path: Path):
    pairs = [{"translation": {"en": f"the house {i} is old", "fr": f"la maison {i} est vieille"}} for i in range(30)]
    path = parquet(tmp_path / "a.parquet", pairs)
    assert recognise([str(path)])[0].name == "translate" and len(read_pairs([path]).rows) == 30
    texts = parquet(tmp_path / "texts/b.parquet", [{"text": f"text {i}"} for i in range(9)]) if (
        (tmp_path / "texts").mkdir() is None
    ) else None  # fmt: skip
    assert recognise([str(texts)])[0].name == "language-model"
    assert read_corpus([tmp_path / "texts"]).documents == 9
    with pytest.raises(DataError, match="damaged Parquet file"):
        open_table(write(tmp_path / "c.parquet", b"PAR1 no table"), ALL)


def test_a_list_of_json_is_a_table(tmp_path: Path):
    path = write(tmp_path / "a.json", json.dumps([{"review": text, "label": label} for text, label in ROWS]))
    assert is_table(path) and recognise([str(path)])[0].name == "classify-text"
    assert [(row.text, row.label) for row in read_labelled(path).rows] == ROWS
    assert not is_table(write(tmp_path / "b.json", '{"a": 1}'))


def test_mails_are_texts(tmp_path: Path):
    mails = (
        b"From a@b Mon Jan  1 00:00:00 2024\nSubject: =?utf-8?q?Caf=C3=A9?=\n"
        b"Content-Type: text/plain; charset=latin-1\n\n"
        b"Gr\xfc\xdfe\n>From here on\n\nFrom c@d Mon Jan  1 00:00:00 2024\nSubject: Two\n\nSecond\n"
    )
    path = write(tmp_path / "a.mbox", mails)
    assert recognise([str(path)])[0].name == "language-model"
    found = "".join(piece or "|" for piece in read_corpus([path]).pieces())
    assert found == "Café\n\nGrüße\nFrom here on|Two\n\nSecond|"


def test_an_encoding_that_is_named_decodes_all_text(tmp_path: Path):
    text = "Das Café „Müller“ schließt.\n"
    for encoding in ("cp1252", "utf-16le", "latin-1"):
        said = text if encoding != "latin-1" else text.replace("„", "").replace("“", "")
        path = write(tmp_path / "a.txt", said.encode(encoding))
        with pytest.raises(DataError, match=f"--set encoding={encoding}"):
            "".join(read_text(path))
        with reading_as(encoding):
            corpus = read_corpus([path])
        assert "".join(piece or "" for piece in corpus.pieces()) == said, (
            "the text streams again after the setting is gone"
        )
    with pytest.raises(ConfigError, match="no encoding of text"), reading_as("cp9999"):
        pass
    with pytest.raises(DataError, match="cannot be decoded as ascii") as caught, reading_as("ascii"):
        "".join(read_text(write(tmp_path / "b.txt", b"one\ntwo \xe9")))
    assert caught.value.where.endswith("line 2")


@pytest.mark.parametrize(
    ("name", "head", "what", "command"),
    [
        ("a.pdf", b"%PDF-1.7\n%", "PDF", "pdftotext"),
        ("a b.docx", b"PK\3\4....word/document.xml", "Word", "pandoc 'a b.docx' -t plain"),
        ("nameless", b"PK\3\4....xl/workbook.xml", "Excel", "libreoffice"),
        ("a.odt", b"PK\3\4mimetypeapplication/vnd.oasis.opendocument.text", "OpenDocument", "pandoc"),
        ("a.rtf", b"{\\rtf1 hello}", "RTF", "pandoc"),
        ("a.epub", b"PK\3\4mimetypeapplication/epub+zip", "EPUB", "pandoc"),
        ("a.xls", b"\xd0\xcf\x11\xe0" + bytes(99), "old Excel", "libreoffice --headless --convert-to xlsx"),
        ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(99), "old Word", "libreoffice --headless --convert-to txt"),
        ("a.pptx", b"PK\3\4....ppt/slides", "presentation", "libreoffice"),
        ("a.mp3", b"ID3" + bytes(99), "sound", "whisper"),
        ("a.mp4", bytes(4) + b"ftypisom" + bytes(99), "film", "ffmpeg"),
        ("a.db", b"SQLite format 3\0" + bytes(99), "SQLite", "sqlite3"),
        ("a.7z", b"7z\xbc\xaf" + bytes(99), "7-Zip", "7z x"),
        ("a.mo", b"\xde\x12\x04\x95" + bytes(99), "message catalogue", "msgunfmt"),
        ("a.pkl", b"\x80\x04" + bytes(99), "pickle", "read_pickle"),
        ("a.pt", b"\x80\x02\x8a" + bytes(99), "weights", "a.safetensors"),
        ("a.pdf.gz", gzip.compress(b"%PDF-1.7\n%", mtime=0), "PDF", "gunzip -k a.pdf.gz && pdftotext a.pdf"),
    ],
)
def test_formats_that_are_not_read_are_named_with_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: bytes, what: str, command: str
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, head)
    with pytest.raises(DataError) as caught:
        recognise([name])
    assert what in caught.value.problem and command in caught.value.fix
    assert "rename" not in str(caught.value) and str(caught.value).count("\n") == 1


def test_a_document_that_is_named_as_text_is_no_text(tmp_path: Path):
    with pytest.raises(DataError, match="a PDF document") as caught:
        next(read_text(write(tmp_path / "letter.txt", b"%PDF-1.7\n%")))
    assert "pdftotext" in caught.value.fix


def test_a_folder_of_documents_names_their_format(tmp_path: Path):
    for i in range(3):
        write(tmp_path / f"docs/{i}.pdf", b"%PDF-1.7\n%")
    with pytest.raises(DataError, match="3 of its 3 files are each a PDF document") as caught:
        recognise([str(tmp_path / "docs")])
    assert "pdftotext" in caught.value.fix


def test_every_command_can_be_written_for_a_file():
    for ending, known in foreign.known_by("endings").items():
        remedy = known.remedy(Path(f"a b{ending}"), f"a b{ending}")
        assert "{file}" not in remedy and "{stem}" not in remedy
        assert f"'a b{ending}'" in remedy or "leave" in remedy or known is foreign.formats()["weights"]


def test_pictures_of_phones_are_read(tmp_path: Path):
    pillow_heif = pytest.importorskip("pillow_heif")
    picture = Image.fromarray(np.full((48, 64, 3), 90, np.uint8))
    for data in (_saved(picture, "AVIF"), _heic(pillow_heif, picture)):
        found = decode(data, where="a")
        assert found.pixels.shape == (48, 64, 3) and abs(int(found.pixels.mean()) - 90) < 4


@pytest.mark.parametrize(
    ("mode", "kind", "note"),
    [("CMYK", "JPEG", "CMYK"), ("P", "PNG", "palette"), ("I;16", "PNG", "16 bits"), ("RGBA", "PNG", "transparent"),
     ("RGB", "PNG", ""), ("L", "PNG", "")],
)  # fmt: skip
def test_what_pictures_are_is_noted(mode: str, kind: str, note: str):
    shape, kinds = {"RGBA": (10, 10, 4), "I;16": (10, 10)}.get(mode, (10, 10, 3)), {"I;16": np.uint16}
    picture = Image.fromarray(np.arange(int(np.prod(shape)), dtype=kinds.get(mode, np.uint8)).reshape(shape))
    found = decode(_saved(picture if picture.mode == mode else picture.convert(mode), kind), where="a")
    assert (len(found.notes) == 1 and note in found.notes[0]) if note else found.notes == ()


def _saved(picture: Image.Image, kind: str) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind)
    return data.getvalue()


def _heic(library, picture: Image.Image) -> bytes:
    data = io.BytesIO()
    library.from_pillow(picture).save(data)
    return data.getvalue()


RUSSIAN = "Это рассказ о чае и о людях, которые пьют его каждый день после работы."
CHINESE = "这是一个关于茶的故事。他们在中国的南方种植茶叶，每年春天采摘。"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("koi8-r", RUSSIAN), ("cp1251", RUSSIAN), ("gb18030", CHINESE),
        ("big5", "這是一個關於茶的故事。他們在臺灣的南方種植茶葉，每年春天採摘。"),
        ("shift_jis", "これはお茶についての話です。毎年春になると、人々は茶の葉を摘みます。"),
        ("euc-jp", "これはお茶についての話です。毎年春になると、人々は茶の葉を摘みます。"),
        ("euc-kr", "이것은 차에 관한 이야기입니다. 해마다 봄이 되면 사람들은 찻잎을 땁니다."),
        ("cp1253", "Αυτή είναι μια ιστορία για το τσάι και τους ανθρώπους που το πίνουν."),
        ("cp1252", "Ceci est une très belle journée d’été, déjà près d’une tasse de thé."),
        ("latin-1", "Win å£100 or å£250 or å£900 or å£70 or å£5 now."),
        ("latin-1", "Größe und Maß über Füße, schön und kühl, läuft im Café."),
    ],
)  # fmt: skip
def test_the_encoding_of_a_text_is_told_by_its_letters(tmp_path: Path, encoding: str, text: str):
    lines = f"1\n00:00:27,000 --> 00:00:30,730\n{text}\n" * 2 + "A plain English line stands below.\n"
    with pytest.raises(DataError, match=f"--set encoding={encoding} reads it so"):
        list(read_text(write(tmp_path / "a.srt", lines.encode(encoding))))
    with reading_as(encoding):
        assert "".join(read_text(tmp_path / "a.srt")) == lines
