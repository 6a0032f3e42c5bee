"""One look through all values of some fields: what is missing, infinite, constant, or a filler that nobody declared.

Reads block by block. Of more than `MOST` bytes an even sample of the times is looked at.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.fields.reading.opened import OpenedFields, VariableSource
from weft.domains.fields.reading.values import Packing

MOST = 2 * 2**30  # bytes that are looked at
BLOCK = 32 * 2**20  # bytes at once
# Numbers that programs write where a value is missing; those of the second row are never measured.
LIKELY = (-999.0, -9999.0, -99999.0, -99.0, -999.9, -9999.9, 999.0, 9999.0, 99999.0, 32767.0, -32768.0, -32767.0)
CERTAIN = (9.969209968386869e36, 1e20, -1e20, 1e30, -1e30, 1e34, -1e34, 1e35, -1e35, -1e36, 1e36, 1e37, -1e37)
STEPS_LISTED = 1000

At = Callable[[Path], None]  # hears which file is read next
Count = Callable[[int, int], None]


@dataclass
class ScanFinding:
    """What was found in one layer. `place` is (time, row, column)."""

    values: int = 0
    missing: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    nans: int = 0  # that the file does not declare as missing
    nan_place: tuple[int, int, int] | None = None
    infinite: int = 0
    infinite_place: tuple[int, int, int] | None = None
    limits: int = 0  # packed numbers at the ends of what their type can hold
    fillers: dict[str, int] = field(default_factory=dict)  # how often each of the known fillers stands there
    empty: list[int] = field(default_factory=list)  # times at which all values are missing

    def undeclared(self) -> tuple[float, ...]:
        """The fillers that are none of the layer's values: unlikely numbers, far from all the others."""
        found = [(float(text), number) for text, number in self.fillers.items()]
        span = self.high - self.low if self.high >= self.low else 0.0
        return tuple(value for value, number in found if _stands_apart(value, number, self.low, self.high, span))


@dataclass
class Scan:
    """What was found in each layer, by its name; and at how many of the times it was looked."""

    layers: dict[str, ScanFinding]
    looked: int = 0
    times: int = 0

    def record(self) -> dict[str, Any]:
        """For another process."""
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Scan":
        """What another process recorded."""
        layers = {name: ScanFinding(**found) for name, found in record["layers"].items()}
        return cls(layers, record["looked"], record["times"])


def scan(fields: OpenedFields, at: At | None = None, count: Count | None = None) -> Scan:
    """Look through the values of some fields."""
    found = Scan({layer.name: ScanFinding() for layer in fields.layers}, times=len(fields))
    blocks = list(_blocks(fields))
    looked = set[int]()
    for done, (source, start, stop) in enumerate(blocks):
        if at is not None:
            at(fields.parts[source.part[start]].path)
        variable = fields.variable(source, start)
        stored = fields.stored(source, start, stop)
        for row, level in enumerate(source.levels):
            _look(found.layers[variable.layers[level].name], stored[:, row], variable.packing, start)
        looked.update(range(start, stop))
        if count is not None:
            count(done + 1, len(blocks))
    found.looked = len(looked)
    return found


def _blocks(fields: OpenedFields) -> Iterator[tuple[VariableSource, int, int]]:
    """The blocks to look at: each within one file, all of them or an even sample."""
    cells = int(np.prod(fields.grid.shape))
    total = sum(_times_bytes(fields, source, cells) for source in fields.sources)
    for source in fields.sources:
        size = len(source.levels) * cells * fields.variable(source, 0).packing.dtype.itemsize
        edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(source.part))), len(fields)]
        step = max(1, BLOCK // size)
        cuts = sorted({*edges, *range(0, len(fields), step)})
        spans = list(zip(cuts[:-1], cuts[1:], strict=True))  # noqa: RUF007
        wanted = max(2, int(len(spans) * MOST / total)) if total > MOST else len(spans)
        chosen = np.unique(np.linspace(0, len(spans) - 1, min(wanted, len(spans))).round().astype(int))
        yield from ((source, *spans[index]) for index in chosen)


def _times_bytes(fields: OpenedFields, source: VariableSource, cells: int) -> int:
    return len(fields) * len(source.levels) * cells * fields.variable(source, 0).packing.dtype.itemsize


def _look(found: ScanFinding, stored: np.ndarray, packing: Packing, start: int) -> None:
    """Add what is in some times of one layer (n Y X)."""
    values = packing.values(stored)
    gone = np.isnan(values)
    found.values += values.size
    found.missing += int(gone.sum())
    if not packing.nan_declared and gone.any():
        _note(found, "nan", gone & ~packing.declared(stored), start)
    if packing.packed:
        ends = np.iinfo(packing.dtype)
        limits = (stored == ends.min) | (stored == ends.max)
        found.limits += int((limits & ~gone).sum())
    low, high = _range(values)
    if np.isinf(low) or np.isinf(high):
        _note(found, "infinite", np.isinf(values), start)
    suspects = [filler for filler in (*LIKELY, *CERTAIN) if low <= np.float32(filler) <= high]
    for filler in suspects:
        same = values == np.float32(filler)
        if same.any():
            found.fillers[repr(filler)] = found.fillers.get(repr(filler), 0) + int(same.sum())
            gone |= same
            values[same] = np.nan
    low, high = _range(values) if suspects else (low, high)
    found.low, found.high = min(found.low, low), max(found.high, high)
    empty = np.flatnonzero(gone.reshape(len(gone), -1).all(axis=1))
    found.empty += [start + int(at) for at in empty][: STEPS_LISTED - len(found.empty)]


def _range(values: np.ndarray) -> tuple[float, float]:
    """The least and greatest of some values; infinite the other way round where all are missing."""
    low, high = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    return (float("inf"), float("-inf")) if np.isnan(low) else (float(low), float(high))


def _note(found: ScanFinding, kind: str, where: np.ndarray, start: int) -> None:
    """Count cells, and keep the place of the first."""
    number = int(where.sum())
    if not number:
        return
    name = "nans" if kind == "nan" else "infinite"
    setattr(found, name, getattr(found, name) + number)
    if getattr(found, f"{kind}_place") is None:
        time, row, column = (int(i) for i in np.unravel_index(int(where.argmax()), where.shape))
        setattr(found, f"{kind}_place", (start + time, row, column))


def _stands_apart(value: float, number: int, low: float, high: float, span: float) -> bool:
    """Whether a number is a filler: one that nobody measures, or repeated, and further off than the others spread."""
    if value in CERTAIN:
        return not low <= value <= high or abs(value) > 1e6 * max(abs(low), abs(high))
    away = max(low - value, value - high)
    return number >= 2 and np.isfinite(away) and away > max(span, 1e-6)
