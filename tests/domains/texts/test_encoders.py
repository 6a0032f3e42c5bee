"""Tasks on whole texts: fill in blanks, label, tag; going on with another run; vectors, soups."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.pages import document
from helpers.seals import unsealed
from helpers.stops import stopped_in
from helpers.tables import write_table

import weft
from weft.core.adapters import adapters
from weft.domains.recognising import recognise
from weft.errors import ConfigError, DataError, Interrupted, StorageError, WeftError
from weft.modalities.text import Text
from weft.models.adapted import merged
from weft.runs.run import open_run
from weft.runs.soup import soup
from weft.runs.verifying import verify_run

TINY: dict[str, Any] = {"dim": 16, "depth": 1, "heads": 2, "quiet": True, "steps": 6, "rows": 8, "baselines": False}
GOOD, BAD = ("lovely", "great", "fine", "splendid"), ("awful", "bad", "poor", "dreadful")


def labelled(path: Path, count: int = 120, *, seed: int = 0) -> Path:
    """Sentences whose label one word tells."""
    draw, lines = np.random.default_rng(seed), ["text\tlabel"]
    for i in range(count):
        word = draw.choice(GOOD if i % 2 else BAD)
        lines.append(
            f"the {draw.choice(['soup', 'film', 'chair'])} number {i} was {word} today\t{'pos' if i % 2 else 'neg'}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def tagged(path: Path, count: int = 60) -> Path:
    draw, blocks = np.random.default_rng(1), []
    for _ in range(count):
        name, place = draw.choice(["Ada", "Bruno", "Cleo"]), draw.choice(["Paris", "Rome", "Oslo"])
        blocks.append(f"{name} B-PER\nlives O\nin O\n{place} B-LOC\n. O\n")
    path.write_text("\n".join(blocks))
    return path


def running(path: Path) -> Path:
    path.write_text("".join(f"the cat number {i % 7} sat on the mat . the dog ran away .\n" for i in range(400)))
    return path


def train(data: Any, **settings: Any) -> weft.Run:
    given = {**TINY, **settings}
    return weft.train(data, **{name: value for name, value in given.items() if value is not None})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


@pytest.fixture(scope="module")
def opinions(place: Path) -> weft.Run:
    return train(labelled(place / "opinions.tsv"), out=place / "opinions", steps=150, dim=32)


@pytest.fixture(scope="module")
def blanks(place: Path) -> weft.Run:
    data = running(place / "running.txt")
    return train(data, task="fill-mask", out=place / "blanks", steps=150, dim=32, rows=None, context=32)


@pytest.fixture(scope="module")
def names(place: Path) -> weft.Run:
    return train(tagged(place / "names.conll"), out=place / "names", steps=120, dim=32)


# Recognised, learned, used


def test_data_is_recognised_by_its_form(place: Path) -> None:
    assert recognise([str(labelled(place / "a.tsv"))])[0].name == "classify-text"
    assert recognise([str(tagged(place / "a.conll"))])[0].name == "tag-text"
    assert recognise([str(running(place / "a.txt"))])[0].name == "language-model"


def test_labels_are_learned_and_given_with_probabilities(opinions: weft.Run) -> None:
    assert opinions.report["metrics"]["accuracy"] >= 0.9
    one, other = opinions.predict(["the chair number 3 was splendid today", "the film number 9 was awful today"])
    assert (one["label"], other["label"]) == ("pos", "neg")
    assert sum(one["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert one["probabilities"][one["label"]] == max(one["probabilities"].values())


def test_what_is_not_read_of_a_long_text_is_counted(opinions: weft.Run) -> None:
    short, longer, long = opinions.predict(
        ["the soup was fine", "the unheard-of soup was quite fine", "the soup was fine " * 50]
    )
    assert "unread_end" not in short and long["unread_end"] > 50
    assert "unread_end" not in longer  # a little longer than anything that was learned from, and of unknown words


def test_what_is_loaded_again_gives_the_same_answers(opinions: weft.Run) -> None:
    text = "the soup number 5 was fine today"
    assert weft.load(opinions.folder).predict(text) == opinions.predict(text)


def test_an_evaluation_has_intervals_pictures_and_the_surest_mistakes(opinions: weft.Run, tmp_path: Path) -> None:
    data = labelled(tmp_path / "more.tsv", 40, seed=5)
    data.write_text(data.read_text() + "the soup was splendid today\tneg\n")
    found = opinions.evaluate(str(data))
    assert found["examples"] == 41 and {"accuracy", "macro_f1", "calibration_error"} <= set(found["metrics"])
    low, high = found["intervals"]["accuracy"]
    assert low <= found["metrics"]["accuracy"] <= high
    assert {Path(p).name for p in found["pictures"]} == {"confusion.png", "calibration.png"}
    assert found["mistakes"][0]["label"] == "neg" and "splendid" in found["mistakes"][0]["text"]


def test_labels_that_were_never_learned_are_named(opinions: weft.Run, tmp_path: Path) -> None:
    data = labelled(tmp_path / "odd.tsv", 20)
    data.write_text(data.read_text() + "the soup was fine\tmeh\n")
    with pytest.raises(DataError, match="meh"):
        opinions.evaluate(str(data))


def test_numbers_are_learned_as_numbers(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = [
        f"item {i} {'very ' * int(n)}good\t{n + draw.normal() * 0.05:.3f}"
        for i, n in enumerate(draw.integers(0, 8, 200))
    ]
    (tmp_path / "stars.tsv").write_text("text\tscore\n" + "\n".join(rows) + "\n")
    run = train(tmp_path / "stars.tsv", out=tmp_path / "run", steps=200, dim=32)
    assert run.config["codecs"]["label"]["type"] == "NumberCodec" and run.report["metrics"]["pearson"] > 0.8
    few, many = (one["value"] for one in run.predict(["item 7 very good", "item 7 very very very very very very good"]))
    assert few + 2 < many


def test_words_are_tagged_and_names_found(names: weft.Run) -> None:
    assert names.report["metrics"]["f1"] >= 0.9
    (one,) = names.predict("Cleo lives in Oslo.")
    assert one["words"] == ["Cleo", "lives", "in", "Oslo", "."] and len(one["tags"]) == 5
    assert one["entities"] == [{"text": "Cleo", "kind": "PER"}, {"text": "Oslo", "kind": "LOC"}]


def test_blanks_are_filled_in_with_candidates(blanks: weft.Run) -> None:
    (one,) = blanks.predict("the cat number 3 sat on the ___ .")
    assert one["candidates"][0]["token"].strip() == "mat"
    assert [c["probability"] for c in one["candidates"]] == sorted(
        (c["probability"] for c in one["candidates"]), reverse=True
    )
    assert blanks.predict("the cat number 3 sat on the [MASK] .")[0]["candidates"] == one["candidates"]
    (two,) = blanks.predict("the ___ number 3 sat on the ___ .", top=2)
    assert len(two["blanks"]) == 2 and all(len(guesses) == 2 for guesses in two["blanks"])
    with pytest.raises(WeftError, match="no blank"):
        blanks.predict("the cat sat")


def test_whole_words_may_be_hidden(place: Path, tmp_path: Path) -> None:
    run = train(
        running(place / "words.txt"), task="fill-mask", out=tmp_path / "run", rows=None, context=32, whole_words=True
    )
    assert run.report["metrics"]["loss"] > 0


def test_a_model_without_a_head_is_embedded_and_looked_at_and_refuses_the_rest(blanks: weft.Run, place: Path) -> None:
    loaded = open_run(blanks.folder)
    model = loaded.model.config.replace(head=None).build().eval()
    model.load_state_dict({n: t for n, t in loaded.model.state_dict().items() if not n.startswith("head.")})
    run = weft.Run(replace(loaded, model=model))
    assert np.allclose(run.embed("the cat sat"), blanks.embed("the cat sat"), atol=1e-6)
    assert run.look("the cat sat").text() == blanks.look("the cat sat").text()
    for use in (lambda: run.predict("the ___ sat"), lambda: run.evaluate(str(place / "running.txt"))):
        with pytest.raises(WeftError, match=r"no head that could fill in blanks(.|\n)*weft embed"):
            use()


@pytest.mark.slow  # tests/laws/test_tasks.py trains on the sample of every task
@pytest.mark.parametrize("task", ["classify-text", "tag-text", "fill-mask"])
def test_every_task_has_a_sample(task: str, tmp_path: Path) -> None:
    run = weft.train(
        task=task, out=tmp_path / "run", **{k: v for k, v in TINY.items() if task != "fill-mask" or k != "rows"}
    )
    assert run.config["data"]["sample"] and run.evaluate()["examples"] > 0


@pytest.mark.slow  # tests/laws/test_tasks.py stops and resumes every task, with a smaller model
@pytest.mark.parametrize("task", ["classify-text", "tag-text", "fill-mask"])
def test_stopped_and_resumed_is_never_stopped(
    task: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = {"classify-text": labelled, "tag-text": tagged, "fill-mask": running}[task]
    data = make(place / f"resume-{task}{'.tsv' if make is labelled else '.txt' if make is running else '.conll'}")
    more = {"task": task, **({"rows": None, "context": 32} if task == "fill-mask" else {})}
    whole = train(data, out=tmp_path / "whole", steps=8, **more)
    with pytest.raises(Interrupted), stopped_in(4, monkeypatch):
        train(data, out=tmp_path / "half", steps=8, **more)
    half = weft.train(data, out=tmp_path / "half", resume=True, quiet=True)
    for name, t in whole.model.state_dict().items():
        assert torch.equal(t, half.model.state_dict()[name]), name


# Going on with a run


def test_a_classifier_starts_from_what_filling_in_learned(blanks: weft.Run, place: Path, tmp_path: Path) -> None:
    data = labelled(place / "from.tsv")
    run = train(data, from_=blanks.folder, out=tmp_path / "run", dim=None, depth=None, heads=None, steps=1, lr=1e-9)
    before, after = blanks.model.state_dict(), run.model.state_dict()
    assert torch.allclose(before["trunk.blocks.0.mix.qkv.weight"], after["trunk.blocks.0.mix.qkv.weight"], atol=1e-5)
    assert run.config["codecs"]["text"]["digest"] == blanks.config["codecs"]["text"]["digest"]


def test_a_frozen_trunk_stays_as_it_is(blanks: weft.Run, place: Path, tmp_path: Path) -> None:
    data = labelled(place / "frozen.tsv")
    run = train(data, from_=blanks.folder, out=tmp_path / "run", dim=None, depth=None, heads=None, freeze=True)
    before, after = blanks.model.state_dict(), run.model.state_dict()
    assert all(torch.equal(before[n], t) for n, t in after.items() if n.startswith(("embed.", "trunk.")))
    assert float(after["head.out.weight"].abs().sum()) > 0


def test_adapters_learn_beside_a_trunk_that_stays(blanks: weft.Run, place: Path, tmp_path: Path) -> None:
    data = labelled(place / "lora.tsv")
    run = train(data, from_=blanks.folder, out=tmp_path / "run", dim=None, depth=None, heads=None, lora=4)
    before, after = blanks.model.state_dict(), run.model.state_dict()
    assert torch.equal(before["trunk.blocks.0.mix.qkv.weight"], after["trunk.blocks.0.mix.qkv.weight"])
    small = adapters(run.model)
    assert small and any(float(t.abs().sum()) > 0 for name, t in small.items() if name.endswith(".b"))
    text = "the soup number 5 was fine today"
    again = weft.load(run.folder)
    assert again.predict(text) == run.predict(text)
    plain = merged(again.model)
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.inference_mode():
        assert torch.allclose(plain(Text(ids)), again.model(Text(ids)), atol=1e-5)
    written = json.loads((run.folder / "config.json").read_text())
    assert "adapters" in json.dumps(written["model"])
    whole = (blanks.folder / "model.safetensors").stat().st_size
    assert (run.folder / "adapters.safetensors").stat().st_size < whole
    assert not (run.folder / "model.safetensors").exists()


@pytest.fixture(scope="module")
def beside(blanks: weft.Run, place: Path) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with a run and another with adapters beside it, and what the second answers."""
    folder = place / "beside"
    shutil.copytree(blanks.folder, folder / "base")
    data = labelled(place / "beside.tsv")
    run = train(data, from_=folder / "base", out=folder / "tuned", dim=None, depth=None, heads=None, lora=4, steps=2)
    return folder, run.predict(ASKED)


ASKED = "the soup number 5 was fine today"


def test_a_run_with_adapters_and_its_base_may_move_together(
    beside: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    folder, answers = beside
    assert weft.load(folder / "tuned").predict(ASKED) == answers
    moved = Path(shutil.copytree(folder, tmp_path / "moved"))
    folder.rename(folder.with_name("away"))
    try:
        assert weft.load(moved / "tuned").predict(ASKED) == answers
        shutil.rmtree(moved / "base")
        with pytest.raises(
            StorageError, match=f"beside the weights of {folder}/base, and cannot be used: it is not there"
        ):
            weft.load(moved / "tuned")
        assert "it is not there" in verify_run(moved / "tuned").refused[str(folder / "base")]
    finally:
        folder.with_name("away").rename(folder)


def test_a_base_that_changed_is_refused_and_named(beside: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    folder, answers = beside
    copy = Path(shutil.copytree(folder / "tuned", tmp_path / "tuned"))
    assert weft.load(copy).predict(ASKED) == answers and verify_run(copy).whole
    path = folder / "base" / "model.safetensors"
    before = path.read_bytes()
    try:
        path.write_bytes(before[:-3] + bytes([before[-3] ^ 1]) + before[-2:])
        for run in (copy, folder / "tuned"):
            with pytest.raises(StorageError, match=f"{folder}/base: .* its weights are not those that they were"):
                weft.load(run)
        assert verify_run(copy).refused and weft.load(copy, broken=True).predict(ASKED)
    finally:
        path.write_bytes(before)


@pytest.mark.slow
def test_a_run_with_adapters_that_was_stopped_goes_on_as_if_it_had_not_been(
    beside: tuple[Path, list[dict[str, Any]]], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, answers = beside
    settings: dict[str, Any] = {"dim": None, "depth": None, "heads": None, "lora": 4, "steps": 2}
    with stopped_in(0, monkeypatch), pytest.raises(Interrupted):
        train(place / "beside.tsv", from_=folder / "base", out=tmp_path / "run", **settings)
    assert weft.train(out=tmp_path / "run", resume=True, quiet=True).predict(ASKED) == answers
    kept = [(run / "adapters.safetensors").read_bytes() for run in (folder / "tuned", tmp_path / "run")]
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_runs_with_adapters_are_gone_on_with_and_averaged_as_whole_models(
    beside: tuple[Path, list[dict[str, Any]]], place: Path, tmp_path: Path
) -> None:
    folder, _ = beside
    assert weft.train(out=folder / "tuned", resume=True, quiet=True).report["steps"] == 2, "it is finished"
    more: dict[str, Any] = {"dim": None, "depth": None, "heads": None, "steps": 1}
    again = train(place / "beside.tsv", from_=folder / "tuned", out=tmp_path / "again", lora=2, **more)
    assert (again.folder / "model.safetensors").exists(), "merged weights are those of no file"
    assert weft.load(again.folder).predict(ASKED) == again.predict(ASKED)
    made = soup([folder / "tuned", folder / "tuned"], tmp_path / "soup")
    assert "base" not in made.config and (made.folder / "model.safetensors").exists()
    found, known = (
        run.predict(ASKED)[0]["probabilities"] for run in (weft.load(tmp_path / "soup"), weft.load(folder / "tuned"))
    )
    assert found == pytest.approx(known, abs=1e-5)


def test_what_has_nothing_to_start_from_cannot_be_frozen(place: Path, tmp_path: Path) -> None:
    for more in ({"freeze": True}, {"lora": 4}):
        with pytest.raises(WeftError, match="no run to start from"):
            train(labelled(place / "nothing.tsv"), out=tmp_path / "run", **more)
    with pytest.raises(ConfigError, match="cannot be used together"):
        train(labelled(place / "nothing.tsv"), out=tmp_path / "run", freeze=True, lora=4)


def test_the_head_stays_where_the_answers_do_and_begins_anew_where_they_differ(
    opinions: weft.Run, names: weft.Run, place: Path, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"dim": None, "depth": None, "heads": None, "steps": 1, "lr": 1e-9, "matrix_lr": 1e-9}
    same = train(place / "opinions.tsv", from_=opinions.folder, out=tmp_path / "same", **more)
    head = "head.out.weight"
    assert torch.allclose(same.model.state_dict()[head], opinions.model.state_dict()[head], atol=1e-5)
    other = tmp_path / "other.tsv"
    other.write_text((place / "opinions.tsv").read_text().replace("\tpos", "\tgood"))
    anew = train(other, from_=opinions.folder, out=tmp_path / "anew", **more)
    assert float(anew.model.state_dict()[head].abs().max()) < 1e-5 and anew.predict("fine")[0]["label"] in (
        "good",
        "neg",
    )
    words = train(place / "names.conll", from_=opinions.folder, out=tmp_path / "words", **more)
    assert words.model.state_dict()[head].shape == names.model.state_dict()[head].shape


def test_numbers_go_on_on_the_scale_that_was_learned(tmp_path: Path) -> None:
    for name, factor in (("first", 1.0), ("second", 3.0)):
        rows = [f"item {'very ' * (i % 5)}good {i}\t{factor * (i % 50) + 0.5}" for i in range(100)]
        (tmp_path / f"{name}.tsv").write_text("text\tscore\n" + "\n".join(rows) + "\n")
    first = train(tmp_path / "first.tsv", out=tmp_path / "run")
    more: dict[str, Any] = {"dim": None, "depth": None, "heads": None, "steps": 1, "lr": 1e-9, "matrix_lr": 1e-9}
    second = train(tmp_path / "second.tsv", from_=first.folder, out=tmp_path / "next", **more)
    assert second.config["codecs"]["label"] == first.config["codecs"]["label"]
    before, after = (run.predict("item very good 3")[0]["value"] for run in (first, second))
    assert after == pytest.approx(before, abs=1e-2)


# Vectors, looking, soups


def test_like_texts_have_like_vectors(opinions: weft.Run) -> None:
    texts = [
        "the soup number 5 was fine today",
        "the soup number 6 was fine today",
        "the film number 1 was awful today",
    ]
    vectors = opinions.embed(texts)
    assert vectors.shape == (3, 32) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert np.allclose(opinions.embed(texts[:1])[0], vectors[0], atol=1e-5)  # alone or among others
    assert not np.allclose(opinions.embed(texts, summary="class"), vectors)


def test_a_look_shows_what_each_token_read(opinions: weft.Run) -> None:
    view = opinions.look("the soup was fine")
    found = np.array(view.to_json()["weights"])
    assert found.shape[2] == found.shape[3] == len(view.to_json()["tokens"])
    assert np.allclose(found.sum(-1), 1, atol=1e-3)
    assert view.picture()[:4] == b"\x89PNG" and "soup" in view.text()
    assert document(view.page()).groups[0].tokens == tuple(view.to_json()["tokens"])
    with pytest.raises(ConfigError, match="layer"):
        opinions.look("the soup was fine", layer=9)


def test_the_table_knows_what_lies_near_a_word(blanks: weft.Run) -> None:
    found = blanks.look("cat", table=True).to_json()["nearest"]
    assert len(found) == 10 and found[0]["similarity"] == max(one["similarity"] for one in found)
    assert "cat" not in [one["token"] for one in found]
    summed = blanks.look("cat - dog + mat", table=True)
    assert not {"cat", "dog", "mat"} & {one["token"] for one in summed.to_json()["nearest"]}
    assert summed.picture()[:4] == b"\x89PNG" and len(document(summed.page()).groups[1].tokens) == 10
    with pytest.raises(WeftError, match="joined by"):
        blanks.look("cat - ", table=True)


def test_a_language_model_gives_vectors_and_is_looked_at_too(place: Path, tmp_path: Path) -> None:
    data = running(place / "lm.txt")
    run = weft.train(data, out=tmp_path / "run", steps=3, quiet=True, dim=16, depth=1, heads=2, model="gpt")
    assert run.embed(["the cat", "the dog ran"]).shape == (2, 16)
    weights = np.array(run.look("the cat sat").to_json()["weights"])
    assert np.allclose(np.triu(weights[0, 0], 1), 0)  # nothing is read of what comes later


def test_a_soup_of_one_run_and_itself_is_that_run(opinions: weft.Run, tmp_path: Path) -> None:
    made = soup([opinions.folder, opinions.folder], tmp_path / "soup")
    assert made.config["soup"]["gain"] == 0
    for name, t in opinions.model.state_dict().items():
        assert torch.allclose(t, made.model.state_dict()[name], atol=1e-7), name


def test_a_soup_is_the_mean_of_its_members_and_never_worse_than_the_best(
    opinions: weft.Run, place: Path, tmp_path: Path
) -> None:
    runs = [
        train(
            place / "opinions.tsv",
            from_=opinions.folder,
            out=tmp_path / f"{seed}",
            dim=None,
            depth=None,
            heads=None,
            seed=seed,
        )
        for seed in (1, 2)
    ]
    made = soup([run.folder for run in runs], tmp_path / "soup")
    how = made.config["soup"]
    assert how["gain"] >= 0 and how["measure"] == "accuracy" and len(how["scores"]) == 2
    if how["kind"] == "uniform":
        name = "head.out.weight"
        mean = (runs[0].model.state_dict()[name] + runs[1].model.state_dict()[name]) / 2
        assert torch.allclose(made.model.state_dict()[name], mean, atol=1e-6)
    assert weft.load(tmp_path / "soup").predict("the soup was fine")[0]["label"] in ("pos", "neg")


def test_a_run_with_earlier_names_of_parts_makes_a_soup_with_one_of_today(opinions: weft.Run, tmp_path: Path) -> None:
    earlier = unsealed(Path(shutil.copytree(opinions.folder, tmp_path / "earlier")))
    config = (earlier / "config.json").read_text(encoding="utf-8")
    assert '"TokenShift"' in config
    (earlier / "config.json").write_text(config.replace('"TokenShift"', '"Shift"'), encoding="utf-8")
    assert soup([opinions.folder, earlier], tmp_path / "soup").config["soup"]["gain"] == 0


def test_runs_of_different_models_make_no_soup(opinions: weft.Run, names: weft.Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not that of the first"):
        soup([opinions.folder, names.folder], tmp_path / "soup")
    with pytest.raises(WeftError, match="two runs"):
        soup([opinions.folder], tmp_path / "soup")


def test_a_tagger_reads_letters_and_its_run_keeps_them(tmp_path: Path) -> None:
    run = train(tagged(tmp_path / "tags.txt"), task="tag-text", out=tmp_path / "run")
    spelling = open_run(tmp_path / "run").stream.embed.spelling
    assert spelling is not None and all(table.any() for table in (spelling.grams, spelling.begins, spelling.ends))
    assert run.predict("Ada lives in Romeria .")[0]["words"][3] == "Romeria"
    for kind in ({"model": "bert"}, {"tokenizer": "characters"}):  # a published layout; letters that are tokens already
        other = train(tagged(tmp_path / "tags.txt"), task="tag-text", out=tmp_path / next(iter(kind)), **kind)
        assert other.config["model"]["embed"].get("spelling") is None


def test_a_tagger_of_few_sentences_is_small(tmp_path: Path) -> None:
    run = train(tagged(tmp_path / "tags.txt"), task="tag-text", out=tmp_path / "run", dim=None, depth=None, heads=None)
    assert (run.config["training"]["dim"], run.config["training"]["depth"]) == (128, 2)


def test_sentences_that_come_in_words_keep_them(tmp_path: Path):
    run = train(tagged(tmp_path / "tags.txt"), task="tag-text", out=tmp_path / "run")
    said = ["Ada", "didn't", "meet", "U.S.A.", "."]
    lines = "".join(f"{word}\tO\n" for word in said)
    (tmp_path / "one.conll").write_text(f"# a comment\n{lines}\nBob\tO\nsleeps\tO\n")
    (tmp_path / "alone.bio").write_text("\n".join(said) + "\n")
    (tmp_path / "universal.conllu").write_text("".join(f"{i}\t{w}\t_\tX\n" for i, w in enumerate(said, 1)))
    write_table(tmp_path / "rows.jsonl", ["tokens", "text"], [[said, "no"], [["Bob", "sleeps"], "no"]])
    write_table(tmp_path / "rows.csv", ["id", "tokens"], [["1", str(said)], ["2", "Bob sleeps"]])
    for name in ("one.conll", "rows.jsonl", "rows.csv"):
        assert [one["words"] for one in run.predict(tmp_path / name)] == [said, ["Bob", "sleeps"]], name
    for name in ("alone.bio", "universal.conllu"):
        (found,) = run.predict(tmp_path / name)
        assert found["words"] == said and len(found["tags"]) == len(said)
    (tmp_path / "bad.csv").write_text("id,tokens\n1,\"['Ada', 3]\"\n")
    with pytest.raises(DataError, match="list of words"):
        run.predict(tmp_path / "bad.csv")
