"""Many tagged sentences, in mapped files: what is found, held out and encoded is the same to the bit."""

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.domains.texts import tag_text
from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.tagged import TaggedData, TaggedSentences
from weft.domains.texts.encoded.whole_texts import TaggedIds
from weft.domains.texts.reading import tagged
from weft.domains.texts.reading.kept import KeptTagged
from weft.domains.texts.settings import TagTraining
from weft.errors import DataError
from weft.files import kept_rows
from weft.modalities.encoding import ended
from weft.storage import file_marks
from weft.storage.prepared import prepared_in

SCHEMES = {
    "BIO": ["O", "B-place", "I-place", "O", "I-name"],
    "IOBES": ["O", "S-place", "B-name", "E-name", "O"],
    "plain": ["DET", "NOUN", "VERB", "DET", "NOUN"],
}


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)


def sentences(path: Path, tags: list[str], count: int = 60, length: int = 1) -> str:
    each = (
        "".join(f"{'wörd' * length}{(n * 7 + k) % 53} {tag}\n" for k, tag in enumerate(tags[: 2 + n % 4] + tags[:2]))
        for n in range(count)
    )
    path.write_text("\n".join(each))
    return str(path)


def read(source: str) -> TaggedData:
    return TaggedSentences().read([source], None, TagTraining())


def facts(data: TaggedData) -> list[Any]:
    rows = [[(one.words, one.tags) for one in side] for side in (data.train, data.held_out)]
    return [*rows, data.tags, data.scheme, data.rule, data.fingerprint, data.described, data.notes, data.skipped]


def encoded(data: TaggedData) -> TaggedIds:
    texts = ended(" ".join(one.words) for one in data.train)
    codec = TextCodec.learn(texts, "bpe", 300, characters=10**4, role="whole")
    return TaggedIds.of(data, codec, TagCodec(TagCodec.Config(names=data.tags, scheme=data.scheme)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sentences_in_mapped_files_are_those_in_memory(tmp_path: Path, scheme: str) -> None:
    source = sentences(tmp_path / "a.conll", SCHEMES[scheme])
    with prepared_in("none"):
        plain = read(source)
    with prepared_in(str(tmp_path / "kept")):
        first, second = read(source), read(source)
        assert all(isinstance(one, KeptTagged) for one in (*second.train, *second.held_out))
        assert facts(plain) == facts(first) == facts(second) and plain.scheme == scheme
        kept = encoded(second)
    sources = [one.source(9, tokens=120, rows=8, seed=1) for one in (encoded(plain), kept)]
    assert isinstance(kept.train.texts.ids, np.memmap)  # type: ignore[attr-defined]
    for a, b in zip(*(one.batch(np.arange(4)).each for one in sources), strict=True):
        assert a.given.ids.equal(b.given.ids)
        assert all(one.equal(vars(b.wanted)[name]) for name, one in vars(a.wanted).items())


def test_a_second_start_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sentences(tmp_path / "a.conll", SCHEMES["BIO"])
    with prepared_in(str(tmp_path / "kept")):
        before = read(source)
        monkeypatch.setattr(tagged, "_rows", lambda *given: pytest.fail("a file was read"))
        assert facts(before) == facts(read(source))


def test_what_is_refused_in_memory_is_refused_in_files(tmp_path: Path) -> None:
    source = sentences(tmp_path / "a.conll", ["O"] * 5)
    for place in ("none", str(tmp_path / "kept")):
        with prepared_in(place), pytest.raises(DataError, match="nothing to tell apart"):
            read(source)


def test_memory_does_not_grow_with_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "TOGETHER", 8)
    sizes = []
    for length in (1, 100):
        source = sentences(tmp_path / f"{length}.conll", SCHEMES["BIO"], count=300, length=length)
        with prepared_in(str(tmp_path / "kept")):
            read(source)
            gc.collect()
            tracemalloc.start()
            data = read(source)
            assert data.train[7].words[0].startswith("wörd")
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
    assert 12 * (sizes[1] - sizes[0]) < 300 * 5 * 100 * 5


def test_an_evaluation_in_parts_measures_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, held = sentences(tmp_path / "a.conll", SCHEMES["BIO"]), list[int]()
    run = weft.train(source, preset="tiny", steps=2, quiet=True, baselines=False, out=tmp_path / "run")
    whole = run.evaluate(source, baselines=False)

    def noted(run: Any, some: Any, count: Any = None, was: Any = tag_text.tagged_surely) -> Any:
        held.append(len(some))
        return was(run, some, count)

    monkeypatch.setattr(tag_text, "AT_ONCE", 16)
    monkeypatch.setattr(tag_text, "tagged_surely", noted)
    with prepared_in(str(tmp_path / "kept")):
        parts = run.evaluate(source, baselines=False)
    assert held == [16, 16, 16, 12] and parts["examples"] == whole["examples"] == 60
    assert parts["metrics"] == pytest.approx(whole["metrics"], rel=1e-9)
    assert parts["intervals"] == whole["intervals"] and parts["f1"] == whole["f1"]
