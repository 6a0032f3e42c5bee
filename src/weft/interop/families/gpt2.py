"""GPT-2: learned places, norms ahead of each branch, GELU. Its matrices lie with inputs first (Conv1D)."""

from typing import Any

from weft.core import Attention, Block, Dot, LayerNorm, Mlp, PerToken, Trunk
from weft.interop.families.decoder import DecoderFamily, decoder_tasks
from weft.interop.families.parts import layer_norm
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import Ignored, SameTensor, Turned, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Add, Learned


class Gpt2(DecoderFamily):
    """GPT2LMHeadModel and GPT2Model (Radford et al., 2019)."""

    name = "gpt2"
    ours = "gpt"
    tasks = decoder_tasks("GPT2", words="LMHeadModel")
    prefix = "transformer."
    harmless = names(
        """n_ctx attn_pdrop reorder_and_upcast_attn summary_type summary_use_proj summary_activation
        summary_proj_to_labels summary_first_dropout"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        given.only("add_cross_attention", False)
        stream = read_stream(given)
        return self.headed(stream, only(stream.head, PerToken.Config, "head"), given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()[0]
        code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Mlp.Config, "transform")
        bare: Any = outline(stream)
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "n_positions": code.size,
            "n_embd": stream.dim,
            "n_layer": len(stream.trunk.all_blocks()),
            "n_head": mix.heads,
            "n_inner": bare.trunk.blocks[0].transform.up.out_features,
            "activation_function": THEIR_ACTIVATION[mlp.activation],
            "layer_norm_epsilon": block.norm.eps,
            "scale_attn_weights": getattr(mix.score, "scaled", True),
            "resid_pdrop": block.dropout,
            "embd_pdrop": embed.dropout,
            "attn_pdrop": 0.0,
            "initializer_range": embed.std,
            **self.head_keys(stream, tied=True),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        body = [
            SameTensor("wte.weight", "embed.table.weight"),
            SameTensor("wpe.weight", "embed.place.code.table.weight"),
            *layers(len(stream.trunk.all_blocks()), _LAYER + (_READING if stream.trunk.all_blocks()[0].read else [])),
            *layer_norm("ln_f", "trunk.norm"),
            *(Ignored(f"h.*.{name}.{mask}") for name in ("attn", "crossattention") for mask in ("bias", "masked_bias")),
        ]
        return self.headed_table(stream, body)


def read_stream(given: TheirConfig, *, reads: bool = False) -> Stream.Config:
    """A decoder with its head; one that `reads` has a branch in each block for a memory beside it."""
    dim, places = given.whole("n_embd", 768), given.whole("n_positions", 1024)
    given.only("scale_attn_by_inverse_layer_idx", False)
    given.only("is_decoder", False, True)
    norm = LayerNorm.Config(eps=given.number("layer_norm_epsilon", 1e-5))
    std = given.number("initializer_range", 0.02)
    mix = Attention.Config(
        heads=given.whole("n_head", 12), score=Dot.Config(scaled=given.truth("scale_attn_weights", True))
    )
    transform = Mlp.Config(
        activation=given.choice("activation_function", ACTIVATIONS, "gelu_new"),  # type: ignore[arg-type]
        hidden=given.whole("n_inner", 4 * dim),
    )
    block = Block.Config(
        mix=mix,
        read=mix if reads else None,
        transform=transform,
        norm=norm,
        dropout=given.number("resid_pdrop", 0.1),
    )
    embed = TextEmbed.Config(
        vocab=given.whole("vocab_size", 50257),
        context=places,
        place=Add.Config(code=Learned.Config(size=places, std=std)),
        std=std,
        dropout=given.number("embd_pdrop", 0.1),
    )
    head = PerToken.Config(tied=given.truth("tie_word_embeddings", True), std=std)
    trunk = Trunk.Config(depth=given.whole("n_layer", 12), block=block, norm=norm)
    return Stream.Config(dim=dim, embed=embed, trunk=trunk, head=head)


def _turned(theirs: str, ours: str) -> list[WeightRule]:
    return [Turned(f"{theirs}.weight", f"{ours}.weight"), SameTensor(f"{theirs}.bias", f"{ours}.bias")]


_LAYER: list[WeightRule] = [
    *layer_norm("h.{i}.ln_1", "trunk.blocks.{i}.mix_norm"),
    *_turned("h.{i}.attn.c_attn", "trunk.blocks.{i}.mix.qkv"),
    *_turned("h.{i}.attn.c_proj", "trunk.blocks.{i}.mix.out"),
    *layer_norm("h.{i}.ln_2", "trunk.blocks.{i}.transform_norm"),
    *_turned("h.{i}.mlp.c_fc", "trunk.blocks.{i}.transform.up"),
    *_turned("h.{i}.mlp.c_proj", "trunk.blocks.{i}.transform.down"),
]
_READING: list[WeightRule] = [
    *layer_norm("h.{i}.ln_cross_attn", "trunk.blocks.{i}.read_norm"),
    *_turned("h.{i}.crossattention.q_attn", "trunk.blocks.{i}.read.q"),
    *_turned("h.{i}.crossattention.c_attn", "trunk.blocks.{i}.read.kv"),
    *_turned("h.{i}.crossattention.c_proj", "trunk.blocks.{i}.read.out"),
]
