"""Pairs that are not held in memory: same rows, same held-out rows, same batches; read and encoded once."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.batches import like_lengths
from weft.domains.pairs import encoded
from weft.domains.pairs.dataset import PairData, Translations
from weft.domains.pairs.encoded import IdPairs, PairIds
from weft.domains.pairs.reading import kept, pairs
from weft.domains.pairs.reading.texts import HeldMarks, Pair, split_many, split_pairs
from weft.domains.pairs.recipe import pair_codecs
from weft.domains.pairs.settings import PairTraining
from weft.files.text_rows import GrowingTexts, TextRows
from weft.modalities import tokenizer_making
from weft.storage import file_marks
from weft.storage.prepared import PreparedStore, StagedEntry, prepared_in


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)


def written(path: Path, count: int = 400) -> str:
    rows = [
        (f"The {n % 97}th house is {'very ' * (n % 5)}small", f"Das {n % 89}. Haus ist {'ß' * (n % 4)} klein")
        for n in range(count)
    ]
    rows += [("same", "same"), ("", ""), rows[0]]
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    return str(path)


def started(source: str) -> tuple[PairData, PairIds]:
    asked = PairTraining()
    data = Translations().read([source], None, asked)
    codecs = pair_codecs(data, asked.replace(vocab=300), {}, str)
    return data, PairIds.of(data, codecs, None, str)


def test_many_pairs_are_what_few_are(tmp_path: Path) -> None:
    source = written(tmp_path / "pairs.en-de.tsv")
    with prepared_in("none"):
        few, few_ids = started(source)
    with prepared_in(str(tmp_path / "kept")):
        many, ids = started(source)
    assert isinstance(few.train, list) and isinstance(many.train, TextRows) and isinstance(ids.train, IdPairs)
    assert list(many.train) == few.train and [many.train[i] for i in range(len(many.train))] == few.train
    assert many.held_out == few.held_out and many.train[-1] == few.train[-1] and many.train[3:6] == few.train[3:6]
    for name in ("fingerprint", "rule", "notes", "amounts", "characters", "overlap", "skipped", "columns", "taken"):
        assert getattr(many, name) == getattr(few, name), name
    assert ids.amounts == few_ids.amounts and ids.lines() == few_ids.lines() and ids.context == few_ids.context
    first, second = few_ids.source(64, 0), ids.source(64, 0)
    assert first.per_epoch == second.per_epoch and first.real_share == second.real_share
    for mine, theirs in zip(first.batch(np.arange(9)).each, second.batch(np.arange(9)).each, strict=True):
        assert mine.given.ids.equal(theirs.given.ids) and mine.wanted.ids.equal(theirs.wanted.ids)


def test_a_second_start_reads_and_encodes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, calls = written(tmp_path / "pairs.en-de.tsv"), list[str]()
    for module, name in ((pairs, "read_file"), (encoded, "_ids"), (tokenizer_making, "_learned"), (kept, "_counted")):

        def noted(*given: Any, was: Any = getattr(module, name), name: str = name) -> Any:
            calls.append(name)
            return was(*given)

        monkeypatch.setattr(module, name, noted)
    with prepared_in(str(tmp_path / "kept")):
        _, ids = started(source)
        assert set(calls) == {"read_file", "_ids", "_learned", "_counted"}
        calls.clear()
        _, again = started(source)
        assert calls == ["_ids"]  # of the few that are held out
        Path(source).write_text(Path(source).read_text() + "one more\tnoch eins\n")
        calls.clear()
        more, _ = started(source)
        assert set(calls) == {"read_file", "_ids", "_learned", "_counted"}
        assert Pair("one more", "noch eins") in list(more.train)
    assert all(map(np.array_equal, again.train.sources, ids.train.sources))  # type: ignore[attr-defined]


def test_rows_that_are_too_long_are_left_out_alike(tmp_path: Path) -> None:
    source = written(tmp_path / "pairs.en-de.tsv")
    found = []
    for place in ("none", str(tmp_path / "kept")):
        with prepared_in(place):
            data = Translations().read([source], None, PairTraining())
            found.append(PairIds.of(data, pair_codecs(data, PairTraining(vocab=300), {}, str), 12, str))
    few, many = found
    assert many.long == few.long > 0 and len(many.train) == len(few.train) and many.amounts == few.amounts
    assert all(
        np.array_equal(a, b)
        for one, other in zip(few.train, many.train, strict=True)
        for a, b in zip(one, other, strict=True)
    )


@settings(max_examples=25)
@given(rows=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=2, max_size=120))
def test_the_same_sources_are_held_out(rows: list[tuple[int, int]]) -> None:
    texts = [Pair(f"source {a}", f"target {b}") for a, b in rows]
    if len({pair.source for pair in texts}) < 2:
        return

    def make(staged: StagedEntry) -> None:
        growing = GrowingTexts[Pair](staged, 2, lambda pair: (pair.source, pair.target))
        for pair in texts:
            growing.append(pair)
        kept._counted(staged, growing.finished(Pair), kept.Pairs([], ("", ""), (), (), (), "", 0, 0))

    with tempfile.TemporaryDirectory() as folder:
        entry = PreparedStore(Path(folder)).entry("a", make)
        by = HeldMarks(entry.arrays["source_marks"], entry.arrays["lowest"], len({pair.source for pair in texts}))
        many, few = split_many(TextRows.of(entry, Pair), by), split_pairs(texts)
    assert (list(many.train), many.held_out, many.rule) == (few.train, few.held_out, few.rule)


def test_rows_of_a_file_that_breaks_off_are_taken_back(tmp_path: Path) -> None:
    def make(staged: StagedEntry) -> None:
        growing = GrowingTexts[tuple[str, str]](staged, 2, lambda pair: pair)
        for n in range(5000):
            growing.append((f"ä{n}", "b"))
        del growing[4500:]
        growing.append(("last", ""))
        assert len(growing) == 4501
        del growing[4501:]
        rows = growing.finished(lambda *texts: texts)
        assert len(rows) == 4501 and rows[4499] == ("ä4499", "b") and rows[-1] == ("last", "")

    PreparedStore(tmp_path).entry("a", make)


def test_orders_do_not_depend_on_how_many_rows_are_sorted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.random.default_rng(0).integers(1, 9, (300, 2))
    whole = like_lengths.LikeLengths(lengths, tokens=40, fingerprint="f", seed=1)
    expected = whole.each(np.arange(whole.per_epoch))
    monkeypatch.setattr(like_lengths, "SORTED_AT_ONCE", 7)
    parts = like_lengths.LikeLengths(lengths, tokens=40, fingerprint="f", seed=1)
    assert all(map(np.array_equal, parts.each(np.arange(parts.per_epoch)), expected))
    chance = np.random.Generator(
        np.random.Philox(key=like_lengths.numbers(like_lengths.key("f", 1, 0), 2))
    ).permutation(300)
    assert np.array_equal(np.lexsort((chance, *lengths.T)), parts._order(like_lengths.key("f", 1, 0)))
