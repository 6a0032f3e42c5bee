"""Questions about pictures as users see them: asked in every form, chosen from lists, measured, looked at, resumed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.trials import DATA, PIXELS, TINY, train
from PIL import Image

import weft
from weft.cli.app import run as command
from weft.domains.captions.codec import UsualAnswers
from weft.domains.captions.sample.album import scenes
from weft.errors import ConfigError, StorageError, WeftError
from weft.inspect.views import NoAttention
from weft.training.progress import Progress

QUESTION = "What colour is the shape?"
FILES = [str(DATA / "shape_questions.jsonl"), str(DATA / "shapes.zip")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A tiny run that has learned next to nothing."""
    return train("answer", FILES, out=tmp_path_factory.mktemp("qa") / "run")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(3):
        Image.fromarray(np.roll(PIXELS, number, 0)).save(folder / f"{number}.png")
    return folder


def test_pictures_and_rows_are_asked_in_every_form(run: weft.Run, photos: Path) -> None:
    first = str(photos / "0.png")
    (plain,) = run.predict(first, question=QUESTION)
    assert plain["input"].endswith("0.png") and plain["question"] == QUESTION and plain["score"] <= 0
    several = run.predict(str(photos), question=QUESTION)
    assert [one["input"] for one in several] == ["0.png", "1.png", "2.png"]
    assert {**several[0], "input": plain["input"]} == plain
    rows: list[Any] = [{"picture": first, "question": QUESTION}, {"picture": first, "question": "Is the shape a dot?"}]
    assert [one["question"] for one in run.predict(rows)] == [QUESTION, "Is the shape a dot?"]
    assert run.predict(json.dumps(rows[0])) == [plain] == run.predict({"picture": first}, question=QUESTION)
    assert run.predict({"picture": PIXELS, "question": QUESTION})[0]["text"] == plain["text"]


def test_a_table_of_questions_is_an_input(run: weft.Run, photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = photos / "questions.tsv"
    table.write_text(f"picture\tquestion\n0.png\t{QUESTION}\n1.png\tIs the shape a bar?\n")
    assert command(["predict", str(run.folder), "--input", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["predictions"]
    assert [(Path(one["input"]).name, one["question"]) for one in found] == [
        ("0.png", QUESTION),
        ("1.png", "Is the shape a bar?"),
    ]


def test_a_list_of_json_is_an_input(run: weft.Run, photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = photos.parent / "questions.json"
    file.write_text(json.dumps([{"picture": "0.png", "question": QUESTION}, {"picture": "1.png", "question": "Why?"}]))
    assert command(["predict", str(run.folder), "--input", str(file)]) == 0
    names, *rows = capsys.readouterr().out.splitlines()
    assert names.split() == ["picture", "question", "text", "score"]
    assert [row.split()[0] for row in rows] == ["0.png", "1.png"]
    assert [Path(one["input"]).name for one in run.predict(str(file))] == ["0.png", "1.png"]


def test_a_file_whose_name_begins_as_json_does_is_a_picture(
    run: weft.Run, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (photos / "0.png").rename(photos / "{a}.png")
    monkeypatch.chdir(photos)
    assert run.predict("{a}.png", question=QUESTION)[0]["input"] == "{a}.png"


@pytest.mark.parametrize(
    "given, settings, message",
    [
        (PIXELS, {}, "no question was asked"),
        ({"question": QUESTION}, {}, "expected a picture and a question"),
        ('{"picture": ', {}, "not JSON"),
        ('{"picture": ' + "[" * 100_000, {}, "not JSON: nested too deeply"),
        (PIXELS, {"question": "  "}, "the question is empty"),
        (PIXELS, {"question": "why " * 200}, "and the model reads"),
        (PIXELS, {"question": QUESTION, "choices": " , "}, "nothing to choose from"),
        (PIXELS, {"question": QUESTION, "choices": "red," + "blue" * 100}, "longer than the .* tokens"),
        (PIXELS, {"question": QUESTION, "choices": "ж,щ"}, "no signs that tell 'щ' from 'ж'"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(
    run: weft.Run, given: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(WeftError, match=message):
        run.predict(given, **settings)


def test_answers_are_chosen_among_those_that_are_named_or_usual(run: weft.Run) -> None:
    asked = {"picture": PIXELS, "question": QUESTION}
    named = run.predict(asked, choices="mauve, beige,a pale grey", beam=5, best=3)
    assert sorted(one["text"] for one in named) == ["a pale grey", "beige", "mauve"]
    assert [one["score"] for one in named] == sorted((one["score"] for one in named), reverse=True)
    answers = {"red", "green", "blue", "yes", "no", "dark red"}
    chosen = run.predict(asked, choose=True, beam=10, best=10)
    assert {one["text"] for one in chosen} == answers
    drawn = run.predict(asked, choose=True, temperature=5.0, best=20)
    assert {one["text"] for one in drawn} <= answers and len({one["text"] for one in drawn}) > 1


def test_every_kind_of_question_is_measured_with_intervals(run: weft.Run) -> None:
    found = run.evaluate()
    kinds = found["by_kind"]
    assert set(kinds) == {"colour", "yes or no"} and found["questions"] == sum(k["questions"] for k in kinds.values())
    for name in ("accuracy", "chosen_accuracy", "shuffled_accuracy", "constant_accuracy", "question_accuracy"):
        low, high = found["intervals"][name]
        assert 0 <= low <= found["metrics"][name] + 1e-4 and found["metrics"][name] <= high + 1e-4
        whole = sum(kind[name] * kind["questions"] for kind in kinds.values()) / found["questions"]
        assert whole == pytest.approx(found["metrics"][name], abs=1e-3)
    assert set(found["samples"][0]) == {"input", "question", "text", "answers"}


def test_baselines_are_what_the_answers_to_train_on_say(run: weft.Run) -> None:
    usual = json.loads((run.folder / "usual_answers.json").read_text())
    rows = [json.loads(line) for line in (DATA / "shape_questions.jsonl").read_text().splitlines()]
    counts = Counter(a for row in rows for a in (row["answer"] if isinstance(row["answer"], list) else [row["answer"]]))
    assert set(usual["answers"]) <= set(counts) and set(usual["kinds"]) == {"colour", "yes or no"}
    assert usual["kinds"]["yes or no"] in ("yes", "no") and "what colour is the shape?" in usual["questions"]
    (run.folder / "usual_answers.json").write_text(json.dumps(usual))
    try:
        with pytest.raises(StorageError, match="changed since the run was written"):
            weft.load(run.folder).predict({"picture": PIXELS, "question": QUESTION}, choose=True)
        with pytest.raises(ConfigError, match="not the answers that the run was trained with"):
            weft.load(run.folder, broken=True).predict({"picture": PIXELS, "question": QUESTION}, choose=True)
    finally:
        (run.folder / "usual_answers.json").write_text(json.dumps(usual, ensure_ascii=False, indent=1))


@pytest.mark.parametrize("damaged", [b"{", b"[]", b'{"answers": []}', b'{"answers": ["red"]}'])
def test_damaged_lists_of_answers_are_refused_with_the_remedy(damaged: bytes) -> None:
    with pytest.raises(ConfigError, match="not JSON|not valid JSON|expected answers, kinds and questions") as error:
        UsualAnswers(UsualAnswers.Config(), read=lambda name: damaged).answers  # noqa: B018
    assert error.value.fix == "put the run's own usual_answers.json back"


@pytest.mark.parametrize("number", [0, 501])
def test_a_scene_that_is_not_there_is_refused_with_one_that_is(run: weft.Run, number: int) -> None:
    with pytest.raises(ConfigError, match="expected a scene from 1 to 500") as error:
        run.look(f"scene {number}")
    assert '"scene 500"' in error.value.fix


def test_an_evaluation_says_whether_the_model_looked(run: weft.Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["evaluate", str(run.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["beside"]) == ["shuffled", "constant", "kind", "question"]
    for name, one in found["beside"].items():
        assert found["metrics"][f"{name}_accuracy"] == pytest.approx(one["score"], abs=1e-4)
        assert found["metrics"]["accuracy"] - one["score"] == pytest.approx(one["gain"], abs=1e-4)
    assert command(["evaluate", str(run.folder)]) == 0
    said = capsys.readouterr()
    assert all(line in said.out for line in found["looked"]) and "did it look? accuracy" in found["looked"][0]
    assert "to questions of the same kind" in said.out and "left out" not in said.err


def test_one_picture_alone_is_not_beside_another(run: weft.Run) -> None:
    album = run.task.held_out(run._loaded, FILES)
    alone = run.task.measure(run._loaded, album.take([0]), Progress(quiet=True))
    assert "shuffled_accuracy" not in alone.metrics and list(alone.more["beside"]) == ["constant", "kind", "question"]


def test_questions_that_are_too_long_are_counted(
    run: weft.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (DATA / "shape_questions.jsonl").read_text().splitlines()[:12]
    long = {**json.loads(rows[3]), "question": "why " * 200}
    (tmp_path / "long.jsonl").write_text("\n".join([*rows, json.dumps(long)]))
    assert command(["evaluate", str(run.folder), str(tmp_path / "long.jsonl"), str(DATA / "shapes.zip"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out_long"] == 1 and found["questions"] == len(rows)


def test_a_look_has_a_map_for_each_word_of_question_and_answer(run: weft.Run) -> None:
    asked = {"picture": PIXELS, "question": QUESTION}
    shown = run.look(asked, answer="dark red").to_json()
    assert shown["words"] == ["dark", "red"] and shown["question"]["words"] == [
        "What",
        "colour",
        "is",
        "the",
        "shape",
        "?",
    ]
    assert np.array(shown["maps"]).shape == (2, 2, 2) and np.array(shown["question"]["maps"]).shape == (6, 2, 2)
    words = run.look(asked, answer="dark red", over="question")
    weights = np.array(words.to_json()["weights"])
    over_picture = np.array(shown["maps"]).sum((1, 2))
    assert weights.shape == (2, 6) and (weights.sum(1) + over_picture <= 1 + 1e-3).all() and (weights > 0).all()
    assert words.picture().startswith(b"\x89PNG")
    assert words.to_json()["picture"] == pytest.approx(over_picture, abs=2e-3)
    said = [float(line.rsplit("the picture ", 1)[1]) for line in words.text().splitlines() if "the picture" in line]
    assert said == pytest.approx(over_picture, abs=6e-3) and (weights.sum(1) + over_picture < 0.995).all(), "marks"
    covered = run.look(asked, answer="red", by="occlusion").to_json()
    assert covered["by"] == "occlusion" and "question" not in covered
    assert run.look(None, what="positions").text().startswith("positions")


def test_words_that_read_a_picture_show_it_and_the_answer_shows_their_mean(tmp_path: Path) -> None:
    run = train("answer", FILES, out=tmp_path / "swift", model="swift")
    asked = {"picture": PIXELS, "question": QUESTION}
    shown = run.look(asked, answer="dark red").to_json()
    maps, question = np.array(shown["maps"]), np.array(shown["question"]["maps"])
    assert question.shape[0] == 6 and maps.shape == (2, *question.shape[1:]) and np.allclose(maps[0], maps[1])
    assert (question.sum((1, 2)) < 1).all(), "some of it goes to the token that stands for nothing"
    steps = run.look(asked, answer="red", token="colour", side="across").text()
    assert "question, over the picture" in steps and "patch 1,1" in steps
    with pytest.raises(NoAttention, match="mean of what all words"):
        run.look(asked, answer="red", over="question")
    measured = run.task.measure(run._loaded, scenes(1, 4).held_out, Progress(quiet=True))
    assert 0 < measured.metrics["attention_inside"] < 1 and measured.more["attention"]["words"] > 0


@pytest.mark.parametrize("wrong", [{"word": "red"}, {"word": "red", "every": True}, {"by": "occlusion"}])
def test_what_has_no_meaning_between_words_is_refused(run: weft.Run, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="over=question shows attention between words"):
        run.look({"picture": PIXELS, "question": QUESTION}, over="question", **wrong)


def test_an_empty_answer_shows_the_picture_and_says_so(run: weft.Run) -> None:
    asked = {"picture": PIXELS, "question": QUESTION}
    for by in ("attention", "occlusion"):
        view = run.look(asked, answer="", by=by)
        assert view.words == () and view.picture().startswith(b"\x89PNG") and "wrote nothing" in view.text()
    with pytest.raises(ConfigError, match="--set answer="):
        run.look(asked, answer="", by="occlusion", word="red")


def test_a_scene_is_asked_its_first_question_whose_words_have_boxes(run: weft.Run) -> None:
    album = scenes(1, 4).held_out
    known = album.questions[3][0]
    for more in ({}, {"question": known.text}):
        view = run.look("scene 4", answer="red", **more)
        question = view.shown.sentences[0]
        boxes = dict(zip(question.words, question.boxes, strict=True))
        assert (view.shown.title, question.text) == ("scene 4", "What colour is the circle?")
        assert boxes["circle"] == (known.regions[0].box,) and not boxes["What"]
    assert not any(run.look("scene 4", answer="red", question="Is it?").shown.sentences[0].boxes)


def test_an_encoder_of_pictures_goes_on_with_questions(tmp_path: Path) -> None:
    more: dict[str, Any] = {**TINY, "baselines": False, "batch": 4, "patch": 4, "quiet": True}
    first = weft.train(DATA / "sides.npz", out=tmp_path / "classes", model="vit", **more)
    few: dict[str, Any] = {"steps": 1, "tokenizer": "characters", "batch": 4, "precision": "fp32", "quiet": True}
    run = weft.train(FILES, from_=first.folder, out=tmp_path / "answers", model="transformer", lr=1e-30, **few)
    before, after = first.model.state_dict(), run.model.state_dict()
    same = {name: f"source.embed.picture.{name[6:]}" for name in before if name.startswith("embed.")}
    same |= {name: f"source.{name}" for name in before if name.startswith("trunk.")}
    assert len(same) > 10
    for ours, theirs in same.items():
        assert torch.allclose(before[ours], after[theirs], atol=1e-4), ours
    frozen = weft.train(FILES, from_=first.folder, out=tmp_path / "frozen", freeze=True, lr=0.1, **few)
    held = frozen.model.state_dict()
    assert all(torch.equal(before[name], held[f"source.picture.{name}"]) for name in same)
    with pytest.raises(ConfigError, match="LoRA cannot train new parts"):
        weft.train(FILES, from_=first.folder, out=tmp_path / "lora", lora=2, **few)
