"""ALBERT: a narrow table that is widened, and one group of layers that is gone through again and again."""

from dataclasses import replace
from typing import Any

from weft.interop.families.bert import bert_keys, bert_sizes
from weft.interop.families.encoder import TASKS, Encoder, HeadNames
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings
from weft.interop.rules import WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.models.stream import Stream

_IN = "encoder.albert_layer_groups.0.albert_layers.{i}."
_LAYER: list[WeightRule] = [
    *joined(tuple(f"{_IN}attention.{name}" for name in ("query", "key", "value")), "trunk.blocks.{i}.mix.qkv"),
    *linear(f"{_IN}attention.dense", "trunk.blocks.{i}.mix.out"),
    *layer_norm(f"{_IN}attention.LayerNorm", "trunk.blocks.{i}.mix_norm"),
    *linear(f"{_IN}ffn", "trunk.blocks.{i}.transform.up"),
    *linear(f"{_IN}ffn_output", "trunk.blocks.{i}.transform.down"),
    *layer_norm(f"{_IN}full_layer_layer_norm", "trunk.blocks.{i}.transform_norm"),
]

_USUAL = {
    "vocab_size": 30000, "hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16384,
    "hidden_act": "gelu_new", "hidden_dropout_prob": 0.0,
}  # fmt: skip


class Albert(Encoder):
    """AlbertForMaskedLM and its siblings (Lan et al., 2020), with one group of layers."""

    name, stem, prefix = "albert", "Albert", "albert."
    tasks = {f"Albert{kind}": task for kind, task in {**TASKS, "ForPreTraining": "fill-mask"}.items()}
    harmless = frozenset(
        {"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout_prob", "down_scale_factor",
         "gap_size", "net_structure_type", "num_memory_blocks", "layers_to_keep"}
    )  # fmt: skip
    heads = HeadNames(
        pooler="pooler",
        fill_dense="predictions.dense",
        fill_norm="predictions.LayerNorm",
        fill_out="predictions.decoder",
        fill_bias="predictions.bias",
        unused=("sop_classifier.*",),
    )
    dropouts = ("classifier_dropout_prob",)

    def stream(self, given: TheirConfig) -> Stream.Config:
        given.only("num_hidden_groups", 1)
        plain = bert_sizes(given, _USUAL)
        blocks, narrow = given.whole("inner_group_num", 1), given.whole("embedding_size", 128)
        return replace(plain, depth=blocks, passes=plain.depth, narrow=narrow).stream()

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        sizes = Sizes.of(stream)
        return {
            **bert_keys(sizes),
            "num_hidden_layers": sizes.passes,
            "inner_group_num": sizes.depth,
            "num_hidden_groups": 1,
            "embedding_size": sizes.narrow or sizes.dim,
        }

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        sizes, widen = Sizes.of(stream), linear("encoder.embedding_hidden_mapping_in", "embed.widen")
        return [*embeddings(stream), *(widen if sizes.narrow else []), *layers(sizes.depth, _LAYER)]
