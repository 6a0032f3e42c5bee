"""Gemma 1, 2 and 3 as language models (their multimodal versions are other model types).

Gemma 2 has norms on both sides of each branch, soft caps, and windows in every second layer. Gemma 3 normalises queries
and keys instead of capping scores, and turns them at another speed where a layer reads a window.
"""

import math
from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, Capped, Dot, OnePlusRmsNorm, SandwichNorm
from weft.errors import ConfigError
from weft.interop.families.decoder import LABELS, decoder_tasks
from weft.interop.families.gemma_kin import GemmaKin, plain_or_even, windowed
from weft.interop.families.llama import window_for_all
from weft.interop.families.rope import write_turn
from weft.interop.families.rotary_decoder import LAYER_TYPES, DecoderLayer, layer_types, one_window, type_keys
from weft.interop.family import only
from weft.interop.their_config import TheirConfig, names
from weft.models.stream import Model, Stream
from weft.position import Rotary

WINDOW = 4096  # where it is left out
FAR_BASE, NEAR_BASE = 1e6, 1e4  # of Gemma 3's turns, in layers that read all and in layers that read a window
# ours: theirs, of the norms on both sides of a branch
SANDWICH_NORMS = {
    "mix_norm": "input_layernorm",
    "mix_out_norm": "post_attention_layernorm",
    "transform_norm": "pre_feedforward_layernorm",
    "transform_out_norm": "post_feedforward_layernorm",
}


class Gemma(GemmaKin):
    """GemmaForCausalLM and GemmaModel (Gemma Team, 2024)."""

    name = "gemma"
    tasks = decoder_tasks("Gemma")
    harmless = names("attention_dropout cache_implementation hidden_activation")
    defaults = {
        "vocab_size": 256000, "max_position_embeddings": 8192, "hidden_size": 3072, "intermediate_size": 24576,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
    }  # fmt: skip
    activation_key = "hidden_act"

    def activation(self, given: TheirConfig) -> str:
        """The activation of the gate: older files say gelu where they mean its approximation."""
        found = super().activation(given)
        return "gelu_tanh" if found == "gelu" else found

    def mixers(
        self, given: TheirConfig, mix: Attention.Config, windows: Sequence[int | None]
    ) -> list[Attention.Config]:
        turn = plain_or_even(given)
        return [windowed(mix, window, turn) for window in windows]

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"attention_bias": only(block.mix, Attention.Config, "mix").offsets}


class Gemma2(GemmaKin):
    """Gemma2ForCausalLM and Gemma2Model (Gemma Team, 2024)."""

    name = "gemma2"
    tasks = decoder_tasks("Gemma2")
    harmless = names("attention_dropout cache_implementation hidden_act sliding_window_size")
    defaults = {
        "vocab_size": 256000, "max_position_embeddings": 8192, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    }  # fmt: skip
    wiring = SandwichNorm.Config()
    norms = SANDWICH_NORMS

    def mixers(
        self, given: TheirConfig, mix: Attention.Config, windows: Sequence[int | None]
    ) -> list[Attention.Config]:
        cap, score = given.number_or_none("attn_logit_softcapping", 50.0), _score(given, mix)
        mix = mix.replace(score=score if cap is None else Capped.Config(score=score, cap=cap))
        turn = plain_or_even(given)
        return [windowed(mix, window, turn) for window in windows]

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        return _every(2, given, depth)

    def cap(self, given: TheirConfig) -> float | None:
        return given.number_or_none("final_logit_softcapping", 30.0)

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return _written(block, found)

    def write(self, config: Model.Config) -> dict[str, Any]:
        return {**super().write(config), **_final_cap(config)}


class Gemma3(GemmaKin):
    """Gemma3ForCausalLM and Gemma3TextModel (Gemma Team, 2025): the language model alone."""

    name = "gemma3_text"
    tasks = {
        "Gemma3ForCausalLM": "language-model",
        "Gemma3TextModel": None,
        "Gemma3TextForSequenceClassification": LABELS,
    }
    harmless = names("attention_dropout cache_implementation hidden_act _sliding_window_pattern")
    defaults = {**Gemma2.defaults, "vocab_size": 262208, "max_position_embeddings": 131072}
    wiring = SandwichNorm.Config()
    norms = SANDWICH_NORMS

    def mixers(
        self, given: TheirConfig, mix: Attention.Config, windows: Sequence[int | None]
    ) -> list[Attention.Config]:
        given.only("attn_logit_softcapping")
        norm = OnePlusRmsNorm.Config(eps=given.number("rms_norm_eps", 1e-6))
        mix = mix.replace(score=_score(given, mix), qk_norm=norm)
        far, near = self._turns(given)
        return [windowed(mix, window, far if window is None else near) for window in windows]

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        return _every(given.whole("sliding_window_pattern", 6), given, depth)

    def cap(self, given: TheirConfig) -> float | None:
        return given.number_or_none("final_logit_softcapping", None)

    def _turns(self, given: TheirConfig) -> list[Rotary.Config]:
        """The turns of layers that read all and of those that read a window, as newer or older files say it."""
        bases = given.number("rope_theta", FAR_BASE), given.number("rope_local_base_freq", NEAR_BASE)
        both = TheirConfig(dict(given.mapping("rope_parameters")), given.where)
        stretch = {**both.mapping("full_attention"), **given.mapping("rope_scaling")}
        found = []
        for base, keys in zip(bases, (stretch, both.mapping("sliding_attention")), strict=True):
            one = TheirConfig({"rope_parameters": dict(keys)}, given.where)
            found.append(plain_or_even(one, base))
            for remark in one.finish():
                given.remark(remark)
        for remark in both.finish():
            given.remark(remark)
        return found

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return _written(block, found)

    def write(self, config: Model.Config) -> dict[str, Any]:
        written = {**super().write(config), **_final_cap(config)}
        turns = {"full_attention": Rotary.Config(base=FAR_BASE), "sliding_attention": Rotary.Config(base=NEAR_BASE)}
        for mix in (block.mix for block in config.trunk.all_blocks()):  # type: ignore[attr-defined]
            kind = next(name for name, near in LAYER_TYPES.items() if near is bool(mix.rules))
            turns[kind] = only(mix.turn, Rotary.Config, "mix.turn")
        keys = {kind: write_turn(turn, written["max_position_embeddings"]) for kind, turn in turns.items()}
        written = {key: value for key, value in written.items() if key not in keys["full_attention"]}
        return {**written, "rope_parameters": {kind: one["rope_parameters"] for kind, one in keys.items()}}


def _every(pattern: int, given: TheirConfig, depth: int) -> list[DecoderLayer]:
    """Windows in all layers but one in `pattern`, or in those that "layer_types" names."""
    near = [bool((i + 1) % pattern) for i in range(depth)]
    return [DecoderLayer(window=size) for size in layer_types(given, depth, near, window_for_all(given, WINDOW))]


def _score(given: TheirConfig, mix: Attention.Config) -> Dot.Config:
    """Products q . k divided by the root of a number, which is the width of a head in most published models."""
    scalar = given.number("query_pre_attn_scalar", 256, least=1e-6)
    return Dot.Config() if scalar == mix.head_dim else Dot.Config(scaled=False, temperature=math.sqrt(scalar))


def _written(block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
    """The keys of offsets, windows and scores."""
    mix = only(block.mix, Attention.Config, "mix")
    capped = mix.score if isinstance(mix.score, Capped.Config) else None
    score = only(mix.score if capped is None else capped.score, Dot.Config, "mix.score")
    exact = score.temperature**2 * ((mix.head_dim or 0) if score.scaled else 1)
    scalar = round(exact)
    if scalar < 1 or not math.isclose(scalar, exact, rel_tol=1e-12):
        raise ConfigError(f"scores are divided by the root of {exact}, expected that of a whole number")
    return {
        "attention_bias": mix.offsets,
        "query_pre_attn_scalar": scalar,
        "attn_logit_softcapping": None if capped is None else capped.cap,
        "sliding_window": one_window(found) or WINDOW,
        **type_keys(found),
    }


def _final_cap(config: Model.Config) -> dict[str, Any]:
    """The key of the soft cap of logits."""
    return {"final_logit_softcapping": getattr(only(config, Stream.Config, "the model").head, "cap", None)}
