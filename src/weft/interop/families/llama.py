"""Llama (Touvron et al., 2023); Mistral (Jiang et al., 2023) has a window, OLMo 2 (2024) norms at other places."""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, ResultNorm, RmsNorm
from weft.interop.families.decoder import decoder_tasks
from weft.interop.families.rotary_decoder import DecoderLayer, RotaryDecoder, one_window
from weft.interop.family import only
from weft.interop.their_config import TheirConfig


class Llama(RotaryDecoder):
    """LlamaForCausalLM and LlamaModel."""

    name = "llama"
    tasks = decoder_tasks("Llama")
    harmless = frozenset({"attention_dropout", "pretraining_tp", "is_llama_config"})
    defaults = {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "max_position_embeddings": 2048,
    }

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        given.only("rope_interleaved", False)
        return mix.replace(offsets=given.truth("attention_bias", False))

    def mlp_offsets(self, given: TheirConfig) -> bool:
        return given.truth("mlp_bias", False)

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return offset_keys(block)


class Mistral(RotaryDecoder):
    """MistralForCausalLM and MistralModel."""

    name = "mistral"
    tasks = decoder_tasks("Mistral")
    harmless = frozenset({"attention_dropout"})
    defaults = {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 4096 * 32,
        "sliding_window": 4096,
    }

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        given.only("layer_types")
        return [DecoderLayer(window=window_for_all(given, self.defaults["sliding_window"]))] * depth

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"sliding_window": one_window(found)}


class Olmo2(RotaryDecoder):
    """Olmo2ForCausalLM and Olmo2Model: norms of what branches give, and of all queries and all keys of a token."""

    name = "olmo2"
    tasks = decoder_tasks("Olmo2")
    harmless = frozenset({"attention_dropout"})
    defaults = {
        "vocab_size": 50304,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
    }
    wiring = ResultNorm.Config()
    norms = {"mix_out_norm": "post_attention_layernorm", "transform_out_norm": "post_feedforward_layernorm"}

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        return mix.replace(offsets=given.truth("attention_bias", False), qk_norm=norm, qk_norm_over="heads")

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"attention_bias": only(block.mix, Attention.Config, "mix").offsets}


def window_for_all(given: TheirConfig, default: int | None) -> int | None:
    """The window of all layers; null says that there is none, and a key that is left out the default."""
    if given.names("sliding_window") and not given.has("sliding_window"):
        return None
    return None if default is None and not given.has("sliding_window") else given.whole("sliding_window", default)


def offset_keys(block: Block.Config) -> dict[str, Any]:
    """The keys that say which maps have offsets."""
    mix: Any = only(block.mix, Attention.Config, "mix")
    mlp: Any = block.transform
    return {"attention_bias": mix.offsets, "mlp_bias": mlp.offsets}
