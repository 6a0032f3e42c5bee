"""Transformers over patches, as ViT, DeiT and ViT-MAE have them: the same keys of config.json and names of weights.

Their table of places begins with those of the class tokens. Here a class token and its place are one vector, so these
rows are added to it; written again they are zero, and the numbers that come out are the same. A code that we compute
from row and column is written as the table of its vectors.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

import torch

from weft.core import Attention, Block, Dense, LayerNorm, Mlp, PerClassToken, Summary, Trunk
from weft.errors import ConfigError
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.labels import write_labels
from weft.interop.picture_rules import Fixed, Folded, Permuted
from weft.interop.pictures import only_pictures, with_embed, with_stream
from weft.interop.rules import JoinedRows, SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.image import PatchEmbed
from weft.models.stream import Model, Stream
from weft.position import Add, Grid, Place, Sinusoidal

POOLER = "pooler.dense.weight"


def read_patches(given: TheirConfig, *, class_tokens: int = 1, size: int = 224, patch: int = 16) -> PatchEmbed.Config:
    """The embedder; pictures must be whole patches wide and high. `size` and `patch` are their usual sides."""
    height, width = given.sides("image_size", size)
    patch, other = given.sides("patch_size", patch)
    if patch != other:
        raise ConfigError(f"patch_size is {[patch, other]}; weft cuts squares only", where=given.where)
    if height % patch or width % patch:
        problem = f"image_size {[height, width]} is not a multiple of patch_size {patch}"
        raise ConfigError(problem, where=given.where)
    rows, columns = height // patch, width // patch
    return PatchEmbed.Config(
        grid=(rows, columns),
        patch=patch,
        channels=given.whole("num_channels", 3),
        place=Add.Config(code=Grid.Config(rows=rows, columns=columns)),
        class_tokens=class_tokens,
        dropout=given.number("hidden_dropout_prob", 0.0),
    )


def read_trunk(
    given: TheirConfig, *, prefix: str = "", defaults: tuple[int, int, int] = (12, 12, 3072)
) -> Trunk.Config:
    """The blocks; the keys for depth, heads and hidden width begin with a prefix."""
    depth, heads, hidden = defaults
    plain = LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-12))
    mix = Attention.Config(
        heads=given.whole(f"{prefix}num_attention_heads", heads),
        offsets=given.truth("qkv_bias", True),
        out_offsets=True,
    )
    transform = Mlp.Config(
        activation=given.choice("hidden_act", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        hidden=given.whole(f"{prefix}intermediate_size", hidden),
    )
    block = Block.Config(mix=mix, transform=transform, norm=plain, dropout=given.number("hidden_dropout_prob", 0.0))
    return Trunk.Config(depth=given.whole(f"{prefix}num_hidden_layers", depth), block=block, norm=plain)


def read_pooler(given: TheirConfig, dim: int) -> Summary.Config:
    """A layer on the class token, whose result is the picture's vector."""
    activation = given.choice("pooler_act", {**ACTIVATIONS, "linear": None}, "tanh")
    width = given.whole("pooler_output_size", dim)
    return Summary.Config(first=True, dense=Dense.Config(activation=activation, width=width))  # type: ignore[arg-type]


def pooled(config: Model.Config, there: bool) -> Model.Config:
    """A model with or without the layer on its class token."""
    stream = config.reader()
    return (
        config
        if there or not isinstance(stream.head, Summary.Config)
        else with_stream(config, stream.replace(head=None))
    )


def completed(again: Model.Config, config: Model.Config) -> Model.Config:
    """What was read of a config.json, with what only the weights tell: a pooler, and places stored as a table."""
    place = only_pictures(config).place
    again = pooled(again, config.reader().head is not None)
    return with_embed(again, only_pictures(again).replace(place=place)) if computed(place) else again


def computed(place: Place.Config | None) -> TypeGuard[Add.Config]:
    """Whether places have codes that follow from row and column alone."""
    code = place.code if isinstance(place, Add.Config) else None
    return isinstance(code, Sinusoidal.Config) and set(code.axes) <= {"row", "column"}


def write_patches(stream: Stream.Config) -> dict[str, Any]:
    """The keys of the embedder."""
    embed = only(only_pictures(stream), PatchEmbed.Config, "embed")
    height, width = (count * embed.patch for count in embed.grid)
    return {
        "hidden_size": stream.dim,
        "image_size": height if height == width else [height, width],
        "patch_size": embed.patch,
        "num_channels": embed.channels,
    }


def write_trunk(trunk: Trunk.Config, dim: int, *, prefix: str = "") -> dict[str, Any]:
    """The keys of the blocks."""
    blocks = trunk.all_blocks()
    if not blocks:
        raise ConfigError("the trunk has no blocks")
    mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
    return {
        f"{prefix}num_hidden_layers": len(blocks),
        f"{prefix}num_attention_heads": mix.heads,
        f"{prefix}intermediate_size": mlp.hidden or round(mlp.ratio * dim),
        "hidden_act": THEIR_ACTIVATION[mlp.activation],
        "layer_norm_eps": blocks[0].norm.eps,
        "hidden_dropout_prob": blocks[0].dropout,
        "attention_probs_dropout_prob": 0.0,
        "qkv_bias": mix.offsets,
    }


def write_head(stream: Stream.Config) -> dict[str, Any]:
    """The keys of a layer on the class token, or of labels."""
    if stream.head is None:
        return {}
    if not isinstance(stream.head, Summary.Config):
        return write_labels(stream.outputs or 0)
    dense = only(stream.head.dense, Dense.Config, "head.dense")
    activation = "linear" if dense.activation is None else THEIR_ACTIVATION[dense.activation]
    return {"pooler_act": activation, "pooler_output_size": dense.width or stream.dim}


def table(stream: Stream.Config, class_tokens: Sequence[str], *, prefix: str) -> WeightTable:
    """A stream with its head: nothing, a layer on the class token, or labels."""
    body = [*patch_rules(stream, *class_tokens), *block_rules(stream.trunk), *layer_norm("layernorm", "trunk.norm")]
    if stream.head is None:
        return WeightTable(body)
    if isinstance(stream.head, Summary.Config):
        return WeightTable([*body, *linear("pooler.dense", "head.dense.linear")])
    if isinstance(stream.head, PerClassToken.Config):
        heads = ("cls_classifier", "distillation_classifier")
        return WeightTable(
            body, [rule for i, name in enumerate(heads) for rule in linear(name, f"head.outs.{i}")], prefix
        )
    return WeightTable(body, linear("classifier", "head.out"), prefix)


def patch_rules(stream: Stream.Config, *class_tokens: str) -> list[WeightRule]:
    """The embedder's weights; `class_tokens` are their names of these."""
    embed = only(only_pictures(stream), PatchEmbed.Config, "embed")
    ours = "embed." if embed is stream.embed else "embed.picture."
    count, theirs = len(class_tokens), "embeddings.patch_embeddings.projection"
    shape = (stream.dim, embed.patch, embed.patch, embed.channels)
    return [
        JoinedRows(
            tuple(f"embeddings.{name}" for name in class_tokens), f"{ours}summary", shape=(count, 1, stream.dim)
        ),
        Permuted(f"{theirs}.weight", f"{ours}project.weight", shape, (0, 3, 1, 2)),
        SameTensor(f"{theirs}.bias", f"{ours}project.bias"),
        place_rule("embeddings.position_embeddings", embed.place, ours, embed.grid, stream.dim, class_tokens=count),
    ]


def place_rule(
    theirs: str, place: Place.Config | None, ours: str, grid: tuple[int, ...], dim: int, *, class_tokens: int
) -> WeightRule:
    """The table of places, ours under names that begin with `ours`; computed codes are written as such a table."""
    if not computed(place):
        onto = f"{ours}summary" if ours else ""
        return Folded(theirs, f"{ours}place.code.table.weight", class_tokens, onto)
    lines = torch.meshgrid(*(torch.arange(float(side)) for side in grid), indexing="ij")
    coords = {axis: line.flatten()[None] for axis, line in zip(("row", "column"), lines, strict=True)}
    with torch.no_grad():
        return Fixed(theirs, place.code.build(dim=dim)(coords)[0], class_tokens)


def block_rules(
    trunk: Trunk.Config,
    theirs: str = "encoder.layer.",
    ours: str = "trunk.blocks.",
    *,
    reading: str = "attention.attention",
) -> list[WeightRule]:
    """The blocks' weights; `reading` is where the maps of queries, keys and values are."""
    blocks = trunk.all_blocks()
    ends = ("weight", "bias") if only(blocks[0].mix, Attention.Config, "mix").offsets else ("weight",)
    maps = [f"{theirs}{{i}}.{reading}.{name}" for name in ("query", "key", "value")]
    layer = [
        *layer_norm(f"{theirs}{{i}}.layernorm_before", f"{ours}{{i}}.mix_norm"),
        *(JoinedRows(tuple(f"{name}.{end}" for name in maps), f"{ours}{{i}}.mix.qkv.{end}") for end in ends),
        *linear(f"{theirs}{{i}}.attention.output.dense", f"{ours}{{i}}.mix.out"),
        *layer_norm(f"{theirs}{{i}}.layernorm_after", f"{ours}{{i}}.transform_norm"),
        *linear(f"{theirs}{{i}}.intermediate.dense", f"{ours}{{i}}.transform.up"),
        *linear(f"{theirs}{{i}}.output.dense", f"{ours}{{i}}.transform.down"),
    ]
    return layers(len(blocks), layer)
