"""Swin: patches in stages, mixed within tiles that are shifted in every second block, then merged two by two."""

from typing import Any

from weft.core import Attention, Block, LayerNorm, Mlp, Pooled, Summary, Tile, Trunk
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.labels import write_labels
from weft.interop.picture_rules import Permuted
from weft.interop.pictures import PictureFamily
from weft.interop.preprocessors import IMAGENET
from weft.interop.rules import Ignored, SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PictureEmbed
from weft.modalities.preparation import Preparation
from weft.modalities.stages import StagedEmbed
from weft.models.stream import Model, Stream
from weft.position import Offsets

LABELLED = "SwinForImageClassification"


class Swin(PictureFamily):
    """SwinForImageClassification and SwinModel (Liu et al., 2021).

    Pictures are those of config.json's image_size, whose stages are whole tiles: elsewhere their library lets tokens
    read the padding that fills a tile up, and here nothing ever reads padding.
    """

    name = "swin"
    scale = IMAGENET
    tasks = {LABELLED: "classify-images", "SwinModel": None}
    harmless = names(
        """out_features out_indices stage_names drop_path_rate attention_probs_dropout_prob encoder_stride hidden_size
        num_layers path_norm"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        given.only("use_absolute_embeddings", False)
        depths, heads = given.wholes("depths", (2, 2, 6, 2)), given.wholes("num_heads", (3, 6, 12, 24))
        if len(depths) != len(heads) or not depths:
            raise ConfigError(f"{len(depths)} depths and {len(heads)} num_heads", where=given.where)
        patch, grids = _grids(given, len(depths))
        *stages, last = (
            _trunk(given, depth, count, grid) for depth, count, grid in zip(depths, heads, grids, strict=True)
        )
        labelled = architecture == LABELLED
        return Stream.Config(
            dim=given.whole("embed_dim", 96) * 2 ** len(stages),
            embed=StagedEmbed.Config(
                grid=grids[-1],
                patch=patch,
                channels=given.whole("num_channels", 3),
                stages=tuple(stage.replace(norm=None) for stage in stages),
                dropout=0.0,
            ),
            trunk=last,
            head=Pooled.Config() if labelled else Summary.Config(),
            outputs=given.labels() if labelled else None,
        )

    def sized(self, embed: PictureEmbed.Config, preparation: Preparation | None) -> PictureEmbed.Config:
        final, learned = preparation and preparation.final, tuple(side * embed.stride for side in embed.grid)
        if final and final != learned:
            problem = f"pictures are prepared to {list(final)} pixels, and image_size of config.json is {list(learned)}"
            raise ConfigError(problem, fix="set both to the same size")
        return embed

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream, embed = _parts(config)
        trunks = [*embed.stages, stream.trunk]
        mixers = [only(one.all_blocks()[0].mix, Attention.Config, "mix") for one in trunks]
        first = stream.trunk.all_blocks()[0]
        mlp = only(first.transform, Mlp.Config, "transform")
        height, width = (side * embed.stride for side in embed.grid)
        labelled = isinstance(stream.head, Pooled.Config)
        return {
            "model_type": self.name,
            "architectures": [LABELLED if labelled else "SwinModel"],
            "image_size": height if height == width else [height, width],
            "patch_size": embed.patch,
            "num_channels": embed.channels,
            "embed_dim": stream.dim // 2 ** len(embed.stages),
            "depths": [len(one.all_blocks()) for one in trunks],
            "num_heads": [mix.heads for mix in mixers],
            "window_size": only(mixers[0].bias, Offsets.Config, "mix.bias").size,
            "mlp_ratio": mlp.ratio if mlp.hidden is None else mlp.hidden / stream.dim,
            "qkv_bias": mixers[0].offsets,
            "hidden_act": THEIR_ACTIVATION[mlp.activation],
            "hidden_dropout_prob": first.dropout,
            "attention_probs_dropout_prob": 0.0,
            "drop_path_rate": 0.0,
            "layer_norm_eps": first.norm.eps,
            "use_absolute_embeddings": False,
            **(write_labels(stream.outputs or 0) if labelled else {}),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream, embed = _parts(config)
        width = stream.dim // 2 ** len(embed.stages)
        shape, projection = (width, embed.patch, embed.patch, embed.channels), "embeddings.patch_embeddings.projection"
        body: list[WeightRule] = [
            Permuted(f"{projection}.weight", "embed.project.weight", shape, (0, 3, 1, 2)),
            SameTensor(f"{projection}.bias", "embed.project.bias"),
            *layer_norm("embeddings.norm", "embed.patch_norm"),
            Ignored("*.relative_position_index"),
        ]
        for i, trunk in enumerate(embed.stages):
            theirs = f"encoder.layers.{i}"
            body += _blocks(trunk, f"{theirs}.blocks.", f"embed.stages.{i}.blocks.")
            body += layer_norm(f"{theirs}.downsample.norm", f"embed.merges.{i}.norm")
            body.append(SameTensor(f"{theirs}.downsample.reduction.weight", f"embed.merges.{i}.out.weight"))
        body += _blocks(stream.trunk, f"encoder.layers.{len(embed.stages)}.blocks.", "trunk.blocks.")
        body += layer_norm("layernorm", "trunk.norm")
        return (
            WeightTable(body, linear("classifier", "head.out"), "swin.")
            if stream.head and stream.outputs
            else WeightTable(body)
        )


def _grids(given: TheirConfig, stages: int) -> tuple[int, list[tuple[int, int]]]:
    """The side of a patch, and rows and columns of each stage."""
    (height, width), (patch, other) = given.sides("image_size", 224), given.sides("patch_size", 4)
    if patch != other:
        raise ConfigError(f"patch_size is {[patch, other]}; weft cuts squares only", where=given.where)
    stride, tile = patch * 2 ** (stages - 1), given.whole("window_size", 7)
    grids = [(height // (patch * 2**i), width // (patch * 2**i)) for i in range(stages)]
    if height % stride or width % stride or any(side % tile for grid in grids for side in grid):
        problem = f"image_size {[height, width]} does not give whole windows of {tile} in each of {stages} stages"
        fix = f"set image_size to a multiple of {stride * tile}"
        raise ConfigError(problem, where=given.where, fix=fix)
    return patch, grids


def _trunk(given: TheirConfig, depth: int, heads: int, grid: tuple[int, int]) -> Trunk.Config:
    """The blocks of a stage; where one tile is as high or wide as the grid, none is shifted."""
    tile, norm = given.whole("window_size", 7), LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-5))
    activation = given.choice("hidden_act", ACTIVATIONS, "gelu")
    shift = 0 if min(grid) <= tile else tile // 2

    def block(shift: int) -> Block.Config:
        mix = Attention.Config(
            heads=heads,
            offsets=given.truth("qkv_bias", True),
            out_offsets=True,
            rules=(Tile(size=tile, shift=shift),),
            bias=Offsets.Config(size=tile),
        )
        transform = Mlp.Config(activation=activation, ratio=given.number("mlp_ratio", 4.0))  # type: ignore[arg-type]
        return Block.Config(mix=mix, transform=transform, norm=norm, dropout=given.number("hidden_dropout_prob", 0.0))

    blocks = tuple(block(shift if i % 2 else 0) for i in range(depth))
    return Trunk.Config(blocks=blocks, norm=norm)


def _parts(config: Model.Config) -> tuple[Stream.Config, StagedEmbed.Config]:
    """The stream, and the embedder that holds all stages but the last."""
    stream = only(config, Stream.Config, "the model")
    if not stream.trunk.all_blocks():
        raise ConfigError("the trunk has no blocks")
    return stream, only(stream.embed, StagedEmbed.Config, "embed")


def _blocks(trunk: Trunk.Config, theirs: str, ours: str) -> list[WeightRule]:
    count, table = len(trunk.all_blocks()), "relative_position_bias_table"
    return [
        *patches.block_rules(trunk, theirs, ours, reading="attention.self"),
        *(SameTensor(f"{theirs}{i}.attention.self.{table}", f"{ours}{i}.mix.bias.table.weight") for i in range(count)),
    ]
