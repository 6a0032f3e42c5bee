"""DeBERTa-v2 and v3: BERT's layers with scores of content and distance, disentangled (He et al., 2021, 2023)."""

from typing import Any

from weft.core import Attention, Dense, Disentangled, Distances, Head, LayerNorm, Pooled
from weft.interop.families.bert import bert_keys, bert_layer, bert_sizes
from weft.interop.families.encoder import TASKS, Encoder, HeadNames, activation
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.sizes import Sizes, embeddings, first_block
from weft.interop.family import THEIR_ACTIVATION, only
from weft.interop.rules import SameTensor, Unused, WeightRule, layers
from weft.interop.their_config import TheirConfig, names
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream

_USUAL = {
    "vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24,
    "intermediate_size": 6144, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
}  # fmt: skip
BOTH = ("c2p", "p2c")
BARRED = {"c2p": ("c2p",), "p2c": ("p2c",), "c2p|p2c": BOTH, "p2c|c2p": BOTH}


class DebertaV2(Encoder):
    """DebertaV2ForMaskedLM and its siblings, without the convolution that some v2 models have behind the first layer.

    The head for masked words has two sets of names for the same arithmetic (`legacy`); the first is written.
    """

    name, stem, prefix = "deberta-v2", "DebertaV2", "deberta."
    tasks = {f"DebertaV2{kind}": task for kind, task in TASKS.items()}
    harmless = names(
        """attention_probs_dropout_prob hidden_dropout_prob cls_dropout pooler_dropout legacy conv_act conv_groups
        pooler_size summary_type"""
    )
    heads = HeadNames(
        pooler=None,
        fill_dense="cls.predictions.transform.dense",
        fill_norm="cls.predictions.transform.LayerNorm",
        fill_out="cls.predictions.decoder",
        fill_bias="cls.predictions.bias",
        dense="pooler.dense",
        unused=("mask_predictions.*",),
    )
    dropouts = ("cls_dropout", "hidden_dropout_prob")
    older = (
        ("cls.predictions.transform.dense", "lm_predictions.lm_head.dense"),
        ("cls.predictions.transform.LayerNorm", "lm_predictions.lm_head.LayerNorm"),
        ("cls.predictions.bias", "lm_predictions.lm_head.bias"),
    )

    def stream(self, given: TheirConfig) -> Stream.Config:
        sizes = bert_sizes(given, _USUAL)
        given.only("relative_attention", True, default=False)
        given.only("conv_kernel_size", 0, default=0)
        for key, value in (("embedding_size", sizes.dim), ("pooler_hidden_size", sizes.dim)):
            given.only(key, value)
        given.only("attention_head_size", sizes.dim // sizes.heads)
        stream = sizes.stream()
        embed, block = only(stream.embed, TextEmbed.Config, "embed"), first_block(stream)
        shared = given.truth("share_att_key", False)
        score = Disentangled.Config(terms=_terms(given), maps="shared" if shared else "own")  # type: ignore[arg-type]
        block = block.replace(mix=only(block.mix, Attention.Config, "mix").replace(score=score))
        trunk = stream.trunk.replace(block=block, distances=_distances(given, sizes))
        placed = given.truth("position_biased_input", True)
        return stream.replace(embed=embed if placed else embed.replace(place=None), trunk=trunk)

    def head(self, kind: str, stream: Stream.Config, given: TheirConfig) -> Head.Config | None:
        found, act = super().head(kind, stream, given), activation(given, "pooler_hidden_act", "gelu")
        if not isinstance(found, Pooled.Config):
            return found
        return found.replace(dense=Dense.Config(activation=act, std=found.std))  # type: ignore[arg-type]

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        sizes, mix = Sizes.of(stream), only(first_block(stream).mix, Attention.Config, "mix")
        score = only(mix.score, Disentangled.Config, "mix.score")
        distances = only(stream.trunk.distances, Distances.Config, "trunk.distances")
        pooled = isinstance(stream.head, Pooled.Config) and stream.head.dense is not None
        act = stream.head.dense.activation if pooled else None  # type: ignore[union-attr]
        return {
            **bert_keys(sizes),
            "relative_attention": True,
            "pos_att_type": list(score.terms),
            "share_att_key": score.maps == "shared",
            "position_buckets": -1 if distances.farthest is None else distances.reach,
            "max_relative_positions": distances.farthest or distances.reach,
            "norm_rel_ebd": "none" if distances.norm is None else "layer_norm",
            "position_biased_input": only(stream.embed, TextEmbed.Config, "embed").place is not None,
            "pooler_hidden_act": THEIR_ACTIVATION[act] if act else "gelu",
            "pooler_hidden_size": sizes.dim,
        }

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        rules = embeddings(stream)
        if only(stream.embed, TextEmbed.Config, "embed").place is None:
            rules.append(Unused("embeddings.position_embeddings.weight"))
        rules.append(SameTensor("encoder.rel_embeddings.weight", "trunk.distances.table.weight"))
        distances = only(stream.trunk.distances, Distances.Config, "trunk.distances")
        rules += layer_norm("encoder.LayerNorm", "trunk.distances.norm") if distances.norm is not None else []
        score = only(only(first_block(stream).mix, Attention.Config, "mix").score, Disentangled.Config, "mix.score")
        layer = bert_layer(("query_proj", "key_proj", "value_proj"))
        own = {"c2p": ("pos_key_proj", "to_k"), "p2c": ("pos_query_proj", "to_q")} if score.maps == "own" else {}
        for term in score.terms:
            if term in own:
                theirs, ours = own[term]
                layer += linear(f"encoder.layer.{{i}}.attention.self.{theirs}", f"trunk.blocks.{{i}}.mix.score.{ours}")
        return [*rules, *layers(len(stream.trunk.all_blocks()), layer)]


def _terms(given: TheirConfig) -> tuple[str, ...]:
    """The products with distances that a config.json asks for: a list, or names between bars."""
    if isinstance(given.data.get("pos_att_type"), str):
        return given.choice("pos_att_type", BARRED)
    asked = given.choices("pos_att_type", {term: term for term in BOTH}, ())
    return tuple(term for term in BOTH if term in asked)


def _distances(given: TheirConfig, sizes: Sizes) -> Distances.Config:
    buckets = given.whole("position_buckets", -1, least=-1)
    farthest = given.whole("max_relative_positions", -1, least=-1)
    farthest = sizes.places if farthest < 1 else farthest
    normed = LayerNorm.Config(eps=sizes.eps)
    norm = given.choice("norm_rel_ebd", {"none": None, "layer_norm": normed}, "none")
    if buckets < 1:
        return Distances.Config(reach=farthest, norm=norm, std=sizes.std)
    return Distances.Config(reach=buckets, farthest=farthest, norm=norm, std=sizes.std)
