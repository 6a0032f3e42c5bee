"""embed-words: vectors learned from a text, asked, measured, looked at, read from files and written to them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.cli.app import run as command
from weft.domains.words.sample import drawn_sentences, questions
from weft.errors import ConfigError, DataError, WeftError
from weft.interop.word_files import is_word_file, read_word_file, write_word_file
from weft.tasks.request import Measured

WORDS = ["king", "queen", "man", "woman", "Rome"]
VECTORS = np.array([[1, 1, 0], [1, -1, 0], [0, 1, 0.2], [0, -1, 0.2], [0.3, 0.1, 2]], np.float32)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A run on part of the sample."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "world.txt").write_text("\n".join(drawn_sentences()[:10000]))
    rows = [f": {name}\n" + "\n".join(" ".join(row) for row in some) for name, some in questions().items()]
    (folder / "questions.txt").write_text("\n".join(rows))
    return weft.train(
        folder / "world.txt", task="embed-words", valid=folder / "questions.txt", out=folder / "run", epochs=6, dim=32,
        quiet=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A run with vectors that were chosen by hand."""
    from weft.runs.importing import import_run

    folder = tmp_path_factory.mktemp("given")
    np.savez(folder / "five.npz", words=np.array(WORDS), vectors=VECTORS)
    import_run(folder / "five.npz", folder / "run")
    return weft.load(folder / "run")


def test_analogies_of_a_small_world_are_learned(world: weft.Run) -> None:
    metrics = world.report["metrics"]
    assert set(metrics) == {"loss", "frequency_loss", "analogies", "nearest_analogies"}
    assert metrics["analogies"] > 0.9 and metrics["nearest_analogies"] < 0.5
    assert metrics["loss"] < 0.7 * metrics["frequency_loss"]


def test_the_nearest_words_are_of_the_same_kind(world: weft.Run) -> None:
    (found,) = world.predict("king - man + woman", top=3)
    assert found["nearest"][0]["word"] == "queen" and len(found["nearest"]) == 3
    assert {"king", "man", "woman"}.isdisjoint(one["word"] for one in found["nearest"])


def test_questions_are_counted_by_section_with_those_that_are_known(world: weft.Run, tmp_path: Path) -> None:
    path = tmp_path / "asked.txt"
    path.write_text(": women\nMan Woman King Queen\nman woman emu ostrich\n: none\nemu ostrich king queen\n")
    found = world.evaluate(path)
    assert found["sections"] == {"women": {"right": 1, "known": 1, "questions": 2},
                                 "none": {"right": 0, "known": 0, "questions": 1}}  # fmt: skip
    assert (found["analogies_known"], found["analogies_asked"], found["examples"]) == (1, 3, 1)
    assert found["metrics"]["analogies"] == 1.0


def test_correlation_is_that_of_ranks(given: weft.Run, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("# pairs\nword 1\tword 2\tmean\nking\tman\t9\nking\twoman\t1\nking\trome\t5\nking\temu\t3\n")
    found = given.evaluate(path)
    assert found["metrics"]["correlation"] == pytest.approx(1.0) and found["pairs_known"] == 3
    path.write_text("king\tman\t1\nking\twoman\t9\nking\trome\t5\n")
    assert given.evaluate(path)["metrics"]["correlation"] == pytest.approx(-1.0)


def test_bad_questions_are_named_with_their_line(given: weft.Run, tmp_path: Path) -> None:
    path = tmp_path / "asked.txt"
    path.write_text(": women\nman woman king queen\nman woman king\n")
    with pytest.raises(DataError, match=r"asked\.txt, line 3"):
        given.evaluate(path)
    path.write_text("king\tman\t1\nking\twoman\t9\nking\trome\tmuch\n")
    with pytest.raises(DataError, match=r"line 3"):
        given.evaluate(path)
    path.write_text(": birds\nemu emus ostrich ostriches\n")
    with pytest.raises(DataError, match="none of the words"):
        given.evaluate(path)
    path.write_text("A text without questions, of some length.\n")
    with pytest.raises(DataError, match="measured by questions"):
        given.evaluate(path)


def test_a_word_without_a_vector_is_named(given: weft.Run) -> None:
    assert given.predict("ROME")[0]["nearest"][0]["word"] in WORDS
    for use in (given.predict, given.look, given.embed):
        with pytest.raises(WeftError, match="emu"):
            use("emu")
    with pytest.raises(WeftError, match="joined by"):
        given.predict("king -")


def test_several_words_are_looked_at_on_a_plane(given: weft.Run, tmp_path: Path) -> None:
    view = given.look(["king", "queen", "man", "woman"])
    places = {one["word"]: (one["x"], one["y"]) for one in view.to_json()["words"]}
    unit = VECTORS[:4] / np.linalg.norm(VECTORS[:4], axis=1, keepdims=True)
    seen = np.array([places[word] for word in WORDS[:4]])
    apart = np.linalg.norm(unit[:, None] - unit, axis=-1)
    assert np.allclose(np.linalg.norm(seen[:, None] - seen, axis=-1), apart, atol=0.1)  # they lie almost in a plane
    assert command(["look", str(given.folder), "king", "queen", "Rome", "-o", str(tmp_path / "map.png")]) == 0
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["w.txt", "w.bin", "w.vec"])
def test_vectors_go_to_word2vec_and_come_back_bit_for_bit(
    given: weft.Run, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    assert command(["export", str(given.folder), "--to", "word2vec", "--out", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to"] == "word2vec"
    found = read_word_file(path)
    assert found.words == WORDS and np.array_equal(found.vectors, VECTORS)
    with pytest.raises(WeftError, match="something already"):
        given.export(path, to="word2vec")


@pytest.mark.parametrize("name", ["w.txt", "w.bin"])
def test_gensim_reads_what_is_written(name: str, tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    write_word_file(tmp_path / name, WORDS, VECTORS)
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=name.endswith("bin"))
    assert theirs.index_to_key == WORDS and np.array_equal(theirs.vectors, VECTORS)


def test_glove_text_without_a_header_and_gzip_are_read(tmp_path: Path) -> None:
    lines = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, VECTORS, strict=True))
    (tmp_path / "glove.txt").write_text(lines)
    (tmp_path / "glove.txt.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("glove.txt", "glove.txt.gz"):
        found = read_word_file(tmp_path / name)
        assert found.words == WORDS and np.array_equal(found.vectors, VECTORS) and found.form == "GloVe text"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1 2\nb 1\nc 1 2\n", "line 2"),
        ("2 2\na 1 2\nb 1 x\n", "line 3"),
        ("a 1 2\nb nan 2\n", "line 2.*|b.*not finite"),
        ("a 1 2\nb 1 2\na 3 4\n", "stands in line 1"),
        ("3 2\na 1 2\nb 1 2\n", "claims 3 words, 2 follow"),
        ("99999999999 60000\na 1 2\n", "expected a word and 60000 numbers"),
        ("0 2\n", "claims 0 words"),
    ],
)
def test_bad_lines_of_vectors_are_named(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=problem) as caught:
        read_word_file(path)
    assert "bad.txt" in str(caught.value)


def test_a_header_that_lies_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    write_word_file(path, WORDS, VECTORS)
    data = path.read_bytes()
    path.write_bytes(b"999999999999 65536\n" + data.split(b"\n", 1)[1])
    with pytest.raises(DataError, match="claims 999,999,999,999 words"):
        read_word_file(path)
    path.write_bytes(data[:-9])
    with pytest.raises(DataError, match=r"word 5 at offset|bytes follow"):
        read_word_file(path)
    packed = tmp_path / "w.bin.gz"
    packed.write_bytes(gzip.compress(data[:-9]))
    with pytest.raises(DataError, match=r"word 5 at offset"):
        read_word_file(packed)


def test_a_pickle_that_ends_in_bin_is_no_file_of_words(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert not is_word_file(path)


def test_vectors_from_elsewhere_learn_on(given: weft.Run, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("the king and the queen went to Rome\n" * 40)
    run = weft.train(
        tmp_path / "more.txt",
        task="embed-words",
        from_=given.folder,
        out=tmp_path / "next",
        steps=10,
        sample=0.0,
        quiet=True,
    )
    assert run.config["model"]["kind"] == "word2vec" and run.config["model"]["dim"] == 3
    moved = np.abs(run.embed(WORDS) - VECTORS).max(1)
    assert moved[0] > 0 and moved[3] == 0  # "woman" does not stand in the text


def test_both_models_and_both_contexts_learn(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("\n".join(drawn_sentences()[:3000]))
    for name, settings in (("glove", {}), ("word2vec", {"contexts": "cbow"})):
        run = weft.train(
            tmp_path / "t.txt",
            task="embed-words",
            model=name,
            out=tmp_path / name,
            epochs=8,
            dim=16,
            quiet=True,
            **settings,
        )
        metrics = run.report["metrics"]
        assert metrics["loss"] < 0.9 * metrics["frequency_loss"], name
    with pytest.raises(ConfigError, match="does not learn from cbow"):
        weft.train(
            tmp_path / "t.txt", task="embed-words", model="glove", contexts="cbow", out=tmp_path / "x", quiet=True
        )


def test_published_vectors_answer_as_published(shared_data: Path, tmp_path: Path) -> None:
    from weft.runs.importing import import_run

    path = shared_data / "words" / "glove100-top.npz"
    if not path.exists():
        pytest.skip("the vectors are not there")
    import_run(path, tmp_path / "run")
    (found,) = weft.load(tmp_path / "run").predict("king - man + woman")
    assert found["nearest"][0] == {"word": "queen", "similarity": pytest.approx(0.7698, abs=1e-3)}


def test_vectors_that_are_all_alike_say_that_nothing_is_learned_yet(given: weft.Run, tmp_path: Path) -> None:
    from weft.runs.importing import import_run

    nothing = Measured(0, {})
    assert "learned nothing yet" not in given.task.example(given.loaded, nothing)
    np.savez(tmp_path / "alike.npz", words=np.array(WORDS), vectors=VECTORS * 0.01 + 1)
    import_run(tmp_path / "alike.npz", tmp_path / "run")
    run = weft.load(tmp_path / "run")
    assert "learned nothing yet" in run.task.example(run.loaded, nothing)


def test_a_loss_that_frequencies_have_too_says_that_nothing_is_learned_yet(given: weft.Run) -> None:
    def said(loss: float) -> str:
        return given.task.example(given.loaded, Measured(1, {"loss": loss, "frequency_loss": 2.0}))

    assert "learned nothing yet" in said(2.0) and "learned nothing yet" not in said(1.9)
