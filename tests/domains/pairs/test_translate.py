"""The translate task: pairs of any kind in, a run that translates, measures, looks and goes on where it was stopped."""

import gzip
import json
import math
import shutil
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.pages import document
from helpers.seals import unsealed
from helpers.stops import stopped_in
from helpers.tiny import TRANSLATION_ZOO

import weft
from weft.core import Additive
from weft.domains.pairs.measures import translation_measures
from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.recipe import PRESETS, RECIPE
from weft.domains.pairs.sample.phrasebook import phrasebook
from weft.domains.pairs.translate import Translate
from weft.domains.pairs.writing import TextWriter
from weft.domains.recognising import recognise
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, DataError, Interrupted, WeftError
from weft.modalities.words import sentences
from weft.models.zoo import Size
from weft.models.zoo.translation import TRANSLATION_MODELS

TINY = {
    "dim": 16, "depth": 1, "heads": 2, "tokens": 256, "vocab": 400, "quiet": True, "steps": 4, "baselines": False,
}  # fmt: skip


@cache
def phrases() -> list[tuple[str, str]]:
    """Some rows; drawing the phrasebook takes seconds."""
    return [(phrase.source, phrase.target) for phrase in islice(phrasebook("fr").train, 400)]


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def train(*data: Any, **settings: Any) -> weft.Run:
    return weft.train(data, **{"task": "translate", **TINY, **settings})


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pairs") / "pairs.tsv", phrases())


@pytest.fixture(scope="module")
def trained(pairs: Path) -> weft.Run:
    return train(pairs, out=pairs.parent / "trained", steps=12)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch, trained: weft.Run) -> None:
    """Few resamples, once one run was made with as many as users have."""
    monkeypatch.setattr("weft.domains.pairs.measures.RESAMPLES", 5)


@pytest.mark.parametrize("model", TRANSLATION_ZOO)
def test_every_model_trains_translates_and_loads_again(model: str, pairs: Path, tmp_path: Path) -> None:
    run = train(pairs, model=model, out=tmp_path / "run")
    assert run.report["model"] == model and run.report["metrics"]["bleu"] >= 0
    texts = ["My house is tiny.", "The dog sees him."]
    found = run.predict(texts, beam=3, best=2)
    assert [one["source"] for one in found] == [texts[0], texts[0], texts[1], texts[1]]
    assert all(set(one) >= {"source", "text", "score"} for one in found)
    assert weft.load(run.folder).predict(texts, beam=3, best=2) == found


@pytest.mark.parametrize(
    "model",
    [  # tests/laws/test_tasks.py stops and resumes swift; one kind of LSTM stands for both
        pytest.param(name, marks=pytest.mark.slow) if name in ("swift", "lstm-attention") else name
        for name in TRANSLATION_ZOO
    ],
)
def test_stopped_and_resumed_is_never_stopped(
    model: str, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {"model": model, "steps": 9, "dropout": 0.1, "smoothing": 0.1, "average": 3, "batch": 2}
    whole = train(pairs, out=tmp_path / "whole", **more)
    with stopped_in(5, monkeypatch), pytest.raises(Interrupted):
        train(pairs, out=tmp_path / "parts", **more)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_a_report_has_bleu_and_chrf_with_signature_and_interval(trained: weft.Run, tmp_path: Path) -> None:
    test = write(tmp_path / "test.tsv", [*phrases()[:20], (phrases()[0][0], "Autre chose.")])
    report = trained.evaluate(test)
    assert {"bleu", "chrf", "exact", "loss", "perplexity"} <= set(report["metrics"])
    assert report["examples"] == 20 and report["data"] == str(test)
    assert "nrefs:var" in report["signatures"]["bleu"] and "bs:" in report["signatures"]["bleu"]
    assert len(report["intervals"]["bleu"]) == 2
    own = trained.evaluate()
    assert own["data"].startswith("held out: ") and own["examples"] == trained.config["data"]["amounts"]["held_out"] > 0


def test_measures_are_sacrebleu_s_with_any_number_of_references() -> None:
    import sacrebleu

    held = [Held("a", ("the cat sat on the mat", "a cat sat there")), Held("b", ("the dog runs home now",))]
    found = ["a cat sat there", "the dog runs home today"]
    measures, more = translation_measures(found, held)
    expected = sacrebleu.corpus_bleu(found, [[h.references[0] for h in held], ["a cat sat there", None]])
    assert measures["bleu"] == pytest.approx(expected.score)
    assert measures["exact"] == 0.5 and more["exact_matches"] == 1
    assert translation_measures([h.references[0] for h in held], held)[0]["bleu"] == pytest.approx(100)


def test_the_same_pairs_in_any_kind_of_file_train_the_same_weights(pairs: Path, tmp_path: Path) -> None:
    rows = phrases()[:60]
    write(tmp_path / "a.tsv", rows)
    (tmp_path / "a.csv").write_text("".join(f'"{a}","{b}"\n' for a, b in rows))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in rows))
    with gzip.open(tmp_path / "b.tsv.gz", "wt") as file:
        file.write("\ufeff" + "".join(f"{a}\t{b}\r\n" for a, b in rows))
    (tmp_path / "c.en").write_text("".join(a + "\n" for a, _ in rows))
    (tmp_path / "c.fr").write_text("".join(b + "\n" for _, b in rows))
    runs = [
        train(*(tmp_path / name for name in names), out=tmp_path / f"run-{i}")
        for i, names in enumerate((["a.tsv"], ["a.csv"], ["a.jsonl"], ["b.tsv.gz"], ["c.en", "c.fr"]))
    ]
    first = runs[0].model.state_dict()
    for run in runs[1:]:
        assert all(torch.equal(t, first[n]) for n, t in run.model.state_dict().items())


def test_files_of_pairs_are_recognised(tmp_path: Path, pairs: Path) -> None:
    for name in ("x.csv", "x.tmx", "x.po", "c.en", "c.fr.gz", "d.txt", "e.txt", "t.mrg"):
        (tmp_path / name).write_text("x")
    (tmp_path / "x.csv").write_text("a dog runs,un chien court\n")
    for names in (["x.csv"], ["x.tmx"], ["x.po"], ["c.en", "c.fr.gz"]):
        assert recognise([str(tmp_path / name) for name in names])[0].name == "translate"
    for line, name in (
        ('{"source": "a", "target": "b"}', "translate"),
        ('{"translation": {"en": "a", "fr": "b"}}', "translate"),
        ('{"text": "a"}', "language-model"),
        ("no json", "language-model"),
    ):
        (tmp_path / "x.jsonl").write_text(line + "\n")
        assert recognise([str(tmp_path / "x.jsonl")])[0].name == name
    assert recognise([str(tmp_path / "d.txt"), str(tmp_path / "e.txt")])[0].name == "language-model"
    assert recognise([str(tmp_path / "t.mrg")])[0].name == "parse"


def test_shifted_pairs_are_never_trained_on(tmp_path: Path) -> None:
    (tmp_path / "c.en").write_text("a dog\na cat\na cow\n")
    (tmp_path / "c.fr").write_text("un chien\nun chat\n")
    with pytest.raises(DataError, match="3") as caught:
        train(tmp_path / "c.en", tmp_path / "c.fr")
    assert "c.fr" in str(caught.value)
    (tmp_path / "c.fr").write_text("un chien\n\nune vache\n")
    with pytest.raises(DataError, match="line 2"):
        train(tmp_path / "c.en", tmp_path / "c.fr")
    bad = write(tmp_path / "bad.tsv", [*phrases()[:5], ("no target",), *phrases()[5:9]])
    with pytest.raises(DataError, match="line 6"):
        train(bad)
    run = train(bad, skip=1, out=tmp_path / "run")
    assert run.config["data"]["amounts"]["pairs"] + run.config["data"]["amounts"]["held_out"] == 9
    assert any("line 6" in where for where, _ in run.config["data"]["skipped"])


def test_a_file_that_changed_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(tmp_path / "pairs.tsv", phrases()[:50])
    with stopped_in(2, monkeypatch), pytest.raises(Interrupted):
        train(data, out=tmp_path / "run")
    write(data, phrases()[:51])
    with pytest.raises(WeftError, match="changed|not the data"):
        weft.train(out=tmp_path / "run", resume=True, quiet=True)


def test_a_tokenizer_of_another_run_is_refused(trained: weft.Run, pairs: Path, tmp_path: Path) -> None:
    other = train(pairs, vocab=300, out=tmp_path / "other")
    spoilt = unsealed(Path(shutil.copytree(trained.folder, tmp_path / "copy")))
    shutil.copy(other.folder / "tokenizer.json", spoilt / "tokenizer.json")
    with pytest.raises(ConfigError, match="different runs|not the tokenizer"):
        weft.load(spoilt).predict("My house.")


def test_a_source_beyond_the_context_is_translated_in_sentences_or_refused(pairs: Path, tmp_path: Path) -> None:
    run = train(pairs, context=24, out=tmp_path / "run")
    parts = ["My house is tiny.", "The dog sees the cat!", "Is it red?", "The tree is old."]
    text = " ".join(parts)
    (found,) = run.predict([text])
    each = [one["text"] for one in run.predict(parts)]
    assert found["text"] == " ".join(each).strip()
    with pytest.raises(WeftError, match="longer than the model's context of 24"):
        run.predict([" ".join(["house"] * 60)])


def test_to_a_blank_text_nothing_is_said(trained: weft.Run) -> None:
    found = trained.predict(["", "My house is tiny.", "  "])
    assert [one["text"] for one in found][::2] == ["", ""]
    assert found[1] == trained.predict(["My house is tiny."])[0]


def test_sentences_are_cut_behind_their_ends() -> None:
    assert sentences('He came. "Stop!" she said. 3.5 is a number…  So?') == [
        "He came.", '"Stop!"', "she said.", "3.5 is a number…", "So?",
    ]  # fmt: skip
    assert sentences("私は学生です。元気！") == ["私は学生です。", "元気！"]


def test_long_pairs_are_left_out_and_counted(tmp_path: Path) -> None:
    long = ("very " * 90 + "long", "très " * 90 + "long")
    data = write(tmp_path / "pairs.tsv", [*phrases()[:50], long])
    run = train(data, context=64, out=tmp_path / "run")
    assert run.config["data"]["amounts"]["left_out_long"] == 1
    assert train(data, out=tmp_path / "all").config["data"]["amounts"]["left_out_long"] == 0
    with pytest.raises(DataError, match="no pair has fewer than 4 tokens"):
        train(data, context=4)


def test_documents_are_translated_in_place(trained: weft.Run, tmp_path: Path) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,500\nMy house is tiny.\n\n2\n00:00:03,000 --> 00:00:04,000\nThe dog sees him.\n"
    (tmp_path / "film.srt").write_text(srt)
    text, found = trained.predict_file(tmp_path / "film.srt")
    assert [one["source"] for one in found] == ["My house is tiny.", "The dog sees him."]
    assert "00:00:01,000 --> 00:00:02,500\n" in text and "My house" not in text
    with pytest.raises(WeftError, match="one answer"):
        trained.predict_file(tmp_path / "film.srt", best=2)


def test_a_look_shows_words_heads_and_steps(trained: weft.Run) -> None:
    sentence = "My house is tiny and cozy."
    view = trained.look(sentence)
    words = view.to_json()["source_words"]
    assert words == ["My", "house", "is", "tiny", "and", "cozy", ".", "<end>"]
    assert all(sum(row) == pytest.approx(1, abs=1e-2) for row in view.to_json()["weights"])
    assert view.picture("png").startswith(b"\x89PNG") and b"cozy" in view.picture("svg")
    shown = document(view.page())
    assert list(shown.groups[0].tokens) == words and [one.by for one in shown.streams].count("attention") == 4
    given = trained.look(sentence, target="Ma maison est minuscule.", layer=1, head=2)
    assert given.to_json()["target_words"] == ["Ma", "maison", "est", "minuscule", ".", "<end>"]
    steps = trained.look(sentence, target="Ma maison", token="maison", layer=1, head=2).to_json()["steps"]
    assert sum(steps["weights"]) == pytest.approx(1, abs=1e-4)
    for side in ("source", "target"):
        assert "softmax" in trained.look(sentence, token="2", side=side).text()
    for bad in ({"layer": 2}, {"head": 3}, {"token": "zebra"}, {"token": "99"}, {"nope": 1}):
        with pytest.raises(ConfigError):
            trained.look(sentence, **bad)


def test_of_a_model_with_one_context_vector_words_are_left_out(pairs: Path, tmp_path: Path) -> None:
    run = train(pairs, model="lstm", out=tmp_path / "run")
    view = run.look("My house is tiny.", target="Ma maison.")
    found = view.alignment
    assert found.source == ("My", "house", "is", "tiny", ".", "<end>") and found.target == (
        "Ma",
        "maison",
        ".",
        "<end>",
    )
    writer = TextWriter(run.loaded)
    whole, less = (math.exp(-writer.score([(text, "Ma maison.")])[0]) for text in ("My house is tiny.", "My is tiny."))
    assert (found.weights >= 0).all() and found.weights.max() <= 1
    # the probability of the whole target is the product over its words
    logs = view._log_probabilities([np.array(view.source_ids)])
    assert math.exp(logs.sum()) == pytest.approx(whole, rel=1e-3) and whole != less
    assert "no attention" in view.text() and view.picture()[:4] == b"\x89PNG"
    pieces = run.look("My house is tiny.", target="Ma maison.", pieces=True).alignment
    assert pieces.weights.shape[2] == len(view.target_ids)
    with pytest.raises(WeftError, match="no attention"):
        run.look("My house is tiny.", target="Ma maison.", token="Ma")
    aligned = train(pairs, model="lstm-attention", out=tmp_path / "run2")
    assert aligned.look("My house is tiny.", target="Ma maison.").pieces.weights.shape[:2] == (1, 1)


def test_the_paper_s_preset_is_the_paper_s_recipe() -> None:
    assert Translate().training().batch == 1
    size = PRESETS["base"]
    assert (size.depth, size.dim, size.heads) == (6, 512, 8)
    recipe = RECIPE.rates["transformer"]
    assert recipe["smoothing"] == 0.1 and recipe["average"] == 5 and recipe["schedule"] == "inverse-sqrt"


def test_a_run_starts_from_another(trained: weft.Run, pairs: Path, tmp_path: Path) -> None:
    run = weft.train(pairs, from_=trained.folder, out=tmp_path / "run", steps=3, quiet=True)
    assert run.config["from"] == str(trained.folder) and run.config["model"] == trained.config["model"]


def test_odd_pairs_are_reported_and_kept(tmp_path: Path) -> None:
    rows = [*phrases()[:40], phrases()[0], ("Paris", "Paris")]
    run = train(write(tmp_path / "pairs.tsv", rows), out=tmp_path / "run")
    notes = " ".join(run.config["data"]["notes"])
    assert "equal to an earlier pair: 1" in notes and "source and target the same: 1" in notes


def test_a_test_set_that_was_trained_on_is_said_so(tmp_path: Path) -> None:
    data, valid = write(tmp_path / "a.tsv", phrases()[:40]), write(tmp_path / "v.tsv", phrases()[35:50])
    run = train(data, valid=valid, out=tmp_path / "run")
    assert run.config["data"]["amounts"]["overlap"] == 5


def test_ids_beyond_the_vocabulary_are_refused() -> None:
    from weft.modalities import tokenizer_making as tokenizers

    small = tokenizers.train("bytes", [])
    with pytest.raises(DataError):
        small.decode(np.array([999]))


def test_trees_are_learned_and_measured(tmp_path: Path) -> None:
    run = weft.train(task="parse", **TINY, out=tmp_path / "run")
    assert {"f1", "precision", "recall", "exact", "well_formed"} <= set(run.report["metrics"])
    (found,) = run.predict(["the dog sees the cat."], beam=2)
    assert found["text"].startswith("(") and found["text"].count("(") == found["text"].count(")")
    assert [w for w in ("the", "dog", "sees", "cat", ".") if f" {w})" not in found["text"]] == []
    assert "(" in run.task.shown(found)
    tree = "(S (NP (XX the) (XX dog)) (VP (XX sees) (NP (XX the) (XX cat)))"
    view = run.look("the dog sees the cat.", target=f"{tree} (XX .))")
    assert "(NP the dog)" in view.text() and {"(S", "NP)", "dog"} <= set(view.to_json()["target_words"])
    with pytest.raises(DataError, match="expected a tree over the words 'the dog sees the cat .'"):
        run.look("the dog sees the cat.", target=f"{tree})")
    assert "decoder, over the source" in run.look("the dog sees the cat.", token="1").text()
    (tmp_path / "bad.mrg").write_text("(S (NP (DT the) (NN dog))\n")
    with pytest.raises(DataError, match="line 1"):
        weft.train(tmp_path / "bad.mrg", task="parse", **TINY)


def test_an_evaluation_tokenizes_each_source_once(
    trained: weft.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = phrases()[:3]
    counts: dict[str, int] = dict.fromkeys((source for source, _ in rows), 0)
    ids = TextCodec.ids

    def counted(self: TextCodec, texts: Any) -> list[np.ndarray]:
        texts = list(texts)
        for text in texts if self.config.role == "source" else ():
            counts[text] += 1
        return ids(self, texts)

    monkeypatch.setattr(TextCodec, "ids", counted)
    trained.evaluate(write(tmp_path / "held.tsv", rows))
    assert set(counts.values()) == {1}


@pytest.mark.parametrize("dim", [16, 64])
def test_one_step_of_the_optimizer_moves_no_alignment_far(dim: int) -> None:
    """All numbers of v change by the learning rate at most: at 0.03 a softmax must not be decided by that."""
    size = Size(dim=dim, depth=1, heads=1, context=8)
    model = TRANSLATION_MODELS["lstm-attention"](size, vocab=20).build()
    score = next(part for part in model.modules() if isinstance(part, Additive))
    q, k = torch.zeros(1, 1, 1, dim), torch.full((1, 1, 1, dim), 100.0)
    with torch.no_grad():
        before = score(q, k)
        score.v.weight += RECIPE.rates["lstm-attention"]["lr"]
        moved = float(score(q, k) - before)
    assert moved == pytest.approx(0.03 * math.sqrt(dim), rel=1e-4)
