"""DINOv2: a ViT whose branches have learned gains, for pictures of any size (Oquab et al., 2023)."""

from collections.abc import Collection
from typing import Any, ClassVar, Literal

from weft.core import Attention, Block, FirstAndMean, Gated, LayerNorm, LayerScale, Mlp, Summary, Trunk
from weft.core.transforms import Transform
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.labels import write_labels
from weft.interop.pictures import PictureFamily, only_pictures, with_embed
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import JoinedRows, SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Add, Grid

MASK = "embeddings.mask_token"
MAX_RATIO = 64  # hidden widths of MLPs in widths of the stream, tried for gated ones


class Dinov2(PictureFamily):
    """Dinov2ForImageClassification and Dinov2Model, with plain or gated MLPs."""

    name = "dinov2"
    stem = "Dinov2"
    patch: ClassVar[int] = 14  # pixels along a patch where config.json does not say it
    mixed: ClassVar[Literal["linear", "cubic", "smoothed"]] = "cubic"  # how places are interpolated
    scale = IMAGENET
    processor = "BitImageProcessor"
    tasks = {"Dinov2ForImageClassification": "classify-images", "Dinov2Model": None}
    harmless = names(
        "attention_probs_dropout_prob drop_path_rate use_mask_token apply_layernorm reshape_hidden_states out_features"
        " out_indices stage_names"
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        labelled, registers = architecture.endswith("ForImageClassification"), self.registers(given)
        embed = patches.read_patches(given, patch=self.patch, class_tokens=1 + registers)
        rows, columns = embed.grid
        if rows != columns:
            raise ConfigError(
                "image_size is not square; weft computes these places only for squares", where=given.where
            )
        place = Add.Config(code=Grid.Config(rows=rows, columns=columns, mixed=self.mixed))
        dim = given.whole("hidden_size", 768)
        return Stream.Config(
            dim=dim,
            embed=embed.replace(place=place, hidden_token=self.hidden(given)),
            trunk=_trunk(given, dim),
            head=FirstAndMean.Config(registers=registers) if labelled else Summary.Config(first=True),
            outputs=given.labels() if labelled else None,
        )

    def registers(self, given: TheirConfig) -> int:
        """Tokens behind the class token that stand for no patch."""
        return 0

    def hidden(self, given: TheirConfig) -> bool:
        """Whether there is a token for hidden patches."""
        return given.truth("use_mask_token", True)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files may lack the token for hidden patches, whatever config.json says."""
        there = any(name.endswith(MASK) for name in names)
        return with_embed(config, only_pictures(config).replace(hidden_token=there))

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
            "architectures": [f"{self.stem}{'ForImageClassification' if labelled else 'Model'}"],
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
            **self.more_keys(stream),
            **(write_labels(stream.outputs or 0) if labelled else {}),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        body = [
            *self.first_rules(stream),
            *layers(len(blocks), [rule.under("encoder.layer.{i}.", "trunk.blocks.{i}.") for rule in _block(blocks[0])]),
            *layer_norm("layernorm", "trunk.norm"),
        ]
        if not isinstance(stream.head, FirstAndMean.Config):
            return WeightTable(body)
        return WeightTable(body, linear("classifier", "head.out"), prefix=f"{self.name}.")

    def more_keys(self, stream: Stream.Config) -> dict[str, Any]:
        """Keys of the tokens that stand for no patch."""
        return {"use_mask_token": only_pictures(stream).hidden_token}

    def first_rules(self, stream: Stream.Config) -> list[WeightRule]:
        """The weights of the embedder."""
        return [*patches.patch_rules(stream, "cls_token"), *hidden_rules(stream)]


class Dinov2WithRegisters(Dinov2):
    """Dinov2WithRegistersForImageClassification and Dinov2WithRegistersModel (Darcet et al., 2024).

    Registers stand between the class token and the patches.
    """

    name = "dinov2_with_registers"
    stem = "Dinov2WithRegisters"
    patch = 16
    mixed = "smoothed"
    tasks = {"Dinov2WithRegistersForImageClassification": "classify-images", "Dinov2WithRegistersModel": None}

    def hidden(self, given: TheirConfig) -> bool:
        return True

    def registers(self, given: TheirConfig) -> int:
        return given.whole("num_register_tokens", 4, least=0)

    def more_keys(self, stream: Stream.Config) -> dict[str, Any]:
        return {"num_register_tokens": only_pictures(stream).class_tokens - 1}

    def first_rules(self, stream: Stream.Config) -> list[WeightRule]:
        count = only_pictures(stream).class_tokens
        names = ("embeddings.cls_token", "embeddings.register_tokens")
        tokens = JoinedRows(names, "embed.summary", (1, count - 1), (count, stream.dim), batched=True)
        _, *rules = patches.patch_rules(stream, "cls_token")
        return [tokens, *rules, *hidden_rules(stream)]


def hidden_rules(stream: Stream.Config) -> list[WeightRule]:
    """The weights of the token for hidden patches, where a model has one."""
    return [SameTensor(MASK, "embed.hidden")] if only_pictures(stream).hidden_token else []


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
