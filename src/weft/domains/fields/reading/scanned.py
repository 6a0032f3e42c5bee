"""Opening a user's fields: looked through once in a process of their own, then read here. Findings become words."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.domains.fields.reading.grid import Fields
from weft.domains.fields.reading.joining import joined
from weft.domains.fields.reading.opened import OpenedFields
from weft.domains.fields.reading.opening import libraries
from weft.domains.fields.reading.probe import look_apart
from weft.domains.fields.reading.scan import Count, Scan, ScanFinding, scan
from weft.errors import DataError, listed
from weft.files.decoding import shown
from weft.machine import memory

SAMPLED = 8  # times whose values go into a fingerprint
LARGEST = 1e30  # of all values: spreads and errors are computed in float32
CELL_BYTES = 1_300  # of a climatology, for each value of a field: sums for 73 parts of the year and for 6 lags


def open_fields(
    sources: Sequence[str | Path],
    variables: Sequence[str] = (),
    *,
    strict: bool = True,
    apart: bool = True,
    count: Count | None = None,
) -> OpenedFields:
    """The fields in files, in the convention of weft: all variables that are fields, or those named.

    Where one that is named is missing it is an error, or, not `strict`, all are taken. `apart` looks through the values
    in a process of its own, which a damaged file may crash; where none can be started, here.
    """
    libraries()
    found = look_apart(sources, variables, strict=strict, count=count) if apart else None
    fields = joined(sources, variables, strict=strict)
    found = found or scan(fields, count=count)
    where = listed([shown(path) for path in fields.paths])
    _refuse_infinite(fields, found, where)
    _count_fillers(fields, found)
    _refuse_huge(fields, found, where)
    _leave_out_empty(fields, found, where)
    fields.notes = (*fields.notes, *_notes(fields, found))
    return fields


def fingerprint(fields: Fields) -> str:
    """The same for the same fields, however they are turned, packed or cut into chunks.

    It holds cells, times, names, and, of a few times, the number of missing cells and the mean and spread of each layer
    to about a tenth of the spread: exact values would change with the rounding of packed numbers.
    """
    digest = hashlib.sha256()
    for axis in (fields.grid.y, fields.grid.x, fields.times.days - fields.times.days[0]):
        digest.update((np.round(axis, 3) + 0.0).astype("<f8").tobytes())
    digest.update("|".join([fields.times.labels[0], *(layer.name for layer in fields.layers)]).encode())
    at = np.unique(np.linspace(0, len(fields) - 1, min(SAMPLED, len(fields))).astype(int))
    values = np.concatenate([fields.read(int(time), int(time) + 1) for time in at]).astype(np.float64)
    digest.update(np.isnan(values).sum(axis=(1, 2, 3)).astype("<i8").tobytes())
    for layer in values.swapaxes(0, 1):
        known = layer[~np.isnan(layer)]
        spread = float(known.std()) if known.size else 0.0
        centre = float(known.mean()) / spread if spread > 0 else 0.0
        digest.update(f"{centre:.1f} {np.log2(spread) if spread > 0 else 0.0:.1f}".encode())
    return digest.hexdigest()


def _refuse_infinite(fields: OpenedFields, found: Scan, where: str) -> None:
    for name, one in found.layers.items():
        if one.infinite and one.infinite_place is not None:
            first = place(fields, one.infinite_place)
            problem = f"{one.infinite:,} values of {name} are infinite or beyond float32, the first {first}"
            raise DataError(problem, where=where, fix="declare them as missing (_FillValue), or repair them")


def _refuse_huge(fields: OpenedFields, found: Scan, where: str) -> None:
    """Refuse values whose squares are no numbers, and fields that would not fit into memory."""
    for name, one in found.layers.items():
        if max(-one.low, one.high) > LARGEST:
            problem = f"values of {name} reach from {one.low:.3g} to {one.high:.3g}; expected them within {LARGEST:g}"
            raise DataError(
                problem, where=where, fix="declare those that are missing (_FillValue), or use another unit"
            )
    cells = len(fields.layers) * int(np.prod(fields.grid.shape))
    if cells * CELL_BYTES > (room := memory()):
        needed, room = f"{cells * CELL_BYTES / 1e9:,.1f} GB", room / 1e9
        problem = (
            f"{cells:,} values at each time need about {needed} to be learned from; this process has {room:,.1f} GB"
        )
        raise DataError(problem, where=where, fix="cut out an area, or take fewer variables (--set variables=)")


def _count_fillers(fields: OpenedFields, found: Scan) -> None:
    """Count the fillers that were found as missing, and say so."""
    by_variable: dict[str, tuple[float, ...]] = {}
    for layer in fields.layers:
        one = found.layers[layer.name]
        values = one.undeclared()
        for value in values:
            number = one.fillers[repr(value)]
            one.missing += number
            words = (
                f"{number:,} values of {layer.name} are exactly {value:g}, which the file does not declare as missing"
            )
            fields.notes += (f"{words}: counted as missing",)
        kept = [float(text) for text in one.fillers if float(text) not in values]
        one.low, one.high = min([one.low, *kept]), max([one.high, *kept])
        by_variable[layer.variable] = tuple(dict.fromkeys((*by_variable.get(layer.variable, ()), *values)))
        if kept:
            one.empty = []
    if any(by_variable.values()):
        fields.without(by_variable)


def _leave_out_empty(fields: OpenedFields, found: Scan, where: str) -> None:
    empty = [
        layer.name for layer in fields.layers if found.layers[layer.name].missing == found.layers[layer.name].values
    ]
    if len(empty) == len(fields.layers):
        raise DataError(
            f"all values of {listed(empty)} are missing", where=where, fix="check _FillValue and valid_range"
        )
    if empty:
        fields.leave_out(empty)
        fields.skipped += tuple((name, "all its values are missing") for name in empty)


def _notes(fields: OpenedFields, found: Scan) -> list[str]:
    """What was found, in lines for people."""
    layers = [(layer, found.layers[layer.name]) for layer in fields.layers]
    shares = [f"{layer.name} {100 * one.missing / one.values:.2g} %" for layer, one in layers if one.missing]
    notes = [f"missing values: {', '.join(shares)}"] if shares else ["no value is missing"]
    for layer, one in layers:
        notes += _notes_of(layer.name, one, fields)
    if found.looked < found.times:
        notes.append(f"looked at {found.looked:,} of {found.times:,} times, spread evenly: the files are large")
    bare = [layer.name for layer, _ in layers if not layer.units]
    if bare:
        notes.append(f"no units are given for {listed(bare)}")
    clock = fields.clock
    if clock.origin is None:
        notes.append(
            "the time axis has no units such as 'hours since 2001-01-01': its numbers are taken as days without dates"
        )
    elif clock.cyclic:
        notes.append("the times are those of one mean year (a climatology)")
    if fields.skipped:
        notes.append(f"left out: {listed([f'{name} ({why})' for name, why in fields.skipped])}")
    return notes


def _notes_of(name: str, one: ScanFinding, fields: OpenedFields) -> list[str]:
    notes = []
    if one.nans and one.nan_place is not None:
        first = place(fields, one.nan_place)
        notes.append(
            f"{one.nans:,} values of {name} are NaN, which the file does not declare, the first {first}: counted as "
            "missing"
        )
    if one.empty:
        labels = [fields.times.labels[time] for time in one.empty]
        notes.append(f"all values of {name} are missing at {len(labels):,} times: {listed(labels)}")
    if one.low == one.high:
        notes.append(f"{name} is {one.low:g} everywhere: nothing can be learned from it")
    if one.limits > 1:
        notes.append(
            f"{one.limits:,} packed values of {name} stand at the end of their type's range: they may have been cut off"
        )
    return notes


def place(fields: Fields, at: tuple[int, int, int]) -> str:
    """A cell in words: its time, its coordinates."""
    time, row, column = at
    words = ("latitude", "longitude") if fields.grid.surface == "sphere" else ("y", "x")
    return f"at {fields.times.labels[time]}, {words[0]} {fields.grid.y[row]:g}, {words[1]} {fields.grid.x[column]:g}"
