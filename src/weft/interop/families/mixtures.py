"""Decoders of Llama's kind with mixtures of experts: Mixtral (2024), Qwen3-MoE and gpt-oss (2025).

gpt-oss has sinks in its attention and keeps the weights of all experts in one tensor. Its published files are in
mxfp4, a format that weft does not read; copies in bf16 are read.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from weft.core import Attention, Block, BoundedGated, Gated, Mixture, RmsNorm, Transform
from weft.errors import ConfigError
from weft.interop.families.decoder import decoder_tasks
from weft.interop.families.llama import window_for_all
from weft.interop.families.parts import linear
from weft.interop.families.rotary_decoder import DecoderLayer, RotaryDecoder, layer_types, one_window, type_keys
from weft.interop.family import THEIR_ACTIVATION, only
from weft.interop.rules import JoinedRows, SameTensor, StackedExperts, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.models.outline import outline
from weft.models.stream import Stream

HARMLESS = names("attention_dropout output_router_logits router_aux_loss_coef router_jitter_noise")


class MixtureDecoder(RotaryDecoder):
    """A family whose layers, or some of them, have a mixture of experts."""

    inside: ClassVar[str]  # what the names of a mixture's weights begin with, in a layer
    maps: ClassVar[tuple[str, str, str]]  # the names of an expert's gate, value and last map

    def mixture(self, given: TheirConfig, expert: Transform.Config, count: int, chosen: int) -> Mixture.Config:
        """The mixture of a layer; files call the number of experts by two names."""
        known = next((key for key in ("num_local_experts", "num_experts") if given.has(key)), "num_local_experts")
        for key in ("num_local_experts", "num_experts"):
            given.only(key, given.data.get(known))
        most = given.whole("num_experts_per_tok", chosen)
        return Mixture.Config(expert=expert, experts=given.whole(known, count), chosen=most)

    def mixture_keys(self, mixture: Mixture.Config) -> dict[str, Any]:
        """The keys that `mixture` reads."""
        return {"num_local_experts": mixture.experts, "num_experts_per_tok": mixture.chosen}

    def transform_rules(self, transform: Transform.Config | None) -> list[WeightRule]:
        if not isinstance(transform, Mixture.Config):
            return super().transform_rules(transform)
        theirs, ours = f"layers.{{i}}.{self.inside}.", "trunk.blocks.{i}.transform."
        gate, value, last = self.maps
        rules: list[WeightRule] = [SameTensor(f"{theirs}gate.weight", f"{ours}router.weight")]
        for e in range(transform.experts):
            one, own = f"{theirs}experts.{e}.", f"{ours}experts.{e}."
            rules.append(JoinedRows((f"{one}{gate}.weight", f"{one}{value}.weight"), f"{own}up.weight"))
            rules.append(SameTensor(f"{one}{last}.weight", f"{own}down.weight"))
        return rules


class Mixtral(MixtureDecoder):
    """MixtralForCausalLM and MixtralModel."""

    name, inside, maps = "mixtral", "block_sparse_moe", ("w1", "w3", "w2")
    tasks = decoder_tasks("Mixtral")
    harmless = HARMLESS
    defaults = {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 4096 * 32,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1e6,
    }

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        return [DecoderLayer(window=window_for_all(given, None))] * depth

    def transforms(self, given: TheirConfig, mlp: Gated.Config, depth: int) -> Sequence[Transform.Config]:
        return [self.mixture(given, mlp, 8, 2)] * depth

    def mlp_keys(self, stream: Stream.Config) -> dict[str, Any]:
        mixture = only(stream.trunk.all_blocks()[0].transform, Mixture.Config, "transform")
        expert = only(mixture.expert, Gated.Config, "transform.expert")
        act = {"hidden_act": THEIR_ACTIVATION[expert.activation]}
        return {"intermediate_size": _hidden(stream, 0), **act, **self.mixture_keys(mixture)}

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        return {"sliding_window": one_window(found)}


class Qwen3Moe(MixtureDecoder):
    """Qwen3MoeForCausalLM and Qwen3MoeModel: norms of queries and keys; some layers may have one MLP instead."""

    name, inside, maps = "qwen3_moe", "mlp", ("gate_proj", "up_proj", "down_proj")
    tasks = decoder_tasks("Qwen3Moe")
    harmless = HARMLESS | names("max_window_layers")
    defaults = {
        "vocab_size": 151936,
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32768,
    }

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        return mix.replace(offsets=given.truth("attention_bias", False), qk_norm=norm)

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        window = window_for_all(given, 4096) if given.truth("use_sliding_window", False) else None
        given.whole("sliding_window", 4096)
        return [DecoderLayer(window=window)] * depth

    def transforms(self, given: TheirConfig, mlp: Gated.Config, depth: int) -> Sequence[Transform.Config]:
        expert = mlp.replace(hidden=given.whole("moe_intermediate_size", 768))
        mixture, over_all = self.mixture(given, expert, 128, 8), not given.truth("norm_topk_prob", False)
        mixture = mixture.replace(shares="all" if over_all else "chosen")
        plain, step = given.wholes("mlp_only_layers", (), least=0), given.whole("decoder_sparse_step", 1)
        return [mlp if i in plain or (i + 1) % step else mixture for i in range(depth)]

    def mlp_keys(self, stream: Stream.Config) -> dict[str, Any]:
        found = [block.transform for block in stream.trunk.all_blocks()]
        mixed = [i for i, one in enumerate(found) if isinstance(one, Mixture.Config)]
        plain = [i for i in range(len(found)) if i not in mixed]
        mixture = only(found[mixed[0]] if mixed else None, Mixture.Config, "transform")
        expert = only(mixture.expert, Gated.Config, "transform.expert")
        return {
            "intermediate_size": _hidden(stream, plain[0]) if plain else self.defaults["intermediate_size"],
            "moe_intermediate_size": _hidden(stream, mixed[0]),
            "hidden_act": THEIR_ACTIVATION[expert.activation],
            **self.mixture_keys(mixture),
            "num_experts": mixture.experts,  # as older versions of their library have it
            "norm_topk_prob": mixture.shares == "chosen",
            "mlp_only_layers": plain,
            "decoder_sparse_step": 1,
        }

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        window = one_window(found)
        offsets = only(block.mix, Attention.Config, "mix").offsets
        return {"attention_bias": offsets, "use_sliding_window": window is not None, "sliding_window": window}


class GptOss(MixtureDecoder):
    """GptOssForCausalLM and GptOssModel, in plain numbers."""

    name = "gpt_oss"
    tasks = decoder_tasks("GptOss")
    harmless = HARMLESS | names("hidden_act initial_context_length experts_per_token")
    defaults = {
        "vocab_size": 201088,
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": 36,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5,
        "rope_theta": 150000.0,
    }

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        if not (given.has("rope_parameters") or given.has("rope_scaling")):
            raise ConfigError("rope_parameters is missing", where=given.where)
        return mix.replace(offsets=given.truth("attention_bias", True), sinks=True)

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        near, window = [i % 2 == 0 for i in range(depth)], window_for_all(given, 128)
        return [DecoderLayer(window=size) for size in layer_types(given, depth, near, window)]

    def transforms(self, given: TheirConfig, mlp: Gated.Config, depth: int) -> Sequence[Transform.Config]:
        given.only("swiglu_alpha", 1.702)
        expert = BoundedGated.Config(hidden=mlp.hidden, limit=given.number("swiglu_limit", 7.0, least=1e-6))
        return [self.mixture(given, expert, 128, 4).replace(offsets=True)] * depth

    def mlp_keys(self, stream: Stream.Config) -> dict[str, Any]:
        mixture = only(stream.trunk.all_blocks()[0].transform, Mixture.Config, "transform")
        expert = only(mixture.expert, BoundedGated.Config, "transform.expert")
        swiglu = {"swiglu_alpha": 1.702, "swiglu_limit": expert.limit}
        return {"intermediate_size": _hidden(stream, 0), "hidden_act": "silu", **swiglu, **self.mixture_keys(mixture)}

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        offsets = only(block.mix, Attention.Config, "mix").offsets
        return {"attention_bias": offsets, "sliding_window": one_window(found) or 128, **type_keys(found)}

    def attention_rules(self, mix: Attention.Config, sizes: tuple[int, ...]) -> list[WeightRule]:
        sinks = SameTensor("layers.{i}.self_attn.sinks", "trunk.blocks.{i}.mix.sinks")
        return [*super().attention_rules(mix, sizes), sinks]

    def transform_rules(self, transform: Transform.Config | None) -> list[WeightRule]:
        mixture = only(transform, Mixture.Config, "transform")
        theirs, ours = "layers.{i}.mlp.", "trunk.blocks.{i}.transform."

        def stacked(name: str, own: str, *, pairs: bool) -> WeightRule:
            each = tuple(f"{ours}experts.{e}.{own}" for e in range(mixture.experts))
            return StackedExperts(f"{theirs}experts.{name}", each, pairs)

        return [
            *linear(f"{theirs}router", f"{ours}router"),
            stacked("gate_up_proj", "up.weight", pairs=True),
            stacked("gate_up_proj_bias", "up.bias", pairs=True),
            stacked("down_proj", "down.weight", pairs=False),
            stacked("down_proj_bias", "down.bias", pairs=False),
        ]


def _hidden(stream: Stream.Config, layer: int) -> int:
    """The hidden width of a layer's MLP, or of each of its experts."""
    transform: Any = outline(stream).get_submodule(f"trunk.blocks.{layer}.transform")
    return getattr(transform, "experts", [transform])[0].down.in_features
