import gzip
import os
import random
import shutil
import socket
import tracemalloc
from pathlib import Path

import pytest
from helpers import processes
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import DataError
from weft.files import decoding
from weft.files import finding as files
from weft.files.decoding import read_text
from weft.files.finding import find

TEXT = (".txt", ".md")


def write(path: Path, data: bytes | str = "text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def names(found: files.FoundFiles, folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in found.paths]


def reasons(found: files.FoundFiles) -> dict[str, str]:
    return {Path(name).name: reason for name, reason in found.skipped}


def whole(path: Path) -> str:
    return "".join(read_text(path))


# Finding


def test_a_folder_is_read_by_name_with_all_below_it(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/b/c.txt", "c.TXT", "a.txt", "d.txt.gz"):
        write(tmp_path / name)
    assert names(find([tmp_path], TEXT), tmp_path) == ["a/b/c.txt", "a/z.md", "a.txt", "b.txt", "c.TXT", "d.txt.gz"]


def test_what_is_left_out_of_a_folder_is_listed_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "good.txt")
    write(tmp_path / ".hidden.txt")
    write(tmp_path / ".git/inside.txt")
    write(tmp_path / "picture.png")
    write(tmp_path / "program.txt", b"\x7fELF" + bytes(range(256)) * 4)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    found = find([tmp_path], TEXT)
    assert names(found, tmp_path) == ["good.txt"]
    why = reasons(found)
    assert why[".hidden.txt"] == why[".git"] == "hidden"
    assert why["picture.png"].startswith("not .txt")
    assert why["program.txt"] == "a program"
    assert "cannot be read" in why["gone.txt"] and "cannot be read" in why["self.txt"]
    assert len(found.skipped) == 6


def test_pipes_sockets_and_loops_of_links_are_listed_and_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a/good.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind("plug.txt")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / "a/loop2").symlink_to(tmp_path / "a")
    (tmp_path / "null.txt").symlink_to("/dev/null")
    found = find([tmp_path], TEXT)
    assert names(found, tmp_path) == ["a/good.txt"]
    assert reasons(found) == {
        "pipe.txt": "a named pipe",
        "plug.txt": "a socket",
        "null.txt": "a device",
        "loop": "a link to a folder already read",
        "loop2": "a link to a folder already read",
    }
    assert names(find([f"{tmp_path}/**/*.txt"], TEXT), tmp_path) == ["a/good.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_listed_in_a_folder_and_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "good.txt")
    write(tmp_path / "locked.txt").chmod(0)
    assert "Permission denied" in reasons(find([tmp_path], TEXT))["locked.txt"]
    with pytest.raises(DataError, match="Permission denied"):
        find([tmp_path / "locked.txt"], TEXT)


def test_runs_of_weft_are_not_data(tmp_path: Path) -> None:
    write(tmp_path / "good.txt")
    write(tmp_path / "run/config.json")
    write(tmp_path / "run/metrics.jsonl")
    write(tmp_path / "run/samples/one.txt")
    write(tmp_path / "model/config.json")
    write(tmp_path / "model/model.safetensors")
    write(tmp_path / "model/README.md")
    write(tmp_path / "other/config.json")
    write(tmp_path / "other/kept.txt")
    found = find([tmp_path], (".txt", ".md", ".jsonl"))
    assert names(found, tmp_path) == ["good.txt", "other/kept.txt"]
    assert reasons(found)["run"] == reasons(found)["model"] == "a run of weft's, not data"
    found = find([f"{tmp_path}/**/*.*"], (".txt", ".md", ".jsonl"))
    assert names(found, tmp_path) == ["good.txt", "other/kept.txt"]
    with pytest.raises(DataError, match="0 files to read"):
        find([f"{tmp_path}/run/*"], (".txt", ".md", ".jsonl"))
    with pytest.raises(DataError, match="a run of weft's"):
        find([tmp_path / "run"], TEXT)


def test_a_pattern_takes_what_it_matches_but_nothing_hidden(tmp_path: Path) -> None:
    for name in ("b1.txt", "b2.txt", "a.txt", "deep/er/b3.txt", ".b4.txt", ".no/b5.txt", "books1/x.txt"):
        write(tmp_path / name)
    assert names(find([f"{tmp_path}/b?.txt"], TEXT), tmp_path) == ["b1.txt", "b2.txt"]
    found = find([f"{tmp_path}/**/b*.txt"], TEXT)
    assert names(found, tmp_path) == ["b1.txt", "b2.txt", "deep/er/b3.txt"]
    assert reasons(found)["b5.txt"] == "hidden"
    assert names(find([f"{tmp_path}/books*"], TEXT), tmp_path) == ["books1/x.txt"]


def test_a_name_with_brackets_is_a_name_before_it_is_a_pattern(tmp_path: Path) -> None:
    path = write(tmp_path / "a[1].txt")
    assert find([path], TEXT).paths == (path,)


def test_a_file_met_twice_is_taken_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt")
    (tmp_path / "same.txt").symlink_to(path)
    found = find([path, tmp_path], TEXT)
    assert found.paths == (path,)
    assert reasons(found) == {"a.txt": files.TWICE, "same.txt": files.TWICE}


@pytest.mark.parametrize("source", ["*.txt", ".", "**/*.txt"])
def test_no_match_is_an_error_that_lists_what_was_skipped(tmp_path: Path, source: str) -> None:
    write(tmp_path / "picture.png")
    (tmp_path / "hole.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError) as caught:
        find([tmp_path / source], TEXT)
    assert "0 files to read" in str(caught.value) and "hole.txt: cannot be read" in str(caught.value)
    assert ("picture.png: not .txt" in str(caught.value)) == (source == ".")


def test_files_named_by_hand_are_taken_or_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    write(tmp_path / "table.csv")
    hidden = write(tmp_path / ".notes.txt")
    assert find([hidden], TEXT).paths == (hidden,)
    for name, message in {
        "pipe.txt": "found a named pipe",
        "table.csv": r"\.txt, \.md",
        "tabel.csv": "did you mean 'table.csv'",
        "no/such/folder": "no such file or folder",
        "nul\0.txt": "no such file",
    }.items():
        with pytest.raises(DataError, match=message):
            find([tmp_path / name], TEXT)
    with pytest.raises(DataError, match="found a device"):
        find(["/dev/zero"], TEXT)
    with pytest.raises(DataError, match="no data was named"):
        find([], TEXT)


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(DataError, match="a named pipe"):
        whole(tmp_path / "a.txt")


def test_a_name_with_a_newline_or_odd_bytes_can_be_printed() -> None:
    assert decoding.shown("a\nb\udcff\x1b.txt") == "a\\nb\\udcff\\x1b.txt"


# Reading


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=60), data=st.data())
def test_newlines_marks_and_gzip_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    chunk = data.draw(st.integers(3, 9))
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=1, max_size=3))
    while len(ends) < text.count("\n"):
        ends *= 2
    lines = text.split("\n")
    mixed = "".join(line + end for line, end in zip(lines, [*ends[: len(lines) - 1], ""], strict=True))
    if "\r\n" in mixed.replace("\r\n", "\n").replace("\r", "\r\n"):  # CR then LF would read as one line end
        mixed = text.replace("\n", ends[0])
    folder = tmp_path_factory.mktemp("text")
    marked = b"\xef\xbb\xbf" + mixed.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "CHUNK", chunk)
        expected = text.removeprefix("\ufeff")
        assert whole(write(folder / "a.txt", mixed)) == expected
        assert whole(write(folder / "b.txt", marked)) == text
        assert whole(write(folder / "c.txt.gz", gzip.compress(marked))) == text


def test_separators_that_are_not_line_ends_stay(tmp_path: Path) -> None:
    text = "a\x85b\u2028c\u2029d\x0be\x0cf\n"
    assert whole(write(tmp_path / "a.txt", text)) == text


def test_a_line_end_between_two_pieces_is_one_line_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x" * (decoding.CHUNK - 1) + b"\r\ny\r")
    assert whole(path) == "x" * (decoding.CHUNK - 1) + "\ny\n"


def test_a_bad_byte_anywhere_is_named_by_line_and_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "CHUNK", 97)
    clean = ("plain words\nmore of them\r\n" * 40).encode()
    draw = random.Random(0)
    for place in [0, 1, len(clean), *(draw.randrange(len(clean)) for _ in range(200))]:
        path = write(tmp_path / "a.txt", clean[:place] + b"\xff" + clean[place:])
        # CRLF is one line end, but a CR cut off from its LF by the bad byte is a line end too.
        line = 1 + clean[:place].count(b"\n") + (clean[:place].endswith(b"\r"))
        with pytest.raises(DataError) as caught:
            whole(path)
        assert caught.value.where == f"{path}, line {line}", place
        assert f"byte 0xFF at byte offset {place} " in caught.value.problem
        assert "Latin-1" in caught.value.problem


@pytest.mark.parametrize(
    ("encoding", "guess"),
    [
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32-le", "UTF-32LE"),
        ("utf-32-be", "UTF-32BE"),
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_another_encoding_is_guessed_and_the_remedy_works(tmp_path: Path, encoding: str, guess: str) -> None:
    text = "The café was “naïve”.\n" * 9 if encoding != "latin-1" else "The café was naïve.\n" * 9
    path = write(tmp_path / "a b.txt", text.encode(encoding))
    with pytest.raises(DataError) as caught:
        whole(path)
    assert "not UTF-8" in caught.value.problem and "offset" in caught.value.problem and "line 1" in caught.value.where
    assert f"iconv -f {guess} -t UTF-8" in caught.value.fix
    assert find([tmp_path], TEXT).paths == (path,), "text in a wrong encoding must be refused aloud, not skipped"
    if shutil.which("iconv"):
        processes.run(["sh", "-c", caught.value.fix.removeprefix("convert it: ")], check=True)
        assert whole(tmp_path / "utf8-a b.txt") == text


def test_offsets_count_the_byte_order_mark(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="byte offset 5 "):
        whole(write(tmp_path / "a.txt", b"\xef\xbb\xbfab\xff"))


def test_a_bad_byte_after_good_utf8_is_called_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "Grüße\nund so weiter".encode() + b"\xc3")
    with pytest.raises(DataError, match="damaged UTF-8") as caught:
        whole(path)
    assert caught.value.where.endswith("line 2") and "offset 21" in caught.value.problem


def test_gzip_is_told_by_content_and_must_agree_with_the_name(tmp_path: Path) -> None:
    packed = gzip.compress(b"hello\r\n" * 1000) + gzip.compress(b"again")
    assert whole(write(tmp_path / "a.txt.gz", packed)) == "hello\n" * 1000 + "again"
    with pytest.raises(DataError, match=r"this is gzip(.|\n)*a\.txt\.gz"):
        whole(write(tmp_path / "a.txt", packed))
    with pytest.raises(DataError, match="not gzip"):
        whole(write(tmp_path / "b.txt.gz", "plain"))
    with pytest.raises(DataError, match="byte offset 7 of the unpacked text"):
        whole(write(tmp_path / "c.txt.gz", gzip.compress(b"a\nbcdef\xff")))


def test_a_damaged_gzip_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    packed = gzip.compress(random.Random(0).randbytes(300).hex().encode())
    for length in range(2, len(packed), 7):
        with pytest.raises(DataError, match="cut short|damaged"):
            whole(write(tmp_path / "a.txt.gz", packed[:length]))
    for place in range(10, len(packed), 3):  # after the header, some of which means nothing
        flipped = packed[:place] + bytes([packed[place] ^ 4]) + packed[place + 1 :]
        with pytest.raises(DataError, match="cut short|damaged"):
            whole(write(tmp_path / "a.txt.gz", flipped))


def test_a_stray_nul_is_text_and_many_are_binary(tmp_path: Path) -> None:
    text = "word " * 1000 + "\0"
    assert whole(write(tmp_path / "a.txt", text)) == text
    with pytest.raises(DataError, match=r"binary, not text: 100 of its first"):
        whole(write(tmp_path / "b.txt", "word \0" * 100))


def peak(path: Path) -> tuple[int, int]:
    """Characters of a file, and the most memory that reading it took."""
    tracemalloc.start()
    try:
        count = sum(map(len, read_text(path)))
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", [False, True])
def test_one_huge_line_is_streamed_in_little_memory(tmp_path: Path, packed: bool) -> None:
    size, block = 64 * 2**20, b"a" * 2**20
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    with gzip.open(path, "wb", compresslevel=1) if packed else path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
    count, memory = peak(path)
    assert count == size
    assert memory < 12 * 2**20


def test_a_sparse_file_is_refused_at_once_or_streamed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "word " * (decoding.HEAD // 5 + 1))
    os.truncate(path, 64 * 2**20)
    count, memory = peak(path)
    assert count == 64 * 2**20 and memory < 12 * 2**20
    empty = write(tmp_path / "b.txt", "")
    os.truncate(empty, 2 * 2**30)
    with pytest.raises(DataError, match="binary"):
        whole(empty)
