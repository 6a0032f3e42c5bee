import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.domains.texts.dataset.documents import CorpusPart, split
from weft.domains.texts.reading.corpus import Corpus, read_corpus
from weft.errors import ConfigError, DataError
from weft.files import decoding
from weft.files import json_lines as jsonl
from weft.modalities.encoding import encode_pieces
from weft.modalities.tokenizer_making import KINDS, train


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def lines(path: Path, texts: list[str]) -> Path:
    return write(path, "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))


def documents(part: Corpus | CorpusPart) -> list[str]:
    """The documents of a stream; a last one without an end is marked with …"""
    result, current = [], ""
    for piece in part.pieces():
        if piece is None:
            result.append(current)
            current = ""
        else:
            assert piece, "pieces are never empty"
            current += piece
    return [*result, current + "…"] if current else result


# Reading


def test_a_folder_of_files_becomes_documents_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "Grüße\r\n")
    write(tmp_path / "a.txt", "one")
    lines(tmp_path / "c.jsonl", ["two", "", "three\r\nfour\r"])
    write(tmp_path / "d.txt", "")
    corpus = read_corpus([tmp_path])
    assert documents(corpus) == ["one", "Grüße\n", "two", "three\nfour\n"]
    assert [(f.path.name, f.bytes, f.documents) for f in corpus.files] == [
        ("a.txt", 3, 1),
        ("b.md", 8, 1),
        ("c.jsonl", 14, 2),
    ]
    assert (corpus.characters, corpus.bytes, corpus.documents) == (23, 25, 4)
    assert corpus.distinct == len(set("oneGrüße\ntwothree\nfour\n"))
    why = {Path(name).name: reason for name, reason in corpus.skipped}
    assert why == {"c.jsonl": "1 of its documents are empty", "d.txt": "empty"}


def test_text_is_read_whatever_its_ending(tmp_path: Path) -> None:
    for name in ("a.log", "b.py", "c", "d.rst.gz"):
        write(tmp_path / "mixed" / name, gzip.compress(name.encode()) if name.endswith(".gz") else name)
    write(tmp_path / "mixed" / "e.bin", bytes(99))
    write(tmp_path / "mixed" / "f.dat", b"\xff\xfe\xfd")
    corpus = read_corpus([tmp_path / "mixed"])
    assert documents(corpus) == ["a.log", "b.py", "c", "d.rst.gz"], (
        "of a folder without .txt, .md and .jsonl, all that is text"
    )
    assert {Path(name).name: why for name, why in corpus.skipped} == {
        "e.bin": "binary",
        "f.dat": "not text",
    }
    assert documents(read_corpus([tmp_path / "mixed" / "d.rst.gz"])) == ["d.rst.gz"], "a file named by hand is taken"
    write(tmp_path / "mixed" / "z.txt", "z")
    assert documents(read_corpus([tmp_path / "mixed"])) == ["z"], "where there are such files, they alone are taken"


def test_the_fingerprint_depends_on_nothing_but_the_documents(tmp_path: Path) -> None:
    text = "line one\nline two\n"
    prints = {
        read_corpus([write(tmp_path / "a.txt", text)]).fingerprint,
        read_corpus([write(tmp_path / "other/name.md", text.replace("\n", "\r\n"))]).fingerprint,
        read_corpus([write(tmp_path / "b.txt", b"\xef\xbb\xbf" + text.replace("\n", "\r").encode())]).fingerprint,
        read_corpus([write(tmp_path / "c.txt.gz", gzip.compress(text.encode()))]).fingerprint,
        read_corpus([lines(tmp_path / "d.jsonl", [text])]).fingerprint,
        read_corpus([write(tmp_path / "e.jsonl.gz", gzip.compress(json.dumps({"text": text}).encode()))]).fingerprint,
    }
    assert len(prints) == 1
    assert re.fullmatch("[0-9a-f]{64}", prints.pop())


@pytest.mark.parametrize("final", ["\n", ""])
def test_a_file_gives_the_same_ids_however_it_was_saved(tmp_path: Path, final: str) -> None:
    clean = f"first line\n\nthird\x85same line\u2028still the third\nlast{final}"
    lf = write(tmp_path / "clean.txt", clean)
    mixed = clean.replace("\n", "\r\n", 1).replace("line\r\n\n", "line\r\n\r")
    saved = [
        write(tmp_path / "mark.txt", b"\xef\xbb\xbf" + clean.encode()),
        write(tmp_path / "crlf.txt", clean.replace("\n", "\r\n")),
        write(tmp_path / "cr.md", clean.replace("\n", "\r")),
        write(tmp_path / "mixed.txt", mixed),
        write(tmp_path / "packed.txt.gz", gzip.compress(clean.replace("\n", "\r\n").encode())),
        lines(tmp_path / "line.jsonl", [clean]),
    ]
    for kind in KINDS:
        tokenizer = train(kind, read_corpus([lf]).pieces(), 280 if kind == "bpe" else None)
        expected = encode_pieces(tokenizer, read_corpus([lf]).pieces())
        assert tokenizer.decode(expected) == clean
        for path in saved:
            assert np.array_equal(encode_pieces(tokenizer, read_corpus([path]).pieces()), expected), path


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("ab\n", min_size=1, max_size=3), min_size=1, max_size=4), st.data())
def test_other_documents_have_another_fingerprint(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("prints")
    others = data.draw(st.lists(st.text("ab\n", min_size=1, max_size=3), min_size=1, max_size=4))
    one, other = ([*t, "x"] for t in (texts, others))
    same = (
        read_corpus([lines(folder / "1.jsonl", one)]).fingerprint
        == read_corpus([lines(folder / "2.jsonl", other)]).fingerprint
    )
    assert same == (one == other)


@pytest.mark.parametrize("text", ["", " \n\t\r\n", "\u2003\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_no_text_is_no_training_sample(tmp_path: Path, text: str, name: str) -> None:
    path = lines(tmp_path / name, [text]) if name.endswith("l") else write(tmp_path / name, text)
    size = len(text.replace("\r\n", "\n").encode())
    with pytest.raises(DataError, match=rf"0 training samples in .*{name} \({size} bytes"):
        read_corpus([path])


GOOD = '{"text": "good"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut', "not valid JSON at column 10"),
        ('{"text": "a"} {}', "column 15: Extra data"),
        ('{"text": "a", "text": "b"}', "'text' stands twice"),
        ('{"text": "a", "n": NaN}', "NaN is not a number"),
        ('{"text": "a", "n": ' + "1" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"content": "a"}', "no field \"text\"; its fields: 'content'"),
        ("{}", "its fields: none"),
        ('{"text": null}', '"text" is null, expected a string'),
        ('{"text": 7}', '"text" is a number'),
        ('{"text": ["a"]}', '"text" is a list'),
        ('"text"', "expected an object, found a string"),
        ("plain words", "not valid JSON at column 1"),
        (r'{"text": "a\ud800b"}', r"\\ud800 is half of a surrogate pair"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_the_remedy(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", f"{GOOD}\r\n\r\n{GOOD}\n{line}\n{GOOD}\n")
    with pytest.raises(DataError, match=message) as caught:
        read_corpus([path])
    assert caught.value.where == f"{path}, line 4"
    assert caught.value.fix


def test_blank_lines_and_other_fields_are_fine(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", f'\n{GOOD}\n  \n{{"a": {{"text": 1}}, "text": "\\u2028x\u2028", "z": [null]}}')
    assert documents(read_corpus([path])) == ["good", "\u2028x\u2028"]


def test_a_line_too_long_to_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 1000)
    with pytest.raises(DataError, match="longer than") as caught:
        read_corpus([write(tmp_path / "a.jsonl", GOOD + "\n" + "x" * 2000)])
    assert caught.value.where.endswith("line 2")


@pytest.mark.parametrize("change", ["one more", "", "oNe\n"])
def test_a_file_that_changes_between_readings_is_refused(tmp_path: Path, change: str) -> None:
    write(tmp_path / "a.txt", "one\n")
    lines(tmp_path / "b.jsonl", ["two", "three"])
    corpus = read_corpus([tmp_path])
    assert documents(corpus) == ["one\n", "two", "three"]
    write(tmp_path / "a.txt", change)
    with pytest.raises(DataError, match=r"a\.txt: the file has changed"):
        list(corpus.pieces())
    write(tmp_path / "a.txt", "one\n")
    lines(tmp_path / "b.jsonl", ["two", "three"][: len(change) % 2] + ["four"] * 30)
    with pytest.raises(DataError, match=r"b\.jsonl: the file has changed"):
        list(split(corpus).valid.pieces())


def test_documents_that_are_added_later_are_refused_too(tmp_path: Path) -> None:
    parts = split(read_corpus([lines(tmp_path / "a.jsonl", [f"document {i}" for i in range(30)])]))
    lines(tmp_path / "a.jsonl", [f"document {i}" for i in range(31)])
    for part in (parts.train, parts.valid):
        with pytest.raises(DataError, match="the file has changed"):
            list(part.pieces())


# Holding out


def test_with_few_documents_the_last_share_of_the_characters_is_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "CHUNK", 4)
    corpus = read_corpus([lines(tmp_path / "a.jsonl", ["äb", "cdefg", "hi", "j"])])
    for share in (0.1, 0.2, 0.3, 0.35, 0.5, 0.8):
        parts = split(corpus, share)
        cut = int((1 - share) * 10)
        left, right = documents(parts.train), documents(parts.valid)
        assert "".join(left).rstrip("…") == "äbcdefghij"[:cut]
        assert "".join(right) == "äbcdefghij"[cut:]
        assert sum(map(len, right)) == parts.valid.characters == 10 - cut == 10 - parts.train.characters
        assert parts.train.bytes == len("äbcdefghij"[:cut].encode()) == 11 - parts.valid.bytes
        assert f"characters {cut} to 10" in parts.rule and f"last {share:.0%}" in parts.rule
    assert documents(split(corpus, 0.1).train) == ["äb", "cdefg", "hi"], "a cut between documents ends the document"
    assert documents(split(corpus, 0.1).valid) == ["j"], "and the other part has no empty one"
    assert documents(split(corpus, 0.5).train) == ["äb", "cde…"], "a cut inside a document is no end of it"


def test_with_many_documents_whole_ones_are_held_out_by_their_content(tmp_path: Path) -> None:
    texts = [f"document {i} " + "x" * (i % 7) for i in range(200)]
    corpus = read_corpus([lines(tmp_path / "a.jsonl", texts)])
    parts = split(corpus)
    train, valid = documents(parts.train), documents(parts.valid)
    assert sorted(train + valid) == sorted(texts)
    assert len(valid) == 20 and "20 of 200 documents" in parts.rule
    assert parts.valid.characters == sum(map(len, valid)) == corpus.characters - parts.train.characters
    assert parts.valid.bytes == len("".join(valid).encode()) == corpus.bytes - parts.train.bytes
    # The side depends on the content: neither the order nor the files matter.
    for i, text in enumerate(reversed(texts)):
        write(tmp_path / f"folder/{i:03}.txt", text)
    assert sorted(documents(split(read_corpus([tmp_path / "folder"])).valid)) == sorted(valid)
    assert valid != texts[-20:]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=20, max_size=60), st.floats(0.02, 0.98))
def test_identical_documents_fall_on_the_same_side(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[int], share: float
) -> None:
    texts = [f"document {kind}" for kind in kinds]
    corpus = read_corpus([lines(tmp_path_factory.mktemp("split") / "a.jsonl", texts)])
    parts = split(corpus, share)
    train, valid = documents(parts.train), documents(parts.valid)
    assert train and valid
    if len(set(kinds)) > 1:
        assert not set(train) & set(valid)
        assert sorted(train + valid) == sorted(texts)
    else:
        assert parts.rule.startswith("the last")


def test_of_a_large_text_a_bounded_number_of_bytes_is_held_out(tmp_path: Path) -> None:
    many = read_corpus([lines(tmp_path / "many.jsonl", [f"document {i} " + "x" * (i % 7) for i in range(2000)])])
    one = read_corpus([write(tmp_path / "one.txt", "a book äöü " * 2000)])
    for corpus in (many, one):
        whole, parts = split(corpus), split(corpus, most=500)
        assert whole.valid.bytes > 1500 and 300 < parts.valid.bytes < 700
        assert parts.train.bytes == corpus.bytes - parts.valid.bytes
        assert " 0%" not in parts.rule
    assert set(documents(split(many, most=500).valid)) < set(documents(split(many).valid))


def test_a_bound_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    for count in (5, 100):
        corpus = read_corpus([lines(tmp_path / "a.jsonl", [f"document {i}" * 9 for i in range(count)])])
        for most in (None, corpus.bytes // 9, 10**9):
            assert documents(split(corpus, most=most).valid) == documents(split(corpus).valid)
            assert split(corpus, most=most).rule == split(corpus).rule


def test_documents_larger_than_the_bound_are_cut(tmp_path: Path) -> None:
    corpus = read_corpus([lines(tmp_path / "a.jsonl", [f"book {i} " * 1000 for i in range(30)])])
    parts = split(corpus, most=500)
    assert 400 < parts.valid.bytes < 600 and parts.rule.startswith("the last 0.")


def test_one_huge_document_among_many_is_not_held_out(tmp_path: Path) -> None:
    for huge in range(30):
        texts = [f"note {i} of {huge}" for i in range(24)] + [f"book {huge} " * 1000]
        parts = split(read_corpus([lines(tmp_path / "a.jsonl", texts)]))
        assert parts.train.characters > 1000 and len(documents(parts.valid)) in (2, 3)


def test_too_little_text_to_hold_any_out_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 characters are too few"):
        split(read_corpus([write(tmp_path / "a.txt", "a")]))
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(ConfigError, match="between 0 and 1"):
            split(read_corpus([write(tmp_path / "a.txt", "ab")]), share)


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    import tracemalloc

    path = write(tmp_path / "a.txt", b"0123456789abcde\n" * 2**20)
    tracemalloc.start()
    parts = split(read_corpus([path]))
    size = sum(len(piece) for piece in parts.valid.pieces() if piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == parts.valid.characters and peak < 16 * 2**20


def test_marks_describe_each_document(tmp_path: Path) -> None:
    corpus = read_corpus([lines(tmp_path / "a.jsonl", ["ä", "bcd", "ä"])])
    assert corpus.marks[:, 1:].tolist() == [[1, 2], [3, 3], [1, 2]]
    assert np.array_equal(corpus.marks[0], corpus.marks[2]) and corpus.marks[0, 0] != corpus.marks[1, 0]
