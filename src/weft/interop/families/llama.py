"""Llama: rotary turns, RMS norms, gated MLPs, key heads shared by query heads.

Weft turns the pairs (x_i, x_{i + d/2}), as these files expect it, so that no rows need to be moved.
"""

from typing import Any

from weft.core import Attention, Block, Gated, PerToken, RmsNorm, Trunk
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, Family, only
from weft.interop.rules import Ignored, Joined, SameTensor, Tied, WeightRule, layers
from weft.interop.tables import Table
from weft.interop.their_config import TheirConfig
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Rotary


class Llama(Family):
    """LlamaForCausalLM and LlamaModel (Touvron et al., 2023)."""

    name = "llama"
    tasks = {"LlamaForCausalLM": "language-model", "LlamaModel": None}
    harmless = frozenset({"attention_dropout", "pretraining_tp"})

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        heads, norm = given.whole("num_attention_heads", 32), RmsNorm.Config(eps=given.number("rms_norm_eps", 1e-6))
        given.only("rope_interleaved", False)
        std, tied = given.number("initializer_range", 0.02), given.truth("tie_word_embeddings", False)
        mix = Attention.Config(
            heads=heads,
            kv_heads=given.whole("num_key_value_heads", heads),
            head_dim=given.whole("head_dim") if given.has("head_dim") else None,
            turn=Rotary.Config(base=rope_base(given)),
            offsets=given.truth("attention_bias", False),
        )
        transform = Gated.Config(
            activation=given.choice("hidden_act", ACTIVATIONS, "silu"),  # type: ignore[arg-type]
            hidden=given.whole("intermediate_size", 11008),
            offsets=given.truth("mlp_bias", False),
        )
        block = Block.Config(mix=mix, transform=transform, norm=norm)
        return Stream.Config(
            dim=given.whole("hidden_size", 4096),
            embed=TextEmbed.Config(
                vocab=given.whole("vocab_size", 32000), context=given.whole("max_position_embeddings", 2048), std=std
            ),
            trunk=Trunk.Config(depth=given.whole("num_hidden_layers", 32), block=block, norm=norm),
            head=PerToken.Config(tied=tied, std=std) if architecture == "LlamaForCausalLM" else None,
        )

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()[0]
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Gated.Config, "transform")
        turn, bare = only(mix.turn, Rotary.Config, "mix.turn"), outline(stream)
        bare_mlp: Any = bare.get_submodule("trunk.blocks.0.transform")
        return {
            "model_type": self.name,
            "architectures": ["LlamaModel" if stream.head is None else "LlamaForCausalLM"],
            "vocab_size": embed.vocab,
            "max_position_embeddings": embed.context,
            "hidden_size": stream.dim,
            "intermediate_size": bare_mlp.down.in_features,
            "num_hidden_layers": len(stream.trunk.all_blocks()),
            "num_attention_heads": mix.heads,
            "num_key_value_heads": mix.kv_heads or mix.heads,
            "head_dim": mix.width(stream.dim),
            "hidden_act": THEIR_ACTIVATION[mlp.activation],
            "rms_norm_eps": block.norm.eps,
            "rope_theta": turn.base,
            "rope_parameters": {"rope_theta": turn.base, "rope_type": "default"},
            "attention_bias": mix.offsets,
            "attention_dropout": 0.0,
            "mlp_bias": mlp.offsets,
            "initializer_range": embed.std,
            "tie_word_embeddings": getattr(stream.head, "tied", False),
        }

    def table(self, config: Model.Config) -> Table:
        stream = only(config, Stream.Config, "the model")
        block = stream.trunk.all_blocks()[0]
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Gated.Config, "transform")
        width = mix.width(stream.dim)
        keys = (mix.kv_heads or mix.heads) * width
        sizes = (mix.heads * width, keys, keys)
        ends = {"weight": True, "bias": mix.offsets}, {"weight": True, "bias": mlp.offsets}
        layer: list[WeightRule] = [
            SameTensor("layers.{i}.input_layernorm.weight", "trunk.blocks.{i}.mix_norm.gain"),
            SameTensor("layers.{i}.post_attention_layernorm.weight", "trunk.blocks.{i}.transform_norm.gain"),
            *(rule for end, there in ends[0].items() if there for rule in _attention(end, sizes)),
            *(rule for end, there in ends[1].items() if there for rule in _mlp(end)),
        ]
        body = [
            SameTensor("embed_tokens.weight", "embed.table.weight"),
            *layers(len(stream.trunk.all_blocks()), layer),
            SameTensor("norm.weight", "trunk.norm.gain"),
            Ignored("layers.*.self_attn.rotary_emb.inv_freq"),
        ]
        if stream.head is None:
            return Table(body)
        tied = only(stream.head, PerToken.Config, "head").tied
        head = Tied("lm_head.weight", "embed.table.weight") if tied else SameTensor("lm_head.weight", "head.out.weight")
        return Table(body, [head], prefix="model.")


def rope_base(given: TheirConfig) -> float:
    """The base of rotary turns, in the place of older files or of newer ones; turns stretched for length are refused."""
    given.only("partial_rotary_factor", 1.0, 1)
    base = given.number("rope_theta", 10000.0, least=1.0)
    for key in ("rope_scaling", "rope_parameters"):
        inner = given.inner(key)
        if inner is not None:
            inner.only("rope_type", "default")
            inner.only("type", "default")
            inner.only("partial_rotary_factor", 1.0, 1)
            base = inner.number("rope_theta", base, least=1.0)
    return base


def _attention(end: str, sizes: tuple[int, ...]) -> list[WeightRule]:
    theirs, ours = "layers.{i}.self_attn.", "trunk.blocks.{i}.mix."
    projections = tuple(f"{theirs}{name}_proj.{end}" for name in "qkv")
    return [Joined(projections, f"{ours}qkv.{end}", sizes), SameTensor(f"{theirs}o_proj.{end}", f"{ours}out.{end}")]


def _mlp(end: str) -> list[WeightRule]:
    theirs, ours = "layers.{i}.mlp.", "trunk.blocks.{i}.transform."
    both = (f"{theirs}gate_proj.{end}", f"{theirs}up_proj.{end}")
    return [Joined(both, f"{ours}up.{end}"), SameTensor(f"{theirs}down_proj.{end}", f"{ours}down.{end}")]
