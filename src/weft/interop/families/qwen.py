"""Qwen2 (Yang et al., 2024): offsets of queries, keys, values; Qwen3 (Yang et al., 2025): norms of queries and keys."""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, RmsNorm
from weft.interop.families.decoder import decoder_tasks
from weft.interop.families.rotary_decoder import DecoderLayer, RotaryDecoder, layer_types, one_window, type_keys
from weft.interop.family import only
from weft.interop.their_config import TheirConfig

SIZES = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32768,
}


class Qwen2(RotaryDecoder):
    """Qwen2ForCausalLM and Qwen2Model; Qwen2.5 is of this family too."""

    name = "qwen2"
    tasks = decoder_tasks("Qwen2")
    harmless = frozenset({"attention_dropout", "use_mrope"})
    defaults = SIZES

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        return mix.replace(offsets=True, out_offsets=False)

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        return upper_windows(given, depth)

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return window_keys(found)


class Qwen3(RotaryDecoder):
    """Qwen3ForCausalLM and Qwen3Model."""

    name = "qwen3"
    tasks = decoder_tasks("Qwen3")
    harmless = frozenset({"attention_dropout"})
    defaults = {**SIZES, "head_dim": 128}

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        return mix.replace(offsets=given.truth("attention_bias", False), qk_norm=norm)

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        return upper_windows(given, depth)

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"attention_bias": only(block.mix, Attention.Config, "mix").offsets, **window_keys(found)}


def upper_windows(given: TheirConfig, depth: int) -> list[DecoderLayer]:
    """Windows for the layers from "max_window_layers" on, or for those that "layer_types" names."""
    used, first = given.truth("use_sliding_window", False), given.whole("max_window_layers", 28, least=0)
    stated = not given.names("sliding_window") or given.has("sliding_window")
    size = given.whole("sliding_window", 4096) if stated else None
    window = size if used else None
    windowed = [window is not None and i >= first for i in range(depth)]
    return [DecoderLayer(window=size) for size in layer_types(given, depth, windowed, window)]


def window_keys(found: Sequence[DecoderLayer]) -> dict[str, Any]:
    """The keys that `upper_windows` reads."""
    window = one_window(found)
    first = next((i for i, layer in enumerate(found) if layer.window is not None), len(found))
    return {"use_sliding_window": window is not None, "sliding_window": window, "max_window_layers": first,
            **type_keys(found)}  # fmt: skip
