"""ELECTRA: BERT's body behind a narrow table, without a pooler; a generator that fills, a discriminator that judges."""

from dataclasses import replace
from typing import Any

from weft.core import Head
from weft.interop.families.bert import bert_keys, bert_layer, bert_sizes
from weft.interop.families.encoder import MODEL, TASKS, Encoder, HeadNames
from weft.interop.families.parts import linear
from weft.interop.families.sizes import Sizes, embeddings
from weft.interop.rules import WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.models.stream import Stream

PRETRAINING = "ForPreTraining"
_USUAL = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}


class Electra(Encoder):
    """ElectraForMaskedLM and its siblings (Clark et al., 2020).

    Of ElectraForPreTraining, the discriminator, the body is read: its head tells words that were exchanged, which is no
    task of weft's.
    """

    name, stem, prefix, class_activation, fills = "electra", "Electra", "electra.", "gelu", "gelu"
    tasks = {f"Electra{kind}": task for kind, task in {**TASKS, PRETRAINING: None}.items()}
    harmless = names(
        """attention_probs_dropout_prob hidden_dropout_prob classifier_dropout summary_type summary_use_proj
        summary_activation summary_last_dropout"""
    )
    heads = HeadNames(
        pooler=None,
        fill_dense="generator_predictions.dense",
        fill_norm="generator_predictions.LayerNorm",
        fill_out="generator_lm_head",
        fill_bias="generator_lm_head.bias",
        dense="classifier.dense",
        out="classifier.out_proj",
        unused=("discriminator_predictions.*",),
    )

    def stream(self, given: TheirConfig) -> Stream.Config:
        sizes, narrow = bert_sizes(given, _USUAL), given.whole("embedding_size", 128)
        return replace(sizes, narrow=None if narrow == sizes.dim else narrow).stream()

    def head(self, kind: str, stream: Stream.Config, given: TheirConfig) -> Head.Config | None:
        return super().head(MODEL if kind == PRETRAINING else kind, stream, given)

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        sizes = Sizes.of(stream)
        return {**bert_keys(sizes), "embedding_size": sizes.narrow or sizes.dim}

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        sizes, widen = Sizes.of(stream), linear("embeddings_project", "embed.widen")
        return [*embeddings(stream), *(widen if sizes.narrow else []), *layers(sizes.depth, bert_layer())]
