"""A small file that stands for a huge one is refused before memory and time are spent on it."""

import gzip
import io
import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weft.cli.config_file import with_file
from weft.domains.texts.reading.corpus import read_corpus
from weft.errors import ConfigError, DataError
from weft.files import unpacking, workbooks
from weft.files.arrays import headers
from weft.files.decoding import read_text
from weft.files.json_lines import numbered
from weft.files.mailboxes import mails, without_markup
from weft.files.parquet import parquet_rows
from weft.files.pictures.archives import first_names, in_archive
from weft.files.workbooks import workbook_rows

SIZE = 2**18


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "FREE", 2**17)


def packed_text(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content))


def tar(path: Path, content: bytes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("a/1.png")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))


def workbook(path: Path, content: bytes) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for start in range(0, len(content), 2**14):
        book.active.append([content[start : start + 2**14].decode()])
    book.save(path)


def parquet(path: Path, content: bytes) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    text = content[:1000].decode()
    write_table(
        pyarrow.table({"text": [text] * (len(content) // 1000), "more": [[text]] * (len(content) // 1000)}), path
    )


def arrays(path: Path, content: bytes) -> None:
    np.savez_compressed(path, x=np.frombuffer(content, np.uint8))


KINDS: dict[str, tuple[Callable[[Path, bytes], None], Callable[[Path], object]]] = {
    "a.txt.gz": (packed_text, lambda path: list(read_text(path))),
    "a.tar.gz": (tar, in_archive),
    "a.xlsx": (workbook, lambda path: list(workbook_rows(path))),
    "a.parquet": (parquet, lambda path: list(parquet_rows(path))),
    "a.npz": (arrays, headers),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_becomes_far_larger_than_its_file_is_refused(name: str, tmp_path: Path):
    write, read = KINDS[name]
    true = "".join(random.Random(0).choices("abcdefghij", k=SIZE)).encode()
    write(tmp_path / name, true)
    assert read(tmp_path / name) is not None
    write(tmp_path / name, b"a" * SIZE * 16)
    with pytest.raises(DataError, match=rf"(?s){name}: .* that become .*over 250 times as much.*-> ."):
        read(tmp_path / name)


def test_a_parquet_file_that_says_what_it_becomes_is_refused_before_a_row_is_read(tmp_path: Path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": ["a" * 2**20] * 4})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    monkeypatch.setattr("weft.files.parquet._rows", lambda *given: pytest.fail("it is read"))
    with pytest.raises(DataError, match="over 250 times as much"):
        next(parquet_rows(path))


def test_a_packed_text_is_looked_through_before_more_than_its_first_piece_is_used(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(unpacking, "FREE", 3 * 2**20)
    packed_text(tmp_path / "a.txt.gz", b"a line\n" * 2**20)
    pieces = read_text(tmp_path / "a.txt.gz")
    assert len(next(pieces)) == 2**20
    with pytest.raises(DataError, match="over 250 times as much"):
        next(pieces)
    packed_text(tmp_path / "a.txt.gz", b"a line\n" * 2**18)
    assert "".join(read_text(tmp_path / "a.txt.gz")) == "".join(read_text(tmp_path / "a.txt.gz")) == "a line\n" * 2**18


def test_the_first_names_of_an_archive_are_found_without_unpacking_all_of_it(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("weft.files.pictures.archives.FREE", 2**16)
    tar(tmp_path / "a.tar.gz", bytes(2**20))
    assert first_names(tmp_path / "a.tar.gz", 5) == ["a/1.png"]


def test_rows_and_cells_that_no_sheet_has_are_refused(tmp_path: Path, monkeypatch):
    workbook(tmp_path / "a.xlsx", b"abc" * 2**14)
    for name, most in (("MOST_ROWS", 2), ("MOST_CELLS", 2), ("MOST_OTHER", 100)):
        monkeypatch.setattr(workbooks, name, most)
        with pytest.raises(DataError, match=r"a\.xlsx"):
            list(workbook_rows(tmp_path / "a.xlsx"))
        monkeypatch.undo()


def test_a_line_comes_whole_from_many_pieces_and_must_end(tmp_path: Path, monkeypatch):
    path = tmp_path / "a.txt"
    monkeypatch.setattr("weft.files.decoding.CHUNK", 3)
    for text in ("", "\n", "one", "one\n", "one\n\ntwo", "\n\n", "a long line\nb\n\nanother long line\n"):
        path.write_text(text)
        assert [line for _, line in numbered(path)] == (text.removesuffix("\n").split("\n") if text else [])
    monkeypatch.setattr("weft.files.json_lines.MAX_LINE", 10)
    with pytest.raises(DataError, match=r"a\.txt, line 4: longer than"):
        list(numbered(path))


def mailbox(path: Path, *texts: bytes) -> Path:
    path.write_bytes(b"".join(b"From a@b\n" + text + b"\n\n" for text in texts))
    return path


def test_a_mail_of_endless_parts_is_named_and_costs_itself_alone(tmp_path: Path):
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000))
    flat = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 10_001
    for bad in (deep, flat):
        path = mailbox(tmp_path / "a.mbox", b"Subject: one\n\nhello", bad, b"Subject: three\n\nbye")
        first, error, last = mails(path)
        assert (first, last) == ("one\n\nhello", "three\n\nbye") and isinstance(error, DataError)
        assert re.fullmatch(r".*a\.mbox, mail 2: .*parts.*\n.*delete this mail.*", str(error))
        found = read_corpus([path])
        assert found.documents == 2 and [where[-6:] for where, _ in found.skipped] == ["mail 2"]
        assert [piece for piece in found.pieces() if piece] == [first, last]
        (tmp_path / "a.eml").write_bytes(bad)
        with pytest.raises(DataError, match="parts"):
            read_corpus([tmp_path / "a.eml"])


def test_an_endless_header_of_a_mail_is_cut(tmp_path: Path):
    path = mailbox(tmp_path / "a.mbox", b"Subject: " + b"=?utf-8?q?a?= " * 200_000 + b"\n\nhello")
    (text,) = mails(path)
    assert text.endswith("hello") and len(text) < 10_100


def test_markup_is_left_out_in_linear_time():
    pattern = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
    pieces, chance = (
        ["<script", "<style", ">", "<", "</script>", "</style>", "a", " ", "\n", "</", "x>"],
        random.Random(0),
    )
    for _ in range(3000):
        text = "".join(chance.choices(pieces, k=chance.randint(0, 14)))
        assert without_markup(text) == pattern.sub(" ", text)
    for text in ("<script " * 10**6, "<" * 10**6, "<script>" * 10**5):  # the pattern would take hours
        without_markup(text)


@pytest.mark.parametrize(
    "text", ["steps = " + "9" * 6000, "a = " + "[" * 50_000, f"[{'a.' * 20_000}a]\nb = 1", "\xff" * 3]
)
def test_a_run_file_that_cannot_be_read_is_named(text: str, tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"run\.toml"):
        with_file(path, {}, {})
