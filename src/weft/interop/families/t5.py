"""T5: no places but a bias on scores by distance, RMS norms, no offsets, products without scale (Raffel et al., 2020).

mT5 is a T5 with other sizes, whose decoder's outputs are never scaled (Xue et al., 2021). In UMT5 every layer has a
bias of its own (Chung et al., 2023). Each also comes as its encoder alone, which gives vectors of texts.
"""

from collections.abc import Collection
from typing import Any, ClassVar, Literal

from weft.core import Attention, Block, Dot, Gated, Mlp, PerToken, RmsNorm, Trunk
from weft.core.transforms import Transform
from weft.errors import ConfigError
from weft.interop.families import pairs
from weft.interop.family import ACTIVATIONS, THEIR_ACTIVATION, Family, only
from weft.interop.rules import Ignored, JoinedRows, SameTensor, Tied, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.outline import outline
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.position import Buckets

_BIAS = "SelfAttention.relative_attention_bias.weight"
CONTEXT = 512  # what the models were trained on; the bias itself has no end
# What feed_forward_proj may say: "gated-" in front for a gate, and gelu there means its approximation by tanh.
_ACT = {name: "gelu_tanh" if name == "gelu" else ours for name, ours in ACTIVATIONS.items()}


class T5(Family):
    """T5ForConditionalGeneration, with plain or gated MLPs, its head tied to the table or not; T5EncoderModel."""

    name = "t5"
    stem: ClassVar[str] = "T5"
    usual: ClassVar[dict[str, Any]] = {
        "vocab_size": 32128, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "feed_forward_proj": "relu"
    }  # fmt: skip
    harmless = names(
        "classifier_dropout initializer_factor is_encoder_decoder is_decoder dense_act_fn is_gated_act output_past "
        "n_positions"
    )

    own_biases: ClassVar[bool] = False  # whether every layer has a bias of its own

    def __init__(self) -> None:
        tasks = {f"{self.stem}ForConditionalGeneration": "translate", f"{self.stem}EncoderModel": None}
        self.tasks = tasks  # type: ignore[misc]

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config | Stream.Config:
        dim, vocab = given.whole("d_model", 512), given.whole("vocab_size", self.usual["vocab_size"])
        tied = given.truth("tie_word_embeddings", True)
        scaled = self.scaled(given, tied)

        def side(name: Literal["source", "target"], head: PerToken.Config | None) -> Stream.Config:
            embed = TextEmbed.Config(
                vocab=vocab,
                context=CONTEXT,
                reading="free" if name == "source" else "line",
                std=1.0,
                dropout=given.number("dropout_rate", 0.1),
            )
            trunk = _trunk(given, name, self.usual, own_biases=self.own_biases)
            return Stream.Config(dim=dim, embed=embed, trunk=trunk, head=head)

        if self.tasks[architecture] is None:
            given.whole("num_decoder_layers", 1)  # which are not there
            return side("source", None)
        head = PerToken.Config(tied=tied, scale=float(dim**-0.5) if scaled else 1.0)
        return Seq2Seq.Config(source=side("source", None), target=side("target", head), shared=True)

    def scaled(self, given: TheirConfig, tied: bool) -> bool:
        """Whether the head is given D^-0.5 times what the decoder gives."""
        return given.truth("scale_decoder_outputs", tied)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files without a head of its own have it tied, whatever config.json says."""
        if isinstance(config, Stream.Config):
            return config
        pair = only(config, Seq2Seq.Config, "the model")
        return pair if "lm_head.weight" in names else pairs.with_head(pair, tied=True)

    def write(self, config: Model.Config) -> dict[str, Any]:
        if isinstance(config, Stream.Config):
            return {**self.keys(config, "trunk", config), "architectures": [f"{self.stem}EncoderModel"]}
        pair = only(config, Seq2Seq.Config, "the model")
        head = only(pair.target.head, PerToken.Config, "target.head")
        return {
            **self.keys(pair.target, "target.trunk", pair),
            "is_encoder_decoder": True,
            "num_layers": len(pair.source.trunk.all_blocks()),
            "num_decoder_layers": len(pair.target.trunk.all_blocks()),
            "scale_decoder_outputs": head.scale != 1.0,
            "tie_word_embeddings": head.tied,
        }

    def keys(self, stream: Stream.Config, inside: str, config: Model.Config) -> dict[str, Any]:
        """The keys of one side, whose trunk is called `inside` in the model."""
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        if not blocks:
            raise ConfigError("a model without layers has no counterpart")
        block = blocks[0]
        mix = only(block.mix, Attention.Config, "mix")
        bias = only(mix.bias if self.own_biases else stream.trunk.bias, Buckets.Config, "the bias")
        gated = isinstance(block.transform, Gated.Config)
        mlp: Any = block.transform if gated else only(block.transform, Mlp.Config, "transform")
        bare: Any = outline(config).get_submodule(f"{inside}.blocks.0.transform")
        act = "gelu" if gated and mlp.activation == "gelu_tanh" else THEIR_ACTIVATION[mlp.activation]
        return {
            "model_type": self.name,
            "architectures": [f"{self.stem}ForConditionalGeneration"],
            "is_encoder_decoder": False,
            "vocab_size": embed.vocab,
            "d_model": stream.dim,
            "d_kv": mix.width(stream.dim),
            "d_ff": bare.down.in_features,
            "num_layers": len(blocks),
            "num_heads": mix.heads,
            "relative_attention_num_buckets": bias.count,
            "relative_attention_max_distance": bias.farthest,
            "feed_forward_proj": f"gated-{act}" if gated else act,
            "layer_norm_epsilon": block.norm.eps,
            "dropout_rate": block.dropout,
            "tie_word_embeddings": True,
        }

    def table(self, config: Model.Config) -> WeightTable:
        if isinstance(config, Stream.Config):
            own = "embed.table.weight"
            return WeightTable([SameTensor("shared.weight", own), *_side(config.trunk, "encoder", "", own)])
        pair, own = only(config, Seq2Seq.Config, "the model"), "source.embed.table.weight"
        rules: list[WeightRule] = [SameTensor("shared.weight", own)]
        for side, theirs in pairs.SIDES.items():
            rules += _side(getattr(pair, side).trunk, theirs, f"{side}.", own)
        tied = only(pair.target.head, PerToken.Config, "target.head").tied
        rules.append(Tied("lm_head.weight", own) if tied else SameTensor("lm_head.weight", "target.head.out.weight"))
        return WeightTable([*rules, Ignored("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")])


class Mt5(T5):
    """MT5ForConditionalGeneration: gated MLPs, its head a map of its own in what was published."""

    name, stem = "mt5", "MT5"
    usual = {"vocab_size": 250112, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu"}

    def scaled(self, given: TheirConfig, tied: bool) -> bool:
        given.only("scale_decoder_outputs", False)
        return False


class Umt5(T5):
    """UMT5ForConditionalGeneration and UMT5EncoderModel, the head tied to the table."""

    name, stem, own_biases = "umt5", "UMT5", True
    usual = Mt5.usual

    def scaled(self, given: TheirConfig, tied: bool) -> bool:
        given.only("tie_word_embeddings", True)
        given.only("scale_decoder_outputs", True)
        return True


def _trunk(
    given: TheirConfig, side: Literal["source", "target"], usual: dict[str, Any], *, own_biases: bool
) -> Trunk.Config:
    dim_head, hidden = given.whole("d_kv", 64), given.whole("d_ff", usual["d_ff"])
    norm = RmsNorm.Config(eps=given.number("layer_norm_epsilon", 1e-6))
    depth = given.whole("num_layers", usual["num_layers"])
    depth = given.whole("num_decoder_layers", depth) if side == "target" else depth
    mix = Attention.Config(
        heads=given.whole("num_heads", usual["num_heads"]),
        head_dim=dim_head,
        score=Dot.Config(scaled=False),
        offsets=False,
    )
    known: dict[str, Transform.Config] = {}
    for name, ours in ACTIVATIONS.items():
        known[name] = Mlp.Config(activation=ours, hidden=hidden, offsets=False)  # type: ignore[arg-type]
        known[f"gated-{name}"] = Gated.Config(activation=_ACT[name], hidden=hidden)  # type: ignore[arg-type]
    bias = Buckets.Config(
        count=given.whole("relative_attention_num_buckets", 32),
        farthest=given.whole("relative_attention_max_distance", 128),
        sides="both" if side == "source" else "past",
    )
    block = Block.Config(
        mix=mix.replace(bias=bias) if own_biases else mix,
        read=mix if side == "target" else None,
        transform=given.choice("feed_forward_proj", known, usual["feed_forward_proj"]),
        norm=norm,
        dropout=given.number("dropout_rate", 0.1),
    )
    return Trunk.Config(depth=depth, block=block, norm=norm, bias=None if own_biases else bias)


def _side(trunk: Trunk.Config, theirs: str, ours: str, table: str) -> list[WeightRule]:
    """The rules of one side; names of ours begin with `ours`."""
    blocks, layer = trunk.all_blocks(), f"{theirs}.block.{{i}}.layer."
    inner = [rule.under(layer, f"{ours}trunk.blocks.{{i}}.") for rule in _block(blocks[0])]
    rules: list[WeightRule] = [
        Tied(f"{theirs}.embed_tokens.weight", table),
        *layers(len(blocks), inner),
        SameTensor(f"{theirs}.final_layer_norm.weight", f"{ours}trunk.norm.gain"),
    ]
    if trunk.bias is not None:
        first = f"{theirs}.block.0.layer.0.{_BIAS}"
        rules.append(SameTensor(first, f"{ours}trunk.bias.table.weight"))
    return rules


def _block(block: Block.Config) -> list[WeightRule]:
    """The rules of a block: its branches are numbered."""
    rules: list[WeightRule] = [
        JoinedRows(tuple(f"0.SelfAttention.{name}.weight" for name in "qkv"), "mix.qkv.weight"),
        SameTensor("0.SelfAttention.o.weight", "mix.out.weight"),
        SameTensor("0.layer_norm.weight", "mix_norm.gain"),
    ]
    if only(block.mix, Attention.Config, "mix").bias is not None:
        rules.append(SameTensor(f"0.{_BIAS}", "mix.bias.table.weight"))
    if block.read is not None:
        rules += [
            SameTensor("1.EncDecAttention.q.weight", "read.q.weight"),
            JoinedRows(("1.EncDecAttention.k.weight", "1.EncDecAttention.v.weight"), "read.kv.weight"),
            SameTensor("1.EncDecAttention.o.weight", "read.out.weight"),
            SameTensor("1.layer_norm.weight", "read_norm.gain"),
        ]
    last = 1 if block.read is None else 2
    inner = f"{last}.DenseReluDense."
    up: WeightRule = SameTensor(f"{inner}wi.weight", "transform.up.weight")
    if isinstance(block.transform, Gated.Config):
        up = JoinedRows((f"{inner}wi_0.weight", f"{inner}wi_1.weight"), "transform.up.weight")
    return [
        *rules,
        up,
        SameTensor(f"{inner}wo.weight", "transform.down.weight"),
        SameTensor(f"{last}.layer_norm.weight", "transform_norm.gain"),
    ]
