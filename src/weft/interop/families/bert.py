"""BERT, and RoBERTa with its kin, which is BERT with other names and places that begin at a later row."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.interop.families.encoder import TASKS, Encoder, HeadNames, activation
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings
from weft.interop.family import THEIR_ACTIVATION
from weft.interop.rules import WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.models.stream import Stream


def bert_layer(names: tuple[str, ...] = ("query", "key", "value")) -> list[WeightRule]:
    """The rules of a layer; `names` are those of the maps to queries, keys and values."""
    return [
        *joined(tuple(f"encoder.layer.{{i}}.attention.self.{name}" for name in names), "trunk.blocks.{i}.mix.qkv"),
        *linear("encoder.layer.{i}.attention.output.dense", "trunk.blocks.{i}.mix.out"),
        *layer_norm("encoder.layer.{i}.attention.output.LayerNorm", "trunk.blocks.{i}.mix_norm"),
        *bert_mlp(),
    ]


def bert_mlp() -> list[WeightRule]:
    """The rules of the second half of a layer."""
    return [
        *linear("encoder.layer.{i}.intermediate.dense", "trunk.blocks.{i}.transform.up"),
        *linear("encoder.layer.{i}.output.dense", "trunk.blocks.{i}.transform.down"),
        *layer_norm("encoder.layer.{i}.output.LayerNorm", "trunk.blocks.{i}.transform_norm"),
    ]


_USUAL = {
    "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "layer_norm_eps": 1e-12,
}  # fmt: skip


class Bert(Encoder):
    """BertForMaskedLM and its siblings (Devlin et al., 2019). Of BertForPreTraining only the masked words are read."""

    name, stem, prefix = "bert", "Bert", "bert."
    tasks = {f"Bert{kind}": task for kind, task in {**TASKS, "ForPreTraining": "fill-mask"}.items()}
    harmless = frozenset({"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout"})
    heads = HeadNames(
        pooler="pooler.dense",
        fill_dense="cls.predictions.transform.dense",
        fill_norm="cls.predictions.transform.LayerNorm",
        fill_out="cls.predictions.decoder",
        fill_bias="cls.predictions.bias",
        unused=("cls.seq_relationship.*",),
    )

    def stream(self, given: TheirConfig) -> Stream.Config:
        return bert_sizes(given).stream()

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        return bert_keys(Sizes.of(stream))

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        return [*embeddings(stream), *layers(len(stream.trunk.all_blocks()), bert_layer())]


class Roberta(Encoder):
    """RobertaForMaskedLM and its siblings (Liu et al., 2019); XLM-RoBERTa (Conneau et al., 2020) has other words.

    The row of place 0 follows that of the token that fills: places are counted from its id on.
    """

    prefix, fills = "roberta.", "gelu"
    harmless = Bert.harmless
    heads = HeadNames(
        pooler="pooler.dense",
        fill_dense="lm_head.dense",
        fill_norm="lm_head.layer_norm",
        fill_out="lm_head.decoder",
        fill_bias="lm_head.bias",
        dense="classifier.dense",
        out="classifier.out_proj",
    )

    def __init__(self, name: str, stem: str, vocab: int):
        self.name, self.stem, self.vocab = name, stem, vocab  # type: ignore[misc]
        self.tasks = {f"{stem}{kind}": task for kind, task in TASKS.items()}  # type: ignore[misc]

    def stream(self, given: TheirConfig) -> Stream.Config:
        fills = given.whole("pad_token_id", 1, least=0)
        return replace(bert_sizes(given, {"vocab_size": self.vocab}), start=fills + 1).stream()

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        sizes = Sizes.of(stream)
        return {**bert_keys(sizes), "pad_token_id": max(0, sizes.start - 1)}

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        return [*embeddings(stream), *layers(len(stream.trunk.all_blocks()), bert_layer())]


def bert_sizes(given: TheirConfig, usual: Mapping[str, Any] = {}) -> Sizes:
    """The sizes under BERT's names; `usual` is what a key means that is left out, where BERT means something else."""
    given.only("position_embedding_type", "absolute")
    usual = {**_USUAL, **usual}

    def whole(key: str) -> int:
        return given.whole(key, usual[key])

    return Sizes(
        vocab=whole("vocab_size"),
        dim=whole("hidden_size"),
        depth=whole("num_hidden_layers"),
        heads=whole("num_attention_heads"),
        hidden=whole("intermediate_size"),
        places=whole("max_position_embeddings"),
        activation=activation(given, "hidden_act", usual["hidden_act"]),
        segments=given.whole("type_vocab_size", usual["type_vocab_size"], least=min(1, usual["type_vocab_size"])),
        eps=given.number("layer_norm_eps", usual["layer_norm_eps"]),
        dropout=given.number("hidden_dropout_prob", usual["hidden_dropout_prob"]),
        std=given.number("initializer_range", 0.02),
    )


def bert_keys(sizes: Sizes) -> dict[str, Any]:
    """The same as keys of a config.json."""
    return {
        "vocab_size": sizes.vocab,
        "hidden_size": sizes.dim,
        "num_hidden_layers": sizes.depth,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.hidden,
        "max_position_embeddings": sizes.places,
        "type_vocab_size": sizes.segments,
        "hidden_act": THEIR_ACTIVATION[sizes.activation],
        "layer_norm_eps": sizes.eps,
        "hidden_dropout_prob": sizes.dropout,
        "attention_probs_dropout_prob": 0.0,
    }
