"""Models of graphs and sets by name: attention along edges, to all, or averages in its place; no order of the nodes.

`graph-transformer` alternates blocks that read along edges with blocks that read all nodes; `gat` and `gcn` read along
edges alone, a layer without skip or norm upon the other; `transformer` and `deepsets` read a whole set.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from weft.core import (
    Attention,
    Average,
    Block,
    Edges,
    Head,
    LayerNorm,
    MeanShares,
    Mixer,
    Mlp,
    PerToken,
    Plain,
    Pointwise,
    Pooled,
    Shares,
    SilentInit,
    SymmetricShares,
    Trunk,
)
from weft.core.linear import XavierInit
from weft.modalities.graph_embed import EDGES, STEPS, GraphEmbed
from weft.models.stream import Stream
from weft.models.zoo.language import Size
from weft.position import Bias, Kinds, Weighted

Level = Literal["nodes", "graphs"]
TYPE, WEIGHT = f"{EDGES}.type", f"{EDGES}.weight"
PROPAGATION_STEPS, TELEPORT = 10, 0.1  # of appnp, as published


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a model of graphs is for: the level of its answers and their number, and what its edges have.

    `steps` is the number of kinds of distance for attention to all nodes; with none, nodes read along edges alone.
    `typical` is the usual number of nodes, where answers may grow with their number.
    """

    level: Level
    outputs: int
    types: int = 2
    weighted: bool = False
    steps: int = 0
    typical: float | None = None


def graph_transformer(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """Attention along edges, then to all nodes with a learned number for each distance (Ying et al., 2021), in turns.

    All layers share the numbers for distances.
    """
    along = _block(_along(size, wanted), dropout)
    if not wanted.steps:
        return _stream(size, embed, (along,) * size.depth, wanted, dropout)
    far = Attention.Config(heads=size.heads, qk_norm=LayerNorm.Config(learned=False), offsets=False)
    blocks = tuple(along if layer % 2 == 0 else _block(far, dropout) for layer in range(size.depth))
    steps = Kinds.Config(relation=STEPS, count=wanted.steps) if size.depth > 1 else None
    return _stream(size, embed, blocks, wanted, dropout, steps)


def gat(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """Attention along edges and a nonlinearity, in layers (Velickovic et al., 2018), with a transformer's scores."""
    block = _token_net(_along(size, wanted), dropout, bent=True)
    return _layered(size, embed, (block,) * size.depth, wanted, dropout)


def gcn(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """Sums over a node and its neighbours by D^-1/2 (A + I) D^-1/2 in place of attention (Kipf and Welling, 2017).

    The first and the last sum have no map: the embedder and the head are theirs, and a product of two maps without a
    nonlinearity between them learns a few labelled nodes by heart. The last layer's sums are the answer's, not bent.
    """
    sums = _neighbours(wanted, SymmetricShares())
    blocks = [
        _token_net(sums.replace(mapped=0 < layer < size.depth - 1), dropout, bent=layer < size.depth - 1)
        for layer in range(size.depth)
    ]
    return _layered(size, embed, tuple(blocks), wanted, dropout)


def appnp(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """Each node by itself first, then what was found is averaged along edges many times (Gasteiger et al., 2019).

    The paper averages answers. Here the last layer is averaged before the head: the head is linear and the mean of
    a constant is that constant, so the answers are the same.
    """
    mean = _neighbours(wanted, MeanShares()).replace(mapped=False, steps=PROPAGATION_STEPS, teleport=TELEPORT)
    bent = Block.Config(transform=Pointwise.Config(), wiring=Plain.Config(), dropout=dropout)
    inside = Block.Config(transform=Mlp.Config(activation="relu", ratio=1.0), dropout=dropout)
    blocks = (*(bent,) * min(1, size.depth - 1), *(inside,) * (size.depth - 2), _token_net(mean, dropout, bent=False))
    return _layered(size, embed, blocks, wanted, dropout)


def transformer(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """A transformer without positions: every element reads every other (Lee et al., 2019)."""
    mix = Attention.Config(heads=size.heads, qk_norm=LayerNorm.Config(learned=False), offsets=False)
    return _stream(size, embed, (_block(mix, dropout),) * size.depth, wanted, dropout)


def deepsets(size: Size, embed: GraphEmbed.Config, wanted: Wanted, *, dropout: float = 0.0) -> Stream.Config:
    """The mean over the set in place of attention (Zaheer et al., 2017)."""
    return _stream(size, embed, (_block(Average.Config(), dropout),) * size.depth, wanted, dropout)


def _neighbours(wanted: Wanted, shares: Shares) -> Average.Config:
    """The weighted sum over a node and its neighbours."""
    return Average.Config(rules=(Edges(name=EDGES),), weight=WEIGHT if wanted.weighted else None, shares=shares)


def _along(size: Size, wanted: Wanted) -> Attention.Config:
    kinds = Kinds.Config(relation=TYPE, count=wanted.types)
    bias: Bias.Config = Weighted.Config(weight=WEIGHT, kinds=kinds) if wanted.weighted else kinds
    norm = LayerNorm.Config(learned=False)
    return Attention.Config(heads=size.heads, qk_norm=norm, bias=bias, rules=(Edges(name=EDGES),), offsets=False)


def _block(mix: Mixer.Config, dropout: float) -> Block.Config:
    return Block.Config(mix=mix, transform=Mlp.Config(activation="gelu", ratio=2.0), dropout=dropout)


def _token_net(mix: Mixer.Config, dropout: float, *, bent: bool) -> Block.Config:
    """A linear combination of tokens, then a nonlinearity within each. Neither skip nor norm."""
    transform = Pointwise.Config() if bent else None
    return Block.Config(mix=mix, transform=transform, wiring=Plain.Config(), dropout=dropout if bent else 0.0)


def _layered(
    size: Size, embed: GraphEmbed.Config, blocks: tuple[Block.Config, ...], wanted: Wanted, dropout: float
) -> Stream.Config:
    """Token nets, one upon the other.

    Where few nodes have a label, a skip past the mixing lets a net learn the labelled ones by heart.
    """
    stream = _stream(size, embed, blocks, wanted, dropout)
    return stream.replace(trunk=stream.trunk.replace(init=XavierInit.Config(), norm=None))


def _stream(
    size: Size,
    embed: GraphEmbed.Config,
    blocks: tuple[Block.Config, ...],
    wanted: Wanted,
    dropout: float,
    bias: Bias.Config | None = None,
) -> Stream.Config:
    heads: dict[str, Head.Config] = {
        "nodes": PerToken.Config(offsets=True, std=0.0),
        "graphs": Pooled.Config(dropout=dropout, std=0.0, typical=wanted.typical),
    }
    trunk = Trunk.Config(blocks=blocks, bias=bias, init=SilentInit.Config())
    return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=heads[wanted.level], outputs=wanted.outputs)


GRAPH_MODELS: dict[str, Callable[..., Stream.Config]] = {
    "graph-transformer": graph_transformer,
    "gat": gat,
    "gcn": gcn,
    "appnp": appnp,
}
SET_MODELS: dict[str, Callable[..., Stream.Config]] = {"transformer": transformer, "deepsets": deepsets}
