"""Distances with vectors: scores in which the distance between two tokens meets what the tokens say.

A trunk has one table with a vector for each kind of distance; each attention makes queries and keys of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.core.norms import Norm
from weft.core.scores import Score, ScoreOf
from weft.errors import ConfigError
from weft.tokens import axis_of

if TYPE_CHECKING:
    from weft.core.attention import Attention
    from weft.core.scope import Scope


class Distances(Part, nn.Module):
    """r[row(i - j)]: a learned vector for each kind of distance between a query and a key (He et al., 2021)."""

    class Config(BaseConfig):
        """`reach` rows for each side of the query, along `axis`.

        Each distance has its own row; those beyond `reach` share the last one. With `farthest`, distances beyond half
        of `reach` share rows that widen by a constant factor, up to `farthest`. `norm` is of the vectors.
        """

        reach: int
        farthest: int | None = None
        axis: str = "position"
        norm: Norm.Config | None = None
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 1 if self.farthest is None else 4, "reach")
            if self.farthest is not None and self.farthest - 1 <= self.reach // 2:
                problem = f"must be beyond the {self.reach // 2} places that have a row each, found {self.farthest}"
                raise ConfigError(problem, where="Distances.farthest")

    def __init__(self, config: Config, *, dim: int):
        super().__init__()
        self.config = config
        self.table = nn.Embedding(2 * config.reach, dim)
        nn.init.normal_(self.table.weight, std=config.std)
        self.norm = config.norm.build(dim=dim) if config.norm else None

    def vectors(self) -> Float[Tensor, "R D"]:
        """The vectors of all kinds of distance."""
        return self.table.weight if self.norm is None else self.norm(self.table.weight)

    def forward(self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor]) -> Int[Tensor, "B Q K"]:
        """The row of each query and key."""
        axis, reach = self.config.axis, self.config.reach
        behind = axis_of(queries, axis)[:, :, None] - axis_of(keys, axis)[:, None, :]
        return (self._shared(behind).long() + reach).clamp(0, 2 * reach - 1)

    def _shared(self, behind: Tensor) -> Tensor:
        """Distances where far ones that share a row are one number."""
        farthest, exact = self.config.farthest, self.config.reach // 2
        if farthest is None:
            return behind
        away = behind.abs()
        widening = torch.log(torch.tensor((farthest - 1) / exact, device=behind.device))
        # from `exact` to `farthest` in exact - 1 steps; in float32 in this order, as trained models were given them
        steps = torch.ceil(torch.log(away.clamp(min=1).float() / exact) / widening * (exact - 1))
        return torch.where(away <= exact, behind.float(), (steps + exact) * behind.sign())


@dataclass(frozen=True)
class DistanceHeads:
    """Queries and keys made of the vectors of distances, where the score asks for them; the row of each pair."""

    q: Float[Tensor, "H R d"] | None
    k: Float[Tensor, "H R d"] | None
    rows: Int[Tensor, "B Q K"]


class Disentangled(Score):
    """score(i, j) = (q_i . k_j + q_i . K[i - j] + Q[i - j] . k_j) / sqrt(3 d) (He et al., 2021).

    K and Q are made of the trunk's `Distances`. The root is of d times the number of products.
    """

    class Config(Score.Config):
        """`terms` beside q . k: content to position (c2p) with K, position to content (p2c) with Q.

        The `maps` from vectors of distances to K and Q are those of the tokens (shared), or further ones (own).
        """

        terms: tuple[Literal["c2p", "p2c"], ...] = ("c2p", "p2c")
        maps: Literal["shared", "own"] = "shared"
        of_distances: ClassVar[bool] = True

        def check(self) -> None:
            super().check()
            if not self.terms or len(set(self.terms)) < len(self.terms):
                raise ConfigError("expected c2p, p2c or both", where="Disentangled.terms")

        def build_for(self, attention: "Attention", dim: int) -> "Disentangled":
            if attention.cross:
                raise ConfigError("a memory has no distances from the stream", where="Attention.score")
            heads, key_heads = attention.heads, attention.groups
            return self.build(dim=attention.head_dim, width=dim, heads=heads, key_heads=key_heads)

    def __init__(self, config: Config, *, dim: int, width: int, heads: int, key_heads: int):
        """`width` is that of the stream, `dim` that of a head."""
        super().__init__()
        self.config = config
        self.scale = 1 / (math.sqrt(dim * (1 + len(config.terms))) * config.temperature)
        own = config.maps == "own"
        self.to_q = nn.Linear(width, heads * dim) if own and "p2c" in config.terms else None
        self.to_k = nn.Linear(width, key_heads * dim) if own and "c2p" in config.terms else None

    def forward(self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        """The product of contents alone."""
        return (q * self.scale) @ k.transpose(-1, -2)

    def heads_at(self, scope: "Scope", attention: "Attention", heads: Sequence[int] | None = None) -> ScoreOf:
        """The whole score, for tokens at the distances of this scope."""
        distances = self._distance_heads(scope, attention)
        if heads is not None:
            q, k = (None if side is None else side[list(heads)] for side in (distances.q, distances.k))
            distances = DistanceHeads(q, k, distances.rows)

        def score(q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
            total, heads = self(q, k), q.shape[1]
            if distances.k is not None:
                near = (q * self.scale) @ distances.k.transpose(-1, -2)
                total = total + near.gather(-1, distances.rows[:, None].expand(-1, heads, -1, -1))
            if distances.q is not None:
                near = (k * self.scale) @ distances.q.transpose(-1, -2)
                turned = distances.rows.transpose(1, 2)[:, None].expand(-1, heads, -1, -1)
                total = total + near.gather(-1, turned).transpose(-1, -2)
            return total

        return score

    def _distance_heads(self, scope: "Scope", attention: "Attention") -> DistanceHeads:
        """Queries and keys of the vectors of distances, cut into heads and normalised as those of tokens."""
        distances = scope.distances
        assert distances is not None, "the trunk has no distances"
        vectors = scope.memo("distances", distances.vectors)
        rows = scope.memo("distance rows", lambda: distances(scope.queries.coords, scope.keys.coords))
        if self.config.maps == "own":
            q, k = (None if own is None else own(vectors) for own in (self.to_q, self.to_k))
        else:
            q, k, _ = attention.projected(vectors).split(attention.sizes, -1)

        def heads(t: Tensor | None, norm: Norm | None, term: str) -> Tensor | None:
            if t is None or term not in self.config.terms:
                return None
            cut = attention.cut(t, norm).transpose(0, 1)
            shared = attention.heads // cut.shape[0]
            return cut.repeat_interleave(shared, 0) if shared > 1 else cut

        return DistanceHeads(heads(q, attention.q_norm, "p2c"), heads(k, attention.k_norm, "c2p"), rows)
