"""Mixers: how information moves across tokens. One call for attention, averaging and recurrence."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core.cache import Slots
from weft.core.edges import edge_sum
from weft.core.inside import Inside
from weft.core.rules import Rule
from weft.core.scope import Pass, Scope
from weft.core.shares import MeanShares, Shares
from weft.core.watched_reading import cut_edges
from weft.errors import ConfigError
from weft.relations import EdgeList
from weft.tokens import Tokens


class Mixer(Part, nn.Module):
    """New content for each token from the tokens it may read: those of the same stream, or those of a memory."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of mixer. `build(dim=, memory_dim=)`; a mixer that reads a memory is given its width."""

    cross = False  # whether it reads a memory
    memory_shareable = False  # whether several rows of the batch may read one row of the memory
    same_for_all_queries = False  # whether every query reads the same values

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        raise NotImplementedError


class Average(Mixer):
    """W mean(x over the readable tokens): the plainest linear combination of tokens, as in DeepSets.

    Along edges it is the step of a graph convolution; where edges have weights, the mean goes by them. With other
    `shares` it is another weighted sum. Several steps with a share `a` of the start, y <- (1 - a) mean(y) + a x, are
    personalised PageRank (Gasteiger et al., 2019).
    """

    class Config(Mixer.Config):
        """`rules` limit what is averaged; `weight` is the relation that holds the weight of each pair, above 0.

        `shares` say how much each of them counts: those of a mean, or Kipf and Welling's (`SymmetricShares`).
        Without `mapped` there is no W: the mean itself. Means are taken `steps` times, one of the other; each time a
        share `teleport` of the token's own content is put back.
        """

        rules: tuple[Rule, ...] = ()
        weight: str | None = None
        shares: Shares = MeanShares()
        mapped: bool = True
        steps: int = 1
        teleport: float = 0.0

        def check(self) -> None:
            at_least(self, 1, "steps")
            if not 0 <= self.teleport < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {self.teleport}", where="Average.teleport")

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.rules, self.weight, self.shares = config.rules, config.weight, config.shares
        self.steps, self.teleport = config.steps, config.teleport
        self.cross = memory_dim is not None
        self.memory_shareable = self.same_for_all_queries = self.cross and not config.rules and config.weight is None
        if self.cross and (config.steps > 1 or config.teleport):
            raise ConfigError("means of a memory are taken once", where="Average.steps", fix="steps=1, teleport=0.0")
        if self.cross and not config.shares.per_query:
            problem = f"{type(config.shares).__name__} belong to tokens that read each other, not to a memory"
            raise ConfigError(problem, where="Average.shares", fix="use MeanShares")
        if not config.mapped and memory_dim not in (None, dim):
            raise ConfigError(f"means of {memory_dim} numbers need a map to {dim}", where="Average.mapped")
        self.out = nn.Linear(memory_dim or dim, dim) if config.mapped else nn.Identity()

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        cut = at.inside if at.inside is not None and at.inside.unread("read" if self.cross else "mix") else None
        if self.cross and self.memory_shareable and cut is None:
            return self.whole_memory(x, at, slots)
        if self.cross:
            assert at.cross is not None and at.memory is not None
            scope, source = at.cross, at.memory.x
        else:
            scope, source = at.own, x if slots is None else slots.append("x", x, dim=1)
        alone = self.steps == 1 and not self.teleport and self.shares.per_query
        assert slots is None or alone, "all tokens must be there to average means, or to know who else reads a token"
        padding = ~scope.keys.valid[..., None]
        source = found = source.masked_fill(padding, 0.0)
        for step in range(self.steps):
            found = self.mean(found.masked_fill(padding, 0.0) if step else found, scope, cut)
            if self.teleport:
                found = torch.lerp(found, source, self.teleport)
        return self.out(found)

    def whole_memory(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None) -> Float[Tensor, "B Q D"]:
        """The mean of all that a memory has, the same for every query and computed once."""
        memory = at.memory
        assert memory is not None, "this mixer reads a memory: none was given"

        def mapped() -> Tensor:
            return self.out(mean_token(memory))

        return for_all_queries(mapped() if slots is None else slots.once("mean", mapped), x, at)

    def mean(self, source: Float[Tensor, "B K E"], scope: Scope, cut: Inside | None = None) -> Float[Tensor, "B Q E"]:
        """The mean of what each query may read; zero where that is nothing. `cut` says which pairs are not read."""
        edges, key = scope.edges(self.rules), ("shares", self.rules, self.weight, self.shares)
        if cut is not None:
            return self._mean_of_rest(source, scope, edges, cut)
        if edges is not None:
            shares = scope.memo(key, lambda: self.shares.of_edges(self._weights(edges, scope), edges))
            return edge_sum(source.flatten(0, 1), shares.to(source.dtype), edges).unflatten(0, source.shape[:2])
        if scope.same_for_all and not self.rules and self.weight is None and self.shares.per_query:
            count = scope.keys.valid.sum(1)[:, None, None].clamp(min=1)
            return (source.sum(1, keepdim=True) / count).expand(-1, scope.queries.shape[1], -1)
        return self._of_pairs(scope, source.dtype) @ source

    def _mean_of_rest(
        self, source: Float[Tensor, "B K E"], scope: Scope, edges: EdgeList | None, cut: Inside
    ) -> Float[Tensor, "B Q E"]:
        """The mean without the pairs that a change has cut."""
        if edges is not None:
            kept = self._weights(edges, scope).masked_fill(cut_edges(cut, None, edges, cut.queries()), 0.0)
            shares = self.shares.of_edges(kept, edges).to(source.dtype)
            return edge_sum(source.flatten(0, 1), shares, edges).unflatten(0, source.shape[:2])
        closed = cut.closed_pairs("read" if self.cross else "mix", None, scope.keys)
        rows = len(closed) // len(source)
        pairs = self._pair_weights(scope, source.dtype).repeat_interleave(rows, 0).masked_fill(closed, 0.0)
        return self.shares.of_matrix(pairs) @ source.repeat_interleave(rows, 0)

    def _weights(self, edges: EdgeList, scope: Scope) -> Float[Tensor, "E"]:
        """The weight of each edge; that of padding is 0 where it would count for others."""
        weights = torch.ones_like(edges.query, dtype=scope.queries.x.dtype)
        if self.weight is not None:
            weights = edges.values[self.weight.partition(".")[2]].to(weights.dtype)
        return weights if self.shares.per_query else weights * scope.queries.valid.flatten()[edges.query]

    def _of_pairs(self, scope: Scope, dtype: torch.dtype) -> Float[Tensor, "B Q K"]:
        """The share of each pair."""
        return self.shares.of_matrix(self._pair_weights(scope, dtype))

    def _pair_weights(self, scope: Scope, dtype: torch.dtype) -> Float[Tensor, "B Q K"]:
        """The weight of each pair; 0 where nothing may be read."""
        weights = scope.mask(self.rules)[:, 0].to(dtype)
        if self.weight is not None:
            weights = weights * scope.relations((self.weight,))[self.weight].to(dtype)
        return weights if self.shares.per_query else weights * scope.queries.valid[..., None]


class Last(Mixer):
    """W times the last real token of a memory: one context vector for the whole source (Sutskever et al., 2014)."""

    class Config(Mixer.Config):
        """The bottleneck that attention removes."""

    cross = memory_shareable = same_for_all_queries = True

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        if memory_dim is None:
            raise ConfigError("reads the end of a memory, and there is none", where="Last", fix="set memory_dim")
        self.out = nn.Linear(memory_dim, dim)

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        memory = at.memory
        assert memory is not None, "this mixer reads a memory: none was given"

        def mapped() -> Tensor:
            return self.out(last_token(memory))

        return for_all_queries(mapped() if slots is None else slots.once("last", mapped), x, at)


def for_all_queries(values: Float[Tensor, "M D"], x: Float[Tensor, "B Q D"], at: Pass) -> Float[Tensor, "B Q D"]:
    """One vector of each row of the memory, for every query that reads this row."""
    return values.repeat_interleave(at.rows_per_memory, 0)[:, None].expand(x.shape)


def mean_token(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The mean of the real tokens of each stream; zero where there are none."""
    return tokens.padding_zeroed().x.sum(1) / tokens.valid.sum(1, keepdim=True).clamp(min=1)


def last_token(tokens: Tokens) -> Float[Tensor, "B D"]:
    """The content of the last real token of each stream."""
    if tokens.unpadded:
        return tokens.x[:, -1]
    places = torch.arange(tokens.shape[1], device=tokens.x.device)
    index = torch.where(tokens.valid, places, 0).amax(1)
    return tokens.x.gather(1, index[:, None, None].expand(-1, 1, tokens.x.shape[-1]))[:, 0]
