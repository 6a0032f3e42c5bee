"""Nodes as tokens: features, words, degrees and places in a graph become content; edges and distances, relations.

Elements of a set are nodes without edges.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import at_least, below_one
from weft.core.cache import Slots
from weft.core.draws import dropout, signs
from weft.modalities.embedder import Embedder
from weft.relations import EdgeList, Relation
from weft.sending import on_host, sent, sent_if_any, with_host
from weft.tokens import Tokens

EDGES, STEPS = "edges", "steps"  # the names of relations: who is joined, and how many steps are between two nodes
WAVE_WIDTH = 8  # numbers that an eigenvector's entry becomes before all are joined


@dataclass(frozen=True)
class Bags:
    """Features of which most are zero: those of flat node i stand from offsets[i] to offsets[i + 1]."""

    ids: Int[Tensor, "S"]
    values: Float[Tensor, "S"]
    offsets: Int[Tensor, "BN+1"]

    @cached_property
    def by_id(self) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"], Int[Tensor, "F+1"]]:
        """The places of all values in the order of their ids; the node of each; where the values of each id begin."""
        if (host := on_host(self)) is not self:
            order, owner, offsets = (sent(t, self.ids.device) for t in host.by_id)
            return order, owner, offsets
        order = torch.argsort(self.ids, stable=True)
        owner = torch.repeat_interleave(torch.arange(len(self.offsets) - 1, device=order.device), self.offsets.diff())
        counts = torch.bincount(self.ids)
        return order, owner[order], torch.cat([counts.new_zeros(1), counts.cumsum(0)])

    def to(self, device: torch.device | str) -> "Bags":
        """The same on another device."""
        if self.ids.device == torch.device(device):
            return self
        return with_host(Bags(*(sent(t, device) for t in (self.ids, self.values, self.offsets))), self)

    def rows(self, index: Int[Tensor, "R"]) -> "Bags":
        """The features of some flat nodes."""
        starts, sizes = self.offsets[index], self.offsets[index + 1] - self.offsets[index]
        offsets = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        places = torch.arange(int(offsets[-1]), device=index.device) + (starts - offsets[:-1]).repeat_interleave(sizes)
        return Bags(self.ids[places], self.values[places], offsets)


@dataclass(frozen=True)
class Graphs:
    """Graphs of different sizes, padded behind: what an embedder reads, and the given side of a batch."""

    sizes: Int[Tensor, "B"]
    degree: Int[Tensor, "B N"]
    edges: EdgeList
    features: Float[Tensor, "B N F"] | Bags | None = None
    kinds: Int[Tensor, "B N C"] | None = None
    waves: Float[Tensor, "B N W"] | None = None  # entries of eigenvectors of the Laplacian
    steps: Int[Tensor, "B N N"] | None = None  # between two nodes
    mask: Bool[Tensor, "B N"] | None = None  # true where a node is not padding, where that is not said by `sizes`

    def to(self, device: torch.device | str) -> "Graphs":
        """The same on another device."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        parts: dict[str, Any] = {
            name: sent_if_any(part, device) if part is None or isinstance(part, Tensor) else part.to(device)
            for name, part in given.items()
        }
        return with_host(Graphs(**parts), self)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Any) -> "Graphs":
        index = torch.arange(len(self), device=self.sizes.device)[rows]
        features, nodes = self.features, self.degree.shape[1]
        if isinstance(features, Bags):
            flat = (index[:, None] * nodes + torch.arange(nodes, device=index.device)).flatten()
            some: Any = features.rows(flat)
        else:
            some = None if features is None else features[index]
        rest = (None if t is None else t[index] for t in (self.kinds, self.waves, self.steps, self.mask))
        return Graphs(self.sizes[index], self.degree[index], self.edges.rows(index), some, *rest)

    def raw(self) -> "Graphs":
        """As an embedder takes them."""
        return self

    @property
    def real(self) -> Bool[Tensor, "B N"] | None:
        """True where a node is not padding; None where all graphs have one size."""
        if self.mask is not None:
            return self.mask
        nodes, host = self.degree.shape[1], on_host(self)
        if bool((host.sizes == nodes).all()):
            return None
        return torch.arange(nodes, device=self.sizes.device) < self.sizes[:, None]


class _BagSum(torch.autograd.Function):
    """For each node the sum of the rows of its features, by their values.

    The gradient of a row is a sum over the nodes that have the feature, and is computed as one: several times as fast
    as torch's own, which adds node by node.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, values: Tensor, bags: Bags) -> Tensor:
        ctx.bags, ctx.rows = bags, len(table)
        ctx.save_for_backward(values)
        return F.embedding_bag(bags.ids, table, bags.offsets[:-1], mode="sum", per_sample_weights=values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        order, owner, offsets = ctx.bags.by_id
        (values,), grad = ctx.saved_tensors, grads[0].contiguous()
        found = F.embedding_bag(owner, grad, offsets[:-1], mode="sum", per_sample_weights=values[order])
        return F.pad(found, (0, 0, 0, ctx.rows - len(found))), None, None


class GraphEmbed(Embedder):
    """x = W features + a vector for each word + one for the degree + places; relations "edges" and "steps".

    Places are eigenvectors of the Laplacian (Dwivedi and Bresson, 2021). The sign of an eigenvector means nothing: in
    training it is drawn anew for each graph and step, in use the mean over both signs is taken, so that the answer does
    not depend on it.
    """

    class Config(Embedder.Config):
        """`features` numbers for each node, in `bags` where most are zero; `kinds` has the count of each kind of word.

        `degrees` is the size of the table of degrees, larger ones count as the last; `waves` the number of
        eigenvectors. In training, `dropout` zeroes that share of the features.
        """

        features: int = 0
        bags: bool = False
        kinds: tuple[int, ...] = ()
        degrees: int = 0
        waves: int = 0
        dropout: float = 0.0
        std: float = 0.5

        def check(self) -> None:
            at_least(self, 0, "features", "degrees", "waves")
            below_one(self, "dropout")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.config, self.dim = config, dim
        self.offset = nn.Parameter(torch.zeros(dim))
        self.features = nn.Embedding(config.features, dim) if config.features else None
        self.kinds = nn.ModuleList(nn.Embedding(count, dim) for count in config.kinds)
        self.degrees = nn.Embedding(config.degrees, dim) if config.degrees else None
        for table in [*self.kinds, *([] if self.degrees is None else [self.degrees])]:
            nn.init.normal_(table.weight, std=config.std)
        if self.features is not None:
            scale = 1.0 if config.bags else config.features**-0.5  # bags have length 1, numbers a spread of 1 each
            nn.init.normal_(self.features.weight, std=config.std * scale)
        self.wave = nn.Linear(1, WAVE_WIDTH) if config.waves else None
        self.joined = nn.Linear(WAVE_WIDTH * config.waves, dim) if config.waves else None

    def forward(self, raw: Graphs, *, slots: Slots | None = None) -> Tokens:
        x = self.offset.expand(*raw.degree.shape, self.dim)
        if self.features is not None:
            x = x + self.numbers(raw)
        if raw.kinds is not None:
            for column, table in enumerate(self.kinds):
                x = x + table(raw.kinds[..., column])
        if self.degrees is not None:
            x = x + self.degrees(raw.degree.clamp(max=self.config.degrees - 1))
        if self.wave is not None and raw.waves is not None:
            x = x + self.places(raw.waves)
        pairs: dict[str, Relation] = {EDGES: raw.edges}
        if raw.steps is not None:
            pairs[STEPS] = raw.steps
        return replace(Tokens.free(x, valid=raw.real, padded_behind=raw.mask is None), pairs=pairs)

    def numbers(self, raw: Graphs) -> Float[Tensor, "B N D"]:
        """W times the features; where most are zero, the sum of the rows of W that are not."""
        assert self.features is not None and raw.features is not None, "these nodes have no features"
        table, rate = self.features.weight, self.config.dropout
        if not isinstance(raw.features, Bags):
            return dropout(raw.features, rate, self.training).to(table.dtype) @ table
        bags = raw.features
        values = dropout(bags.values, rate, self.training).to(table.dtype)
        return _BagSum.apply(table, values, bags).view(*raw.degree.shape, self.dim)

    def places(self, waves: Float[Tensor, "B N W"]) -> Float[Tensor, "B N D"]:
        """Eigenvectors as content, each under a random sign in training and under both in use."""
        assert self.wave is not None and self.joined is not None
        wave = self.wave

        def bent(t: Tensor) -> Tensor:
            return F.gelu(wave(t[..., None])).flatten(-2)

        if self.training:
            drawn = signs(waves.shape[0], waves.shape[2], waves.device)
            return self.joined(bent(waves * drawn[:, None]))
        return self.joined((bent(waves) + bent(-waves)) / 2)
