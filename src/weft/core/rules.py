"""Rules: further limits on who may read whom, on top of rank. Several rules are joined by "and".

A rule is a frozen config without weights; it sees places (`Tokens` without regard to content) and answers yes or no.
"""

from jaxtyping import Bool
from torch import Tensor

from weft.config import Config
from weft.errors import ConfigError
from weft.relations import matrix
from weft.tokens import Tokens, axis_of


class Rule(Config):
    """A limit on reading."""

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        """True where the query may read the key."""
        raise NotImplementedError


class Window(Rule):
    """Only keys at most `radius` away along an axis: sparse attention whose cost grows linearly with length."""

    radius: int
    axis: str = "position"

    def check(self) -> None:
        if self.radius < 0:
            raise ConfigError(f"a radius of at least 0 is needed, found {self.radius}", where="Window.radius")

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        q, k = axis_of(queries.coords, self.axis), axis_of(keys.coords, self.axis)
        return (q[:, :, None] - k[:, None, :]).abs() <= self.radius


class Same(Rule):
    """Only keys with the same value on an axis: the same sentence, the same row of a picture."""

    axis: str

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        return axis_of(queries.coords, self.axis)[:, :, None] == axis_of(keys.coords, self.axis)[:, None, :]


class Stride(Rule):
    """Only keys a multiple of `every` away along an axis."""

    every: int
    axis: str = "position"

    def check(self) -> None:
        if self.every < 1:
            raise ConfigError(f"a stride of at least 1 is needed, found {self.every}", where="Stride.every")

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        q, k = axis_of(queries.coords, self.axis), axis_of(keys.coords, self.axis)
        return (q[:, :, None] - k[:, None, :]) % self.every == 0


class Tile(Rule):
    """Only keys in the same tile of a grid: tiles of `size` times `size` places side by side (Liu et al., 2021).

    The first whole tile begins `shift` places from the edge. Tiles that are shifted in every second block join what the
    others keep apart. The cost grows linearly with the grid.
    """

    size: int
    shift: int = 0

    def check(self) -> None:
        if self.size < 1:
            raise ConfigError(f"a size of at least 1 is needed, found {self.size}", where="Tile.size")
        if not 0 <= self.shift < self.size:
            raise ConfigError(f"must be from 0 to below the size, found {self.shift}", where="Tile.shift")

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        def same(axis: str) -> Bool[Tensor, "B Q K"]:
            q, k = (((axis_of(side.coords, axis) - self.shift) / self.size).floor() for side in (queries, keys))
            return q[:, :, None] == k[:, None, :]

        return same("row") & same("column")


class Edges(Rule):
    """Only keys joined to the query by an edge of the named relation; whether a node reads itself is the relation's.

    Where the relation is a list of edges, time and memory grow with the edges.
    """

    name: str = "edges"

    def allow(self, queries: Tokens, keys: Tokens) -> Bool[Tensor, "B Q K"]:
        return matrix(keys.pairs, self.name)[:, -queries.shape[1] :].bool()
