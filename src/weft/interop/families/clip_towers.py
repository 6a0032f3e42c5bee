"""CLIP's two towers: the same blocks, over patches behind a class token and over a line of words up to the end mark.

Their text tower reads its vector at the first `eos_token_id`; where that is 2, as in files of early versions, at the
highest id, which is the end mark of the tokenizer that these models were trained with.
"""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, Dense, LayerNorm, Mlp, Summary, Trunk
from weft.errors import ConfigError
from weft.interop.families import patches
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.picture_rules import Folded, Permuted
from weft.interop.rules import Ignored, SameTensor, Shaped, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.modalities.image import PatchEmbed
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream
from weft.position import Add, Grid, Learned

HIGHEST = 2  # the eos_token_id that stands for the highest id
END = 49407  # the end mark of the tokenizer of CLIP


def read_pictures(given: TheirConfig, *, patch: int = 32) -> Stream.Config:
    """The tower of pictures, with the normed class token as its vector."""
    trunk, norm = read_trunk(given, heads=12, hidden=3072)
    embed = patches.read_patches(given, patch=patch)
    if embed.grid[0] != embed.grid[1]:
        raise ConfigError(f"image_size is {given.data['image_size']}; CLIP reads squares only", where=given.where)
    return Stream.Config(
        dim=given.whole("hidden_size", 768),
        embed=embed.replace(offsets=False, last_norm=norm),
        trunk=trunk,
        head=Summary.Config(first=True, norm=norm),
    )


def read_texts(given: TheirConfig) -> Stream.Config:
    """The tower of texts, with what stands at the end mark as its vector."""
    trunk, norm = read_trunk(given, heads=8, hidden=2048)
    places, vocab = given.whole("max_position_embeddings", 77), given.whole("vocab_size", 49408)
    end = given.whole("eos_token_id", END, least=0)
    end = vocab - 1 if end == HIGHEST else end
    if end >= vocab:
        raise ConfigError(f"eos_token_id is {end}, and there are {vocab} tokens", where=given.where)
    embed = TextEmbed.Config(vocab=vocab, context=places, place=Add.Config(code=Learned.Config(size=places)), end=end)
    head = Summary.Config(last=True)
    return Stream.Config(dim=given.whole("hidden_size", 512), embed=embed, trunk=trunk.replace(norm=norm), head=head)


def projected(stream: Stream.Config, width: int, *, unit: bool) -> Stream.Config:
    """A tower whose vector is mapped to another width, without offsets; `unit` brings it to length 1."""
    head, dense = only(stream.head, Summary.Config, "head"), Dense.Config(activation=None, width=width, offsets=False)
    return stream.replace(head=head.replace(dense=dense, unit=unit))


def write_pictures(stream: Stream.Config) -> dict[str, Any]:
    """The keys of the tower of pictures."""
    return {**patches.write_patches(stream), **write_trunk(stream), "projection_dim": vector_width(stream)}


def write_texts(stream: Stream.Config) -> dict[str, Any]:
    """The keys of the tower of texts."""
    embed = only(stream.embed, TextEmbed.Config, "text.embed")
    place = only(embed.place, Add.Config, "text.embed.place")
    if embed.end is None or embed.end == HIGHEST:
        raise ConfigError(f"text.embed.end is {embed.end}; CLIP ends texts at an id other than {HIGHEST}")
    return {
        **write_trunk(stream),
        "hidden_size": stream.dim,
        "vocab_size": embed.vocab,
        "max_position_embeddings": only(place.code, Learned.Config, "text.embed.place.code").size,
        "eos_token_id": embed.end,
        "bos_token_id": None,  # no part of the model: the tokenizer says what begins a text and what fills it up
        "pad_token_id": None,
        "projection_dim": vector_width(stream),
    }


def vector_width(stream: Stream.Config) -> int:
    """The number of values of a tower's vector."""
    return only(stream.head, Summary.Config, "head").width(stream.dim)


def picture_rules(stream: Stream.Config, last: str = "head.norm") -> list[WeightRule]:
    """The weights of the tower of pictures, without the map behind it; `last` is our name of its last norm."""
    embed = only(stream.embed, PatchEmbed.Config, "picture.embed")
    only(only(embed.place, Add.Config, "picture.embed.place").code, Grid.Config, "picture.embed.place.code")
    shape = (stream.dim, embed.patch, embed.patch, embed.channels)
    place = ("embeddings.position_embedding.weight", "embed.place.code.table.weight")
    return [
        Shaped("embeddings.class_embedding", "embed.summary", (-1,)),
        Permuted("embeddings.patch_embedding.weight", "embed.project.weight", shape, (0, 3, 1, 2)),
        Folded(*place, onto="embed.summary", batched=False),
        Ignored("*position_ids"),
        *layer_norm("pre_layrnorm", "embed.last_norm"),
        *tower_layers(stream.trunk),
        *layer_norm("post_layernorm", last),
    ]


def text_rules(stream: Stream.Config) -> list[WeightRule]:
    """The weights of the tower of texts, without the map behind it."""
    return [
        SameTensor("embeddings.token_embedding.weight", "embed.table.weight"),
        SameTensor("embeddings.position_embedding.weight", "embed.place.code.table.weight"),
        Ignored("*position_ids"),
        *tower_layers(stream.trunk),
        *layer_norm("final_layer_norm", "trunk.norm"),
    ]


def read_trunk(
    given: TheirConfig, *, heads: int, hidden: int, eps: float = 1e-5, activation: str = "quick_gelu"
) -> tuple[Trunk.Config, LayerNorm.Config]:
    """The blocks, and the norm that stands wherever there is one."""
    norm = LayerNorm.Config(eps=given.number("layer_norm_eps", eps))
    transform = Mlp.Config(
        activation=given.choice("hidden_act", ACTIVATIONS, activation),  # type: ignore[arg-type]
        hidden=given.whole("intermediate_size", hidden),
    )
    mix = Attention.Config(heads=given.whole("num_attention_heads", heads))
    block = Block.Config(mix=mix, transform=transform, norm=norm)
    return Trunk.Config(depth=given.whole("num_hidden_layers", 12), block=block, norm=None), norm


def write_trunk(stream: Stream.Config) -> dict[str, Any]:
    """The keys of a trunk whose blocks are all alike."""
    blocks: Sequence[Block.Config] = stream.trunk.all_blocks()
    if not blocks:
        raise ConfigError("the trunk has no blocks")
    mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
    return {
        "num_hidden_layers": len(blocks),
        "num_attention_heads": mix.heads,
        "intermediate_size": mlp.hidden or round(mlp.ratio * stream.dim),
        "hidden_act": THEIR_ACTIVATION[mlp.activation],
        "layer_norm_eps": blocks[0].norm.eps,
        "attention_dropout": 0.0,
    }


def tower_layers(trunk: Trunk.Config) -> list[WeightRule]:
    """The weights of the blocks."""
    theirs, ours = "encoder.layers.{i}.", "trunk.blocks.{i}."
    maps = tuple(f"{theirs}self_attn.{name}_proj" for name in "qkv")
    layer = [
        *layer_norm(f"{theirs}layer_norm1", f"{ours}mix_norm"),
        *joined(maps, f"{ours}mix.qkv"),
        *linear(f"{theirs}self_attn.out_proj", f"{ours}mix.out"),
        *layer_norm(f"{theirs}layer_norm2", f"{ours}transform_norm"),
        *linear(f"{theirs}mlp.fc1", f"{ours}transform.up"),
        *linear(f"{theirs}mlp.fc2", f"{ours}transform.down"),
    ]
    return layers(len(trunk.all_blocks()), layer)
