"""ModernBERT: rotary turns, layers that read everything and layers with a window, gated MLPs, pre-norm."""

from typing import Any

from weft.core import Attention, Block, Dense, Gated, Head, LayerNorm, PerToken, Pooled, SpanEnds, Trunk, Window
from weft.errors import ConfigError
from weft.interop.families.encoder import CLASS, FILL, MODEL, SPAN, TAGS, TASKS, Encoder, HeadNames, activation
from weft.interop.families.parts import layer_norm, linear
from weft.interop.families.sizes import first_block
from weft.interop.family import THEIR_ACTIVATION, only
from weft.interop.rules import Ignored, SameTensor, WeightRule
from weft.interop.their_config import TheirConfig, names
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream
from weft.position import Rotary

FULL, LOCAL = "full_attention", "sliding_attention"
BASES = {FULL: ("global_rope_theta", 160_000.0), LOCAL: ("local_rope_theta", 10_000.0)}  # keys of older files


class ModernBert(Encoder):
    """ModernBertForMaskedLM and its siblings (Warner et al., 2024)."""

    name, stem, prefix = "modernbert", "ModernBert", "model."
    tasks = {f"ModernBert{kind}": task for kind, task in TASKS.items()}
    harmless = names(
        """attention_dropout embedding_dropout mlp_dropout classifier_dropout initializer_cutoff_factor
        deterministic_flash_attn sparse_prediction sparse_pred_ignore_index reference_compile repad_logits_with_grad
        layer_norm_eps position_embedding_type"""
    )
    heads = HeadNames(
        pooler=None,
        fill_dense="head.dense",
        fill_norm="head.norm",
        fill_out="decoder",
        fill_bias="decoder.bias",
        dense="head.dense",
        span="classifier",
    )
    dropouts = ("classifier_dropout",)

    def stream(self, given: TheirConfig) -> Stream.Config:
        norm = LayerNorm.Config(eps=given.number("norm_eps", 1e-5), offsets=given.truth("norm_bias", False))
        std, dim = given.number("initializer_range", 0.02), given.whole("hidden_size", 768)
        transform = Gated.Config(
            activation=activation(given, "hidden_activation", "gelu"),  # type: ignore[arg-type]
            hidden=given.whole("intermediate_size", 1152),
            offsets=given.truth("mlp_bias", False),
        )
        bases, radius = _bases(given), given.whole("local_attention", 128) // 2
        heads, offsets = given.whole("num_attention_heads", 12), given.truth("attention_bias", False)
        blocks: list[Block.Config] = []
        for kind in _kinds(given):
            rules = (Window(radius=radius),) if kind == LOCAL else ()
            mix = Attention.Config(heads=heads, turn=Rotary.Config(base=bases[kind]), rules=rules, offsets=offsets)
            first = ("mix",) if not blocks else ()
            blocks.append(Block.Config(mix=mix, transform=transform, norm=norm, unnormed=first))  # type: ignore[arg-type]
        embed = TextEmbed.Config(
            vocab=given.whole("vocab_size", 50368),
            context=given.whole("max_position_embeddings", 8192),
            reading="free",
            last_norm=norm,
            std=std,
        )
        return Stream.Config(dim=dim, embed=embed, trunk=Trunk.Config(blocks=tuple(blocks), norm=norm))

    def head(self, kind: str, stream: Stream.Config, given: TheirConfig) -> Head.Config | None:
        block, std = first_block(stream), only(stream.embed, TextEmbed.Config, "embed").std
        act, offsets = activation(given, "classifier_activation", "gelu"), given.truth("classifier_bias", False)
        first = given.choice("classifier_pooling", {"cls": True, "mean": False}, "cls")
        ends_offset = given.truth("decoder_bias", True)
        dense = Dense.Config(activation=act, norm=block.norm, offsets=offsets, std=std)  # type: ignore[arg-type]
        if kind == CLASS:
            dropout = given.number("classifier_dropout", 0.0)
            return Pooled.Config(first=first, dense=dense, dropout=dropout, std=std)
        known: dict[str, Head.Config | None] = {
            FILL: PerToken.Config(tied=True, offsets=ends_offset, dense=dense, std=std),
            TAGS: PerToken.Config(offsets=True, dense=dense, std=std),
            SPAN: SpanEnds.Config(dense=dense, std=std),
            MODEL: None,
        }
        return known[kind]

    def keys(self, stream: Stream.Config) -> dict[str, Any]:
        embed, blocks = only(stream.embed, TextEmbed.Config, "embed"), stream.trunk.all_blocks()
        block, mixes = first_block(stream), [only(one.mix, Attention.Config, "mix") for one in blocks]
        mlp, norm = only(block.transform, Gated.Config, "transform"), only(block.norm, LayerNorm.Config, "norm")
        windows = [rule for mix in mixes for rule in mix.rules if isinstance(rule, Window)]
        kinds = [LOCAL if mix.rules else FULL for mix in mixes]
        turns = {kind: only(mix.turn, Rotary.Config, "mix.turn").base for kind, mix in zip(kinds, mixes, strict=True)}
        return {
            "vocab_size": embed.vocab,
            "max_position_embeddings": embed.context,
            "hidden_size": stream.dim,
            "intermediate_size": mlp.hidden,
            "num_hidden_layers": len(blocks),
            "num_attention_heads": mixes[0].heads,
            "hidden_activation": THEIR_ACTIVATION[mlp.activation],
            "norm_eps": norm.eps,
            "norm_bias": norm.offsets,
            "attention_bias": mixes[0].offsets,
            "mlp_bias": mlp.offsets,
            "local_attention": 2 * windows[0].radius if windows else 128,
            "layer_types": kinds,
            "rope_parameters": {
                kind: {"rope_type": "default", "rope_theta": turns.get(kind, usual)}
                for kind, (_, usual) in BASES.items()
            },
            **_head_keys(stream.head),
        }

    def body(self, stream: Stream.Config) -> list[WeightRule]:
        block = first_block(stream)
        mix, mlp = only(block.mix, Attention.Config, "mix"), only(block.transform, Gated.Config, "transform")
        normed = only(block.norm, LayerNorm.Config, "norm").offsets
        rules: list[WeightRule] = [
            SameTensor("embeddings.tok_embeddings.weight", "embed.table.weight"),
            *layer_norm("embeddings.norm", "embed.last_norm", offsets=normed),
            *layer_norm("final_norm", "trunk.norm", offsets=normed),
            Ignored("rotary_emb.*"),
        ]
        for i, one in enumerate(stream.trunk.all_blocks()):
            theirs, ours = f"layers.{i}.", f"trunk.blocks.{i}."
            rules += linear(f"{theirs}attn.Wqkv", f"{ours}mix.qkv", offsets=mix.offsets)
            rules += linear(f"{theirs}attn.Wo", f"{ours}mix.out", offsets=mix.offsets)
            if "mix" not in one.unnormed:
                rules += layer_norm(f"{theirs}attn_norm", f"{ours}mix_norm", offsets=normed)
            rules += linear(f"{theirs}mlp.Wi", f"{ours}transform.up", offsets=mlp.offsets)
            rules += linear(f"{theirs}mlp.Wo", f"{ours}transform.down", offsets=mlp.offsets)
            rules += layer_norm(f"{theirs}mlp_norm", f"{ours}transform_norm", offsets=normed)
        return rules


def _kinds(given: TheirConfig) -> tuple[str, ...]:
    """What each layer reads: everything or a window; in older files, every n-th reads everything."""
    depth, every = given.whole("num_hidden_layers", 22), given.whole("global_attn_every_n_layers", 3)
    usual = [LOCAL if i % every else FULL for i in range(depth)]
    kinds = given.choices("layer_types", {kind: kind for kind in BASES}, usual)
    if len(kinds) != depth:
        raise ConfigError(
            f"layer_types: expected one for each of {depth} layers, found {len(kinds)}", where=given.where
        )
    return kinds


def _bases(given: TheirConfig) -> dict[str, float]:
    """The base of rotary turns for each kind of layer; turns stretched for length are refused."""
    bases, nested = {}, given.inner("rope_parameters")
    given.only("rope_scaling")
    for kind, (key, usual) in BASES.items():
        bases[kind] = given.number(key, usual, least=1.0)
        inner = nested.inner(kind) if nested is not None else None
        if inner is not None:
            inner.only("rope_type", "default")
            inner.only("partial_rotary_factor", 1.0, 1)
            bases[kind] = inner.number("rope_theta", bases[kind], least=1.0)
    return bases


def _head_keys(head: Head.Config | None) -> dict[str, Any]:
    dense: Dense.Config | None = getattr(head, "dense", None)
    act = dense.activation if dense is not None else None
    pooled = isinstance(head, Pooled.Config) and not head.first
    decoder = not isinstance(head, PerToken.Config) or head.offsets
    return {
        "classifier_activation": THEIR_ACTIVATION[act] if act else "gelu",
        "classifier_bias": dense is not None and dense.offsets,
        "classifier_pooling": "mean" if pooled else "cls",
        "decoder_bias": decoder,
    }
