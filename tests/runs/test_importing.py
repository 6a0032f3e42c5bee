"""Models of the Hugging Face library as runs: imported, used, looked at, gone on with, and written back."""

import json
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from helpers.foreign import library, saved
from helpers.pictures import encoded, pets
from helpers.seals import unsealed
from safetensors.torch import load_file, save_file

import weft
from weft.cli.app import run as command
from weft.errors import DataError, WeftError
from weft.modalities.text import Text
from weft.modalities.tokenizer_making import train as make_tokenizer
from weft.runs.importing import import_run
from weft.tasks.finetuning import FINETUNE_WIDTH_LR, NEW_HEAD_LR

TEXT = "the cat sat on the mat and the dog ran away from the old house by the sea " * 20
SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def wordpieces(folder: Path, *, marks: bool) -> int:
    """A tokenizer.json beside a model, with BERT's marks or with none; returns its size."""
    tokenizers = pytest.importorskip("tokenizers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator([TEXT], tokenizers.trainers.WordPieceTrainer(vocab_size=80, special_tokens=special))
    if marks:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    made.save(str(folder / "tokenizer.json"))
    return made.get_vocab_size()


def bert(folder: Path, kind: str, **more: Any) -> Path:
    transformers = library()
    folder.mkdir()
    size = wordpieces(folder, marks=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=48, **SMALL, **more)
    saved(getattr(transformers, kind)(config), folder)
    wordpieces(folder, marks=True)
    return folder


def test_an_encoder_without_a_head_gives_vectors_and_is_looked_at(tmp_path: Path) -> None:
    folder = bert(tmp_path / "theirs", "BertModel")
    run = weft.load(folder)
    texts = ["the cat sat", "the dog ran away from the old house"]
    vectors = run.embed(texts)
    transformers = library()
    model = transformers.BertModel.from_pretrained(folder).eval()
    reader = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        for text, vector in zip(texts, vectors, strict=True):
            given = reader(text, return_tensors="pt")
            expected = torch.nn.functional.normalize(model(**given).last_hidden_state[0].mean(0), dim=-1)
            assert np.abs(expected.numpy() - vector).max() < 1e-5
    assert run.look("the cat sat").to_json()["tokens"][0] == "[CLS]"
    with pytest.raises(WeftError, match="no head"):
        run.predict("the ___ sat")


def test_a_masked_model_fills_in_blanks(tmp_path: Path) -> None:
    run = weft.load(bert(tmp_path / "theirs", "BertForMaskedLM"))
    (found,) = run.predict("the [MASK] sat")
    assert run.task.name == "fill-mask" and len(found["candidates"]) == 5
    assert run.evaluate(_text(tmp_path))["metrics"]["loss"] > 0
    with pytest.raises(WeftError, match="nothing was held out"):
        run.evaluate()


def _text(folder: Path) -> str:
    (folder / "some.txt").write_text(TEXT)
    return str(folder / "some.txt")


def test_a_classifier_keeps_its_labels_and_is_fine_tuned(tmp_path: Path) -> None:
    names = {0: "bad", 1: "good"}
    folder = bert(tmp_path / "theirs", "BertForSequenceClassification", id2label=names, label2id={"bad": 0, "good": 1})
    loaded, _ = import_run(folder, tmp_path / "run")
    run = weft.load(tmp_path / "run")
    assert run.predict("the cat sat")[0]["label"] in ("bad", "good") and run.config["codecs"]["label"]["names"] == [
        "bad",
        "good",
    ]
    assert run.predict("the cat sat") == weft.load(folder).predict("the cat sat")
    rows = [f"the {'cat' if i % 2 else 'dog'} number {i}\t{'good' if i % 2 else 'bad'}" for i in range(60)]
    (tmp_path / "data.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    for more in ({}, {"freeze": True}, {"lora": 2}):
        out = tmp_path / f"tuned-{'-'.join(more) or 'all'}"
        tuned = weft.train(
            tmp_path / "data.tsv", from_=tmp_path / "run", out=out, steps=3, quiet=True, baselines=False, **more
        )
        assert tuned.config["training"]["optimizer"] == "adamw" and tuned.config["codecs"]["label"]["names"] == [
            "bad",
            "good",
        ]
    assert loaded.config["imported"]["digest"]


def test_what_was_imported_is_exported_with_the_same_values(tmp_path: Path) -> None:
    folder = bert(tmp_path / "theirs", "BertForSequenceClassification")
    import_run(folder, tmp_path / "run")
    found = weft.load(tmp_path / "run").export(tmp_path / "back")
    assert found["difference"] < 1e-4 and found["model_type"] == "bert"
    assert f"{found['difference']:.2g}" in (tmp_path / "back" / "README.md").read_text()
    assert (tmp_path / "back" / "model.safetensors").read_bytes() and json.loads(
        (tmp_path / "back" / "config.json").read_text()
    )


def test_a_run_of_our_own_is_read_there_with_its_marks(tmp_path: Path) -> None:
    rows = [f"the {'cat' if i % 2 else 'dog'} number {i}\t{'good' if i % 2 else 'bad'}" for i in range(60)]
    (tmp_path / "data.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    run = weft.train(
        tmp_path / "data.tsv",
        model="bert",
        out=tmp_path / "run",
        steps=3,
        quiet=True,
        dim=32,
        depth=1,
        heads=2,
        baselines=False,
    )
    assert run.export(tmp_path / "hf")["difference"] < 1e-4
    transformers = library()
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    text = "the cat number 7"
    with torch.inference_mode():
        shares = model(**reader(text, return_tensors="pt")).logits.softmax(-1)[0]
    ours = run.predict(text)[0]["probabilities"]
    for label, share in zip(run.config["codecs"]["label"]["names"], shares.tolist(), strict=True):
        assert ours[label] == pytest.approx(share, abs=1e-4)
    assert model.config.id2label == {0: "bad", 1: "good"}


@pytest.mark.slow
@pytest.mark.parametrize("to", ["hf", "onnx"])
def test_numbers_come_out_in_their_unit_elsewhere(tmp_path: Path, monkeypatch, to: str) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # sizes are symbols while a graph is traced
    rows = [f"a house with {i % 9} rooms by the sea\t{250_000 + 90_000 * (i % 9) + i}" for i in range(60)]
    (tmp_path / "data.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    how = {"task": "classify-text", "model": "bert", "labels": "numbers", "dim": 32, "depth": 1, "heads": 2}
    run = weft.train(tmp_path / "data.tsv", out=tmp_path / "run", steps=3, quiet=True, **how)
    within, text = 1e-4 * run.config["codecs"]["label"]["spread"], "a house with 4 rooms by the sea"
    assert run.export(tmp_path / "theirs", to=to)["difference"] < within
    assert "unit of the data" in (tmp_path / "theirs" / "README.md").read_text()
    ours = run.predict(text)[0]["value"]
    found = [elsewhere(tmp_path / "theirs", run, text, to)]
    if to == "hf":
        found.append(weft.load(tmp_path / "theirs").predict(text)[0]["value"])
    assert 200_000 < ours < 1_100_000 and all(abs(one - ours) < within for one in found)


def elsewhere(folder: Path, run: weft.Run, text: str, to: str) -> float:
    """The number that another tool gives a text."""
    if to == "onnx":
        codec, context = run._loaded.codecs["text"], run.model.config.embed.context
        ids = codec.encode([text], context).rows[0][None].astype(np.int64)
        session = pytest.importorskip("onnxruntime").InferenceSession(folder / "model.onnx")
        return session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0].item()
    transformers = library()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")).logits.item()


def test_weights_that_are_no_numbers_are_kept_but_not_used_unasked(tmp_path: Path, capsys) -> None:
    folder, out, text = bert(tmp_path / "theirs", "BertForMaskedLM"), str(tmp_path / "run"), "the [MASK] sat"
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][7] = float("inf")
    save_file(weights, folder / "model.safetensors")
    assert command(["import", str(folder), "--out", out]) == 0
    assert "not finite numbers: cls.predictions.bias" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "config.json").read_text())["imported"]["broken"] == ["cls.predictions.bias"]
    uses = ["predict", out, text], ["embed", out, text], ["look", out, text], ["evaluate", out, _text(tmp_path)]
    for words in (*uses, ["export", out, "--out", str(tmp_path / "hf")], ["predict", str(folder), text]):
        assert command(words) == 2
        said = capsys.readouterr().err
        assert "not finite numbers" in said and "bias" in said and "--broken" in said
    assert not (tmp_path / "hf").exists()
    assert command(["predict", out, text, "--broken"]) == 0
    assert weft.load(folder, broken=True).model is not None


def test_a_run_whose_weights_were_damaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text(TEXT)
    weft.train(tmp_path / "some.txt", out=tmp_path / "run", steps=1, quiet=True, dim=16, depth=1, heads=2)
    weights = load_file(tmp_path / "run" / "model.safetensors")
    next(iter(weights.values())).view(-1)[-1] = float("nan")
    save_file(weights, unsealed(tmp_path / "run") / "model.safetensors")
    with pytest.raises(WeftError, match=f"not finite numbers: {next(iter(weights))}"):
        weft.load(tmp_path / "run")
    with pytest.raises(WeftError, match="not finite numbers"):
        weft.train(tmp_path / "some.txt", from_=tmp_path / "run", out=tmp_path / "more", steps=1, quiet=True)
    assert weft.load(tmp_path / "run", broken=True).report["parameters"] > 0


def test_a_model_without_counterpart_says_what_would_do(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text(TEXT)
    run = weft.train(tmp_path / "some.txt", out=tmp_path / "run", steps=2, quiet=True, dim=16, depth=1, heads=2)
    with pytest.raises(WeftError, match="no model of the Hugging Face library") as refused:
        run.export(tmp_path / "hf")
    assert "onnx" in str(refused.value) and not (tmp_path / "hf").exists()


def test_a_language_model_goes_on_as_it_would_there_and_is_trained_on(tmp_path: Path) -> None:
    transformers = library()
    folder = tmp_path / "theirs"
    folder.mkdir()
    tokenizer = make_tokenizer("bpe", [TEXT, None], 280)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=tokenizer.size, n_positions=64, n_embd=32, n_layer=2, n_head=4,
        bos_token_id=tokenizer.end, eos_token_id=tokenizer.end,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    saved(model, folder)
    (folder / "tokenizer.json").write_text(tokenizer.to_json())
    run = weft.load(folder)
    ids = torch.tensor([tokenizer.encode("the cat").tolist()])
    with torch.inference_mode():
        expected = model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=tokenizer.end)[0, ids.shape[1] :]
        logits = run.model(Text(ids))
        assert torch.allclose(logits, model(ids).logits, atol=1e-5)
    (found,) = run.predict("the cat", temperature=0, max_tokens=8)
    assert found["text"] == tokenizer.decode([i for i in expected.tolist() if i != tokenizer.end])
    tuned = weft.train(
        _text(tmp_path), task="language-model", from_=folder, out=tmp_path / "tuned", steps=2, quiet=True
    )
    assert tuned.config["training"]["lr"] < 1e-3


def test_a_model_for_pictures_names_their_classes_and_shows_its_attention(tmp_path: Path) -> None:
    transformers = library()
    torch.manual_seed(0)
    names = {0: "cat", 1: "dog", 2: "cow"}
    config = transformers.ViTConfig(
        image_size=32, patch_size=8, id2label=names, label2id={v: k for k, v in names.items()}, **SMALL
    )
    saved(transformers.ViTForImageClassification(config), tmp_path / "theirs")
    run = weft.load(tmp_path / "theirs")
    (tmp_path / "a.png").write_bytes(encoded(np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)))
    (found,) = run.predict(str(tmp_path / "a.png"))
    assert found["label"] in names.values() and run.task.name == "classify-images"
    assert run.look(str(tmp_path / "a.png")).picture()[:4] == b"\x89PNG"


RESNET: dict[str, Any] = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
HEADLESS = {"ViTModel": {"image_size": 32, "patch_size": 8, **SMALL},
            "DeiTModel": {"image_size": 32, "patch_size": 8, **SMALL}, "ResNetModel": RESNET}  # fmt: skip


def headless(folder: Path, kind: str) -> Path:
    """A model that reads pictures and has no head."""
    transformers = library()
    torch.manual_seed(0)
    config = getattr(transformers, kind.replace("Model", "Config"))(**HEADLESS[kind])
    return saved(getattr(transformers, kind)(config), folder)


@pytest.mark.parametrize("kind", HEADLESS)
def test_a_model_for_pictures_without_a_head_gives_vectors_and_refuses_the_rest_in_words(
    tmp_path: Path, kind: str, capsys
) -> None:
    import_run(headless(tmp_path / "theirs", kind), tmp_path / "run")
    photos, run = pets(tmp_path / "photos", 4), weft.load(tmp_path / "run")
    (one, *_) = sorted(photos.rglob("*.png"))
    assert run.config["imported"]["headless"] is True and run.embed(str(one)).shape[0] == 1
    with pytest.raises(WeftError, match="this model has no head that could answer"):
        run.predict(str(one))
    for words in (["evaluate", "run", "photos"], ["predict", "run", str(one)]):
        assert command([words[0], str(tmp_path / "run"), str(tmp_path / words[2])]) == 2
        assert "this model has no head" in (said := capsys.readouterr().err) and "weft embed" in said


@pytest.mark.parametrize(("kind", "name", "drop"), [("ViTModel", "vit", 0.5), ("ResNetModel", "resnet", 0.0)])
def test_a_model_for_pictures_without_a_head_is_gone_on_with_as_what_it_is(
    tmp_path: Path, kind: str, name: str, drop: float
) -> None:
    folder, photos = headless(tmp_path / "theirs", kind), pets(tmp_path / "photos", 12)
    tuned = weft.train(photos, from_=folder, out=tmp_path / "tuned", steps=2, quiet=True, precision="fp32", batch=4)
    assert tuned.config["model_name"] == name and tuned.config["training"]["drop"] == drop
    assert tuned.config["model"]["embed"]["drop"] == drop
    training, dim = tuned.config["training"], tuned.config["model"]["dim"]
    assert (training["optimizer"], training["head_lr"]) == ("adamw", NEW_HEAD_LR)
    assert training["lr"] == pytest.approx(FINETUNE_WIDTH_LR / dim, rel=0.05)


def test_folders_that_are_neither_run_nor_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mystery"}')
    with pytest.raises(WeftError, match="mystery"):
        weft.load(tmp_path)
    with pytest.raises(DataError, match="archive"):
        (tmp_path / "model.zip").write_bytes(b"PK")
        import_run(tmp_path / "model.zip", tmp_path / "out")
