"""What BERT and its kin share: tokens that all read each other, norms after each branch, and a head for what is wanted.

A family says how it names sizes and weights; the heads and their rules are here:

    ForMaskedLM                    a dense layer, a norm, the tied table       fill-mask
    ForSequenceClassification      the first token, a dense layer, a map       classify-text
    ForTokenClassification         a map for each token                        tag-text
    Model                          the first token and a dense layer (the pooler), where the file has one
"""

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.core import Attention, Block, Dense, Head, LayerNorm, Mlp, PerToken, Pooled, PostNorm, Summary, Trunk
from weft.errors import ConfigError
from weft.interop.families.parts import layer_norm, linear
from weft.interop.family import ACTIVATIONS, Family, only
from weft.interop.rules import Ignored, SameTensor, Tied, Unused, WeightRule
from weft.interop.tables import Table
from weft.interop.their_config import TheirConfig
from weft.modalities.text import TextEmbed
from weft.models.stream import Model, Stream
from weft.position import Add, Learned

FILL, CLASS, TAGS, MODEL = "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "Model"
TASKS = {FILL: "fill-mask", CLASS: "classify-text", TAGS: "tag-text", MODEL: None}
# Files converted from TensorFlow name a norm's weights in its words.
OLDER = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))


@dataclass(frozen=True)
class HeadNames:
    """What a family calls the weights of its heads. Without its own `dense`, a class is predicted behind the pooler."""

    pooler: str | None
    fill_dense: str
    fill_norm: str
    fill_out: str
    fill_bias: str
    dense: str | None = None
    out: str = "classifier"
    tags: str = "classifier"
    unused: tuple[str, ...] = ()  # of further heads, which weft has no use for


@dataclass(frozen=True)
class Sizes:
    """A body's sizes, whatever a family calls them; place 0 is row `start` of the table of places."""

    vocab: int
    dim: int
    depth: int
    heads: int
    hidden: int
    places: int
    activation: str
    start: int = 0
    segments: int = 0
    narrow: int | None = None
    passes: int = 1
    eps: float = 1e-12
    dropout: float = 0.1
    std: float = 0.02

    def stream(self) -> Stream.Config:
        """The body, without a head."""
        norm = LayerNorm.Config(eps=self.eps)
        block = Block.Config(
            mix=Attention.Config(heads=self.heads),
            transform=Mlp.Config(activation=self.activation, hidden=self.hidden),  # type: ignore[arg-type]
            norm=norm,
            wiring=PostNorm.Config(),
            dropout=self.dropout,
        )
        embed = TextEmbed.Config(
            vocab=self.vocab,
            context=self.places - self.start,
            reading="free",
            place=Add.Config(code=Learned.Config(size=self.places, start=self.start, std=self.std)),
            segments=self.segments,
            last_norm=norm,
            narrow=self.narrow,
            std=self.std,
            dropout=self.dropout,
        )
        trunk = Trunk.Config(depth=self.depth, block=block, passes=self.passes)
        return Stream.Config(dim=self.dim, embed=embed, trunk=trunk)

    @classmethod
    def of(cls, config: Model.Config) -> "Sizes":
        """The sizes of a model of ours; refuses parts that no family here has."""
        stream = only(config, Stream.Config, "the model")
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), _first(stream)
        code = only(only(embed.place, Add.Config, "embed.place").code, Learned.Config, "embed.place.code")
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Mlp.Config, "transform")
        return cls(
            vocab=embed.vocab,
            dim=stream.dim,
            depth=len(stream.trunk.all_blocks()),
            heads=mix.heads,
            hidden=mlp.hidden or round(mlp.ratio * stream.dim),
            places=code.size,
            activation=mlp.activation,
            start=code.start,
            segments=embed.segments,
            narrow=embed.narrow,
            passes=stream.trunk.passes,
            eps=block.norm.eps,
            dropout=block.dropout,
            std=embed.std,
        )


class Encoder(Family):
    """A family of text encoders."""

    stem: ClassVar[str]  # how the names of its architectures begin
    prefix: ClassVar[str]  # how the names of its body's weights begin
    heads: ClassVar[HeadNames]
    class_activation: ClassVar[str] = "tanh"  # the activation ahead of a class
    fills: ClassVar[str | None] = None  # the activation ahead of a masked word; None: that of the blocks
    dropouts: ClassVar[tuple[str, ...]] = ("classifier_dropout", "hidden_dropout_prob")  # keys, the first that is set

    @abstractmethod
    def sizes(self, given: TheirConfig) -> Sizes:
        """The sizes that a config.json gives."""

    @abstractmethod
    def keys(self, sizes: Sizes) -> dict[str, Any]:
        """The keys of a config.json for these sizes."""

    @abstractmethod
    def body(self, sizes: Sizes) -> list[WeightRule]:
        """The rules of embedder and trunk."""

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        sizes = self.sizes(given)
        given.only("tie_word_embeddings", True)
        for key in ("is_decoder", "add_cross_attention"):
            given.only(key, False)
        kind = architecture.removeprefix(self.stem)
        asks = kind in (CLASS, TAGS)
        return sizes.stream().replace(head=self._head(kind, sizes, given), outputs=_labels(given) if asks else None)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files of the bare model may lack the pooler, and config.json does not say it."""
        pooler = self.heads.pooler
        bare = isinstance(config, Stream.Config) and isinstance(config.head, Summary.Config)
        return config.replace(head=None) if bare and not any(f"{pooler}." in name for name in names) else config

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream, sizes = only(config, Stream.Config, "the model"), Sizes.of(config)
        kind = _kind(stream.head)
        asks = kind in (CLASS, TAGS)
        names = {str(i): f"LABEL_{i}" for i in range(stream.outputs or 0)}
        labels = {"id2label": names, "label2id": {name: int(i) for i, name in names.items()}} if asks else {}
        dropout = {self.dropouts[0]: getattr(stream.head, "dropout", None)} if kind == CLASS else {}
        known = {"model_type": self.name, "architectures": [self.stem + kind], "initializer_range": sizes.std}
        return {**known, **self.keys(sizes), **labels, **dropout, "tie_word_embeddings": True}

    def table(self, config: Model.Config) -> Table:
        stream, sizes, names = only(config, Stream.Config, "the model"), Sizes.of(config), self.heads
        kind, body, head = _kind(stream.head), self.body(sizes), list[WeightRule]()
        body.append(Ignored("embeddings.position_ids"))
        body.append(Ignored("embeddings.token_type_ids"))
        if kind == FILL:
            head += linear(names.fill_dense, "head.dense.linear") + layer_norm(names.fill_norm, "head.dense.norm")
            head += [
                SameTensor(names.fill_bias, "head.out.bias"),
                Tied(f"{names.fill_out}.weight", "embed.table.weight"),
            ]
            if names.fill_bias != f"{names.fill_out}.bias":
                head.append(Tied(f"{names.fill_out}.bias", "head.out.bias"))
            head += [Unused(name) for name in names.unused]
        elif kind in (CLASS, TAGS):
            head += linear(names.out if kind == CLASS else names.tags, "head.out")
        if kind == CLASS and names.dense is not None:
            head += linear(names.dense, "head.dense.linear")
        elif stream.head is not None and names.pooler is not None:
            pooled = kind in (CLASS, MODEL)
            body += linear(names.pooler, "head.dense.linear") if pooled else [Unused(f"{names.pooler}.*")]
        return Table(body, head, prefix="" if kind == MODEL else self.prefix, older=OLDER)

    def _head(self, kind: str, sizes: Sizes, given: TheirConfig) -> Head.Config | None:
        std = sizes.std
        dense = Dense.Config(activation=self.class_activation, std=std)  # type: ignore[arg-type]
        if kind == TAGS:
            return PerToken.Config(offsets=True, std=std)
        if kind == CLASS:
            rate = next((given.number(key) for key in self.dropouts if given.has(key)), 0.1)
            return Pooled.Config(first=True, dense=dense, dropout=rate, std=std)
        if kind == MODEL:
            return None if self.heads.pooler is None else Summary.Config(first=True, dense=dense)
        dense = Dense.Config(
            activation=self.fills or sizes.activation,  # type: ignore[arg-type]
            norm=LayerNorm.Config(eps=sizes.eps),
            width=sizes.narrow,
            std=std,
        )
        return PerToken.Config(tied=True, offsets=True, dense=dense, std=std)


def embeddings(sizes: Sizes) -> list[WeightRule]:
    """The rules of the tables of words, places and segments, and of the norm of their sum."""
    tables = {"word": "table", "position": "place.code.table"} | ({"token_type": "segments"} if sizes.segments else {})
    rules = [
        SameTensor(f"embeddings.{name}_embeddings.weight", f"embed.{ours}.weight") for name, ours in tables.items()
    ]
    return [*rules, *layer_norm("embeddings.LayerNorm", "embed.last_norm")]


def activation(given: TheirConfig, key: str, default: str) -> str:
    """The activation that a key names."""
    return given.choice(key, ACTIVATIONS, default)


def _kind(head: Head.Config | None) -> str:
    """What the name of an architecture with this head ends with."""
    if head is None or isinstance(head, Summary.Config):
        return MODEL
    if isinstance(head, Pooled.Config):
        return CLASS
    return FILL if only(head, PerToken.Config, "head").tied else TAGS


def _labels(given: TheirConfig) -> int:
    names = given.data.get("id2label")
    return len(names) if isinstance(names, dict) and names else given.whole("num_labels", 2)


def _first(stream: Stream.Config) -> Block.Config:
    blocks = stream.trunk.all_blocks()
    if not blocks:
        raise ConfigError("the trunk has no blocks")
    return blocks[0]
