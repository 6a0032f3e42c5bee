"""GPT-NeoX and Pythia: attention and MLP side by side, turns for a share of each head, one map for all of attention.

Its one map holds rows head by head: the query, key and value of the first head, then of the second, and so on.
"""

from typing import Any

from weft.core import Attention, Block, LayerNorm, Mlp, Parallel, PerToken, PreNorm, Trunk
from weft.interop.families.decoder import DecoderFamily, decoder_tasks
from weft.interop.families.parts import layer_norm, linear, there
from weft.interop.families.rope import read_turn, write_turn
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import HeadByHead, Ignored, SameTensor, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Rotary


class GptNeox(DecoderFamily):
    """GPTNeoXForCausalLM and GPTNeoXModel (Black et al., 2022; Biderman et al., 2023)."""

    name = "gpt_neox"
    tasks = decoder_tasks("GPTNeoX")
    prefix, last = "gpt_neox.", "embed_out"  # the name in files; in memory they call it lm_head
    harmless = names("attention_dropout classifier_dropout is_decoder")

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        norm = LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-5))
        std, rate = given.number("initializer_range", 0.02), given.number("hidden_dropout", 0.0)
        turn, context = _turn(given, given.whole("max_position_embeddings", 2048))
        block = Block.Config(
            mix=Attention.Config(
                heads=given.whole("num_attention_heads", 64), turn=turn, offsets=given.truth("attention_bias", True)
            ),
            transform=Mlp.Config(
                activation=given.choice("hidden_act", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
                hidden=given.whole("intermediate_size", 24576),
            ),
            norm=norm,
            wiring=Parallel.Config() if given.truth("use_parallel_residual", True) else PreNorm.Config(),
            dropout=rate,
        )
        embed = TextEmbed.Config(vocab=given.whole("vocab_size", 50432), context=context, std=std, dropout=rate)
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", False), std=std)
        stream = Stream.Config(
            dim=given.whole("hidden_size", 6144),
            embed=embed,
            trunk=Trunk.Config(depth=given.whole("num_hidden_layers", 44), block=block, norm=norm),
        )
        return self.headed(stream, head, given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
        turn, bare = only(mix.turn, Rotary.Config, "mix.turn"), outline(stream)
        bare_mlp: Any = bare.get_submodule("trunk.blocks.0.transform")
        inner = write_turn(turn, embed.context)["rope_parameters"]
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "max_position_embeddings": embed.context,
            "hidden_size": stream.dim,
            "intermediate_size": bare_mlp.up.out_features,
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mix.heads,
            "hidden_act": THEIR_ACTIVATION[mlp.activation],
            "layer_norm_eps": blocks[0].norm.eps,
            "use_parallel_residual": isinstance(blocks[0].wiring, Parallel.Config),
            "attention_bias": mix.offsets,
            "rotary_emb_base": turn.base,
            "rotary_pct": turn.share,
            "rope_parameters": {**inner, "partial_rotary_factor": turn.share},
            "hidden_dropout": blocks[0].dropout,
            "attention_dropout": 0.0,
            "initializer_range": embed.std,
            **self.head_keys(stream, tied=False),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks, theirs, ours = stream.trunk.all_blocks(), "layers.{i}.", "trunk.blocks.{i}."
        heads = only(blocks[0].mix, Attention.Config, "mix").heads
        together = f"{theirs}attention.query_key_value"
        layer = [
            *layer_norm(f"{theirs}input_layernorm", f"{ours}mix_norm"),
            *(HeadByHead(f"{together}.{end}", f"{ours}mix.qkv.{end}", heads) for end in ("weight", "bias")),
            *linear(f"{theirs}attention.dense", f"{ours}mix.out"),
            *layer_norm(f"{theirs}post_attention_layernorm", f"{ours}transform_norm"),
            *linear(f"{theirs}mlp.dense_h_to_4h", f"{ours}transform.up"),
            *linear(f"{theirs}mlp.dense_4h_to_h", f"{ours}transform.down"),
        ]
        body = [
            SameTensor("embed_in.weight", "embed.table.weight"),
            *layers(len(blocks), layer),
            *layer_norm("final_layer_norm", "trunk.norm"),
            *(Ignored(f"layers.*.attention.{name}") for name in ("bias", "masked_bias", "rotary_emb.inv_freq")),
        ]
        return self.headed_table(stream, there(body, stream), older=[("embed_out.", "lm_head.")])


def _turn(given: TheirConfig, context: int) -> tuple[Rotary.Config, int]:
    """The turn, by the names that this family has for its base and share where newer ones are not there."""
    base, share = given.number("rotary_emb_base", 10000.0, least=1.0), given.number("rotary_pct", 0.25)
    given.only("partial_rotary_factor")
    inner = {"rope_theta": base, "partial_rotary_factor": share}
    inner |= given.mapping("rope_scaling") or given.mapping("rope_parameters")
    one = TheirConfig({"rope_parameters": inner, "rope_theta": base}, given.where)
    found = read_turn(one, context, partial=True)
    for remark in one.finish():
        given.remark(remark)
    return found
