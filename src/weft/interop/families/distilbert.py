"""DistilBERT: BERT with half the layers, without segments and without a pooler."""

from typing import Any

from weft.interop.families.encoder import TASKS, Encoder, HeadNames, activation
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings
from weft.interop.family import THEIR_ACTIVATION
from weft.interop.rules import WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.models.stream import Stream

_LAYER: list[WeightRule] = [
    *joined(
        tuple(f"transformer.layer.{{i}}.attention.{name}_lin" for name in "qkv"),
        "trunk.blocks.{i}.mix.qkv",
    ),
    *linear("transformer.layer.{i}.attention.out_lin", "trunk.blocks.{i}.mix.out"),
    *layer_norm("transformer.layer.{i}.sa_layer_norm", "trunk.blocks.{i}.mix_norm"),
    *linear("transformer.layer.{i}.ffn.lin1", "trunk.blocks.{i}.transform.up"),
    *linear("transformer.layer.{i}.ffn.lin2", "trunk.blocks.{i}.transform.down"),
    *layer_norm("transformer.layer.{i}.output_layer_norm", "trunk.blocks.{i}.transform_norm"),
]


class DistilBert(Encoder):
    """DistilBertForMaskedLM and its siblings (Sanh et al., 2019)."""

    name, stem, prefix, class_activation = "distilbert", "DistilBert", "distilbert.", "relu"
    tasks = {f"DistilBert{kind}": task for kind, task in TASKS.items()}
    harmless = names("attention_dropout qa_dropout seq_classif_dropout dropout sinusoidal_pos_embds tie_weights_")
    heads = HeadNames(
        pooler=None,
        fill_dense="vocab_transform",
        fill_norm="vocab_layer_norm",
        fill_out="vocab_projector",
        fill_bias="vocab_projector.bias",
        dense="pre_classifier",
    )
    dropouts = ("seq_classif_dropout",)

    def stream(self, given: TheirConfig) -> Stream.Config:
        sizes = Sizes(
            vocab=given.whole("vocab_size", 30522),
            dim=given.whole("dim", 768),
            depth=given.whole("n_layers", 6),
            heads=given.whole("n_heads", 12),
            hidden=given.whole("hidden_dim", 3072),
            places=given.whole("max_position_embeddings", 512),
            activation=activation(given, "activation", "gelu"),
            dropout=given.number("dropout", 0.1),
            std=given.number("initializer_range", 0.02),
        )
        return sizes.stream()

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        sizes = Sizes.of(stream)
        return {
            "vocab_size": sizes.vocab,
            "dim": sizes.dim,
            "n_layers": sizes.depth,
            "n_heads": sizes.heads,
            "hidden_dim": sizes.hidden,
            "max_position_embeddings": sizes.places,
            "activation": THEIR_ACTIVATION[sizes.activation],
            "dropout": sizes.dropout,
            "attention_dropout": 0.0,
        }

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        return [*embeddings(stream), *layers(len(stream.trunk.all_blocks()), _LAYER)]
