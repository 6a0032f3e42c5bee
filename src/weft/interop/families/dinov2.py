"""DINOv2: a ViT whose branches have learned gains, for pictures of any size (Oquab et al., 2023)."""

from typing import Any

from weft.core import Attention, Block, FirstAndMean, Gated, LayerNorm, LayerScale, Mlp, Summary, Trunk
from weft.core.transforms import Transform
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.labels import write_labels
from weft.interop.pictures import PictureFamily
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import JoinedRows, SameTensor, Unused, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Add, Grid

MAX_RATIO = 64  # hidden widths of MLPs in widths of the stream, tried for gated ones


class Dinov2(PictureFamily):
    """Dinov2ForImageClassification and Dinov2Model, with plain or gated MLPs.

    Its token for hidden patches is of use in its training alone, and is left out.
    """

    name = "dinov2"
    scale = IMAGENET
    processor = "BitImageProcessor"
    tasks = {"Dinov2ForImageClassification": "classify-images", "Dinov2Model": None}
    harmless = names(
        "attention_probs_dropout_prob drop_path_rate use_mask_token apply_layernorm reshape_hidden_states out_features"
        " out_indices stage_names"
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        labelled = architecture == "Dinov2ForImageClassification"
        embed = patches.read_patches(given, patch=14)
        rows, columns = embed.grid
        if rows != columns:
            raise ConfigError(
                "image_size is not square; weft computes these places only for squares", where=given.where
            )
        place = Add.Config(code=Grid.Config(rows=rows, columns=columns, mixed="cubic"))
        dim = given.whole("hidden_size", 768)
        return Stream.Config(
            dim=dim,
            embed=embed.replace(place=place),
            trunk=_trunk(given, dim),
            head=FirstAndMean.Config() if labelled else Summary.Config(first=True),
            outputs=given.labels() if labelled else None,
        )

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        if not blocks:
            raise ConfigError("the trunk has no blocks")
        block, labelled = blocks[0], isinstance(stream.head, FirstAndMean.Config)
        mix = only(block.mix, Attention.Config, "mix")
        gated = isinstance(block.transform, Gated.Config)
        act = "gelu" if gated else THEIR_ACTIVATION[only(block.transform, Mlp.Config, "transform").activation]
        bare: Any = outline(stream).get_submodule("trunk.blocks.0.transform")
        return {
            "model_type": self.name,
            "architectures": ["Dinov2ForImageClassification" if labelled else "Dinov2Model"],
            **patches.write_patches(stream),
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mix.heads,
            "mlp_ratio": _ratio(bare.down.in_features, stream.dim, gated=gated),
            "use_swiglu_ffn": gated,
            "hidden_act": act,
            "layer_norm_eps": block.norm.eps,
            "hidden_dropout_prob": block.dropout,
            "attention_probs_dropout_prob": 0.0,
            "qkv_bias": mix.offsets,
            "layerscale_value": only(block.scale, LayerScale.Config, "trunk.blocks.scale").init,
            "use_mask_token": False,
            **(write_labels(stream.outputs or 0) if labelled else {}),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        body = [
            *patches.patch_rules(stream, "cls_token"),
            Unused("embeddings.mask_token"),
            *layers(len(blocks), [rule.under("encoder.layer.{i}.", "trunk.blocks.{i}.") for rule in _block(blocks[0])]),
            *layer_norm("layernorm", "trunk.norm"),
        ]
        if not isinstance(stream.head, FirstAndMean.Config):
            return WeightTable(body)
        return WeightTable(body, linear("classifier", "head.out"), prefix="dinov2.")


def _trunk(given: TheirConfig, dim: int) -> Trunk.Config:
    ratio, activation = given.whole("mlp_ratio", 4), given.choice("hidden_act", ACTIVATIONS, "gelu")
    gated, norm = given.truth("use_swiglu_ffn", False), LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-6))
    transform: Transform.Config = (
        Gated.Config(hidden=_hidden(ratio, dim, gated=True), offsets=True)
        if gated
        else Mlp.Config(activation=activation, hidden=_hidden(ratio, dim, gated=False))  # type: ignore[arg-type]
    )
    block = Block.Config(
        mix=Attention.Config(
            heads=given.whole("num_attention_heads", 12), offsets=given.truth("qkv_bias", True), out_offsets=True
        ),
        transform=transform,
        norm=norm,
        scale=LayerScale.Config(init=given.number("layerscale_value", 1.0)),
        dropout=given.number("hidden_dropout_prob", 0.0),
    )
    return Trunk.Config(depth=given.whole("num_hidden_layers", 12), block=block, norm=norm)


def _hidden(ratio: int, dim: int, *, gated: bool) -> int:
    """The hidden width of an MLP: two thirds where it is gated, in multiples of 8."""
    return -(-int(ratio * dim * 2 / 3) // 8) * 8 if gated else ratio * dim


def _ratio(hidden: int, dim: int, *, gated: bool) -> int:
    found = next((ratio for ratio in range(1, MAX_RATIO) if _hidden(ratio, dim, gated=gated) == hidden), None)
    if found is None:
        raise ConfigError(f"a hidden width of {hidden} follows from no whole mlp_ratio, with a width of {dim}")
    return found


def _block(block: Block.Config) -> list[WeightRule]:
    parts = tuple(f"attention.attention.{name}" for name in ("query", "key", "value"))
    bare = only(block.mix, Attention.Config, "mix").offsets
    reading = joined(parts, "mix.qkv") if bare else [JoinedRows(tuple(f"{n}.weight" for n in parts), "mix.qkv.weight")]
    up, down = ("weights_in", "weights_out") if isinstance(block.transform, Gated.Config) else ("fc1", "fc2")
    return [
        *layer_norm("norm1", "mix_norm"),
        *reading,
        *linear("attention.output.dense", "mix.out"),
        SameTensor("layer_scale1.lambda1", "mix_scale.gain"),
        *layer_norm("norm2", "transform_norm"),
        *linear(f"mlp.{up}", "transform.up"),
        *linear(f"mlp.{down}", "transform.down"),
        SameTensor("layer_scale2.lambda1", "transform_scale.gain"),
    ]
