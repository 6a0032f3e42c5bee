"""Opened files as fields: joined along time or by their variables, in one convention, read block by block.

Blocks that were read stay in memory up to `CACHE` bytes, so small files are read once and large ones never held.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.domains.fields.reading.axes import grid_of, taken
from weft.domains.fields.reading.calendars import FileClock, times_of
from weft.domains.fields.reading.contents import FileContents, Variable
from weft.domains.fields.reading.grid import Fields
from weft.domains.fields.reading.opening import damaged, open_store
from weft.errors import WeftError

if TYPE_CHECKING:
    import xarray as xr

CACHE = 256 * 2**20  # bytes of fields that stay in memory
OPEN = 64  # files that stay open
BLOCK = 4 * 2**20  # bytes of fields that are read at once, or the times of a whole chunk if they are not far too many


@dataclass(frozen=True)
class VariableSource:
    """Where the values of one variable are: for each time the file and the place in it."""

    name: str
    levels: np.ndarray  # which levels of the variable are used
    part: np.ndarray  # T
    place: np.ndarray  # T


class OpenedFields(Fields):
    """Fields in files. `parts` are the files; `notes` are lines for people; `skipped` is what was left out and why."""

    def __init__(
        self, parts: Sequence[FileContents], sources: Sequence[VariableSource], days: np.ndarray, clock: FileClock
    ):
        first = parts[0]
        self.parts, self.sources, self.clock = tuple(parts), tuple(sources), clock
        self.grid, self.times = grid_of(first.rows, first.columns), times_of(days, clock)
        self.layers = tuple(
            self.variable(source, 0).layers[level] for source in self.sources for level in source.levels
        )
        self.notes: tuple[str, ...] = ()
        self.skipped: tuple[tuple[str, str], ...] = tuple(dict.fromkeys(s for part in parts for s in part.skipped))
        cells = len(self.layers) * int(np.prod(self.grid.shape)) * 4
        chunk = max(variable.chunk for part in parts for variable in part.variables)
        few, many = max(1, BLOCK // cells), max(1, CACHE // 4 // cells)
        self.block = min(len(days), few - few % chunk if chunk <= few else min(chunk, many))
        self.kept = max(2, CACHE // (cells * self.block))
        self._forget()

    def variable(self, source: VariableSource, time: int) -> Variable:
        """The variable of a source in the file that holds a time."""
        return next(v for v in self.parts[source.part[time]].variables if v.name == source.name)

    def read(self, start: int, stop: int) -> np.ndarray:
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"times {start} to {stop} of {len(self)}")
        if self._process != os.getpid():  # files and locks of another process are not shared
            self._forget()
        values = np.empty((stop - start, len(self.layers), *self.grid.shape), np.float32)
        for block in range(start // self.block, -(-stop // self.block)):
            first = block * self.block
            low, high = max(start, first), min(stop, first + self.block)
            values[low - start : high - start] = self._block(block)[low - first : high - first]
        return values

    def stored(self, source: VariableSource, start: int, stop: int) -> np.ndarray:
        """The stored numbers of one variable at some times (n L Y X), in the convention of weft."""
        part, place = source.part[start:stop], source.place[start:stop]
        cuts = np.flatnonzero((np.diff(part) != 0) | (np.diff(place) != 1)) + 1
        runs = np.split(np.arange(start, stop), cuts)
        with self._lock:
            return np.concatenate([self._run(source, run) for run in runs if len(run)])

    def _run(self, source: VariableSource, run: np.ndarray) -> np.ndarray:
        """Times that follow each other in one file."""
        part, variable = self.parts[source.part[run[0]]], self.variable(source, int(run[0]))
        first = int(source.place[run[0]])
        index = {dim: 0 for dim, role in zip(variable.dims, variable.roles, strict=True) if role is None}
        times = {variable.dim("time"): slice(first, first + len(run))}
        try:
            lazy = self._dataset(int(source.part[run[0]])).variables[variable.name].isel({**index, **times})
            numbers = variable.packing.native(np.asarray(lazy.values))
        except WeftError:
            raise
        except Exception as error:
            raise damaged(part.path, error) from None
        roles = [{"latitude": "y", "longitude": "x"}.get(role, role) for role in variable.roles if role is not None]
        if "level" not in roles:
            roles, numbers = ["level", *roles], numbers[None]
        ordered = numbers.transpose([roles.index(role) for role in ("time", "level", "y", "x")])
        for axis, take in ((1, source.levels), (2, part.rows.take), (3, part.columns.take)):
            ordered = taken(ordered, take, axis)
        return ordered

    def _block(self, block: int) -> np.ndarray:
        with self._lock:
            if block in self._blocks:
                self._blocks.move_to_end(block)
                return self._blocks[block]
            start, stop = block * self.block, min((block + 1) * self.block, len(self))
            values = np.empty((stop - start, len(self.layers), *self.grid.shape), np.float32)
            first = 0
            for source in self.sources:
                values[:, first : first + len(source.levels)] = self._values(source, start, stop)
                first += len(source.levels)
            self._blocks[block] = values
            while len(self._blocks) > self.kept:
                self._blocks.popitem(last=False)
            return values

    def _values(self, source: VariableSource, start: int, stop: int) -> np.ndarray:
        """The values of one variable, unpacked as its file says: packings may differ between files."""
        held = source.part[start:stop]
        cuts = [start, *(start + 1 + int(at) for at in np.flatnonzero(np.diff(held))), stop]
        pieces = [
            self.variable(source, low).packing.values(self.stored(source, low, high)) for low, high in pairwise(cuts)
        ]
        return np.concatenate(pieces)

    def without(self, undeclared: dict[str, tuple[float, ...]]) -> None:
        """From now on count some values of variables as missing."""
        self.parts = tuple(
            replace(
                part,
                variables=tuple(
                    replace(v, packing=replace(v.packing, undeclared=undeclared.get(v.name, ())))
                    for v in part.variables
                ),
            )
            for part in self.parts
        )
        self._forget()

    def leave_out(self, names: Sequence[str]) -> None:
        """From now on leave out the layers of some names."""
        sources = []
        for source in self.sources:
            layers = self.variable(source, 0).layers
            levels = np.array([level for level in source.levels if layers[level].name not in names], np.int64)
            sources += [replace(source, levels=levels)] if len(levels) else []
        self.sources = tuple(sources)
        self.layers = tuple(layer for layer in self.layers if layer.name not in names)
        self._forget()

    def _dataset(self, part: int) -> "xr.Dataset":
        """A file, opened once and kept open with the `OPEN` used last."""
        if part not in self._opened:
            self._opened[part] = open_store(self.parts[part].path)
            while len(self._opened) > OPEN:
                self._opened.popitem(last=False)[1].close()
        self._opened.move_to_end(part)
        return self._opened[part]

    def _forget(self) -> None:
        self._lock, self._process = threading.RLock(), os.getpid()
        self._blocks: OrderedDict[int, np.ndarray] = OrderedDict()
        self._opened: OrderedDict[int, xr.Dataset] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_process", "_blocks", "_opened")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(part.path for part in self.parts)
