"""Tokens: the one type that passes between an embedder, the trunk and a head. Knows no modality.

The shape legend of the package:

    B batch    N tokens    D width    Q queries    K keys
    H heads    G key heads (H is a multiple of G)  d head width
    V vocabulary           A axes          M rows of a memory (B is a multiple of M)
    C channels             Y X height and width in pixels      P numbers of a patch

Who may read whom follows from `rank` alone: a token may read real tokens of rank <= its own.

    all ranks equal      everyone reads everyone                  (BERT, ViT, sets)
    0 1 2 3 ...          everyone reads the past and itself       (GPT)
    0 0 0 1 2 3          a prefix blind to the suffix, then order (picture, then its caption)
    time of each token   everyone reads the present and the past  (forecasts)

Facts that pick a fast kernel are stated where tokens are made; no mask is ever scanned for them (see `weft.core`).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from weft.errors import Unfit
from weft.relations import Relation, both, rows_of, taken, widened


class Order(Enum):
    """What is known about the ranks without looking at them."""

    FREE = "all ranks are zero"
    LINE = "ranks grow by one from each token to the next"
    PREFIX = "equal ranks first; then a line, whose ranks are higher"
    ANY = "nothing is known"


@dataclass(frozen=True)
class Tokens:
    """Content, and for each token: is it real, when may it be read, where is it."""

    x: Float[Tensor, "B N D"]
    valid: Bool[Tensor, "B N"]
    rank: Int[Tensor, "B N"]
    coords: Mapping[str, Tensor] = field(default_factory=dict)
    pairs: Mapping[str, Relation] = field(default_factory=dict)  # who has to do with whom: matrices, or lists of edges
    unpadded: bool = False  # every token is real
    order: Order = Order.ANY
    padded_behind: bool = False  # padding, if any, stands behind all real tokens
    line_axis: str | None = None  # the axis, if any, whose coordinate grows by at least one with each token
    grid: tuple[int, int] | None = None  # rows and columns, where the axes `row` and `column` count them, row by row

    @staticmethod
    def free(
        x: Float[Tensor, "B N D"],
        *,
        valid: Bool[Tensor, "B N"] | None = None,
        coords: Mapping[str, Tensor] | None = None,
        padded_behind: bool = False,
        line_axis: str | None = None,
        grid: tuple[int, int] | None = None,
    ) -> "Tokens":
        """Tokens that all may read each other: sets, pictures, sentences to be understood."""
        rank = torch.zeros((), dtype=torch.long, device=x.device).expand(x.shape[:2])
        unpadded = valid is None
        return Tokens(
            x,
            _valid(x, valid),
            rank,
            coords or {},
            unpadded=unpadded,
            order=Order.FREE,
            padded_behind=padded_behind or unpadded,
            line_axis=line_axis,
            grid=grid,
        )

    @staticmethod
    def line(
        x: Float[Tensor, "B N D"],
        *,
        valid: Bool[Tensor, "B N"] | None = None,
        position: Int[Tensor, "B N"] | None = None,
        coords: Mapping[str, Tensor] | None = None,
        padded_behind: bool = False,
    ) -> "Tokens":
        """Tokens in a line, each reading itself and what came before; `position` must grow by one along the line."""
        if position is None:
            position = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        return Tokens(
            x,
            _valid(x, valid),
            position,
            {"position": position, **(coords or {})},
            unpadded=valid is None,
            order=Order.LINE,
            padded_behind=padded_behind or valid is None,
            line_axis="position",
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Batch and number of tokens."""
        return self.x.shape[0], self.x.shape[1]

    def with_x(self, x: Float[Tensor, "B N E"]) -> "Tokens":
        """The same tokens with other content."""
        return dataclasses.replace(self, x=x)

    def with_rank(self, rank: Int[Tensor, "B N"]) -> "Tokens":
        """The same tokens in another reading order."""
        return dataclasses.replace(self, rank=rank, order=Order.ANY)

    def padding_zeroed(self) -> "Tokens":
        """The same tokens with zeros at padding, whatever stood there (NaN included)."""
        return self if self.unpadded else self.with_x(self.x.masked_fill(~self.valid[..., None], 0.0))

    def rows(self, index: Int[Tensor, "R"]) -> "Tokens":
        """These streams of the batch, in this order, repeats allowed."""
        return dataclasses.replace(
            self,
            x=self.x[index],
            valid=self.valid[index],
            rank=self.rank[index],
            coords={axis: c[index] for axis, c in self.coords.items()},
            pairs={name: rows_of(pair, index) for name, pair in self.pairs.items()},
        )

    def take(self, index: Int[Tensor, "B M"]) -> "Tokens":
        """The tokens at the given places, with all that is known of them: how masked autoencoders drop tokens."""

        def gather(t: Tensor) -> Tensor:
            wide = index.reshape(index.shape + (1,) * (t.ndim - 2)).expand(*index.shape, *t.shape[2:])
            return t.gather(1, wide)

        return Tokens(
            gather(self.x),
            gather(self.valid),
            gather(self.rank),
            {axis: gather(c) for axis, c in self.coords.items()},
            {name: taken(pair, index) for name, pair in self.pairs.items()},
            unpadded=self.unpadded,
            order=self.order if self.order is Order.FREE else Order.ANY,
        )

    def put_back(self, index: Int[Tensor, "B M"], into: "Tokens") -> "Tokens":
        """`into` with its content at `index` replaced by mine: undoes `take`, the rest keeps (say) a mask token."""
        wide = index[..., None].expand(*index.shape, self.x.shape[-1])
        return into.with_x(into.x.scatter(1, wide, self.x.to(into.x.dtype)))


def axis_of(coords: Mapping[str, Tensor], axis: str) -> Tensor:
    """The coordinates along an axis, which the tokens must have."""
    if axis not in coords:
        raise Unfit(f"these tokens have no axis {axis!r:.80}; they have {', '.join(sorted(coords)) or 'none'}")
    return coords[axis]


def join(first: Tokens, second: Tokens) -> Tokens:
    """Two streams as one, the first before the second; ranks and coordinates are kept as they are.

    An axis that only one side has is filled with zeros on the other; pair relations do not cross.
    """

    def coordinate(name: str) -> Tensor:
        sides = []
        for side, other in ((first, second), (second, first)):
            if name in side.coords:
                sides.append(side.coords[name])
            else:
                like = other.coords[name]
                sides.append(like.new_zeros(*side.shape, *like.shape[2:]))
        return torch.cat(sides, 1)

    def relation(name: str) -> Relation:
        n, m = first.shape[1], second.shape[1]
        sides = [widened(first.pairs[name], 0, m)] if name in first.pairs else []
        sides += [widened(second.pairs[name], n, 0)] if name in second.pairs else []
        return sides[0] if len(sides) == 1 else both(*sides)

    free = first.order is Order.FREE and second.order is Order.FREE
    return Tokens(
        torch.cat([first.x, second.x], 1),
        torch.cat([first.valid, second.valid], 1),
        torch.cat([first.rank, second.rank], 1),
        {name: coordinate(name) for name in {**first.coords, **second.coords}},
        {name: relation(name) for name in {**first.pairs, **second.pairs}},
        unpadded=first.unpadded and second.unpadded,
        order=Order.FREE if free else Order.ANY,
    )


def _valid(x: Tensor, valid: Tensor | None) -> Tensor:
    return torch.ones((), dtype=torch.bool, device=x.device).expand(x.shape[:2]) if valid is None else valid
