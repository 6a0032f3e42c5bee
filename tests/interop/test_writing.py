"""Exports: whole or not at all, the same bytes each time, and refused where there is no counterpart."""

import json
import os
import sys
from pathlib import Path

import pytest
import torch
from helpers.foreign import perturbed, same_files

from weft.core import Attention, LayerNorm
from weft.errors import ConfigError, DataError, StorageError, WeftError
from weft.interop import Marks, proof, prove, read_folder, write_folder, writing
from weft.modalities.text import Text
from weft.models.zoo import LANGUAGE_MODELS, Size, gpt, llama
from weft.models.zoo.translation import lstm as translator

SIZE = Size(dim=16, depth=2, heads=2, context=32)


def test_written_read_and_written_again_is_the_same(folder: Path, tmp_path: Path):
    found = read_folder(folder)
    write_folder(tmp_path / "again", found.model, tokenizer_json=found.tokenizer_json, marks=found.marks)
    assert same_files(folder, tmp_path / "again")


@pytest.mark.parametrize("model", [gpt, llama])
def test_our_models_come_back_with_all_their_weights(tmp_path: Path, model):
    ours = perturbed(model(SIZE, vocab=20, dropout=0.25))
    write_folder(tmp_path / "a", ours)
    back = read_folder(tmp_path / "a").model.state_dict()
    assert all(torch.equal(back[name], tensor) for name, tensor in ours.state_dict().items())


@pytest.mark.parametrize(
    "model, part",
    [
        (LANGUAGE_MODELS["swift"](SIZE, vocab=20), "embed.grams"),
        (LANGUAGE_MODELS["lstm"](SIZE, vocab=20), "Lstm"),
        (translator(SIZE, vocab=20), "Seq2Seq"),
        (gpt(SIZE, vocab=20).set("trunk.block.mix.qk_norm", LayerNorm.Config()), "trunk.blocks.mix.qk_norm"),
        (gpt(SIZE, vocab=20).set("embed.scale", 4.0), "embed.scale"),
        (gpt(SIZE, vocab=20).set("head.cap", 15.0), "head.cap"),
        (gpt(SIZE, vocab=20).set("trunk.norm.eps", 1e-3), "trunk.norm.eps"),
        (llama(SIZE, vocab=20).set("trunk.block.mix.value_dim", 4), "trunk.blocks.mix.value_dim"),
    ],
)
def test_a_model_without_counterpart_is_refused_and_the_part_named(tmp_path: Path, model, part: str):
    with pytest.raises(ConfigError, match="no model of the Hugging Face library computes this") as caught:
        write_folder(tmp_path / "a", model.build())
    assert part in str(caught.value) and os.listdir(tmp_path) == []


def test_layers_of_different_sizes_have_no_counterpart(tmp_path: Path):
    config = gpt(SIZE, vocab=20)
    narrow = config.trunk.block.set("transform.hidden", 24)
    odd = config.replace(trunk=config.trunk.replace(block=None, blocks=(config.trunk.block, narrow), depth=1))
    with pytest.raises(ConfigError, match="gpt2, differs in trunk.blocks.1.transform"):
        write_folder(tmp_path / "a", odd.build())


def test_what_only_matters_for_training_is_no_difference(tmp_path: Path):
    mix = Attention.Config(heads=2, head_dim=8, kv_heads=2)
    config = gpt(SIZE, vocab=20, dropout=0.5).set("embed.std", 0.5).set("trunk.block.mix", mix)
    block = config.trunk.block
    listed = config.replace(trunk=config.trunk.replace(block=None, blocks=(block, block.replace(dropout=0.0)), depth=1))
    assert write_folder(tmp_path / "a", listed.build()) == "gpt2"


def test_an_existing_target_or_link_is_refused_and_left_as_it_is(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").write_text("mine")
    for name in ("folder", "link", "file"):
        with pytest.raises(StorageError, match="exists already"):
            write_folder(tmp_path / name, gpt(SIZE, vocab=20).build())
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "link"] and not os.listdir(tmp_path / "folder")


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_tensors", full)
    with pytest.raises(StorageError, match="no space"):
        write_folder(tmp_path / "a", gpt(SIZE, vocab=20).build())
    assert os.listdir(tmp_path) == []


def test_the_tokenizer_comes_with_its_marks(tmp_path: Path, words):
    ours, marks = gpt(SIZE, vocab=words.size).build(), Marks(bos=words.end, eos=(words.end, 3), pad=0)
    write_folder(tmp_path / "a", ours, tokenizer_json=words.to_json(), marks=marks, extra={"weft.json": {"a": 1}})
    config = json.loads((tmp_path / "a/tokenizer_config.json").read_text())
    assert config["eos_token"] == config["bos_token"] == "<|end|>" and config["model_max_length"] == 32
    assert json.loads((tmp_path / "a/weft.json").read_text()) == {"a": 1}
    assert read_folder(tmp_path / "a").marks == marks


def test_a_tokenizer_that_does_not_fit_is_refused(tmp_path: Path, words):
    with pytest.raises(ConfigError, match="the model has vectors for 20"):
        write_folder(tmp_path / "a", gpt(SIZE, vocab=20).build(), tokenizer_json=words.to_json())
    assert os.listdir(tmp_path) == []


def test_a_mark_that_a_small_model_keeps_from_a_larger_one_is_written_without_a_name(tmp_path: Path, words):
    model = gpt(SIZE, vocab=words.size).build()
    write_folder(tmp_path / "a", model, tokenizer_json=words.to_json(), marks=Marks(eos=(5000,), bos=words.end))
    named = json.loads((tmp_path / "a/tokenizer_config.json").read_text())
    assert "eos_token" not in named and named["bos_token"] == "<|end|>"
    assert read_folder(tmp_path / "a").marks.eos == (5000,)


def test_a_proof_needs_their_library(folder: Path, monkeypatch):
    monkeypatch.setattr(proof.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(WeftError, match=r"transformers is not installed(.|\n)*weft\[hf\]"):
        prove(folder, read_folder(folder).model, {"input_ids": torch.zeros(1, 3, dtype=torch.long)})


REFERENCE_RUN = """
import sys, numpy
from safetensors.numpy import save_file
folder, inputs, outputs = sys.argv[1:4]
if "bad" in folder:
    raise SystemExit("it has no weights")
save_file({"values": numpy.full((1, 3, 281), 2.0, "f4")}, outputs)
"""


@pytest.mark.parametrize("folder", ["gpt2"], indirect=True)
def test_a_proof_tells_the_largest_difference_or_why_there_is_none(folder: Path, monkeypatch, tmp_path):
    monkeypatch.setattr(proof.importlib.util, "find_spec", lambda name: sys)
    monkeypatch.setattr(proof, "REFERENCE_RUN", tmp_path / "reference_run.py")
    ids, model = torch.zeros(1, 3, dtype=torch.long), read_folder(folder).model
    vocab = model.config.embed.vocab
    (tmp_path / "reference_run.py").write_text(REFERENCE_RUN.replace("281", str(vocab)))
    expected = (2.0 - model(Text(ids))).abs().max().item()
    assert prove(folder, model, {"input_ids": ids}) == pytest.approx(expected)
    folder.rename(tmp_path / "bad")
    with pytest.raises(DataError, match="cannot use the folder: it has no weights"):
        prove(tmp_path / "bad", model, {"input_ids": ids})
