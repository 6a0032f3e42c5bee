"""Gemma, GPT-NeoX and OPT: the parts that they are made of, older names in their files, and what is refused."""

import json
import math
from pathlib import Path

import pytest
import torch
from helpers.foreign import changed, saved
from helpers.foreign_models.kin import ids, theirs
from safetensors.torch import load_file, save_file

from weft.core import Capped, Dot, Parallel, SandwichNorm, Window
from weft.errors import ConfigError
from weft.interop import read_folder
from weft.modalities.text import Text


def test_a_gemma_2_is_made_of_the_parts_that_anyone_can_combine(tmp_path: Path):
    config = read_folder(saved(theirs("gemma2"), tmp_path / "a")).config
    near, far, last = config.trunk.all_blocks()
    assert near == last and near.wiring == SandwichNorm.Config() and near.mix.rules == (Window(radius=6),)
    assert far.mix == near.mix.replace(rules=())
    assert far.mix.score == Capped.Config(score=Dot.Config(scaled=False, temperature=math.sqrt(20)), cap=3.0)
    assert config.head.cap == 5.0 and config.embed.scale == math.sqrt(32)


def test_older_files_of_gpt_neox_have_other_names_for_the_same(tmp_path: Path):
    folder = saved(theirs("gpt_neox"), tmp_path / "a")
    expected = read_folder(folder)
    assert expected.config.trunk.block.wiring == Parallel.Config()
    changed(folder, rope_parameters=None, rotary_pct=0.5, rotary_emb_base=10000)
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors.pop("embed_out.weight")
    tensors |= {f"gpt_neox.layers.{i}.attention.bias": torch.ones(1, 1, 48, 48).tril() for i in range(2)}
    save_file(tensors, folder / "model.safetensors")
    found = read_folder(folder)
    assert found.config == expected.config and found.warnings == expected.warnings
    assert torch.equal(found.model(Text(ids(1, 9))), expected.model(Text(ids(1, 9))))


def test_older_files_of_gemma_3_name_turns_and_windows_otherwise(tmp_path: Path):
    folder = saved(theirs("gemma3_text, stretched"), tmp_path / "a")
    expected = read_folder(folder)
    scaling = {"rope_type": "linear", "factor": 4.0}
    changed(folder, rope_parameters=None, rope_theta=1e6, rope_local_base_freq=300.0, rope_scaling=scaling)
    changed(folder, layer_types=None, sliding_window_pattern=2)
    found = read_folder(folder)
    assert found.config == expected.config and found.warnings == expected.warnings


def test_the_first_gemma_says_gelu_and_means_its_approximation(tmp_path: Path):
    folder = changed(saved(theirs("gemma"), tmp_path / "a"), hidden_act="gelu")
    assert read_folder(folder).config.trunk.all_blocks()[0].transform.activation == "gelu_tanh"


@pytest.mark.parametrize(
    "name, keys, problem",
    [
        ("gemma2", {"layer_types": ["full_attention"]}, "expected one for each of 3 layers, found 1"),
        ("gemma2", {"use_bidirectional_attention": True}, "use_bidirectional_attention is True"),
        ("gemma2", {"attn_logit_softcapping": -1.0}, "attn_logit_softcapping: expected a number from 0"),
        ("gemma3_text", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is 50.0"),
        ("gemma3_text", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "'yarn', which weft does not"),
        ("gpt_neo", {"attention_layers": ["local", "global"]}, "attention_layers and attention_types differ"),
        ("gpt_neo", {"attention_types": [[["global"], 1]]}, "expected one for each of 2 layers, found 1"),
        ("gpt_neo", {"attention_types": ["global", "local"]}, "expected .kinds, times., found 'global'"),
        ("gpt_neo", {"attention_types": 2, "attention_layers": None}, "attention_types: expected a list, found 2"),
        ("gptj", {"rotary_dim": 0}, "rotary_dim: expected a whole number from 1"),
        ("gptj", {"rotary_dim": 5}, "a width of 5 in heads of 12 does not divide into pairs"),
        ("phi", {"head_dim": 24}, "head_dim is 24"),
        ("gpt_neox", {"rope_parameters": {"partial_rotary_factor": 0.1}}, "does not divide into pairs"),
        ("opt", {"word_embed_proj_dim": 16}, "word_embed_proj_dim is 16"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_its_name(tmp_path: Path, name: str, keys: dict, problem: str):
    folder = saved(theirs(name), tmp_path / "a")
    with pytest.raises(ConfigError, match=problem):
        read_folder(changed(folder, **keys))


def test_a_softcap_of_null_is_none_and_one_left_out_is_that_of_the_published_models(tmp_path: Path):

    folder = saved(theirs("gemma2"), tmp_path / "a")
    keys = json.loads((folder / "config.json").read_text())
    for cap in ({"final_logit_softcapping": None}, {}):
        left = {key: value for key, value in keys.items() if key != "final_logit_softcapping"}
        (folder / "config.json").write_text(json.dumps({**left, **cap}))
        assert read_folder(folder).config.head.cap == (None if cap else 30.0)
