"""OPT (Zhang et al., 2022): learned places that begin at row 2, ReLU, pre-norm, or post-norm in one model."""

from typing import Any

from weft.core import Attention, Block, LayerNorm, Mlp, PerToken, PostNorm, PreNorm, Trunk
from weft.interop.families.decoder import DecoderFamily, decoder_tasks
from weft.interop.families.parts import joined, layer_norm, linear, there
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import SameTensor, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Add, Learned

START = 2  # rows that the table of places begins with and that no place uses


class Opt(DecoderFamily):
    """OPTForCausalLM and OPTModel."""

    name = "opt"
    tasks = decoder_tasks("OPT")
    harmless = names("attention_dropout activation_dropout layerdrop")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        dim, places = given.whole("hidden_size", 768), given.whole("max_position_embeddings", 2048)
        given.only("word_embed_proj_dim", dim)
        std, offsets = given.number("init_std", 0.02), given.truth("enable_bias", True)
        norm = LayerNorm.Config(learned=given.truth("layer_norm_elementwise_affine", True))
        before, bare = given.truth("do_layer_norm_before", True), given.truth("_remove_final_layer_norm", False)
        block = Block.Config(
            mix=Attention.Config(heads=given.whole("num_attention_heads", 12), offsets=offsets),
            transform=Mlp.Config(
                activation=given.choice("activation_function", ACTIVATIONS, "relu"),  # type: ignore[arg-type]
                hidden=given.whole("ffn_dim", 3072),
                offsets=offsets,
            ),
            norm=norm,
            wiring=PreNorm.Config() if before else PostNorm.Config(),
            dropout=given.number("dropout", 0.1),
        )
        embed = TextEmbed.Config(
            vocab=given.whole("vocab_size", 50272),
            context=places,
            place=Add.Config(code=Learned.Config(size=places + START, start=START, std=std)),
            std=std,
        )
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", True), std=std)
        depth = given.whole("num_hidden_layers", 12)
        trunk = Trunk.Config(depth=depth, block=block, norm=norm if before and not bare else None)
        return self.headed(Stream.Config(dim=dim, embed=embed, trunk=trunk), head, given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
        bare: Any = outline(stream)
        before = isinstance(blocks[0].wiring, PreNorm.Config)
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "max_position_embeddings": code.size - START,
            "hidden_size": stream.dim,
            "word_embed_proj_dim": stream.dim,
            "ffn_dim": bare.trunk.blocks[0].transform.up.out_features,
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mix.heads,
            "activation_function": THEIR_ACTIVATION[mlp.activation],
            "do_layer_norm_before": before,
            "_remove_final_layer_norm": before and stream.trunk.norm is None,
            "layer_norm_elementwise_affine": blocks[0].norm.learned,
            "enable_bias": mix.offsets,
            "dropout": blocks[0].dropout,
            "attention_dropout": 0.0,
            "layerdrop": 0.0,
            "init_std": embed.std,
            **self.head_keys(stream, tied=True),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        theirs, ours = "decoder.layers.{i}.", "trunk.blocks.{i}."
        attention = tuple(f"{theirs}self_attn.{name}_proj" for name in "qkv")
        layer = [
            *layer_norm(f"{theirs}self_attn_layer_norm", f"{ours}mix_norm"),
            *joined(attention, f"{ours}mix.qkv"),
            *linear(f"{theirs}self_attn.out_proj", f"{ours}mix.out"),
            *layer_norm(f"{theirs}final_layer_norm", f"{ours}transform_norm"),
            *linear(f"{theirs}fc1", f"{ours}transform.up"),
            *linear(f"{theirs}fc2", f"{ours}transform.down"),
        ]
        body = [
            SameTensor("decoder.embed_tokens.weight", "embed.table.weight"),
            SameTensor("decoder.embed_positions.weight", "embed.place.code.table.weight"),
            *layers(len(stream.trunk.all_blocks()), layer),
            *layer_norm("decoder.final_layer_norm", "trunk.norm"),
        ]
        return self.headed_table(stream, there(body, stream))
