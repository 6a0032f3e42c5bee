"""LoRA adapters of PEFT beside weights: merged into them exactly, or refused in words."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.foreign import TOLERANCE, difference, library, randomised, saved
from safetensors.torch import save_file

from weft.errors import WeftError
from weft.interop import read_folder
from weft.modalities.text import Text

GPT2 = {"vocab_size": 30, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16, "n_inner": 24}
LLAMA = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
         "num_key_value_heads": 2, "max_position_embeddings": 16}  # fmt: skip
CASES = {
    "gpt2": ("GPT2LMHeadModel", GPT2, ("transformer.h.{i}.attn.c_attn", "transformer.h.{i}.attn.c_proj")),
    "llama": ("LlamaForCausalLM", LLAMA, ("model.layers.{i}.self_attn.q_proj", "model.layers.{i}.self_attn.v_proj",
                                          "model.layers.{i}.mlp.down_proj")),
}  # fmt: skip
RANK, ALPHA = 3, 7
CONFIG = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "base_model_name_or_path": "somebody/model"}


def adapted(name: str, folder: Path, *, prefix: str = "base_model.model.", **keys: Any) -> Any:
    """A folder with a model and an adapter beside it; returns their model with the adapter merged."""
    architecture, sizes, modules = CASES[name]
    kind = getattr(library(), architecture)
    torch.manual_seed(1)
    model = randomised(kind(kind.config_class(**sizes)))
    saved(model, folder)
    tensors: dict[str, torch.Tensor] = {}
    scale = ALPHA / (RANK**0.5 if keys.get("use_rslora") else RANK)
    for module in (one.format(i=i) for one in modules for i in range(2)):
        weight = model.get_submodule(module).weight
        inside, outside = weight.shape if name == "gpt2" else weight.shape[::-1]
        down, up = torch.randn(RANK, inside), torch.randn(outside, RANK)
        tensors |= {f"{prefix}{module}.lora_A.weight": down, f"{prefix}{module}.lora_B.weight": up}
        with torch.no_grad():
            weight += scale * ((up @ down).t() if name == "gpt2" else up @ down)
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **keys}))
    return model


@pytest.mark.parametrize("name, keys", [("gpt2", {}), ("llama", {}), ("llama", {"use_rslora": True})])
def test_an_adapter_beside_weights_is_merged_into_them(tmp_path: Path, name: str, keys: dict[str, Any]) -> None:
    theirs, ours = adapted(name, tmp_path / "a", **keys), read_folder(tmp_path / "a")
    assert any("LoRA adapter was merged" in line and "somebody/model" in line for line in ours.warnings)
    ids = torch.randint(30, (2, 9))
    with torch.inference_mode():
        assert difference(theirs(ids).logits, ours.model(Text(ids))) < 10 * TOLERANCE  # of values beyond 10


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"peft_type": "IA3"}, "of the kind 'IA3'"),
        ({"use_dora": True}, "use_dora is True"),
        ({"bias": "all"}, "bias is 'all'"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights"),
        ({"prefix": "base_model.model.other."}, "no weight of the model for base_model.model.other.model.layers"),
    ],
)
def test_an_adapter_that_is_more_than_a_sum_is_refused(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    adapted("llama", tmp_path / "a", **keys)
    with pytest.raises(WeftError, match=message) as error:
        read_folder(tmp_path / "a")
    assert "merge_and_unload" in str(error.value)


def test_half_an_adapter_and_an_adapter_alone_are_refused(tmp_path: Path) -> None:
    adapted("llama", tmp_path / "a")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "a" / name).unlink()
    with pytest.raises(WeftError, match="only an adapter is here; the model that it changes is 'somebody/model'"):
        read_folder(tmp_path / "a")
    adapted("llama", tmp_path / "b")
    (tmp_path / "b" / "adapter_config.json").unlink()
    with pytest.raises(WeftError, match=r"half an adapter is here: adapter_config\.json is missing"):
        read_folder(tmp_path / "b")
