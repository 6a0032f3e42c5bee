"""coca: a run of captions that finds pictures by words, names classes and is measured by recall; others refuse it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.captions import brief, captioned_table
from helpers.pictures import write
from helpers.stops import stopped_in

import weft
from weft.cli.app import run as command
from weft.domains.captions.sample.album import scenes
from weft.errors import ConfigError, Interrupted, WeftError
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.vision import Sight, VisionSize, small_net

TINY: dict[str, Any] = {"preset": "mini", "dim": 16, "depth": 2, "heads": 2, "batch": 8, "vocab": 300, "steps": 4,
                        "evaluate_every": 2, "quiet": True, "baselines": False}  # fmt: skip
SCENES = scenes(24, 0).train


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    brief(monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captioned_table(tmp_path_factory.mktemp("data"), SCENES)


def train(data: Path, **settings: Any) -> weft.Run:
    given = {"task": "caption", "model": "coca", **TINY, **settings}
    return weft.train(data, **{name: value for name, value in given.items() if value is not None})


@pytest.fixture(scope="module")
def trained(data: Path) -> weft.Run:
    with pytest.MonkeyPatch.context() as patch:
        brief(patch)
        return train(data, out=data.parent / "trained")


def test_both_losses_are_noted_and_recall_is_measured_beside_captions(trained: weft.Run) -> None:
    assert all(line["loss"] > line["contrast"] > 0 for line in trained.metrics if "loss" in line)
    assert trained.config["training"]["contrast"] == 1.0
    measured = trained.evaluate()
    ways = {f"{way}recall_at_{k}" for way in ("", "to_text_") for k in (1, 5, 10)}
    assert ways | {"bleu", "loss", "perplexity"} <= set(measured["metrics"])
    assert measured["candidates"] == measured["examples"] and measured["candidate_texts"] >= measured["candidates"]


def test_stopped_and_resumed_is_never_stopped(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(data, out=tmp_path / "whole", dropout=0.1)
    with stopped_in(2, monkeypatch), pytest.raises(Interrupted):
        train(data, out=tmp_path / "parts", dropout=0.1)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_pictures_and_texts_have_vectors_in_one_space(
    data: Path, trained: weft.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos, text = str(data.parent / "photos"), "a red circle"
    vectors = trained.embed([photos, text, SCENES.read(0).pixels])
    assert len(vectors) == 26 and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[0], trained.embed([f"{photos}/0.png"])[0], atol=1e-5)
    assert np.allclose(vectors[-1], vectors[0], atol=1e-5)
    assert np.allclose(vectors[-2], trained.embed(text)[0]) and np.allclose(
        trained.embed(text), weft.load(trained.folder).embed(text)
    )
    write(tmp_path / "some.txt", f"{text}\na blue ring\n")
    monkeypatch.chdir(tmp_path)
    assert np.allclose(trained.embed(["some.txt"])[0], vectors[-2]) and len(trained.embed(["some.txt"])) == 2
    assert len(trained.embed(["some.txt"], texts=True)) == 1, "the name itself, as a text"


def test_pictures_are_found_by_words_and_by_pictures(
    data: Path, trained: weft.Run, tmp_path: Path, capsys: Any
) -> None:
    photos, run, sheet = str(data.parent / "photos"), str(trained.folder), tmp_path / "found.png"
    words = ["embed", run, photos, "--query", "a red circle", "--query", f"{photos}/3.png", "--best", "2"]
    assert command([*words, "-o", str(sheet), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["query"] for one in report["queries"]] == ["a red circle", f"{photos}/3.png"] and report["count"] == 24
    by_words, by_picture = (one["nearest"] for one in report["queries"])
    vectors, asked = trained.embed([photos]), trained.embed("a red circle")[0]
    assert by_words[0]["similarity"] == pytest.approx(float((vectors @ asked).max()), abs=1e-5)
    assert by_picture[0]["input"].endswith("3.png") and by_picture[0]["similarity"] == pytest.approx(1, abs=1e-5)
    assert sheet.read_bytes().startswith(b"\x89PNG") and report["output"] == str(sheet)
    assert command([*words[:5]]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_classes_are_named_by_their_words_alone(data: Path, trained: weft.Run) -> None:
    file = str(data.parent / "photos" / "0.png")
    (found,) = trained.predict(file, labels=["red circle", "blue ring", "green cross"])
    assert set(found) == {"input", "label", "probabilities"} and found["input"] == file
    assert sum(found["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert found["label"] == max(found["probabilities"], key=found["probabilities"].get)
    assert trained.predict(file, labels="red circle, blue ring ,green cross") == [found]
    named = trained.predict(file, labels=("red circle", "blue ring", "green cross"), template="a small {}|a large {}")[
        0
    ]
    assert named["probabilities"] != found["probabilities"]
    assert trained.predict(file, labels=["red circle", "blue ring", "green cross"], template="a {}") == [found]
    articles = trained.predict(file, labels=["an oval", "the ring"])[0]["probabilities"]
    assert articles == trained.predict(file, labels=["an oval", "the ring"], template="{}")[0]["probabilities"]
    picture, *texts = trained.embed([file, "a red circle", "a blue ring", "a green cross"])
    shares = torch.tensor(np.stack(texts) @ picture).mul(float(trained.model.scale.detach())).softmax(-1)
    assert list(found["probabilities"].values()) == pytest.approx(sorted(shares.tolist(), reverse=True), abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"labels": "cat"}, "two labels or more, found 1"),
        ({"labels": "cat,dog", "template": "a photo"}, "expected one {} where the label goes"),
        ({"template": "a {}"}, "a template is for labels"),
        ({"labels": "cat,dog", "beam": 3}, "beam: with labels nothing is written"),
    ],
)
def test_labels_that_cannot_be_meant_are_refused(trained: weft.Run, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        trained.predict([SCENES.read(0).pixels], **settings)


def test_texts_and_files_that_cannot_be_read_are_refused(trained: weft.Run) -> None:
    with pytest.raises(WeftError, match="tokens, and the model reads 1 to"):
        trained.embed("a red circle " * 100)
    for missing in ("no/such.png", "nowhere/", "no/such*.jpg"):
        with pytest.raises(WeftError, match="no"):
            trained.embed(missing)


def test_a_model_without_a_common_space_names_the_one_that_has_it(data: Path, tmp_path: Path) -> None:
    run = train(data, model="transformer", out=tmp_path / "run")
    assert not any("recall" in name for name in run.evaluate()["metrics"])
    for use in (lambda: run.embed("a cat"), lambda: run.predict([SCENES.read(0).pixels], labels="cat,dog")):
        with pytest.raises(WeftError, match="a transformer has no common space") as refused:
            use()
        assert "--model coca" in refused.value.fix
    with pytest.raises(ConfigError, match="does not compare pictures with texts"):
        train(data, model="swift", contrast=1.0, out=tmp_path / "other")


def test_a_run_goes_on_from_coca_with_its_contrast_and_a_step_has_at_most_half_the_pictures(
    data: Path, trained: weft.Run, tmp_path: Path
) -> None:
    origin = dict.fromkeys(("preset", "dim", "depth", "heads", "vocab", "model"))
    again = train(data, out=tmp_path / "again", from_=trained.folder, contrast=0.5, **origin)
    assert again.config["training"]["contrast"] == 0.5 and again.report["model"] == "coca"
    eyes = {**origin, "model": "swift", "vocab": 300}
    other = train(data, out=tmp_path / "other", from_=trained.folder, steps=1, **eyes)
    assert other.config["training"]["contrast"] is None and other.report["model"] == "swift"
    few = train(data, out=tmp_path / "few", batch=None, steps=1)
    assert 2 <= few.config["training"]["batch"] <= len(SCENES) // 2


def test_the_scale_of_cosines_is_limited_after_a_step_and_keeps_its_gradient() -> None:
    model = CAPTION_MODELS["coca"](
        CAPTION_ENCODERS["coca"](VisionSize(dim=16, depth=1, heads=2, patch=4, net=small_net(4, (1,))), Sight(16, 16)),
        Size(dim=16, depth=2, heads=2, context=8),
        vocab=20,
    ).build()
    weights = dict(model.named_parameters())
    assert not model.follow(weights, 0.5)
    with torch.no_grad():
        model.log_scale.fill_(5.0)
    model.scale.sum().backward()
    assert model.log_scale.grad is not None and model.log_scale.grad.item() > 0
    assert model.follow(weights, 0.5) and model.scale.item() == pytest.approx(100.0) and not model.follow(weights, 0.5)
