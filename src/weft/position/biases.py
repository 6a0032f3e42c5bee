"""Score biases: a number added to each score, from the places of query and key or a relation. Knows no modality."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.errors import ConfigError
from weft.tokens import axis_of

NO_PAIRS: Mapping[str, Tensor] = MappingProxyType({})


class Bias(Part, nn.Module):
    """A number for each head, query and key, from their coordinates, and from `relations` (B Q K) if it names any."""

    abstract = True

    class Config(BaseConfig):
        """The kinds of bias."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the relations that it depends on."""
        return ()

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        raise NotImplementedError


class Alibi(Bias):
    """-slope * |distance|, a fixed slope for each head from 2^(-8/H) down to 2^-8 (Press et al., 2022)."""

    class Config(Bias.Config):
        """Distance along `axis`."""

        axis: str = "position"

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.axis = config.axis
        self.slopes: Tensor
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes, persistent=False)

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        distance = (axis_of(queries, self.axis)[:, :, None] - axis_of(keys, self.axis)[:, None, :]).abs()
        return -self.slopes[:, None, None] * distance[:, None]


class Buckets(Bias):
    """b[head, bucket(key - query)]: a learned number for each head and kind of distance (Raffel et al., 2020).

    Near distances have a bucket each; farther ones share buckets that widen by a constant factor, up to `farthest`,
    beyond which all are one.
    """

    class Config(Bias.Config):
        """`count` buckets along `axis`: half for each side, or all for the `past`, where nothing ahead is read."""

        count: int = 32
        farthest: int = 128
        sides: Literal["both", "past"] = "both"
        axis: str = "position"
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 4 if self.sides == "both" else 2, "count")
            exact = self.count // (4 if self.sides == "both" else 2)
            if self.farthest <= exact:
                raise ConfigError(
                    f"must be beyond the {exact} places that have a bucket each, found {self.farthest}",
                    where="Buckets.farthest",
                )

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.config = config
        self.table = nn.Embedding(config.count, heads)
        nn.init.normal_(self.table.weight, std=config.std)

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        axis = self.config.axis
        ahead = axis_of(keys, axis)[:, None, :] - axis_of(queries, axis)[:, :, None]
        return self.table(self.bucket(ahead)).permute(0, 3, 1, 2)

    def bucket(self, ahead: Shaped[Tensor, "B Q K"]) -> Int[Tensor, "B Q K"]:
        """The bucket of each key, from its distance `ahead` of the query (negative where it is behind)."""
        config = self.config
        both = config.sides == "both"
        count = config.count // 2 if both else config.count
        distance = ahead.abs() if both else (-ahead).clamp(min=0)
        side = (ahead > 0).long() * count if both else 0
        exact = count // 2
        octaves = (distance.clamp(min=1).float() / exact).log() / math.log(config.farthest / exact)
        shared = (exact + (octaves * (count - exact)).long()).clamp(max=count - 1)
        return side + torch.where(distance < exact, distance.long(), shared)


class Offsets(Bias):
    """b[head, rows apart, columns apart]: a learned number for each head and offset on a grid (Liu et al., 2021)."""

    class Config(Bias.Config):
        """Offsets of fewer than `size` rows and columns have a number each; farther ones count as the farthest."""

        size: int
        axes: tuple[str, ...] = ("row", "column")
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 1, "size")
            if not self.axes:
                raise ConfigError("needs one axis or more", where="Offsets.axes")

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.config = config
        self.table = nn.Embedding((2 * config.size - 1) ** len(config.axes), heads)
        nn.init.normal_(self.table.weight, std=config.std)

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        far = self.config.size - 1
        kinds: Tensor | int = 0
        for axis in self.config.axes:
            apart = (
                (axis_of(queries, axis)[:, :, None] - axis_of(keys, axis)[:, None, :]).round().long().clamp(-far, far)
            )
            kinds = kinds * (2 * far + 1) + apart + far
        return self.table(kinds).permute(0, 3, 1, 2)


class Kinds(Bias):
    """b[head, kind]: a learned number for each head and kind of pair: edge types, steps apart (Ying et al., 2021)."""

    class Config(Bias.Config):
        """`relation` holds a kind for each pair, from 0 to below `count`; larger ones count as the last."""

        relation: str
        count: int
        std: float = 0.02

        def check(self) -> None:
            at_least(self, 1, "count")

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.config = config
        self.table = nn.Embedding(config.count, heads)
        nn.init.normal_(self.table.weight, std=config.std)

    @property
    def relations(self) -> tuple[str, ...]:
        return (self.config.relation,)

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        kinds = pairs[self.config.relation].long().clamp(0, self.config.count - 1)
        return self.table(kinds).permute(0, 3, 1, 2)


class Weighted(Bias):
    """log w + b[head, kind]: attention in proportion to the weights w of the pairs, which are above 0."""

    class Config(Bias.Config):
        """`weight` is the relation of the weights; `kinds` a bias that is added, for the types of edges."""

        weight: str
        kinds: Kinds.Config | None = None

    def __init__(self, config: Config, *, heads: int):
        super().__init__()
        self.config, self.heads = config, heads
        self.kinds = config.kinds.build(heads=heads) if config.kinds else None

    @property
    def relations(self) -> tuple[str, ...]:
        return (self.config.weight, *(self.kinds.relations if self.kinds is not None else ()))

    def forward(
        self, queries: Mapping[str, Tensor], keys: Mapping[str, Tensor], pairs: Mapping[str, Tensor] = NO_PAIRS
    ) -> Float[Tensor, "B H Q K"]:
        weight = pairs[self.config.weight]
        logs = weight.clamp(min=torch.finfo(weight.dtype).tiny).log()[:, None].expand(-1, self.heads, -1, -1)
        return logs if self.kinds is None else logs + self.kinds(queries, keys, pairs)
