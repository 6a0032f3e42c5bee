"""What Marian, BART, mBART and M2M100 share: two trunks, the second reading the first."""

from typing import Any, Literal

from weft.core import Attention, Block, Mlp, PerToken, PostNorm, PreNorm, Trunk
from weft.errors import ConfigError
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.sizes import first_block
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import JoinedRows, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream

HARMLESS = """is_encoder_decoder attention_dropout activation_dropout encoder_layerdrop decoder_layerdrop
    classifier_dropout classif_dropout num_hidden_layers is_decoder force_bos_token_to_be_generated
    normalize_embedding gradient_checkpointing decoder_vocab_size"""
SIDES = {"source": "encoder", "target": "decoder"}


def trunk(
    given: TheirConfig,
    side: Literal["source", "target"],
    *,
    normed: Literal["before", "after"] = "after",
    activation: str = "gelu",
) -> Trunk.Config:
    """One side's blocks, with norms before each branch and one at the end, or after each branch."""
    theirs = SIDES[side]
    given.only("normalize_before", normed == "before")
    given.only("add_final_layer_norm", normed == "before")
    heads = Attention.Config(heads=given.whole(f"{theirs}_attention_heads", 16))
    block = Block.Config(
        mix=heads,
        read=heads if side == "target" else None,
        transform=Mlp.Config(
            activation=given.choice("activation_function", ACTIVATIONS, activation),  # type: ignore[arg-type]
            hidden=given.whole(f"{theirs}_ffn_dim", 4096),
        ),
        wiring=PreNorm.Config() if normed == "before" else PostNorm.Config(),
        dropout=given.number("dropout", 0.1),
    )
    return Trunk.Config(depth=given.whole(f"{theirs}_layers", 12), block=block)


def written(config: Seq2Seq.Config) -> dict[str, Any]:
    """The keys of both sides' blocks."""
    keys: dict[str, Any] = {"d_model": config.target.dim, "is_encoder_decoder": True}
    bare = outline(config)
    for side, theirs in SIDES.items():
        stream = only(getattr(config, side), Stream.Config, f"the {theirs}")
        block = first_block(stream)
        mlp: Any = bare.get_submodule(f"{side}.trunk.blocks.0.transform")
        keys[f"{theirs}_layers"] = len(stream.trunk.all_blocks())
        keys[f"{theirs}_attention_heads"] = only(block.mix, Attention.Config, f"{side}.trunk.blocks.mix").heads
        keys[f"{theirs}_ffn_dim"] = mlp.up.out_features if isinstance(block.transform, Mlp.Config) else 1
    mlp_config = only(block.transform, Mlp.Config, "target.trunk.blocks.transform")
    return {
        **keys,
        "activation_function": THEIR_ACTIVATION[mlp_config.activation],
        "dropout": block.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "init_std": getattr(config.target.embed, "std", 0.02),
        "scale_embedding": _scaled(config),
    }


def _scaled(config: Seq2Seq.Config) -> bool:
    """Whether embeddings are multiplied by the root of the width."""
    factor = only(config.target.embed, TextEmbed.Config, "target.embed").scale
    if factor not in (1.0, config.target.dim**0.5):
        raise ConfigError(f"embed.scale is {factor}, expected 1 or the root of the width")
    return factor != 1.0


def scale(given: TheirConfig, dim: int, *, usual: bool = False) -> float:
    """What embeddings are multiplied by; `usual` is what holds where config.json does not say."""
    return float(dim**0.5) if given.truth("scale_embedding", usual) else 1.0


def side_rules(config: Seq2Seq.Config, side: Literal["source", "target"]) -> list[WeightRule]:
    """The rules of one side's blocks."""
    stream: Stream.Config = getattr(config, side)
    return block_rules(stream.trunk, f"{SIDES[side]}.", f"{side}.", reads=side == "target")


def block_rules(trunk: Trunk.Config, theirs: str, ours: str, *, reads: bool) -> list[WeightRule]:
    """The rules of blocks under these names, which read a memory or not."""
    rules, blocks = [*_BLOCK, *(_READ if reads else [])], trunk.all_blocks()
    each = [rule.under(f"{theirs}layers.{{i}}.", f"{ours}trunk.blocks.{{i}}.") for rule in rules]
    ends = blocks and isinstance(blocks[-1].wiring, PreNorm.Config)
    last = layer_norm(f"{theirs}layer_norm", f"{ours}trunk.norm")
    return [*layers(len(blocks), each), *(last if ends else [])]


def with_head(config: Seq2Seq.Config, **changes: Any) -> Seq2Seq.Config:
    """The model with another head, if it has one."""
    head = config.target.head
    if head is None:
        return config
    return config.replace(target=config.target.replace(head=only(head, PerToken.Config, "head").replace(**changes)))


def _joined(names: str, theirs: str, ours: str) -> list[WeightRule]:
    return [JoinedRows(tuple(f"{theirs}.{n}_proj.{end}" for n in names), f"{ours}.{end}") for end in ("weight", "bias")]


_BLOCK: list[WeightRule] = [
    *_joined("qkv", "self_attn", "mix.qkv"),
    *linear("self_attn.out_proj", "mix.out"),
    *layer_norm("self_attn_layer_norm", "mix_norm"),
    *linear("fc1", "transform.up"),
    *linear("fc2", "transform.down"),
    *layer_norm("final_layer_norm", "transform_norm"),
]
_READ: list[WeightRule] = [
    *linear("encoder_attn.q_proj", "read.q"),
    *_joined("kv", "encoder_attn", "read.kv"),
    *linear("encoder_attn.out_proj", "read.out"),
    *layer_norm("encoder_attn_layer_norm", "read_norm"),
]
