"""Phi-3 and Phi-4 (Abdin et al., 2024): Llama with joined maps; some models turn only a share of each head."""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, Gated
from weft.interop.families.decoder import decoder_tasks
from weft.interop.families.llama import window_for_all
from weft.interop.families.rotary_decoder import DecoderLayer, RotaryDecoder, one_window
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.models.stream import Model


class Phi3(RotaryDecoder):
    """Phi3ForCausalLM and Phi3Model."""

    name = "phi3"
    tasks = decoder_tasks("Phi3")
    harmless = frozenset({"attention_dropout", "resid_pdrop", "embd_pdrop"})
    # published before their library had the family; its tokenizer is in tokenizer.json
    known_code = names("configuration_phi3.Phi3Config modeling_phi3.Phi3ForCausalLM Xenova/gpt-4o")
    defaults = {
        "vocab_size": 32064,
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
    }
    partial = True
    rope_types = {"default": "default", "longrope": "longrope", "su": "longrope", "yarn": "longrope"}

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        for key in ("attention_bias", "mlp_bias", "lm_head_bias"):
            given.only(key, False)
        for key in ("full_attn_mod", "interpolate_factor"):
            given.only(key, 1)
        return [DecoderLayer(window=window_for_all(given, None))] * depth

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"sliding_window": one_window(found)}

    def write(self, config: Model.Config) -> dict[str, Any]:
        written = super().write(config)
        return {**written, "original_max_position_embeddings": written["max_position_embeddings"]}

    def attention_rules(self, mix: Attention.Config, sizes: tuple[int, ...]) -> list[WeightRule]:
        theirs, ours = "layers.{i}.self_attn.", "trunk.blocks.{i}.mix."
        names = {"qkv_proj": "qkv", "o_proj": "out"}
        return [SameTensor(f"{theirs}{name}.weight", f"{ours}{own}.weight") for name, own in names.items()]

    def mlp_rules(self, mlp: Gated.Config) -> list[WeightRule]:
        theirs, ours = "layers.{i}.mlp.", "trunk.blocks.{i}.transform."
        names = {"gate_up_proj": "up", "down_proj": "down"}
        return [SameTensor(f"{theirs}{name}.weight", f"{ours}{own}.weight") for name, own in names.items()]
