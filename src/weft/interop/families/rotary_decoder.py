"""Decoders of Llama's kind: rotary turns, RMS norms before each branch, gated MLPs, key heads shared by query heads.

Weft turns the pairs (x_i, x_{i + d/2}), as these files expect it, so that no rows need to be moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.core import Attention, Block, Gated, PerToken, PreNorm, RmsNorm, Transform, Trunk, Window, Wiring
from weft.errors import ConfigError
from weft.interop.families.decoder import DecoderFamily
from weft.interop.families.rope import TYPES, read_turn, write_turn
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import Ignored, JoinedRows, SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Rotary

LAYER_TYPES = {"full_attention": False, "sliding_attention": True}  # whether they have a window


@dataclass(frozen=True)
class DecoderLayer:
    """What may differ between layers: whether queries and keys are turned, and how many tokens each token reads."""

    turned: bool = True
    window: int | None = None


class RotaryDecoder(DecoderFamily):
    """A family of such decoders. It adds its own keys of config.json, and says their values where they are left out."""

    defaults: ClassVar[Mapping[str, Any]]
    partial: ClassVar[bool] = False  # whether the turned share of a head can be stated
    rope_types: ClassVar[Mapping[str, str]] = TYPES
    wiring: ClassVar[Wiring.Config] = PreNorm.Config()
    # ours: theirs, of the norms in a block
    norms: ClassVar[Mapping[str, str]] = {"mix_norm": "input_layernorm", "transform_norm": "post_attention_layernorm"}

    def attention(self, given: TheirConfig, mix: Attention.Config, norm: RmsNorm.Config) -> Attention.Config:
        """The attention of all layers, with what the family adds to it: offsets, norms of queries and keys."""
        return mix

    def mlp_offsets(self, given: TheirConfig) -> bool:
        """Whether the MLPs have offsets."""
        return False

    def transforms(self, given: TheirConfig, mlp: Gated.Config, depth: int) -> Sequence[Transform.Config]:
        """What each layer computes within a token: `mlp`, or what the family has in its place."""
        return [mlp] * depth

    def layers(self, given: TheirConfig, depth: int) -> Sequence[DecoderLayer]:
        """What may differ, for each layer."""
        return [DecoderLayer()] * depth

    def own_keys(self, block: Block.Config, found: Sequence[DecoderLayer]) -> dict[str, Any]:
        """The keys that `attention`, `mlp_offsets` and `layers` read."""
        return {}

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        usual, depth = self.defaults, given.whole("num_hidden_layers", self.defaults["num_hidden_layers"])
        heads = given.whole("num_attention_heads", usual["num_attention_heads"])
        shared = heads if given.names("num_key_value_heads") else usual.get("num_key_value_heads", heads)
        norm = RmsNorm.Config(eps=given.number("rms_norm_eps", usual.get("rms_norm_eps", 1e-6)))
        std = given.number("initializer_range", 0.02)
        longest = given.whole("max_position_embeddings", usual["max_position_embeddings"])
        base = usual.get("rope_theta", 10000.0)
        turn, context = read_turn(given, longest, base=base, partial=self.partial, types=self.rope_types)
        width = usual.get("head_dim")
        mix = Attention.Config(
            heads=heads,
            kv_heads=given.whole("num_key_value_heads", shared),
            head_dim=given.whole("head_dim", width) if given.has("head_dim") or width else None,
            offsets=False,
        )
        mlp = Gated.Config(
            activation=given.choice("hidden_act", ACTIVATIONS, "silu"),  # type: ignore[arg-type]
            hidden=given.whole("intermediate_size", usual["intermediate_size"]),
            offsets=self.mlp_offsets(given),
        )
        mix = self.attention(given, mix, norm)
        block = Block.Config(mix=mix, norm=norm, wiring=self.wiring)
        both = zip(self.layers(given, depth), self.transforms(given, mlp, depth), strict=True)
        blocks = tuple(_for_layer(block, turn, layer).replace(transform=one) for layer, one in both)
        same = all(one == blocks[0] for one in blocks)
        tied = given.truth("tie_word_embeddings", usual.get("tie_word_embeddings", False))
        stream = Stream.Config(
            dim=given.whole("hidden_size", usual["hidden_size"]),
            embed=TextEmbed.Config(vocab=given.whole("vocab_size", usual["vocab_size"]), context=context, std=std),
            trunk=Trunk.Config(depth=depth, block=blocks[0], norm=norm)
            if same
            else Trunk.Config(blocks=blocks, norm=norm),
        )
        return self.headed(stream, PerToken.Config(tied=tied, std=std), given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        found = [decoder_layer(block) for block in blocks]
        block, turn = _first(stream), _turn(blocks)
        mix = only(block.mix, Attention.Config, "mix")
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "max_position_embeddings": embed.context,
            "hidden_size": stream.dim,
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mix.heads,
            "num_key_value_heads": mix.kv_heads or mix.heads,
            "head_dim": mix.width(stream.dim),
            "rms_norm_eps": block.norm.eps,
            **write_turn(turn, embed.context),
            "attention_dropout": 0.0,
            "initializer_range": embed.std,
            **self.mlp_keys(stream),
            **self.own_keys(block, found),
            **self.head_keys(stream, tied=False),
        }

    def mlp_keys(self, stream: Stream.Config) -> dict[str, Any]:
        """The keys of the transforms."""
        mlp = only(_first(stream).transform, Gated.Config, "transform")
        bare: Any = outline(stream).get_submodule("trunk.blocks.0.transform")
        return {"intermediate_size": bare.down.in_features, "hidden_act": THEIR_ACTIVATION[mlp.activation]}

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        mix = only(_first(stream).mix, Attention.Config, "mix")
        width = mix.width(stream.dim)
        keys = (mix.kv_heads or mix.heads) * width
        layer: list[WeightRule] = [
            *(
                SameTensor(f"layers.{{i}}.{theirs}.weight", f"trunk.blocks.{{i}}.{ours}.gain")
                for ours, theirs in self.norms.items()
            ),
            *self.attention_rules(mix, (mix.heads * width, keys, keys)),
        ]
        body = [
            SameTensor("embed_tokens.weight", "embed.table.weight"),
            *layers(len(blocks), layer),
            *(rule.at(i) for i, block in enumerate(blocks) for rule in self.transform_rules(block.transform)),
            SameTensor("norm.weight", "trunk.norm.gain"),
            Ignored("layers.*.self_attn.rotary_emb.inv_freq"),
        ]
        return self.headed_table(stream, body)

    def attention_rules(self, mix: Attention.Config, sizes: tuple[int, ...]) -> list[WeightRule]:
        """The weights of an attention; `sizes` are the rows of queries, keys and values."""
        theirs, ours = "layers.{i}.self_attn.", "trunk.blocks.{i}.mix."
        rules: list[WeightRule] = []
        for end, inner, last in (("weight", True, True), ("bias", mix.offsets, mix.ends_offset)):
            projections = tuple(f"{theirs}{name}_proj.{end}" for name in "qkv")
            rules += [JoinedRows(projections, f"{ours}qkv.{end}", sizes)] if inner else []
            rules += [SameTensor(f"{theirs}o_proj.{end}", f"{ours}out.{end}")] if last else []
        if mix.qk_norm is not None:
            rules += [SameTensor(f"{theirs}{side}_norm.weight", f"{ours}{side}_norm.gain") for side in "qk"]
        return rules

    def transform_rules(self, transform: Transform.Config | None) -> list[WeightRule]:
        """The weights of what a layer computes within a token."""
        return self.mlp_rules(only(transform, Gated.Config, "transform"))

    def mlp_rules(self, mlp: Gated.Config) -> list[WeightRule]:
        """The weights of an MLP."""
        theirs, ours = "layers.{i}.mlp.", "trunk.blocks.{i}.transform."
        rules: list[WeightRule] = []
        for end in ("weight", "bias") if mlp.offsets else ("weight",):
            both = (f"{theirs}gate_proj.{end}", f"{theirs}up_proj.{end}")
            rules += [JoinedRows(both, f"{ours}up.{end}"), SameTensor(f"{theirs}down_proj.{end}", f"{ours}down.{end}")]
        return rules


def layer_types(given: TheirConfig, depth: int, windowed: Sequence[bool], window: int | None) -> list[int | None]:
    """The window of each layer, by "layer_types" or, where that is left out, by `windowed`."""
    if given.has("layer_types"):
        windowed = given.choices("layer_types", LAYER_TYPES)
        if len(windowed) != depth:
            problem = f"layer_types: expected one for each of {depth} layers, found {len(windowed)}"
            raise ConfigError(problem, where=given.where)
    if any(windowed) and window is None:
        problem = "layer_types asks for sliding_attention, but sliding_window is not set or switched off"
        raise ConfigError(problem, where=given.where)
    return [window if there else None for there in windowed]


def type_keys(found: Sequence[DecoderLayer]) -> dict[str, Any]:
    """The key that `layer_types` reads."""
    full, sliding = LAYER_TYPES
    return {"layer_types": [full if layer.window is None else sliding for layer in found]}


def one_window(found: Sequence[DecoderLayer]) -> int | None:
    """The window of those layers that have one."""
    windows = {layer.window for layer in found} - {None}
    if len(windows) > 1:
        raise ConfigError(f"windows of {len(windows)} sizes have no counterpart")
    return next(iter(windows), None)


def _for_layer(block: Block.Config, turn: Rotary.Config, layer: DecoderLayer) -> Block.Config:
    """The block of a layer."""
    mix = only(block.mix, Attention.Config, "mix")
    rules = () if layer.window is None else (Window(radius=layer.window - 1),)
    return block.replace(mix=mix.replace(turn=turn if layer.turned else None, rules=rules))


def decoder_layer(block: Block.Config) -> DecoderLayer:
    """What may differ from layer to layer, of one block."""
    mix = only(block.mix, Attention.Config, "mix")
    window = next((rule.radius + 1 for rule in mix.rules if isinstance(rule, Window)), None)
    return DecoderLayer(turned=mix.turn is not None, window=window)


def _first(stream: Stream.Config) -> Block.Config:
    blocks = stream.trunk.all_blocks()
    if not blocks:
        raise ConfigError("a model without layers has no counterpart")
    return blocks[0]


def _turn(blocks: Sequence[Block.Config]) -> Rotary.Config:
    """The turn of the first layer that has one."""
    turns = [only(block.mix, Attention.Config, "mix").turn for block in blocks]
    return only(next((turn for turn in turns if turn is not None), None), Rotary.Config, "mix.turn")
