"""GPT-Neo (Black et al., 2021; TinyStories, Eldan and Li, 2023): GPT-2 with windows in some layers.

Scores are plain products, and only the last map of an attention has offsets.
"""

from collections.abc import Sequence
from typing import Any

from weft.core import Attention, Block, Dot, LayerNorm, Mlp, PerToken, Trunk, Window
from weft.errors import ConfigError
from weft.interop.families.decoder import DecoderFamily, decoder_tasks
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.rotary_decoder import decoder_layer, one_window
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import Ignored, JoinedRows, SameTensor, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Add, Learned

WINDOW = 256  # where it is left out
KINDS = {"global": False, "local": True}  # whether they have a window


class GptNeo(DecoderFamily):
    """GPTNeoForCausalLM and GPTNeoModel."""

    name = "gpt_neo"
    tasks = decoder_tasks("GPTNeo")
    prefix = "transformer."
    harmless = names(
        """attention_dropout classifier_dropout gradient_checkpointing summary_type summary_use_proj summary_activation
        summary_proj_to_labels summary_first_dropout"""
    )

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        dim, depth = given.whole("hidden_size", 2048), given.whole("num_layers", 24)
        places, window = given.whole("max_position_embeddings", 2048), given.whole("window_size", WINDOW)
        std = given.number("initializer_range", 0.02)
        norm = LayerNorm.Config(eps=given.number("layer_norm_epsilon", 1e-5))
        mix = Attention.Config(
            heads=given.whole("num_heads", 16), score=Dot.Config(scaled=False), offsets=False, out_offsets=True
        )
        block = Block.Config(
            mix=mix,
            transform=Mlp.Config(
                activation=given.choice("activation_function", ACTIVATIONS, "gelu_new"),  # type: ignore[arg-type]
                hidden=given.whole("intermediate_size", 4 * dim),
            ),
            norm=norm,
            dropout=given.number("resid_dropout", 0.0),
        )
        near = block.replace(mix=mix.replace(rules=(Window(radius=window - 1),)))
        blocks = tuple(near if local else block for local in _kinds(given, depth))
        embed = TextEmbed.Config(
            vocab=given.whole("vocab_size", 50257),
            context=places,
            place=Add.Config(code=Learned.Config(size=places, std=std)),
            std=std,
            dropout=given.number("embed_dropout", 0.0),
        )
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", True), std=std)
        stream = Stream.Config(dim=dim, embed=embed, trunk=Trunk.Config(blocks=blocks, norm=norm))
        return self.headed(stream, head, given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
        found = [decoder_layer(block) for block in blocks]
        bare: Any = outline(stream)
        return {
            "model_type": self.name,
            "vocab_size": embed.vocab,
            "max_position_embeddings": code.size,
            "hidden_size": stream.dim,
            "intermediate_size": bare.trunk.blocks[0].transform.up.out_features,
            "num_layers": len(blocks),
            "num_heads": mix.heads,
            "window_size": one_window(found) or WINDOW,
            **_kind_keys([layer.window is not None for layer in found]),
            "activation_function": THEIR_ACTIVATION[mlp.activation],
            "layer_norm_epsilon": blocks[0].norm.eps,
            "resid_dropout": blocks[0].dropout,
            "embed_dropout": embed.dropout,
            "attention_dropout": 0.0,
            "initializer_range": embed.std,
            **self.head_keys(stream, tied=True),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        theirs, ours = "h.{i}.", "trunk.blocks.{i}."
        attention = f"{theirs}attn.attention."
        layer = [
            *layer_norm(f"{theirs}ln_1", f"{ours}mix_norm"),
            JoinedRows(tuple(f"{attention}{name}_proj.weight" for name in "qkv"), f"{ours}mix.qkv.weight"),
            *linear(f"{attention}out_proj", f"{ours}mix.out"),
            *layer_norm(f"{theirs}ln_2", f"{ours}transform_norm"),
            *linear(f"{theirs}mlp.c_fc", f"{ours}transform.up"),
            *linear(f"{theirs}mlp.c_proj", f"{ours}transform.down"),
        ]
        body = [
            SameTensor("wte.weight", "embed.table.weight"),
            SameTensor("wpe.weight", "embed.place.code.table.weight"),
            *layers(len(stream.trunk.all_blocks()), layer),
            *layer_norm("ln_f", "trunk.norm"),
            *(Ignored(f"h.*.attn.attention.{mask}") for mask in ("bias", "masked_bias")),
        ]
        return self.headed_table(stream, body)


def _kinds(given: TheirConfig, depth: int) -> tuple[bool, ...]:
    """Whether each layer has a window: "attention_types" lists kinds, each list with how often it is repeated."""
    written = given.listed("attention_types", [[["global", "local"], 12]])
    kinds: list[bool] = []
    for one in written:
        if not isinstance(one, list | tuple) or len(one) != 2:
            raise ConfigError(f"attention_types: expected [kinds, times], found {one!r:.80}", where=given.where)
        inner = TheirConfig({"attention_types": one[0], "times": one[1]}, given.where)
        kinds += inner.choices("attention_types", KINDS) * inner.whole("times", least=0)
    if len(kinds) != depth:
        problem = f"attention_types: expected one for each of {depth} layers, found {len(kinds)}"
        raise ConfigError(problem, where=given.where)
    if given.has("attention_layers") and given.choices("attention_layers", KINDS) != tuple(kinds):
        raise ConfigError("attention_layers and attention_types differ", where=given.where)
    return tuple(kinds)


def _kind_keys(windowed: Sequence[bool]) -> dict[str, Any]:
    """The keys that `_kinds` reads, by the shortest list of kinds that is repeated."""
    kinds = [next(name for name, near in KINDS.items() if near is one) for one in windowed]
    count = next(n for n in range(1, len(kinds) + 1) if kinds == kinds[:n] * (len(kinds) // n))
    return {"attention_types": [[kinds[:count], len(kinds) // count]], "attention_layers": kinds}
