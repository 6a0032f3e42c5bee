"""What BERT and its kin share: tokens that all read each other, norms after each branch, and a head for what is wanted.

A family says how it names sizes and weights; the heads and their rules are here:

    ForMaskedLM                    a dense layer, a norm, the tied table       fill-mask
    ForSequenceClassification      the first token, a dense layer, a map       classify-text
    ForTokenClassification         a map for each token                        tag-text
    ForQuestionAnswering           two logits for each token                   answer-text
    Model                          the first token and a dense layer (the pooler), where the file has one
"""

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.core import Dense, Head, Mlp, PerToken, Pooled, SpanEnds, Summary
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.sizes import first_block
from weft.interop.family import ACTIVATIONS, Family, only
from weft.interop.labels import write_labels
from weft.interop.rules import Ignored, SameTensor, Tied, Unused, WeightRule
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.text import TextEmbed
from weft.models.stream import Model, Stream

FILL, CLASS, TAGS, MODEL = "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "Model"
SPAN = "ForQuestionAnswering"
TASKS = {FILL: "fill-mask", CLASS: "classify-text", TAGS: "tag-text", MODEL: None, SPAN: "answer-text"}
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
    span: str = "qa_outputs"
    unused: tuple[str, ...] = ()  # of further heads, which weft has no use for


class Encoder(Family):
    """A family of text encoders."""

    stem: ClassVar[str]  # how the names of its architectures begin
    prefix: ClassVar[str]  # how the names of its body's weights begin
    heads: ClassVar[HeadNames]
    class_activation: ClassVar[str] = "tanh"  # the activation ahead of a class
    fills: ClassVar[str | None] = None  # the activation ahead of a masked word; None: that of the blocks
    dropouts: ClassVar[tuple[str, ...]] = ("classifier_dropout", "hidden_dropout_prob")  # keys, the first that is set
    older: ClassVar[tuple[tuple[str, str], ...]] = ()  # parts of names, and what other versions of the files have there

    @abstractmethod
    def stream(self, given: TheirConfig) -> Stream.Config:
        """The body that a config.json describes, without a head."""

    @abstractmethod
    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        """The keys of a config.json for a body, and for what a family says of heads besides."""

    @abstractmethod
    def body(self, stream: Stream.Config) -> list[WeightRule]:
        """The rules of embedder and trunk."""

    def head(self, kind: str, stream: Stream.Config, given: TheirConfig) -> Head.Config | None:
        """The head of an architecture whose name ends with `kind`."""
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
        dense = Dense.Config(activation=self.class_activation, std=embed.std)  # type: ignore[arg-type]
        if kind == TAGS:
            return PerToken.Config(offsets=True, std=embed.std)
        if kind == SPAN:
            return SpanEnds.Config(std=embed.std)
        if kind == CLASS:
            return Pooled.Config(first=True, dense=dense, dropout=self.class_dropout(given), std=embed.std)
        if kind == MODEL:
            return None if self.heads.pooler is None else Summary.Config(first=True, dense=dense)
        act = self.fills or only(block.transform, Mlp.Config, "transform").activation
        dense = Dense.Config(activation=act, norm=block.norm, width=embed.narrow, std=embed.std)  # type: ignore[arg-type]
        return PerToken.Config(tied=True, offsets=True, dense=dense, std=embed.std)

    def class_dropout(self, given: TheirConfig) -> float:
        """The dropout ahead of a class: the first of the family's keys that is set."""
        return next((given.number(key) for key in self.dropouts if given.has(key)), 0.1)

    def read(self, given: TheirConfig, architecture: str) -> Stream.Config:
        stream = self.stream(given)
        given.only("tie_word_embeddings", True)
        for key in ("is_decoder", "add_cross_attention"):
            given.only(key, False)
        kind = architecture.removeprefix(self.stem)
        asks = kind in (CLASS, TAGS)
        return stream.replace(head=self.head(kind, stream, given), outputs=given.labels() if asks else None)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """Files of the bare model may lack the pooler, and config.json does not say it."""
        pooler = self.heads.pooler
        bare = isinstance(config, Stream.Config) and isinstance(config.head, Summary.Config)
        return config.replace(head=None) if bare and not any(f"{pooler}." in name for name in names) else config

    def write(self, config: Model.Config) -> dict[str, Any]:
        stream = only(config, Stream.Config, "the model")
        embed = only(stream.embed, TextEmbed.Config, "embed")
        kind = _kind(stream.head)
        asks = kind in (CLASS, TAGS)
        labels = write_labels(stream.outputs or 0) if asks else {}
        dropout = {self.dropouts[0]: getattr(stream.head, "dropout", None)} if kind == CLASS else {}
        known = {"model_type": self.name, "architectures": [self.stem + kind], "initializer_range": embed.std}
        return {**known, **self.keys(stream), **labels, **dropout, "tie_word_embeddings": True}

    def table(self, config: Model.Config) -> WeightTable:
        stream, names = only(config, Stream.Config, "the model"), self.heads
        kind, body, head = _kind(stream.head), self.body(stream), list[WeightRule]()
        body.append(Ignored("embeddings.position_ids"))
        body.append(Ignored("embeddings.token_type_ids"))
        dense: Dense.Config | None = getattr(stream.head, "dense", None)
        if kind == FILL:
            offsets = only(stream.head, PerToken.Config, "head").offsets
            head += _dense(dense, names.fill_dense, names.fill_norm)
            head += [SameTensor(names.fill_bias, "head.out.bias")] if offsets else []
            head.append(Tied(f"{names.fill_out}.weight", "embed.table.weight"))
            if offsets and names.fill_bias != f"{names.fill_out}.bias":
                head.append(Tied(f"{names.fill_out}.bias", "head.out.bias"))
        elif kind in (CLASS, TAGS):
            head += linear(names.out if kind == CLASS else names.tags, "head.out")
        elif kind == SPAN:
            head += [*_dense(dense, names.dense or "", names.fill_norm), *linear(names.span, "head.out")]
        if kind in (CLASS, TAGS) and names.dense is not None:
            head += _dense(dense, names.dense, names.fill_norm)
        elif stream.head is not None and names.pooler is not None:
            pooled = kind in (CLASS, MODEL)
            body += _dense(dense, names.pooler, names.fill_norm) if pooled else [Unused(f"{names.pooler}.*")]
        if kind in (FILL, MODEL):
            head += [Unused(name) for name in names.unused]
        return WeightTable(body, head, prefix=self.prefix, bare=kind == MODEL, older=(*OLDER, *self.older))


def _dense(dense: Dense.Config | None, theirs: str, norm: str) -> list[WeightRule]:
    """The rules of the layer ahead of a head's last map, and of its norm."""
    if dense is None:
        return []
    rules = linear(theirs, "head.dense.linear", offsets=dense.offsets)
    offsets = getattr(dense.norm, "offsets", False)
    return rules if dense.norm is None else rules + layer_norm(norm, "head.dense.norm", offsets=offsets)


def activation(given: TheirConfig, key: str, default: str) -> str:
    """The activation that a key names."""
    return given.choice(key, ACTIVATIONS, default)


def _kind(head: Head.Config | None) -> str:
    """What the name of an architecture with this head ends with."""
    if head is None or isinstance(head, Summary.Config):
        return MODEL
    if isinstance(head, SpanEnds.Config):
        return SPAN
    if isinstance(head, Pooled.Config):
        return CLASS
    return FILL if only(head, PerToken.Config, "head").tied else TAGS
