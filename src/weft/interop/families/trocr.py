"""TrOCR's decoder (Li et al., 2023): BART's blocks over a line of words, which read the tokens of a picture."""

from typing import Any

from weft.core import Attention, LayerNorm, Mlp, PerToken
from weft.interop.families import pairs
from weft.interop.families.parts import layer_norm, next_word_head
from weft.interop.families.sizes import first_block
from weft.interop.family import THEIR_ACTIVATION, only
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream
from weft.position import Add, Learned

START = 2  # rows that the table of places begins with and that no place uses


class TrocrWriter:
    """TrOCRForCausalLM as a decoder that reads a memory."""

    name = "trocr"

    def read(self, given: TheirConfig) -> Stream.Config:
        """The decoder that a config.json describes."""
        given.only("use_learned_position_embeddings", True)
        dim, places = given.whole("d_model", 1024), given.whole("max_position_embeddings", 512)
        std = given.number("init_std", 0.02)
        embed = TextEmbed.Config(
            vocab=given.whole("vocab_size", 50265),
            context=places,
            place=Add.Config(code=Learned.Config(size=places + START, start=START, std=std)),
            last_norm=LayerNorm.Config() if given.truth("layernorm_embedding", True) else None,
            scale=pairs.scale(given, dim),
            std=std,
            dropout=given.number("dropout", 0.1),
        )
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", True), std=std)
        trunk = pairs.trunk(given, "target", normed="after", activation="gelu")
        return Stream.Config(dim=dim, embed=embed, trunk=trunk, head=head)

    def write(self, stream: Stream.Config) -> dict[str, Any]:
        """The config.json of a decoder."""
        embed, block = only(stream.embed, TextEmbed.Config, "target.embed"), first_block(stream)
        code = only(only(embed.place, Add.Config, "target.embed.place").code, Learned.Config, "target.embed.place.code")
        mlp, mix = only(block.transform, Mlp.Config, "transform"), only(block.mix, Attention.Config, "mix")
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "d_model": stream.dim,
            "decoder_layers": len(stream.trunk.all_blocks()),
            "decoder_attention_heads": mix.heads,
            "decoder_ffn_dim": mlp.hidden or round(mlp.ratio * stream.dim),
            "activation_function": THEIR_ACTIVATION[mlp.activation],
            "max_position_embeddings": code.size - START,
            "dropout": block.dropout,
            "attention_dropout": 0.0,
            "activation_dropout": 0.0,
            "init_std": embed.std,
            "scale_embedding": embed.scale != 1.0,
            "layernorm_embedding": embed.last_norm is not None,
            "cross_attention_hidden_size": None if stream.memory_dim == stream.dim else stream.memory_dim,
            "tie_word_embeddings": only(stream.head, PerToken.Config, "target.head").tied,
        }

    def rules(self, stream: Stream.Config) -> list[WeightRule]:
        """The decoder's weights."""
        embed, body = only(stream.embed, TextEmbed.Config, "target.embed"), "model.decoder."
        assert stream.head is not None
        return [
            SameTensor(f"{body}embed_tokens.weight", "embed.table.weight"),
            SameTensor(f"{body}embed_positions.weight", "embed.place.code.table.weight"),
            *(layer_norm(f"{body}layernorm_embedding", "embed.last_norm") if embed.last_norm is not None else []),
            *pairs.block_rules(stream.trunk, body, "", reads=True),
            next_word_head(stream.head, "output_projection"),
        ]
