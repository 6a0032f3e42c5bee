"""SmolLM3 (Bakouch et al., 2025): Llama with layers in which nothing is turned, every fourth as a rule."""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, RmsNorm
from weft.errors import ConfigError
from weft.interop.families.decoder import decoder_tasks
from weft.interop.families.llama import offset_keys
from weft.interop.families.rotary_decoder import DecoderLayer, RotaryDecoder, layer_types, one_window, type_keys
from weft.interop.their_config import TheirConfig


class SmolLm3(RotaryDecoder):
    """SmolLM3ForCausalLM and SmolLM3Model."""

    name = "smollm3"
    tasks = decoder_tasks("SmolLM3")
    harmless = frozenset({"attention_dropout", "pretraining_tp", "max_window_layers"})
    defaults = {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32768,
        "rope_theta": 2000000.0,
        "tie_word_embeddings": True,
    }

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        return mix.replace(offsets=given.truth("attention_bias", False))

    def mlp_offsets(self, given: TheirConfig) -> bool:
        return given.truth("mlp_bias", False)

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        every = given.whole("no_rope_layer_interval", 4)
        turned = given.wholes("no_rope_layers", [int((i + 1) % every != 0) for i in range(depth)], least=0)
        if len(turned) < depth:
            problem = f"no_rope_layers: expected one for each of {depth} layers, found {len(turned)}"
            raise ConfigError(problem, where=given.where)
        size = given.whole("sliding_window") if given.has("sliding_window") else None
        window = size if given.truth("use_sliding_window", False) else None
        windows = layer_types(given, depth, [window is not None and not turned[i] for i in range(depth)], window)
        return [DecoderLayer(turned=bool(turned[i]), window=windows[i]) for i in range(depth)]

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        window = one_window(found)
        turned = {"no_rope_layers": [int(layer.turned) for layer in found], "no_rope_layer_interval": 4}
        windows = {"use_sliding_window": window is not None, "sliding_window": window, **type_keys(found)}
        return {**offset_keys(block), **turned, **windows}
