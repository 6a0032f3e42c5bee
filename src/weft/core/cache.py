"""Cache: what a decoder has read, and what each block keeps of it. One object outside the modules, preallocated.

Attention keeps keys and values, recurrence keeps a state, a memory's keys are computed once: each under a name in the
block's own `Slots`. The search that drives a decoder needs to know none of this; it picks rows with `take`.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from weft.relations import matrix
from weft.tokens import Order, Tokens


class Slots:
    """The named tensors that one part keeps between steps."""

    def __init__(self, cache: "Cache"):
        self._cache = cache
        self._values: dict[str, Any] = {}
        self._once: dict[str, Any] = {}
        self._lines: dict[str, tuple[Tensor, int]] = {}
        self._spare: dict[str, Tensor] = {}

    def get(self, name: str) -> Any:
        """The value kept under the name, or None."""
        return self._values.get(name)

    def set(self, name: str, value: Any) -> None:
        """Keep a tensor or a tuple of tensors, rows first."""
        self._values[name] = value

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The value that `make` computed from the memory at the first call."""
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]

    def append(self, name: str, new: Tensor, *, dim: int) -> Tensor:
        """Put new entries behind the earlier ones along `dim`; returns all of them, without copying the old."""
        start, end = self._cache.length - new.shape[dim], self._cache.length
        buffer, _ = self._lines.get(name, (None, dim))
        if buffer is None or buffer.shape[dim] < end:
            buffer = _grown(buffer, new, self._cache.room(end), dim)
            self._lines[name] = (buffer, dim)
        buffer.narrow(dim, start, end - start).copy_(new)
        return buffer.narrow(dim, 0, end)

    def line(self, name: str) -> Tensor:
        """The whole line under the name, with the places that are not in use yet."""
        return self._lines[name][0]

    def begin(self, name: str, line: Tensor, *, dim: int) -> None:
        """Keep a line of which no place is in use yet."""
        self._lines[name] = (line, dim)

    def kept_once(self, name: str) -> Any:
        """The value that was computed from the memory at the first call of `once`."""
        return self._once[name]

    def reserve(self, needed: int) -> int:
        """Give every line at least `needed` places; returns those of the shortest, or `needed` where there is none."""
        for name, (buffer, dim) in self._lines.items():
            if buffer.shape[dim] < needed:
                self._lines[name] = (_grown(buffer, buffer, self._cache.room(needed), dim), dim)
        return min((buffer.shape[dim] for buffer, dim in self._lines.values()), default=self._cache.room(needed))

    def take(self, rows: Int[Tensor, "R"], *, lines: bool = True) -> None:
        """Keep these rows, in this order, repeats allowed. Only entries in use are copied, into allocated memory."""
        self._values = {name: _rows(value, rows) for name, value in self._values.items()}
        for name, (buffer, dim) in self._lines.items() if lines else ():
            spare = self._spare.get(name)
            shape = (len(rows), *buffer.shape[1:])
            if spare is None or spare.shape != shape:
                spare = torch.zeros(shape, dtype=buffer.dtype, device=buffer.device)
            used = min(self._cache.length, buffer.shape[dim])  # later tokens need not have all places of earlier ones
            torch.index_select(buffer.narrow(dim, 0, used), 0, rows, out=spare.narrow(dim, 0, used))
            self._lines[name], self._spare[name] = (spare, dim), buffer

    def take_memory(self, rows: Int[Tensor, "R"]) -> None:
        """Keep these rows of the values computed from the memory."""
        self._once = {name: _rows(value, rows) for name, value in self._once.items()}

    def fill(self, parts: "list[tuple[Slots, int, int]]", length: int) -> None:
        """Take over the rows of other slots, one part below the other: each from its first place that counts, with the
        number of its places. All lines end at `length`.
        """
        for name in parts[0][0]._values:
            self._values[name] = _below([slots._values[name] for slots, _, _ in parts])
        for name, (line, dim) in parts[0][0]._lines.items():
            shape = list(line.shape)
            shape[0], shape[dim] = sum(len(slots.line(name)) for slots, _, _ in parts), self._cache.capacity
            whole, row = torch.zeros(shape, dtype=line.dtype, device=line.device), 0
            for slots, first, count in parts:
                own = slots.line(name)
                place = whole.narrow(0, row, len(own)).narrow(dim, length - count, count)
                place.copy_(own.narrow(dim, first, count))
                row += len(own)
            self._lines[name] = (whole, dim)


class Cache:
    """Everything kept between the steps of decoding, one `Slots` for each part that keeps something."""

    def __init__(self, capacity: int = 256):
        """`capacity` tokens are allocated at once; more are possible and cost a copy."""
        self.capacity, self.length = capacity, 0
        self._slots: dict[str, Slots] = {}
        self._places = self.slots("places")
        self._unpadded, self._order = True, Order.LINE

    def slots(self, name: str) -> Slots:
        """The slots of the part with this name."""
        if name not in self._slots:
            self._slots[name] = Slots(self)
        return self._slots[name]

    def room(self, needed: int) -> int:
        """The number of places to allocate when `needed` are in use."""
        return self.capacity if needed <= self.capacity else 2 * needed

    def extend(self, tokens: Tokens) -> Tokens:
        """Note that these tokens are being read; returns all places so far (their content is in the slots)."""
        if tokens.order is not Order.LINE:
            first = self.length == 0 and tokens.order is Order.PREFIX
            self._order = Order.PREFIX if first else Order.ANY
        self.length += tokens.shape[1]
        self._unpadded = self._unpadded and tokens.unpadded
        coords = {axis: self._places.append(f"at {axis}", c, dim=1) for axis, c in tokens.coords.items()}
        return Tokens(
            tokens.x.new_zeros(()).expand(tokens.shape[0], self.length, 0),
            self._places.append("valid", tokens.valid, dim=1),
            self._places.append("rank", tokens.rank, dim=1),
            coords,
            {name: self._related(name, matrix(tokens.pairs, name)) for name in tokens.pairs},
            unpadded=self._unpadded,
            order=self._order,
            line_axis="position" if self._order is Order.LINE else None,
        )

    def reserve_line(self, needed: int, first: Int[Tensor, "B"]) -> int:
        """Let there be at least `needed` places of tokens in a line, and note the places that will be read next.

        `first` is the place of each row's first real token, behind a memory that is a prefix. Returns the number of
        places. Whoever puts keys and values there without `extend` adds to `length`.
        """
        assert self._order is not Order.ANY, "only tokens in a line have places that are known ahead"
        room = min(slots.reserve(needed) for slots in self._slots.values())
        self.note_line(first, self.length, room)
        return room

    def valid(self) -> Bool[Tensor, "B N"] | None:
        """Which of the tokens read so far are real; None where nothing was read."""
        return self._places.line("valid")[:, : self.length] if self.length else None

    def valid_behind_prefix(self) -> Bool[Tensor, "B N"] | None:
        """Which places of the line are real, where a memory stands before the tokens; otherwise None."""
        return self._places.line("valid") if self._order is Order.PREFIX else None

    def begin_line(self, first: Int[Tensor, "B"], needed: int) -> int:
        """The same for a cache that is still empty, where `first` is known."""
        assert self.length == 0, "a line begins where nothing was read"
        room, self._unpadded = self.room(needed), not bool(first.any())
        for name, dtype in (("valid", torch.bool), ("rank", torch.long), ("at position", torch.long)):
            self._places.begin(name, torch.zeros(len(first), room, dtype=dtype, device=first.device), dim=1)
        self.note_line(first, 0, room)
        return room

    def note_line(self, first: Tensor, start: int, stop: int) -> None:
        """Note the places from `start` to `stop` of tokens in a line, padded in front."""
        valid, rank, position = (self._places.line(name) for name in ("valid", "rank", "at position"))
        ahead = torch.arange(start, stop, device=first.device) - first[:, None]
        valid[:, start:stop], rank[:, start:stop], position[:, start:stop] = ahead >= 0, ahead, ahead

    def _related(self, name: str, new: Tensor) -> Tensor:
        """A relation among all tokens so far, (B N N ...).

        `new` has a row for each new token and a column for each that it may read: all so far, or the new ones alone.
        """
        before, rest = self.length - new.shape[1], new.shape[3:]
        missing = self.length - new.shape[2]
        rows = torch.cat([new.new_zeros(*new.shape[:2], missing, *rest), new], 2)
        old = self._places.get(f"related by {name}")
        if old is None:
            old = new.new_zeros(new.shape[0], before, before, *rest)
        old = torch.cat([old, old.new_zeros(old.shape[0], before, self.length - before, *rest)], 2)
        whole = torch.cat([old, rows], 1)
        self._places.set(f"related by {name}", whole)
        return whole

    def take(self, rows: Int[Tensor, "R"]) -> None:
        """Keep these rows of the tokens read: how a search follows its best hypotheses."""
        for slots in self._slots.values():
            slots.take(rows)

    def take_all_but_lines(self, rows: Int[Tensor, "R"]) -> None:
        """`take` for everything but the lines of all parts: for those who remember which row holds what."""
        for slots in self._slots.values():
            slots.take(rows, lines=slots is self._places)

    def take_memory(self, rows: Int[Tensor, "R"]) -> None:
        """Keep these rows of the values computed from the memory."""
        for slots in self._slots.values():
            slots.take_memory(rows)

    @classmethod
    def joined(cls, caches: "list[Cache]", *, spare: int) -> "Cache":
        """The rows of several caches of tokens in a line, those of the first on top, with `spare` places ahead.

        All rows end together: shorter ones are moved behind padding, and padding that no row needs is left out.
        """
        assert all(cache._order is Order.LINE for cache in caches), "only tokens in a line can be moved along it"
        lengths = [cache._places.line("valid")[:, : cache.length].sum(1) for cache in caches]
        longest = [int(own.max()) for own in lengths]
        length = max(longest)
        found = cls(length + spare)
        for name in caches[0]._slots:
            parts = [(cache.slots(name), cache.length - own, own) for cache, own in zip(caches, longest, strict=True)]
            found.slots(name).fill(parts, length)
        found.length, rows = length, torch.cat(lengths)
        found._unpadded = bool((rows == length).all())
        found.note_line(length - rows, 0, length)
        return found


def _grown(old: Tensor | None, new: Tensor, room: int, dim: int) -> Tensor:
    shape = list(new.shape)
    shape[dim] = room
    buffer = torch.zeros(shape, dtype=new.dtype, device=new.device)
    if old is not None:
        buffer.narrow(dim, 0, old.shape[dim]).copy_(old)
    return buffer


def _below(values: list[Any]) -> Any:
    """Values of some rows each as one of all rows; those that remember fewer tokens get zeros in front."""
    if isinstance(values[0], tuple):
        return tuple(_below(list(each)) for each in zip(*values, strict=True))
    if values[0].ndim == 2 and not values[0].is_floating_point():  # ids of the latest tokens
        widest = max(value.shape[1] for value in values)
        values = [torch.nn.functional.pad(value, (widest - value.shape[1], 0)) for value in values]
    return torch.cat(values)


def _rows(value: Any, rows: Tensor) -> Any:
    return tuple(_rows(v, rows) for v in value) if isinstance(value, tuple) else value[rows]
