"""Running text that was prepared: a second start reads and encodes nothing, and the samples are the same to the bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.running import TextData, read_texts
from weft.domains.texts.encoded.running import RunningIds
from weft.domains.texts.reading import corpus
from weft.modalities import encoding, tokenizer_making
from weft.storage import file_marks
from weft.storage.prepared import prepared_in


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is done, one by one: files read, texts encoded, tokenizers learned."""
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)
    found: list[str] = []
    for module, name in ((corpus, "_documents"), (encoding, "_encoded"), (tokenizer_making, "_learned")):

        def noted(*given: Any, was: Any = getattr(module, name), name: str = name) -> Any:
            found.append(name)
            return was(*given)

        monkeypatch.setattr(module, name, noted)
    return found


def texts(folder: Path, *, documents: bool) -> str:
    many = [f"Document {n} says that {n * n} is a square, and {'so on ' * (n % 7)}" for n in range(60)]
    if documents:
        for n, text in enumerate(many):
            (folder / f"{n}.txt").write_text(text)
        return str(folder)
    (folder / "all.txt").write_text("\n".join(many))
    return str(folder / "all.txt")


def started(source: str) -> tuple[TextData, RunningIds]:
    data = read_texts([source], None, None)
    codec = TextCodec.learn(data.train.pieces(), "bpe", 300, characters=data.train.characters, role="line")
    return data, RunningIds.of(data, codec)


@pytest.mark.parametrize("documents", [True, False])
def test_a_second_start_reads_and_encodes_nothing(tmp_path: Path, calls: list[str], documents: bool) -> None:
    (tmp_path / "data").mkdir()
    source = texts(tmp_path / "data", documents=documents)
    with prepared_in("none"):
        data, ids = started(source)
    with prepared_in(str(tmp_path / "kept")):
        started(source)
        calls.clear()
        again, same = started(source)
    assert calls == []
    assert isinstance(same.train, np.memmap)
    assert np.array_equal(ids.train, same.train) and np.array_equal(ids.held_out, same.held_out)
    assert same.codec.tokenizer.digest == ids.codec.tokenizer.digest
    for name in ("fingerprint", "rule", "described", "notes", "skipped", "amounts"):
        assert getattr(again, name) == getattr(data, name)
    assert (again.held_out.bytes, again.held_out.characters) == (data.held_out.bytes, data.held_out.characters)


def test_a_file_that_has_changed_is_read_again(tmp_path: Path, calls: list[str]) -> None:
    source = texts(tmp_path, documents=False)
    with prepared_in(str(tmp_path / "kept")):
        started(source)
        whole = Path(source).read_text()
        Path(source).write_text(whole.replace("Document 3 says", "Document 3 said"))
        calls.clear()
        data, ids = started(source)
    assert "_documents" in calls and "_encoded" in calls
    assert data.fingerprint == read_texts([source], None, None).fingerprint
    assert "Document 3 said" in ids.codec.tokenizer.decode(ids.train)


def test_another_tokenizer_encodes_anew(tmp_path: Path, calls: list[str]) -> None:
    source = texts(tmp_path, documents=False)
    with prepared_in(str(tmp_path / "kept")):
        data, _ = started(source)
        calls.clear()
        codec = TextCodec.learn(data.train.pieces(), "bytes", None, characters=0, role="line")
        RunningIds.of(data, codec)
    assert calls.count("_encoded") == 2
