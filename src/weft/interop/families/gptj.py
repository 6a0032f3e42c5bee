"""GPT-J (Wang and Komatsuzaki, 2021) and Phi (Li et al., 2023): attention and MLP read one norm, side by side.

Turns are for a share of each head. GPT-J turns neighbours, (x_0, x_1), (x_2, x_3) ..., where weft turns
(x_i, x_{i + half}): rows of queries and keys change their places, and all products stay the same.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from weft.core import Attention, Block, LayerNorm, Mlp, ParallelOneNorm, PerToken, Trunk
from weft.errors import ConfigError
from weft.interop.families.decoder import DecoderFamily, decoder_tasks
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.rope import read_turn, write_turn
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import Ignored, JoinedRows, NeighbourPairs, SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.stream import Model, Stream
from weft.position import Rotary


class OneNormDecoder(DecoderFamily):
    """What both share: a language model whose last map has offsets; the same without a head, or with one for labels."""

    keys: ClassVar[Mapping[str, tuple[str, Any]]]  # ours: theirs, and what it means where it is left out

    @abstractmethod
    def attention(self, given: TheirConfig, dim: int, context: int) -> tuple[Attention.Config, int]:
        """The attention, and the longest text that it reads as theirs does."""

    @abstractmethod
    def own_keys(self, mix: Attention.Config, dim: int, context: int) -> dict[str, Any]:
        """The keys that `attention` reads."""

    @abstractmethod
    def body(self, mix: Attention.Config, dim: int, depth: int) -> list[WeightRule]:
        """The rules of all but the head."""

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        whole = {
            ours: given.whole(theirs, usual) for ours, (theirs, usual) in self.keys.items() if isinstance(usual, int)
        }
        norm = LayerNorm.Config(eps=given.number(self.keys["eps"][0], 1e-5))
        mix, context = self.attention(given, whole["dim"], whole["context"])
        std = given.number("initializer_range", 0.02)
        mlp = Mlp.Config(
            activation=given.choice(self.keys["activation"][0], ACTIVATIONS, "gelu_new"),  # type: ignore[arg-type]
            hidden=given.whole(self.keys["hidden"][0], whole.get("hidden", 4 * whole["dim"])),
        )
        rate = given.number("resid_pdrop", 0.0)
        block = Block.Config(mix=mix, transform=mlp, norm=norm, wiring=ParallelOneNorm.Config(), dropout=rate)
        rate = given.number("embd_pdrop", 0.0)
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", False), offsets=True, std=std)
        stream = Stream.Config(
            dim=whole["dim"],
            embed=TextEmbed.Config(vocab=whole["vocab"], context=context, std=std, dropout=rate),
            trunk=Trunk.Config(depth=whole["depth"], block=block, norm=norm),
        )
        return self.headed(stream, head, given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Mlp.Config, "transform")
        bare: Any = outline(stream)
        sizes = {
            "vocab": embed.vocab,
            "context": embed.context,
            "dim": stream.dim,
            "hidden": bare.trunk.blocks[0].transform.up.out_features,
            "depth": len(blocks),
            "heads": mix.heads,
            "activation": THEIR_ACTIVATION[mlp.activation],
            "eps": blocks[0].norm.eps,
        }
        return {
            "model_type": self.name,
            **{self.keys[ours][0]: value for ours, value in sizes.items()},
            **self.own_keys(mix, stream.dim, embed.context),
            "resid_pdrop": blocks[0].dropout,
            "embd_pdrop": embed.dropout,
            "initializer_range": embed.std,
            **self.head_keys(stream, tied=False),
        }

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        body = self.body(only(blocks[0].mix, Attention.Config, "mix"), stream.dim, len(blocks))
        return self.headed_table(stream, body)


class GptJ(OneNormDecoder):
    """GPTJForCausalLM and GPTJModel."""

    name, prefix = "gptj", "transformer."
    tasks = decoder_tasks("GPTJ")
    harmless = names(
        """n_ctx attn_pdrop summary_type summary_use_proj summary_activation summary_proj_to_labels
        summary_first_dropout"""
    )
    keys = {
        "vocab": ("vocab_size", 50400),
        "context": ("n_positions", 2048),
        "dim": ("n_embd", 4096),
        "hidden": ("n_inner", None),
        "depth": ("n_layer", 28),
        "heads": ("n_head", 16),
        "activation": ("activation_function", None),
        "eps": ("layer_norm_epsilon", None),
    }

    def attention(self, given: TheirConfig, dim: int, context: int) -> tuple[Attention.Config, int]:
        given.only("rotary", True)
        given.only("scale_attn_weights", True)
        if given.names("rotary_dim") and not given.has("rotary_dim"):
            raise ConfigError("rotary_dim is null; weft computes it only with a number", where=given.where)
        mix = Attention.Config(heads=given.whole("n_head", 16), offsets=False)
        turned, width = given.whole("rotary_dim", 64), mix.width(dim)
        share = turned / width
        share = share if int(width * share) == turned else math.nextafter(share, 1)
        return mix.replace(turn=Rotary.Config(share=share)), context

    def own_keys(self, mix: Attention.Config, dim: int, context: int) -> dict[str, Any]:
        turn = only(mix.turn, Rotary.Config, "mix.turn")
        return {"rotary_dim": turn.width(mix.width(dim)), "attn_pdrop": 0.0}

    def body(self, mix: Attention.Config, dim: int, depth: int) -> list[WeightRule]:
        theirs, ours = "h.{i}.", "trunk.blocks.{i}."
        turned = only(mix.turn, Rotary.Config, "mix.turn").width(mix.width(dim))
        maps = tuple(f"{theirs}attn.{name}_proj.weight" for name in "qkv")
        layer = [
            *layer_norm(f"{theirs}ln_1", f"{ours}mix_norm"),
            NeighbourPairs(maps, f"{ours}mix.qkv.weight", heads=mix.heads, turned=turned),
            *linear(f"{theirs}attn.out_proj", f"{ours}mix.out", offsets=False),
            *linear(f"{theirs}mlp.fc_in", f"{ours}transform.up"),
            *linear(f"{theirs}mlp.fc_out", f"{ours}transform.down"),
        ]
        return [
            SameTensor("wte.weight", "embed.table.weight"),
            *layers(depth, layer),
            *layer_norm("ln_f", "trunk.norm"),
            *(Ignored(f"h.*.attn.{name}") for name in ("bias", "masked_bias", "embed_positions")),
        ]


class Phi(OneNormDecoder):
    """PhiForCausalLM and PhiModel: Phi-1, 1.5 and 2."""

    name, prefix = "phi", "model."
    tasks = decoder_tasks("Phi")
    harmless = names("attention_dropout")
    # published before their library had the family
    known_code = names("configuration_phi.PhiConfig modeling_phi.PhiForCausalLM")
    keys = {
        "vocab": ("vocab_size", 51200),
        "context": ("max_position_embeddings", 2048),
        "dim": ("hidden_size", 2048),
        "hidden": ("intermediate_size", 8192),
        "depth": ("num_hidden_layers", 24),
        "heads": ("num_attention_heads", 32),
        "activation": ("hidden_act", None),
        "eps": ("layer_norm_eps", None),
    }

    def attention(self, given: TheirConfig, dim: int, context: int) -> tuple[Attention.Config, int]:
        turn, context = read_turn(given, context, partial=True, share=0.5)
        heads = given.whole("num_attention_heads", 32)
        mix = Attention.Config(heads=heads, kv_heads=given.whole("num_key_value_heads", heads), turn=turn)
        given.only("head_dim", mix.width(dim))
        norm = LayerNorm.Config(eps=given.number("layer_norm_eps", 1e-5))
        return mix.replace(qk_norm=norm if given.truth("qk_layernorm", False) else None), context

    def own_keys(self, mix: Attention.Config, dim: int, context: int) -> dict[str, Any]:
        turn = only(mix.turn, Rotary.Config, "mix.turn")
        keys = write_turn(turn, context)
        share = {"partial_rotary_factor": turn.share}
        return {
            "num_key_value_heads": mix.kv_heads or mix.heads,
            "qk_layernorm": mix.qk_norm is not None,
            **keys,
            **share,
            "rope_parameters": {**keys["rope_parameters"], **share},
            "attention_dropout": 0.0,
        }

    def body(self, mix: Attention.Config, dim: int, depth: int) -> list[WeightRule]:
        theirs, ours = "layers.{i}.", "trunk.blocks.{i}."
        width = mix.width(dim)
        sizes = (mix.heads * width, *((mix.kv_heads or mix.heads) * width,) * 2)
        ends = ("weight", "bias")
        maps = [tuple(f"{theirs}self_attn.{name}_proj.{end}" for name in "qkv") for end in ends]
        normed = ("q", "k") if mix.qk_norm is not None else ()
        layer = [
            *layer_norm(f"{theirs}input_layernorm", f"{ours}mix_norm"),
            *(JoinedRows(three, f"{ours}mix.qkv.{end}", sizes) for three, end in zip(maps, ends, strict=True)),
            *(
                rule
                for side in normed
                for rule in layer_norm(f"{theirs}self_attn.{side}_layernorm", f"{ours}mix.{side}_norm")
            ),
            *linear(f"{theirs}self_attn.dense", f"{ours}mix.out"),
            *linear(f"{theirs}mlp.fc1", f"{ours}transform.up"),
            *linear(f"{theirs}mlp.fc2", f"{ours}transform.down"),
        ]
        return [
            SameTensor("embed_tokens.weight", "embed.table.weight"),
            *layers(depth, layer),
            *layer_norm("final_layernorm", "trunk.norm"),
            Ignored("layers.*.self_attn.rotary_emb.inv_freq"),
        ]
