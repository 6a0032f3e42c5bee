"""Captioners that begin with what other runs know: the encoder of a picture run, the decoder of a language model's."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.captions import brief
from helpers.foreign import library, saved
from helpers.pictures import encoded, write
from helpers.stops import stopped_in

import weft
from weft.domains.captions.decoders import language_weights, size_of_language, with_language
from weft.domains.captions.sample.album import scenes
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, Interrupted, WeftError
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.models.zoo.captioning import CAPTION_MODELS
from weft.models.zoo.vision import Sight, VisionSize, vit
from weft.runs.importing import import_run
from weft.tasks.finetuning import whole_parts
from weft.training.precision import Weights
from weft.training.work import build

SCENES = scenes(16, 0).train
BRIEF: dict[str, Any] = {"steps": 2, "evaluate_every": 100, "quiet": True}
TINY: dict[str, Any] = {"preset": "mini", "dim": 16, "depth": 1, "heads": 2, "batch": 8, "baselines": False}
RECURRENT = ("show-attend-tell", "cnn-lstm")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    brief(monkeypatch, resamples=5)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of scenes with captions, their pictures in two folders, the captions as texts, and runs on them."""
    folder = tmp_path_factory.mktemp("data")
    rows, texts = [], []
    for i in range(len(SCENES)):
        name = f"{'even' if i % 2 else 'odd'}/{i}.png"
        write(folder / "photos" / name, encoded(SCENES.read(i).pixels))
        rows.append("\t".join((name, *SCENES.captions[i])))
        texts += [json.dumps({"text": text}) for text in SCENES.captions[i]]
    write(folder / "texts.jsonl", "\n".join(texts) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        brief(patch)
        weft.train(folder / "texts.jsonl", task="language-model", model="swift", out=folder / "language", dim=24,
                   depth=2, heads=2, context=32, batch=2, tokenizer="bpe", vocab=300, **BRIEF)  # fmt: skip
        weft.train(folder / "photos", task="classify-images", model="vit", out=folder / "classes", **TINY, **BRIEF)
    return write(folder / "captions.tsv", "\n".join(rows) + "\n")


def train(data: Path, out: Path, **settings: Any) -> weft.Run:
    return weft.train(data, task="caption", out=out, **{**BRIEF, "batch": 4, **settings})


def language(name: str, depth: int = 2) -> Any:
    torch.manual_seed(1)
    return LANGUAGE_MODELS[name](Size(dim=24, depth=depth, heads=2, context=16), vocab=30).build().eval()


def captioner(name: str, model: Any, dim: int = 16) -> Any:
    """A captioner of this name, whose decoder is the language model."""
    eyes = vit(VisionSize(dim=dim, depth=1, heads=2, patch=4), Sight(8, 8), outputs=None)
    made = CAPTION_MODELS[name](eyes, size_of_language(model.config, 16), vocab=30)
    config = with_language(made, model.config, 16, 0.0)
    return build(config, 0, language_weights(SimpleNamespace(model=model), config)).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("known", LANGUAGE_MODELS)
@pytest.mark.parametrize("name", CAPTION_MODELS)
def test_a_decoder_has_all_weights_of_the_language_model_it_begins_with(name: str, known: str) -> None:
    model = language(known)
    if (known == "lstm") != (name in RECURRENT):
        with pytest.raises(WeftError, match="this decoder works by"):
            captioner(name, model)
        return
    made = captioner(name, model)
    found = Weights(made, torch.float32).tensors()
    for weight, tensor in Weights(model, torch.float32).tensors().items():
        ours = found[f"target.{weight}"]
        assert torch.equal(ours if ours.shape == tensor.shape else ours[:, : tensor.shape[1]], tensor), weight
        assert ours.shape == tensor.shape or not ours[:, tensor.shape[1] :].any(), (
            "what is read from the picture is new"
        )
    values = made(Picture(torch.rand(2, 3, 8, 8)), Text(torch.tensor([[3, 4, 5], [6, 7, 8]])))
    assert values.shape == (2, 3, 30) and values.isfinite().all()


@pytest.mark.parametrize("dim", [16, 24])
def test_a_decoder_writes_as_the_language_model_until_it_learns_to_read(dim: int) -> None:
    model, text = language("swift"), Text(torch.tensor([[3, 4, 5, 1], [6, 7, 8, 2]]))
    torch.nn.init.normal_(model.head.out.weight)  # it begins with zeros, and with equal scores
    made = captioner("swift", model, dim)
    assert (made.bridge is None) == (dim == 24)
    assert torch.allclose(made(Picture(torch.rand(2, 3, 8, 8)), text), model(text), atol=1e-5)


def test_texts_beyond_the_places_of_a_language_model_are_refused_with_the_setting_that_helps() -> None:
    model = language("gpt")
    made = captioner("transformer", model).config
    with pytest.raises(ConfigError, match="--set context=16"):
        with_language(made, model.config, 17, 0.0)


def test_parts_are_named_as_largely_as_possible() -> None:
    names = ["a.x", "a.y", "b.c.x", "b.c.y", "b.d.x", "e"]
    assert whole_parts(["a.x", "a.y", "b.c.x", "b.c.y", "e"], names) == ("a", "b.c", "e")
    assert whole_parts(["a.y", "b.d.x"], names) == ("a.y", "b.d")
    assert whole_parts(["ab.x"], ["ab.x", "a.x"]) == ("ab",)


def test_both_ends_begin_with_what_other_runs_know_and_say_so(data: Path, tmp_path: Path) -> None:
    classes, texts = weft.load(data.parent / "classes"), weft.load(data.parent / "language")
    run = train(data, tmp_path / "run", model="transformer", from_=classes.folder, decoder=texts.folder, freeze=True)
    ours, eyes, words = (one.model.state_dict() for one in (run, classes, texts))
    assert all(torch.equal(ours[f"source.{n}"], t) for n, t in eyes.items() if not n.startswith("head."))
    assert {n for n in words if f"target.{n}" not in ours} == set()
    assert (
        run._loaded.codec("caption", TextCodec).tokenizer.digest
        == texts._loaded.codec("text", TextCodec).tokenizer.digest
    )
    config = run.config
    assert config["training"]["decoder"] == str(Path(texts.folder).absolute()) and config["training"]["learned_lr"] < 1
    assert (
        not any("read" in part for part in config["training"]["learned"])
        and "target.embed" in config["training"]["learned"]
    )
    assert {word: (one["task"], one["model"]) for word, one in config["began_with"].items()} == {
        "from": ("classify-images", "vit"), "decoder": ("language-model", "swift")}  # fmt: skip
    card = (Path(run.folder) / "README.md").read_text()
    assert "| began with |" in card and "language-model" in card
    assert isinstance(run.predict(SCENES.read(0).pixels)[0]["text"], str)


def test_stopped_and_resumed_is_never_stopped(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**TINY, "model": "swift", "decoder": str(data.parent / "language"), "steps": 4}
    whole = train(data, tmp_path / "whole", **more)
    with stopped_in(2, monkeypatch), pytest.raises(Interrupted):
        train(data, tmp_path / "parts", **more)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True, decoder=more["decoder"])
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_the_encoder_of_a_captioner_goes_on_with_another_decoder(data: Path, tmp_path: Path) -> None:
    first = train(data, tmp_path / "first", model="one-stream", vocab=300, **TINY)
    again = train(data, tmp_path / "again", model="show-attend-tell", from_=first.folder, freeze=True, context=40)
    before, after = first.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(before[n], after[n]) for n in before if n.startswith("source."))
    assert again.config["model_name"] == "show-attend-tell" and not hasattr(again.model, "shared")
    with pytest.raises(ConfigError, match="context: the tokenizer and the decoder"):
        train(data, tmp_path / "same", from_=first.folder, context=40)


def test_other_peoples_encoders_go_on_at_the_rate_they_are_used_to(data: Path, tmp_path: Path) -> None:
    theirs = library()
    eyes = theirs.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                            image_size=32, patch_size=8)  # fmt: skip
    saved(theirs.ViTModel(eyes), tmp_path / "theirs")
    imported, _ = import_run(tmp_path / "theirs", tmp_path / "eyes")
    run = train(data, tmp_path / "run", model="transformer", from_=imported.folder.path, vocab=300)
    training = run.config["training"]
    assert training["optimizer"] == "adamw" and training["learned"] == ["source"]
    assert training["lr"] * training["learned_lr"] == pytest.approx(0.027 / 16, rel=0.02)


def test_what_cannot_be_a_decoder_is_refused(data: Path, tmp_path: Path) -> None:
    for given, reason in (
        ({"decoder": data.parent / "classes"}, "is a run of classify-images"),
        ({"decoder": data.parent / "lnguage"}, "no such run[^$]*language"),
        ({"decoder": data.parent / "language", "vocab": 300}, "vocab: the tokenizer"),
        ({"decoder": data.parent / "language", "model": "cnn-lstm"}, "works by recurrence"),
    ):
        with pytest.raises(WeftError, match=reason):
            train(data, tmp_path / "run", **{**TINY, **given})


def test_a_short_name_is_for_import_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    monkeypatch.setattr("weft.interop.hub.fetch", lambda name: asked.append(name) or tmp_path / "none")
    with pytest.raises(WeftError, match="weft import minilm --out runs/minilm"):
        weft.train(tmp_path, from_="minilm", quiet=True)
    assert not asked
    with pytest.raises(WeftError):
        import_run("minilm", tmp_path / "run")
    assert asked == ["sentence-transformers/all-MiniLM-L6-v2"]


def test_a_decoder_that_begins_with_attention_needs_no_model_named(data: Path, tmp_path: Path) -> None:
    run = train(data, tmp_path / "run", decoder=data.parent / "language", patch=None)
    assert run.config["model_name"] == "swift"


def test_a_plan_suggests_a_pretrained_model_where_data_is_little() -> None:
    from weft.domains.registry import card_named

    known = card_named("caption").pretrained
    assert known is not None and "weft import resnet50" in known.advice(2_000) and known.advice(10**6) == ""
