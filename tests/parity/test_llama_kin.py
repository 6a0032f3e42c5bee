"""Llama's kin: what their configs may say, which family a model is written as, and what is refused."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import NO_TOKENIZER, TOLERANCE, changed, difference, library, saved
from helpers.foreign_models.kin import ids, made, theirs
from helpers.foreign_models.llama_kin import PHI3, stretched

from weft.errors import ConfigError
from weft.interop import read_folder, write_folder
from weft.modalities.text import Text
from weft.position import EachPair, Rotary


def test_a_model_that_several_families_compute_is_written_as_the_one_named_else_as_llama(tmp_path: Path):
    imported = read_folder(saved(theirs("phi3, whole heads"), tmp_path / "a"))
    assert write_folder(tmp_path / "b", imported.model) == "llama"
    assert write_folder(tmp_path / "c", imported.model, model_type="phi3") == "phi3"
    assert write_folder(tmp_path / "d", imported.model, model_type="qwen3") == "llama", "qwen3 has norms of queries"


LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.3, 1.7, 2.0], "long_factor": [2.0, 3.0, 4.0, 5.0]}


def test_longrope_is_read_up_to_the_length_at_which_all_turns_change(tmp_path: Path):
    keys = {**PHI3, "max_position_embeddings": 48, "original_max_position_embeddings": 24, "rope_parameters": LONG}
    model, given = made("Phi3ForCausalLM", keys), ids(2, 24)
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.config.embed.context == 24
    (remark, other) = imported.warnings
    assert "longrope turns all tokens otherwise in texts of more than 24 tokens" in remark and other == NO_TOKENIZER
    with torch.inference_mode():
        assert difference(model(given).logits, imported.model(Text(given))) < TOLERANCE
    turn = imported.config.trunk.block.mix.turn
    assert isinstance(turn.stretch, EachPair) and turn.stretch.gain > 1
    write_folder(tmp_path / "b", imported.model, marks=imported.marks, model_type="phi3")
    back = library().AutoModelForCausalLM.from_pretrained(tmp_path / "b").eval()
    with torch.inference_mode():
        assert difference(back(given).logits, imported.model(Text(given))) < TOLERANCE


def test_dynamic_turns_are_plain_up_to_the_length_at_which_they_change(tmp_path: Path):
    model, given = made("LlamaForCausalLM", stretched("dynamic")), ids(2, 48)
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.config.trunk.block.mix.turn == Rotary.Config(base=100.0)
    assert "more than 48 tokens" in imported.warnings[0]
    with torch.inference_mode():
        assert difference(model(given).logits, imported.model(Text(given))) < TOLERANCE


def test_code_of_phi_3_that_its_makers_published_is_not_needed_and_other_code_is_refused(tmp_path: Path):
    folder = saved(theirs("phi3"), tmp_path / "a")
    model = "modeling_phi3.Phi3ForCausalLM"
    known = {"AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": model}
    assert read_folder(changed(folder, auto_map=known)).warnings == (NO_TOKENIZER,)
    for other in ({**known, "AutoModel": "modeling_phi3.Other"}, {"AutoModel": [model]}, model):
        with pytest.raises(ConfigError, match="asks for code that comes with the model; weft runs none"):
            read_folder(changed(folder, auto_map=other))


def test_older_files_name_a_stretch_in_another_place(tmp_path: Path):
    new = saved(made("LlamaForCausalLM", stretched("linear")), tmp_path / "a")
    turn = read_folder(new).config.trunk.block.mix.turn
    old = changed(new, rope_parameters=None, rope_theta=100.0, rope_scaling={"type": "linear", "factor": 4.0})
    assert read_folder(old).config.trunk.block.mix.turn == turn and turn.stretch.factor == 4.0


@pytest.mark.parametrize(
    "name, keys, problem",
    [
        ("llama, yarn turns", {"rope_parameters": {"rope_type": "yarn"}}, "factor is missing"),
        ("llama, yarn turns", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "rope_parameters is"),
        ("llama, llama3 turns", {"partial_rotary_factor": 0.5, "rope_parameters": {}}, "partial_rotary_factor is 0.5"),
        ("mistral", {"layer_types": ["full_attention"] * 2}, "layer_types is"),
        ("mistral", {"sliding_window": 0}, "sliding_window: expected a whole number from 1"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 2}, "sliding_window is not set or switched off"),
        ("qwen2", {"layer_types": ["full_attention"]}, "expected one for each of 2 layers, found 1"),
        ("qwen3", {"layer_types": ["full_attention", "chunked_attention"]}, "'chunked_attention', which weft does not"),
        ("smollm3", {"no_rope_layers": [1, 0]}, "no_rope_layers: expected one for each of 3 layers, found 2"),
        ("phi3", {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "'linear', which weft does not compute"),
        ("phi3", {"rope_parameters": {**LONG, "partial_rotary_factor": 0.5}}, "one for each of 2 pairs, found 4"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_its_name(tmp_path: Path, name: str, keys: dict, problem: str):
    folder = saved(theirs(name), tmp_path / "a")
    with pytest.raises(ConfigError, match=problem):
        read_folder(changed(folder, **keys))
