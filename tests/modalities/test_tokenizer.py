import json
import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from helpers.spaced_tokenizer import spaced
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError, DataError, StorageError
from weft.json_text import MAX_JSON_BYTES
from weft.modalities import encoding
from weft.modalities.encoding import encode_pieces
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_json import END, ENDS
from weft.modalities.tokenizer_making import KINDS, choose, load, train

STORY = (
    "Once upon a time there was a weaver, who wove naïve cloth — and sold it.\n\nThe end of the cloth came: 1999!\n" * 8
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
STORY_TEXT = st.lists(st.sampled_from([*sorted(set(STORY)), "weaver", " the", "\n\n", END, "ö", "\0"])).map("".join)


@cache
def made(kind: str) -> Tokenizer:
    return train(kind, [STORY, None, "cloth"], 300 if kind == "bpe" else None)


def in_library(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """What another program gets from our tokenizer.json, told as we are to read special tokens as text."""
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    library.encode_special_tokens = True
    return library


def given_file(model: dict, added: tuple[tuple[str, int], ...] = (), **parts: object) -> str:
    tokens = [{"id": id, "content": content, "special": True} for content, id in added]
    return json.dumps({"version": "1.0", "added_tokens": tokens, "model": model, **parts})


def word_level(*names: str, **ids: int) -> dict:
    vocab = {name: id for id, name in enumerate(names)} | ids
    return {"type": "WordLevel", "vocab": vocab, "unk_token": names[0]}


UNIGRAM: dict = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [["<unk>", 0.0], ["</s>", -1.0], ["▁", -3.0], *([c, -4.0] for c in "</s>abcdefé")],
}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


# There and back


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT | STORY_TEXT)
def test_bytes_and_bpe_lose_nothing(kind: str, text: str) -> None:
    ids = made(kind).encode(text)
    assert made(kind).decode(ids) == text
    assert made(kind).end not in ids and made(kind).unknown(text) == 0


@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT | STORY_TEXT)
def test_characters_lose_only_what_they_report(text: str) -> None:
    tokenizer = made("characters")
    lost = [c for c in text if c not in STORY and c != "\ufffd"]
    assert tokenizer.unknown(text) == len(lost)
    assert tokenizer.decode(tokenizer.encode(text)) == "".join("\ufffd" if c in lost else c for c in text)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(text=ANY_TEXT | STORY_TEXT)
def test_other_programs_get_the_same_ids_and_text_from_the_file(kind: str, text: str) -> None:
    ids = made(kind).encode(text).tolist()
    library = in_library(made(kind))
    assert library.encode(text, add_special_tokens=False).ids == ids
    assert library.decode(ids) == made(kind).decode(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_comes_back_from_its_file_the_same(kind: str, tmp_path: Path) -> None:
    one = made(kind)
    path = tmp_path / "tokenizer.json"
    path.write_text(one.to_json(), encoding="utf-8")
    two = load(path)
    assert (two.kind, two.size, two.end, two.digest) == (one.kind, one.size, one.end, one.digest)
    assert two.kind == kind and two.to_json() == one.to_json()
    assert np.array_equal(two.encode(STORY), one.encode(STORY))
    assert train(str(path), []).digest == one.digest
    assert train(kind, [STORY, None, "cloth"], 300 if kind == "bpe" else None).digest == one.digest


def test_sizes_are_what_was_asked_for() -> None:
    assert (made("bytes").size, made("bytes").end) == (257, 256)
    assert made("characters").size == len(set(STORY)) + 2
    assert made("bpe").size == 300
    assert {made(kind).encode("a").dtype for kind in KINDS} == {np.dtype(np.uint16)}
    assert made("characters").encode("").size == 0 and made("bpe").encode("").size == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_special_token_written_in_a_text_is_text(kind: str) -> None:
    tokenizer = train(kind, [STORY + END * 50], 300 if kind == "bpe" else None)
    ids = tokenizer.encode(f"a{END}c")
    assert tokenizer.end not in ids
    assert tokenizer.decode(ids) == f"a{END}c"
    assert ids.tolist() == in_library(tokenizer).encode(f"a{END}c").ids
    assert tokenizer.decode([tokenizer.end, *ids, tokenizer.end]) == f"a{END}c"


def test_half_a_surrogate_pair_is_refused() -> None:
    for kind in KINDS:
        with pytest.raises(DataError, match="character 3 .*surrogate"):
            made(kind).encode("ab\udcff")


@pytest.mark.parametrize("id", [-1, 257, 70_000])
def test_an_id_beyond_the_vocabulary_is_refused(id: int) -> None:
    for call in (made("bytes").stream().feed, lambda id: made("bytes").decode([65, id])):
        with pytest.raises(DataError, match=f"below 257.* found {id}"):
            call(id)


# Streaming


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_stream_gives_what_decoding_gives(kind: str, data: st.DataObject) -> None:
    tokenizer = made(kind)
    ids = data.draw(st.lists(st.integers(0, tokenizer.size - 1)) | ANY_TEXT.map(lambda t: tokenizer.encode(t).tolist()))
    stream = tokenizer.stream()
    assert "".join(map(stream.feed, ids)) + stream.finish() == tokenizer.decode(ids)


def test_a_stream_gives_text_as_soon_as_it_is_complete() -> None:
    stream = made("bytes").stream()
    assert [stream.feed(byte) for byte in "aé😀".encode()] == ["a", "", "é", "", "", "", "😀"]
    assert stream.feed(0xC3) == "" and stream.finish() == "\ufffd"
    stream = made("characters").stream()
    assert [stream.feed(id) for id in made("characters").encode("wö")] == ["w", "\ufffd"]


def test_a_stream_of_a_tokenizer_made_elsewhere_keeps_the_spaces() -> None:
    tokenizer = Tokenizer.from_json(given_file(UNIGRAM, pre_tokenizer=METASPACE, decoder=METASPACE))
    for text in ("abc de f", "a  é", "ab \u00e9 cd " * 20):
        stream, ids = tokenizer.stream(), tokenizer.encode(text)
        assert "".join(map(stream.feed, ids)) + stream.finish() == tokenizer.decode(ids) == text


def test_a_stream_waits_for_the_bytes_of_a_letter_but_not_for_ever() -> None:
    names = ["<unk>", "a", *(f"<0x{byte:02X}>" for byte in range(256))]
    model = {"type": "BPE", "vocab": {n: i for i, n in enumerate(names)}, "merges": [], "byte_fallback": True}
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    tokenizer = Tokenizer.from_json(given_file(model, decoder=decoder))
    stream = tokenizer.stream()
    assert [stream.feed(id) for id in tokenizer.encode("aé😀a")] == ["a", "", "é", "", "", "", "😀", "a"]
    assert "".join(stream.feed(2 + 0xC3) for _ in range(8)) == "\ufffd" * 8
    assert stream.feed(2 + 0xC3) == "" and stream.finish() == "\ufffd"


def test_a_stream_behind_other_ids_gives_what_its_own_add_to_their_text() -> None:
    for tokenizer in (spaced(), *map(made, KINDS)):
        for before, after in (("the cat", " hello the"), ("th", "e cat"), ("", "the cat"), ("é", " 😀")):
            whole = tokenizer.encode(before + after).tolist()
            cut = len(tokenizer.encode(before)) if before else 0
            stream = tokenizer.stream(after=whole[:cut])
            said = "".join(map(stream.feed, whole[cut:])) + stream.finish()
            assert tokenizer.decode(whole[:cut]) + said == tokenizer.decode(whole)


def test_tokens_of_sentencepiece_are_bytes_with_their_spaces() -> None:
    tokenizer = spaced()
    content = tokenizer.token_bytes
    for text in ("the cat hello", "a 😀 é", "th  e"):
        assert b"".join(content[id] for id in tokenizer.encode(text)) == b" " + text.encode()
    assert content[tokenizer.end] == b""


# Tokenizers made elsewhere


@pytest.mark.parametrize("name", [*ENDS, None])
def test_the_end_token_of_a_given_file_is_found_or_added(name: str | None) -> None:
    names = ["<unk>", "a", *([name] if name else []), "b"]
    tokenizer = Tokenizer.from_json(given_file(word_level(*names)))
    assert (tokenizer.end, tokenizer.size) == ((2, 4) if name else (3, 4))
    assert tokenizer.decode([1, tokenizer.end]) == "a"
    assert in_library(tokenizer).get_vocab()[name or END] == tokenizer.end


def test_a_model_that_finds_special_names_by_itself_is_kept_from_it() -> None:
    for text in (given_file(UNIGRAM, (("</s>", 1),)), given_file(UNIGRAM)):
        tokenizer = Tokenizer.from_json(text)
        assert in_library(tokenizer).encode("a</s>b").ids.count(1) == 1, "the library alone would end the document"
        ids = tokenizer.encode("a</s>b</s>")
        assert tokenizer.end == 1 and 1 not in ids
        assert [UNIGRAM["vocab"][id][0] for id in ids] == list("a</s>b</s>")
    with pytest.raises(DataError, match="only read as a special token"):
        Tokenizer.from_json(given_file(word_level("<unk>", "a"), (("a", 1),))).encode("a")


def test_truncation_padding_and_dropout_of_a_given_file_do_not_apply() -> None:
    data = json.loads(made("bpe").to_json())
    data["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    data["padding"] = {
        "strategy": {"Fixed": 500},
        "direction": "Right",
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "!",
    }
    data["model"]["dropout"] = 0.5
    assert np.array_equal(Tokenizer.from_json(json.dumps(data)).encode(STORY), made("bpe").encode(STORY))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (given_file(word_level("<unk>", "a", b=1)), "two tokens have the id 1: 'a' and 'b'"),
        (given_file(word_level("<unk>", "a"), (("x", 1),)), "two tokens have the id 1"),
        (given_file(word_level("<unk>", "a"), (("a", 2),)), "'a' has two ids, 1 and 2"),
        (given_file(word_level("<unk>", "a", b=5)), "ids up to 5, but none has the id 2"),
        (given_file({"type": "WordLevel", "vocab": {"a": 1}, "unk_token": "a"}), "none has the id 0"),
        (given_file(word_level("<unk>", a=-1)), "none has the id"),
        (given_file(word_level("<unk>", a=True)), "with a number, found 'a': True"),
        (given_file(word_level("<unk>", a=10**30)), "none has the id 1"),
        (given_file(word_level("<unk>", "a" * 1_000_000)), "token of 1 to 4096 characters"),
        (given_file(word_level("<unk>", "")), "token of 1 to 4096 characters"),
        (given_file({"type": "WordLevel", "vocab": {}}), "expected 1 to"),
        (given_file({"type": "Magic", "vocab": {"a": 0}}), "the tokenizers library cannot work with this"),
        (given_file({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}), "library cannot work"),
        (given_file({"vocab": 7}), "not a tokenizer.json"),
        ("[1, 2]", "not a tokenizer.json"),
        ("{", "not valid JSON"),
        ('{"model": {}, "model": {}}', "stands twice"),
    ],
)
def test_a_file_that_cannot_work_is_refused_when_it_is_loaded(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Tokenizer.from_json(text, where="given.json")
    assert caught.value.where == "given.json" and len(str(caught.value)) < 1000


def replacing(content: str, **pattern: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": content}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fwAAAAAAAAAA"}},
            "an index of 2,147,483,647",
        ),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAA"}}, "an index of 8 bytes"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}}, "not base64"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 10_000_000}}, "found 10,000,000 characters"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 65}}, "after 65 characters"),
        ({"normalizer": {"type": "Sequence", "normalizers": [replacing("aa", String="a")] * 40}}, "128 times as long"),
        ({"normalizer": replacing("a" * 100, Regex=".?")}, "101 times as long"),
        ({"normalizer": {"type": "Sequence", "normalizers": [replacing("a", Regex="")] * 16}}, "128 times as long"),
        ({"normalizer": {"type": "Sequence", "normalizers": [replacing("a", String="")] * 16}}, "128 times as long"),
        ({"decoder": {"type": "Sequence", "decoders": [replacing("a" * 9, String="a")] * 3}}, "81 times as long"),
        ({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {}}] * 200_000}}, "200,000 entries"),
        ({"decoder": {"type": "Sequence", "decoders": {"x": [[]] * 257}}}, "257 entries"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a" * 5000}}}, "5,000 characters"),
    ],
)
def test_a_file_that_asks_for_memory_without_end_is_refused_before_the_library_sees_it(parts, message, monkeypatch):
    monkeypatch.setattr(tokenizers.Tokenizer, "from_str", None)
    with pytest.raises(ConfigError, match=message) as caught:
        Tokenizer.from_json(given_file(word_level("<unk>", "a"), **parts), where="given.json")
    assert caught.value.where.startswith("given.json, ") and len(str(caught.value)) < 1000


def test_a_file_too_large_or_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(ConfigError, match="no such file"):
        load(path)
    path.touch()
    with path.open("wb") as file:
        file.truncate(MAX_JSON_BYTES + 1)
    with pytest.raises(ConfigError, match="larger than 64 MiB"):
        load(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(path)


def test_a_panic_in_the_library_is_an_error_of_ours() -> None:
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    tokenizer = Tokenizer.from_json(given_file(word_level("<unk>", "a"), pre_tokenizer=split))
    began = time.monotonic()
    with pytest.raises(ConfigError, match="the tokenizers library cannot work with this"):
        tokenizer.encode("a" * 40 + "b")
    assert time.monotonic() - began < 20


def test_interruptions_and_our_own_errors_pass_through_training() -> None:
    def pieces(error: BaseException) -> Iterator[str]:
        yield STORY
        raise error

    for error in (KeyboardInterrupt(), DataError("from the reader")):
        with pytest.raises(type(error)):
            train("bpe", pieces(error), 400)


# Choosing and training


def test_the_choice_follows_the_amount_of_text() -> None:
    assert choose(1_000_000, 65, 1_115_394) == ("characters", None)
    assert choose(1_000_000, 300, 1_200_000) == ("bpe", 1024)
    assert choose(3000, 900, 9000) == ("bpe", 512)
    megabytes = {2: 2048, 10: 4096, 50: 8192, 250: 16384, 1250: 32768, 10**6: 32768}
    assert {m: choose(m * 10**6, 90, m * 10**6)[1] for m in megabytes} == megabytes


def test_settings_that_do_not_fit_are_refused() -> None:
    for kind, vocab, message in (
        ("bpe", None, "size from 257"),
        ("bpe", 256, "size from 257"),
        ("bytes", 300, "only a bpe tokenizer has"),
        ("byts", None, "did you mean 'bytes'"),
        ("missing.json", None, "no such file"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(kind, [STORY], vocab)


def test_bpe_never_learns_more_than_the_text_holds() -> None:
    tokenizer = train("bpe", ["ab ab"], 30_000)
    assert 257 < tokenizer.size < 262 and tokenizer.end == tokenizer.size - 1


def test_a_million_characters_without_a_space_are_learned_and_encoded_in_time() -> None:
    run = "ab" * 250_000 + " " * 300_000 + "\n" * 200_000
    began = time.monotonic()
    tokenizer = train("bpe", [run, None], 300)
    assert np.array_equal(encode_pieces(tokenizer, iter([run, None]))[1:-1], tokenizer.encode(run))
    assert time.monotonic() - began < 10


def test_bytes_and_characters_are_encoded_fast() -> None:
    text = STORY * 3000
    for kind in ("bytes", "characters"):
        encode_pieces(made(kind), [text[:1000]])
        began = time.perf_counter()
        made(kind).encode(text)
        assert len(text) / (time.perf_counter() - began) > 5e6


# Whole streams


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(p % (len(text) + 1) for p in places), len(text)]
    return [piece for a, b in pairwise(edges) if (piece := text[a:b])]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(ANY_TEXT | STORY_TEXT, max_size=3), data=st.data())
def test_a_stream_is_its_documents_with_an_end_before_and_after_each(
    kind: str, texts: list[str], data: st.DataObject
) -> None:
    tokenizer = made(kind)
    pieces: list[str | None] = []
    expected = [tokenizer.end]
    for text in texts:
        pieces += [*cut(text, data.draw(st.lists(st.integers(0, 99), max_size=4))), None]
        expected += [*tokenizer.encode(text).tolist(), tokenizer.end]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK_CHARACTERS", data.draw(st.integers(1, 20)))
        ids = encode_pieces(tokenizer, iter(pieces))
    assert ids.tolist() == expected and ids.dtype == tokenizer.dtype


def test_a_stream_that_stops_inside_a_document_has_no_end_there() -> None:
    for kind in KINDS:
        tokenizer = made(kind)
        assert tokenizer.decode(encode_pieces(tokenizer, ["the clo", "th of"])) == "the cloth of"
        assert encode_pieces(tokenizer, ["the clo", "th of"]).tolist().count(tokenizer.end) == 1


def test_control_characters_are_not_white_space_to_cut_at(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "!\x1c!\x1c ?\x1f?\x1f\x85\u2028? " * 30
    tokenizer = train("bpe", [text], 280)
    monkeypatch.setattr(encoding, "CHUNK_CHARACTERS", 1)
    assert np.array_equal(encode_pieces(tokenizer, [text])[1:], tokenizer.encode(text))


def test_a_tokenizer_that_marks_the_start_of_a_text_sees_documents_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "CHUNK_CHARACTERS", 5)
    tokenizer = Tokenizer.from_json(given_file(UNIGRAM, pre_tokenizer=METASPACE, decoder=METASPACE))
    assert not tokenizer.cuts_at_words and made("bpe").cuts_at_words
    text = "abc\nde f " * 9000
    ids = encode_pieces(tokenizer, [text[:999], text[999:], None])
    assert np.array_equal(ids[1:-1], tokenizer.encode(text))


def test_a_word_without_end_is_cut_and_nothing_of_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "CHUNK_CHARACTERS", 16)
    monkeypatch.setattr(encoding, "MAX_UNBROKEN", 64)
    parts = list(encoding.parts_of(iter(["x" * 1000, "y" * 1000, None, "a b"]), 16, 64))
    assert "".join(p or "|" for p in parts) == "x" * 1000 + "y" * 1000 + "|a b"
    assert max(len(p or "") for p in parts) <= 80
    tokenizer = made("bpe")
    assert tokenizer.decode(encode_pieces(tokenizer, ["x" * 1000, "y" * 1000])) == "x" * 1000 + "y" * 1000


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_many_ids_go_to_a_file_and_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = encode_pieces(made(kind), [STORY, None] * 5)
    assert expected.flags.writeable
    monkeypatch.setattr(encoding, "MAX_BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr(encoding.tempfile, "tempdir", str(tmp_path))
    ids = encode_pieces(made(kind), [STORY, None] * 5)
    assert np.array_equal(ids, expected) and not ids.flags.writeable, "mapped for reading"
    assert not list(tmp_path.iterdir()), "the file has no name"
    monkeypatch.setattr(encoding.tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(StorageError, match="no room for the ids"):
        encode_pieces(made(kind), [STORY, None] * 5)


def test_a_vocabulary_above_65536_gets_wider_ids() -> None:
    names = ["\ufffd", *(chr(c) for c in range(0x20, 0x20000) if not 0xD800 <= c < 0xE000 and c != 0xFFFD)]
    tokenizer = train("characters", names)
    assert tokenizer.dtype == np.uint32 and tokenizer.size == len(names) + 1
    assert tokenizer.decode(tokenizer.encode("a\U0001f600\U0001ffff")) == "a\U0001f600\U0001ffff"


def test_merges_of_a_long_text_are_learned_from_stretches_spread_evenly_over_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from weft.modalities import tokenizer_making as making

    words = [f"word{i % 97} and thing{i % 89} " for i in range(4000)]
    whole = "".join(words)
    monkeypatch.setattr(making, "CHUNK_CHARACTERS", 100)
    for learned in (5_000, 20_000):
        monkeypatch.setattr(making, "LEARNED_CHARACTERS", learned)
        for pieces in (
            [whole, None],
            [piece for word in words for piece in (word, None)],
        ):  # a long document, or short ones
            parts = list(making.sampled(making.parts_of(pieces, 100, 1000), len(whole)))
            places = [whole.index(part) for part in parts] if pieces[0] == whole else []
            assert 0.8 * learned < sum(map(len, parts)) < 1.4 * learned
            assert not places or max(np.diff([*places, len(whole)])) < 3 * len(whole) / (learned / 100)
            known = making.train("bpe", pieces, 300, characters=len(whole))
            assert known.to_json() == making.train("bpe", pieces, 300, characters=len(whole)).to_json()
            assert known.to_json() == making.train("bpe", [x for part in parts for x in (part, None)], 300).to_json()


@pytest.mark.parametrize("characters", [None, "known"])
def test_merges_of_a_short_text_are_learned_from_all_of_it(
    characters: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.modalities import tokenizer_making as making

    pieces = ["a text of some words, some of them twice ", "and a second piece", None, "another document", None] * 9
    size = sum(len(piece) for piece in pieces if piece)
    first = making.train("bpe", pieces, 300).to_json()
    monkeypatch.setattr(making, "CHUNK_CHARACTERS", 10)
    monkeypatch.setattr(making, "LEARNED_CHARACTERS", size)
    assert making.train("bpe", pieces, 300, characters=size if characters else None).to_json() == first


# Symbols

SYMBOLS = ("<User:>", "<User", "<Größe:>", "cloth")


@cache
def with_symbols(kind: str) -> Tokenizer:
    return train(kind, [STORY, None, "<User:>cloth"], 300 if kind == "bpe" else None, symbols=SYMBOLS)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from([*SYMBOLS, "<", "User", ":>", "weaver", " the", "\n", END, "é"])).map("".join))
def test_a_symbol_is_one_token_wherever_it_stands(kind: str, text: str) -> None:
    tokenizer = with_symbols(kind)
    ids = tokenizer.encode(text)
    assert [id for id in ids if tokenizer.names[id] in SYMBOLS] == [
        tokenizer.names.index(one) for one in re.findall("<User:>|<User|<Größe:>|cloth", text)
    ]
    assert tokenizer.kind == kind
    assert np.array_equal(ids, in_library(tokenizer).encode(text, add_special_tokens=False).ids)
    if kind != "characters":
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_are_kept_in_the_file_and_learned_from_no_text(kind: str) -> None:
    tokenizer = with_symbols(kind)
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.digest == tokenizer.digest and again.symbols == SYMBOLS and again.kind == kind
    plain = [name for name in tokenizer.names if name not in (*SYMBOLS, END)]
    assert not any("User" in name or "cloth" in name for name in plain)
    assert kind != "bpe" or tokenizer.size <= 300


@pytest.mark.parametrize("kind", KINDS)
def test_a_symbol_is_whole_where_two_pieces_of_a_stream_meet_in_it(kind: str) -> None:
    tokenizer = with_symbols(kind)
    whole, cut = (encode_pieces(tokenizer, pieces) for pieces in (["a <User:> b", None], ["a <Us", "er:> b", None]))
    assert np.array_equal(whole, cut)


@pytest.mark.parametrize("symbols", [("<a b>",), ("x",), ("<a>", "<a>"), (END,)])
def test_what_cannot_be_a_symbol_is_refused(symbols: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="symbol|mark"):
        train("bytes", [STORY], symbols=symbols)


def test_a_mark_is_found_by_its_name_only_in_a_text_with_marks() -> None:
    tokenizer = train("characters", [STORY], marks=["<User:>"])
    mark = tokenizer.names.index("<User:>")
    assert mark not in tokenizer.encode("<User:>") and tokenizer.decode([mark]) == ""
    assert tokenizer.encode_marked("a<User:>").tolist() == [*tokenizer.encode("a"), mark]
