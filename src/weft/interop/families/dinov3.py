"""DINOv3: a ViT whose patches are turned by their place in the picture (Siméoni et al., 2025)."""

import math
from typing import Any

from weft.core import Attention, Block, Gated, LayerNorm, LayerScale, Mlp, Summary, Trunk
from weft.core.transforms import Transform
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import layer_norm, linear, there
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.picture_rules import Permuted
from weft.interop.pictures import PictureFamily, only_pictures
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import JoinedRows, SameTensor, Shaped, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PatchEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Rotary

TURN = Rotary.Config(axes=("down", "across"), base=100.0, speed=2 * math.pi)


class Dinov3(PictureFamily):
    """DINOv3ViTModel. Class token and registers are not turned."""

    name = "dinov3_vit"
    tasks = {"DINOv3ViTModel": None}
    scale = IMAGENET
    processor = "DINOv3ViTImageProcessor"
    harmless = names(
        """attention_dropout drop_path_rate apply_layernorm reshape_hidden_states return_class_token out_features
        out_indices _out_features _out_indices stage_names pos_embed_shift pos_embed_jitter pos_embed_rescale"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        registers = given.whole("num_register_tokens", 0, least=0)
        embed = patches.read_patches(given, class_tokens=1 + registers)
        dim, norm = given.whole("hidden_size", 384), LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-5))
        head = Summary.Config(first=True)
        trunk = Trunk.Config(depth=given.whole("num_hidden_layers", 12), block=_block(given, norm), norm=norm)
        return Stream.Config(dim=dim, embed=embed.replace(place=None, hidden_token=True), trunk=trunk, head=head)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        only(stream.head, Summary.Config, "head")
        blocks = stream.trunk.all_blocks()
        if not blocks:
            raise ConfigError("the trunk has no blocks")
        block, mix = blocks[0], only(blocks[0].mix, Attention.Config, "mix")
        gated = isinstance(block.transform, Gated.Config)
        mlp: Any = block.transform if gated else only(block.transform, Mlp.Config, "transform")
        bare: Any = outline(stream).get_submodule("trunk.blocks.0.transform")
        keyless = mix.key_offsets is False
        return {
            "model_type": self.name,
            "architectures": ["DINOv3ViTModel"],
            **patches.write_patches(stream),
            "intermediate_size": bare.down.in_features,
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mix.heads,
            "hidden_act": THEIR_ACTIVATION[mlp.activation],
            "layer_norm_eps": block.norm.eps,
            "rope_theta": only(mix.turn, Rotary.Config, "mix.turn").base,
            "query_bias": mix.offsets,
            "key_bias": mix.offsets and not keyless,
            "value_bias": mix.offsets,
            "proj_bias": mix.ends_offset,
            "mlp_bias": mlp.offsets,
            "layerscale_value": only(block.scale, LayerScale.Config, "trunk.blocks.scale").init,
            "use_gated_mlp": gated,
            "num_register_tokens": only_pictures(stream).class_tokens - 1,
            "attention_dropout": 0.0,
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(only_pictures(stream), PatchEmbed.Config, "embed"), stream.trunk.all_blocks()
        count, shape = embed.class_tokens, (stream.dim, embed.patch, embed.patch, embed.channels)
        tokens = ("embeddings.cls_token", "embeddings.register_tokens")
        body = [
            JoinedRows(tokens, "embed.summary", (1, count - 1), (count, stream.dim), batched=True),
            Shaped("embeddings.mask_token", "embed.hidden", (1, 1, -1)),
            Permuted("embeddings.patch_embeddings.weight", "embed.project.weight", shape, (0, 3, 1, 2)),
            SameTensor("embeddings.patch_embeddings.bias", "embed.project.bias"),
            *layers(len(blocks), [rule.under("layer.{i}.", "trunk.blocks.{i}.") for rule in _rules(blocks[0])]),
            *layer_norm("norm", "trunk.norm"),
        ]
        return WeightTable(there(body, stream))


def _block(given: TheirConfig, norm: LayerNorm.Config) -> Block.Config:
    act, offsets = given.choice("hidden_act", ACTIVATIONS, "gelu"), given.truth("mlp_bias", True)
    hidden, gated = given.whole("intermediate_size", 1536), given.truth("use_gated_mlp", False)
    query, key, value = (given.truth(f"{part}_bias", part != "key") for part in ("query", "key", "value"))
    if query != value or (key and not query):
        problem = "query_bias and value_bias are alike in the models that weft reads, and key_bias is theirs or false"
        raise ConfigError(problem, where=given.where)
    kind: type[Gated] | type[Mlp] = Gated if gated else Mlp
    transform: Transform.Config = kind.Config(activation=act, hidden=hidden, offsets=offsets)  # type: ignore[arg-type]
    mix = Attention.Config(
        heads=given.whole("num_attention_heads", 6),
        turn=TURN.replace(base=given.number("rope_theta", 100.0)),
        offsets=query,
        out_offsets=given.truth("proj_bias", True),
        key_offsets=None if key == query else False,
    )
    scale = LayerScale.Config(init=given.number("layerscale_value", 1.0))
    return Block.Config(mix=mix, transform=transform, norm=norm, scale=scale)


def _rules(block: Block.Config) -> list[WeightRule]:
    """The weights of a block; those of offsets that it does not have are left out where the table is made."""
    mix = only(block.mix, Attention.Config, "mix")
    maps = tuple(f"attention.{name}_proj" for name in "qkv")
    offsets: list[WeightRule] = [JoinedRows(tuple(f"{name}.bias" for name in maps), "mix.qkv.bias")]
    if mix.key_offsets is False:
        offsets = [JoinedRows((f"{maps[0]}.bias", f"{maps[2]}.bias"), "mix.offset")]
    up = [*linear("mlp.up_proj", "transform.up")]
    if isinstance(block.transform, Gated.Config):
        ends = ("weight", "bias")
        up = [JoinedRows((f"mlp.gate_proj.{end}", f"mlp.up_proj.{end}"), f"transform.up.{end}") for end in ends]
    return [
        *layer_norm("norm1", "mix_norm"),
        JoinedRows(tuple(f"{name}.weight" for name in maps), "mix.qkv.weight"),
        *offsets,
        *linear("attention.o_proj", "mix.out"),
        SameTensor("layer_scale1.lambda1", "mix_scale.gain"),
        *layer_norm("norm2", "transform_norm"),
        *up,
        *linear("mlp.down_proj", "transform.down"),
        SameTensor("layer_scale2.lambda1", "transform_scale.gain"),
    ]
