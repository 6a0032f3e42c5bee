"""Gemma, GPT-NeoX and OPT: what is read inside them, other precisions, adapters, graphs, and what is refused."""

import json
import math
from pathlib import Path

import jaxtyping
import pytest
import torch
from foreign import TOLERANCE, changed, difference, library, randomised, saved
from foreign_models.gemma_kin import CASES
from safetensors.torch import load_file, save_file

from weft.core import Capped, Dot, LowRank, Parallel, SandwichNorm, Window, record
from weft.core.adapters import adapters
from weft.errors import ConfigError
from weft.generate.compute import prepared
from weft.interop import prove, read_folder, write_folder, write_onnx
from weft.modalities.text import Text
from weft.models.adapted import adapted

slow = pytest.mark.slow
FIRST = [name for name in CASES if "," not in name]


def first_of(names: list[str], quick: str) -> list:
    """The names as parameters of a test: all but one are slow."""
    return [name if name == quick else pytest.param(name, marks=slow) for name in names]


def theirs(name: str, **options):
    transformers, (architecture, keys) = library(), CASES[name]
    kind = getattr(transformers, architecture)
    torch.manual_seed(1)
    return randomised(kind(kind.config_class(**{**keys, **options})))


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 61, shape, generator=torch.Generator().manual_seed(3))


def test_a_gemma_2_is_made_of_the_parts_that_anyone_can_combine(tmp_path: Path):
    config = read_folder(saved(theirs("gemma2"), tmp_path / "a")).config
    near, far, last = config.trunk.all_blocks()
    assert near == last and near.wiring == SandwichNorm.Config() and near.mix.rules == (Window(radius=6),)
    assert far.mix == near.mix.replace(rules=())
    assert far.mix.score == Capped.Config(score=Dot.Config(scaled=False, temperature=math.sqrt(20)), cap=3.0)
    assert config.head.cap == 5.0 and config.embed.scale == math.sqrt(32)


@pytest.mark.parametrize("name", first_of([*FIRST, "gpt_neox, one after the other"], "gemma2"))
def test_recorded_maps_are_those_that_they_give_out(tmp_path: Path, name: str):
    model, given = theirs(name, attn_implementation="eager"), ids(2, 30)
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode(), record(imported.model) as looked:
        expected = model(given, output_attentions=True).attentions
        imported.model(Text(given))
    for weights, reading in zip(expected, looked.readings.values(), strict=True):
        assert difference(weights, reading[0].weights()) < TOLERANCE


@slow
@pytest.mark.parametrize("name", ["gemma2", "gemma2, no caps", "gemma3_text"])
def test_windows_over_long_texts_give_the_same_values(tmp_path: Path, name: str):
    model, given = theirs(name, max_position_embeddings=200), ids(2, 190)
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode():
        assert difference(model(given).logits, imported.model(Text(given))) < 2 * TOLERANCE


@pytest.mark.parametrize("name", first_of(FIRST, "opt"))
def test_padding_in_front_changes_nothing(tmp_path: Path, name: str):
    model, given, mask = theirs(name), ids(1, 20), torch.tensor([[0] * 4 + [1] * 16])
    found = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode():
        assert difference(model(given[:, 4:]).logits, found(Text(given, mask.bool()))[:, 4:]) < TOLERANCE


@pytest.mark.parametrize("name", first_of(FIRST, "gemma3_text"))
def test_eight_bits_answer_close_to_full_precision(tmp_path: Path, name: str):
    model = read_folder(saved(theirs(name), tmp_path / "a")).model
    with torch.inference_mode():
        exact, rounded = model(Text(ids(2, 40))), prepared(model, "int8")(Text(ids(2, 40)))
        half = prepared(model, "bf16")(Text(ids(2, 40)))
    assert 0 < float((rounded - exact).std()) < 0.1 * float(exact.std())
    assert 0 < float((half - exact).std()) < 0.1 * float(exact.std())


@pytest.mark.parametrize("name", first_of(FIRST, "gpt_neox"))
def test_adapters_find_every_map_and_are_merged_into_the_folder_that_is_written(tmp_path: Path, name: str):
    imported, given = read_folder(saved(theirs(name), tmp_path / "a")), ids(2, 40)
    model = adapted(imported.model, LowRank.Config(rank=2, alpha=4.0))
    for tensor in adapters(model).values():
        torch.nn.init.normal_(tensor, std=0.2, generator=torch.Generator().manual_seed(1))
    assert len(adapters(model)) == 2 * 4 * len(imported.config.trunk.all_blocks())  # of qkv, out, up and down
    assert write_folder(tmp_path / "b", model, marks=imported.marks, model_type=imported.family) == imported.family
    back = library().AutoModelForCausalLM.from_pretrained(tmp_path / "b").eval()
    with torch.inference_mode():
        found = model(Text(given))
        assert difference(back(given).logits, found) < TOLERANCE * max(1.0, float(found.abs().max()))
        assert not torch.allclose(imported.model(Text(given)), found, atol=0.1)


@slow
@pytest.mark.parametrize("name", FIRST)
def test_graphs_and_other_processes_give_the_same_values(tmp_path: Path, name: str, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # sizes are symbols while a graph is traced
    imported = read_folder(saved(theirs(name), tmp_path / "a"))
    assert write_onnx(tmp_path / "b", imported.model) < TOLERANCE
    write_folder(tmp_path / "c", imported.model, marks=imported.marks, model_type=imported.family)
    assert prove(tmp_path / "c", imported.model, {"input_ids": ids(2, 30)}) < TOLERANCE


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
