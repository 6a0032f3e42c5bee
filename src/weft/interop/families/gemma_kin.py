"""What Gemma 1, 2 and 3 share, beyond Llama's kind of decoder: scaled embeddings, gains stored from one, wide heads."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from weft.core import Attention, Block, Gated, OnePlusRmsNorm, PerToken, Trunk, Window
from weft.interop.families.rope import read_turn
from weft.interop.families.rotary_decoder import RotaryDecoder
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, only
from weft.interop.rules import SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.stream import Model, Stream
from weft.position import Rotary


class GemmaKin(RotaryDecoder):
    """A language model, the same without a head, and with one for labels."""

    activation_key: ClassVar[str] = "hidden_activation"

    @abstractmethod
    def mixers(
        self, given: TheirConfig, mix: Attention.Config, windows: Sequence[int | None]
    ) -> list[Attention.Config]:
        """The attention of each layer, given the window of each: `mix` with its score and its turn."""

    def activation(self, given: TheirConfig) -> str:
        """The activation of the gate."""
        return given.choice(self.activation_key, ACTIVATIONS, "gelu_pytorch_tanh")

    def cap(self, given: TheirConfig) -> float | None:
        """The soft cap of the logits."""
        return None

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        sizes = {key: given.whole(key, default) for key, default in self.defaults.items()}
        dim, std = sizes["hidden_size"], given.number("initializer_range", 0.02)
        given.only("use_bidirectional_attention", False)
        norm = OnePlusRmsNorm.Config(eps=given.number("rms_norm_eps", 1e-6))
        mix = Attention.Config(
            heads=sizes["num_attention_heads"],
            kv_heads=sizes["num_key_value_heads"],
            head_dim=sizes["head_dim"],
            offsets=given.truth("attention_bias", False),
        )
        transform = Gated.Config(
            activation=self.activation(given),  # type: ignore[arg-type]
            hidden=sizes["intermediate_size"],
        )
        block = Block.Config(mix=mix, transform=transform, norm=norm, wiring=self.wiring)
        windows = [layer.window for layer in self.layers(given, sizes["num_hidden_layers"])]
        blocks = tuple(block.replace(mix=one) for one in self.mixers(given, mix, windows))
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", True), std=std, cap=self.cap(given))
        context = sizes["max_position_embeddings"]
        stream = Stream.Config(
            dim=dim,
            embed=TextEmbed.Config(vocab=sizes["vocab_size"], context=context, scale=dim**0.5, std=std),
            trunk=Trunk.Config(blocks=blocks, norm=norm),
        )
        return self.headed(stream, head, given, architecture)

    def write(self, config: Model.Config) -> dict[str, Any]:
        written = super().write(config)
        mlp = only(config.trunk.all_blocks()[0].transform, Gated.Config, "transform")  # type: ignore[attr-defined]
        approximate = mlp.activation == "gelu_tanh"
        del written["hidden_act"]
        written[self.activation_key] = "gelu_pytorch_tanh" if approximate else THEIR_ACTIVATION[mlp.activation]
        return written

    def table(self, config: Model.Config) -> WeightTable:
        stream = only(config, Stream.Config, "the model")
        blocks = stream.trunk.all_blocks()
        mix, mlp = only(blocks[0].mix, Attention.Config, "mix"), only(blocks[0].transform, Gated.Config, "transform")
        keys = (mix.kv_heads or mix.heads) * mix.width(stream.dim)
        layer = [
            *(_norm(f"layers.{{i}}.{theirs}", f"trunk.blocks.{{i}}.{ours}") for ours, theirs in self.norms.items()),
            *self.attention_rules(mix, (mix.heads * mix.width(stream.dim), keys, keys)),
            *self.mlp_rules(mlp),
        ]
        table = SameTensor("embed_tokens.weight", "embed.table.weight")
        body = [table, *layers(len(blocks), layer), _norm("norm", "trunk.norm")]
        return self.headed_table(stream, body)

    def attention_rules(self, mix: Attention.Config, sizes: tuple[int, ...]) -> list[WeightRule]:
        rules = super().attention_rules(mix.replace(qk_norm=None), sizes)
        sides = ("q_norm", "k_norm") if mix.qk_norm is not None else ()
        return [*rules, *(_norm(f"layers.{{i}}.self_attn.{side}", f"trunk.blocks.{{i}}.mix.{side}") for side in sides)]


def plain_or_even(given: TheirConfig, base: float = 10000.0) -> Rotary.Config:
    """The turn that a file describes, stretched evenly or not at all: no other stretch was published for Gemma."""
    return read_turn(given, 1, base=base, types={name: name for name in ("default", "linear")})[0]


def windowed(mix: Attention.Config, window: int | None, turn: Rotary.Config) -> Attention.Config:
    """The attention of a layer. Their windows count the token itself."""
    return mix.replace(turn=turn, rules=() if window is None else (Window(radius=window - 1),))


def _norm(theirs: str, ours: str) -> WeightRule:
    return SameTensor(f"{theirs}.weight", f"{ours}.excess")
