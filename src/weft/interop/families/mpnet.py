"""MPNet: RoBERTa's places and heads, and one bias on scores by distance for all layers, as T5 has it."""

from dataclasses import replace
from typing import Any

from weft.interop.families.bert import Bert, Roberta, bert_keys, bert_mlp, bert_sizes
from weft.interop.families.encoder import TASKS, Encoder
from weft.interop.families.parts import joined, layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings
from weft.interop.family import only
from weft.interop.rules import SameTensor, WeightRule, layers
from weft.interop.their_config import TheirConfig
from weft.models.stream import Stream
from weft.position import Buckets

BUCKETS, FARTHEST = 32, 128  # what their model computes with, whatever config.json says
START = 2  # the row of place 0: places are counted from that of the token that fills, whose id is 1
_LAYER: list[WeightRule] = [
    *joined(tuple(f"encoder.layer.{{i}}.attention.attn.{name}" for name in "qkv"), "trunk.blocks.{i}.mix.qkv"),
    *linear("encoder.layer.{i}.attention.attn.o", "trunk.blocks.{i}.mix.out"),
    *layer_norm("encoder.layer.{i}.attention.LayerNorm", "trunk.blocks.{i}.mix_norm"),
    *bert_mlp(),
]


class Mpnet(Encoder):
    """MPNetForMaskedLM and its siblings (Song et al., 2020)."""

    name, stem, prefix, fills = "mpnet", "MPNet", "mpnet.", "gelu"
    tasks = {f"MPNet{kind}": task for kind, task in TASKS.items()}
    harmless = Bert.harmless
    heads = Roberta.heads
    dropouts = ("hidden_dropout_prob",)

    def stream(self, given: TheirConfig) -> Stream.Config:
        given.only("relative_attention_num_buckets", BUCKETS)
        sizes = bert_sizes(given, {"vocab_size": 30527, "type_vocab_size": 0})
        stream = replace(sizes, start=START, segments=0).stream()
        return stream.replace(trunk=stream.trunk.replace(bias=Buckets.Config(count=BUCKETS, farthest=FARTHEST)))

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        bias, known = only(stream.trunk.bias, Buckets.Config, "trunk.bias"), bert_keys(Sizes.of(stream))
        del known["type_vocab_size"]
        return {**known, "relative_attention_num_buckets": bias.count}

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        bias = SameTensor("encoder.relative_attention_bias.weight", "trunk.bias.table.weight")
        return [*embeddings(stream), bias, *layers(len(stream.trunk.all_blocks()), _LAYER)]
