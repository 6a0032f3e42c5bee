"""Samples: what goes into a model and what is wanted of it, in one batch type for every task. Knows tensors alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from weft.modalities.text import Text
from weft.sending import on_host, sent, with_host


class Part(Protocol):
    """One side of a batch: rows that can be moved to a device and cut into slices."""

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Self: ...


class ReadPart(Part, Protocol):
    """The side of a batch that a model reads."""

    def raw(self) -> Any:
        """As an embedder takes it."""
        ...


def moved(part: Any, device: torch.device | str) -> Any:
    """A tensor or a part of a batch on another device; None stays None."""
    if isinstance(part, Tensor):
        return sent(part, device)
    return None if part is None else part.to(device)


def taken(part: Any, rows: Any) -> Any:
    """Some rows of a tensor or of a part of a batch; None stays None."""
    return None if part is None else part[rows]


class RowTensors:
    """A side of a batch: a frozen dataclass of tensors, each with a row for each sample.

    A field may be None instead.
    """

    def raw(self) -> Any:
        """As an embedder takes it, where it is what a model reads: by default as it is."""
        return self

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        return with_host(self._mapped(lambda part: moved(part, device)), self)

    def __len__(self) -> int:
        return len(next(part for part in vars(self).values() if part is not None))

    def __getitem__(self, rows: Any) -> Self:
        return self._mapped(lambda part: taken(part, rows))

    def _mapped(self, change: Callable[[Any], Any]) -> Self:
        """A copy with every field changed."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: change(getattr(self, name)) for name in names})


@dataclass(frozen=True)
class PaddedIds(RowTensors):
    """Sequences of ids of different lengths, padded behind."""

    ids: Int[Tensor, "B N"]
    lengths: Int[Tensor, "B"]

    @staticmethod
    def of(rows: Sequence[np.ndarray]) -> "PaddedIds":
        """Rows of ids put into one tensor."""
        return PaddedIds(torch.from_numpy(padded(rows, 0)), torch.tensor([len(row) for row in rows]))

    @property
    def real(self) -> Bool[Tensor, "B N"]:
        """True where a token is not padding."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    @cached_property
    def even(self) -> bool:
        """Whether all rows have one length, so that there is no padding to state."""
        host = on_host(self)
        return bool((self.lengths == self.ids.shape[1]).all()) if host is self else host.even

    @cached_property
    def following(self) -> Int[Tensor, "T"]:
        """Where the real tokens behind the first stand among all tokens behind the first, row after row."""
        host = on_host(self)
        return _places(self.real[:, 1:]) if host is self else sent(host.following, self.ids.device)

    def raw(self) -> Text:
        """As a model reads them."""
        return Text(self.ids, None if self.even else self.real, padded_behind=True)


def _places(mask: Bool[Tensor, "B N"]) -> Int[Tensor, "T"]:
    """Where a mask is true, row after row."""
    return mask.flatten().nonzero()[:, 0]


@dataclass(frozen=True)
class PaddedPairs(PaddedIds):
    """Two texts in each sequence of ids: `segments` says which of them a token belongs to."""

    segments: Int[Tensor, "B N"] | None = None  # None for models that do not tell them apart

    def raw(self) -> Text:
        """As a model reads them."""
        return replace(super().raw(), segments=self.segments)


@dataclass(frozen=True)
class EvenIds(RowTensors):
    """Sequences of ids of one length."""

    ids: Int[Tensor, "B N"]

    def raw(self) -> Text:
        """As a model reads them."""
        return Text(self.ids)


def padded(rows: Sequence[np.ndarray], filler: int) -> np.ndarray:
    """Rows of whole numbers in one array, as wide as the longest."""
    table = np.full((len(rows), max(len(row) for row in rows)), filler, np.int64)
    for cells, row in zip(table, rows, strict=True):
        cells[: len(row)] = row
    return table


@dataclass(frozen=True)
class Classes(RowTensors):
    """A class for each sample, by number. A sample mixed of two has an `other` class; `share` belongs to the first."""

    labels: Int[Tensor, "B"]
    other: Int[Tensor, "B"] | None = None
    share: Float[Tensor, "B"] | None = None


@dataclass(frozen=True)
class Numbers(RowTensors):
    """Numbers of each sample on the scale that is learned; a sample mixed of two has an `other` number too."""

    values: Float[Tensor, "B *C"]
    other: Float[Tensor, "B *C"] | None = None
    share: Float[Tensor, "B"] | None = None


def wanted(targets: np.ndarray) -> Classes | Numbers:
    """Targets of samples: whole numbers are classes, others numbers."""
    tensor = torch.from_numpy(targets)
    return Numbers(tensor) if tensor.is_floating_point() else Classes(tensor)


@dataclass(frozen=True)
class AtTokens(RowTensors):
    """A class or a number for some tokens of each sample: for those that `where` marks, or at the places that it names.

    Places stand for words, in the order of the words; a value below 0 is no word.
    """

    values: Int[Tensor, "B N"] | Float[Tensor, "B N"]
    where: Bool[Tensor, "B N"] | Int[Tensor, "B N"] | None = None  # None: all tokens

    def picked(self, x: Float[Tensor, "B M D"]) -> tuple[Float[Tensor, "T D"], Shaped[Tensor, "T"]]:
        """The content of those tokens and what is wanted there, row after row."""
        if self.where is None:
            return x.flatten(0, 1), self.values.flatten()
        if self.where.dtype is not torch.bool:
            x = x.gather(1, self.where[..., None].expand(-1, -1, x.shape[-1]))
        return x.flatten(0, 1).index_select(0, self.places), self.values.flatten().index_select(0, self.places)

    @cached_property
    def places(self) -> Int[Tensor, "T"]:
        """Where something is wanted, among all that `where` has room for."""
        host = on_host(self)
        if host is not self:
            return sent(host.places, self.values.device)
        marked = self.where is not None and self.where.dtype is torch.bool
        return _places(self.where if marked and self.where is not None else self.values >= 0)


@dataclass(frozen=True)
class Spans(RowTensors):
    """A span of tokens for each sample, by its first and last token."""

    first: Int[Tensor, "B"]
    last: Int[Tensor, "B"]


G = TypeVar("G", bound=ReadPart)
W = TypeVar("W")


@dataclass(frozen=True)
class Samples(Generic[G, W]):
    """What is given and what is wanted, row by row; `owner` is the row of `given` that a row of `wanted` is of."""

    given: G
    wanted: W
    owner: Int[Tensor, "R"] | None = None

    @property
    def each(self) -> "tuple[Samples[G, W], ...]":
        """All of it is computed at once."""
        return (self,)

    def to(self, device: torch.device | str) -> "Samples[G, W]":
        """The same on another device."""
        return Samples(self.given.to(device), moved(self.wanted, device), moved(self.owner, device))

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, rows: slice) -> "Samples[G, W]":
        if self.owner is None:
            return Samples(self.given[rows], taken(self.wanted, rows))
        start, stop, _ = rows.indices(len(self))
        mine = (self.owner >= start) & (self.owner < stop)
        return Samples(self.given[rows], taken(self.wanted, mine), self.owner[mine] - start)


@dataclass(frozen=True)
class Microbatches(Generic[G, W]):
    """The samples of a step in parts of like length, each computed for itself."""

    each: tuple[Samples[G, W], ...]

    def to(self, device: torch.device | str) -> "Microbatches[G, W]":
        """The same on another device."""
        return Microbatches(tuple(part.to(device) for part in self.each))

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, rows: slice) -> "Microbatches[G, W]":
        return Microbatches(self.each[rows])


Batch = Samples[G, W] | Microbatches[G, W]
