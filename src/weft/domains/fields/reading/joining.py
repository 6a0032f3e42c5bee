"""Several files as one: one after another in time, or different variables at the same times. Refuses what does not fit.

Dimensions may stand in any order. Grids, units, levels and calendars must be the same; differences become a table.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from weft.domains.fields.reading.axes import grid_of
from weft.domains.fields.reading.calendars import FileClock, refuse_repeated, times_of
from weft.domains.fields.reading.contents import FileContents, Variable, read_part
from weft.domains.fields.reading.differences import grid_differences, layer_differences, table
from weft.domains.fields.reading.opened import OpenedFields, VariableSource
from weft.domains.fields.reading.opening import check_store, find_stores, open_store
from weft.errors import DataError, listed
from weft.files.decoding import shown

At = Callable[[Path], None]  # hears which file is opened next


def joined(
    paths: Sequence[str | Path], asked: Sequence[str] = (), *, strict: bool = True, at: At | None = None
) -> OpenedFields:
    """The fields in files, by their coordinates and attributes: no field is read.

    Variables that are `asked` for must be there; where that is not `strict` and one is missing, all are taken. `at`
    hears which file is opened next.
    """
    stores, notes = find_stores(paths)
    datasets = []
    for path in stores:
        if at is not None:
            at(path)
        notes += check_store(path)
        datasets.append((path, open_store(path)))
    holders = {name: [p for p, d in datasets if name in d.variables] for name in asked}
    if not strict and not all(holders.values()):
        asked = ()
    for name in asked:
        if not holders[name]:
            read_part(*datasets[0], [name])  # refuses, with the nearest name
    parts = []
    for path, dataset in datasets:
        wanted = [name for name in asked if name in dataset.variables]
        if wanted or not asked:
            parts.append(read_part(path, dataset, wanted))
        dataset.close()
    _check(parts)
    fields = _assembled(parts, asked)
    fields.notes = (*notes, *fields.notes)
    return fields


def _check(parts: Sequence[FileContents]) -> None:
    """Refuse files whose grids, calendars, levels or units differ."""
    first = parts[0]
    for part in parts[1:]:
        names = (first.path.name, part.path.name)
        rows = grid_differences(grid_of(first.rows, first.columns), grid_of(part.rows, part.columns))
        if part.clock.calendar != first.clock.calendar:
            rows.append(("calendar", first.clock.calendar or "none", part.clock.calendar or "none"))
        known = {v.name: v for p in parts[: parts.index(part)] for v in p.variables}
        shared = [(known[v.name], v) for v in part.variables if v.name in known]
        rows += [row for old, new in shared for row in layer_differences(old.layers, new.layers)]
        if rows:
            fix = "bring the files to one grid, one calendar and the same units, or train on them apart"
            raise DataError(f"these files differ:{table(names, rows)}", where=shown(part.path), fix=fix)


def _assembled(parts: Sequence[FileContents], asked: Sequence[str]) -> OpenedFields:
    """Sort what the files hold by time. Every variable must be there at the same times."""
    clock = parts[0].clock
    found: dict[str, list[tuple[float, int, int]]] = {}
    variables: dict[str, Variable] = {}
    unsorted = [part.path.name for part in parts if (np.diff(part.days) < 0).any()]
    for number, part in enumerate(parts):
        days = part.days + clock.shifted(part.clock)
        for variable in part.variables:
            variables.setdefault(variable.name, variable)
            found.setdefault(variable.name, []).extend((day, number, place) for place, day in enumerate(days))
    sources: list[VariableSource] = []
    times = np.empty(0)
    for name in asked or variables:
        rows = sorted(found[name])
        days = np.array([day for day, _, _ in rows])
        files = listed([shown(part.path) for part in parts])
        refuse_repeated(times_of(days, clock).labels, days, files)
        if sources and (len(days) != len(times) or not np.allclose(days, times, rtol=0, atol=1e-6)):
            raise _other_times(sources[0].name, times, name, days, clock, files)
        times = times if sources else days
        places = np.array([(part, place) for _, part, place in rows], np.int64)
        sources.append(VariableSource(name, np.arange(len(variables[name].layers)), places[:, 0], places[:, 1]))
    opened = OpenedFields(parts, sources, times, clock)
    if unsorted:
        opened.notes = (f"times were not in order and are sorted: {listed(unsorted)}",)
    return opened


def _other_times(
    name: str, days: np.ndarray, other: str, others: np.ndarray, clock: FileClock, where: str
) -> DataError:
    """The error for two variables that are not there at the same times."""
    words = []
    for have, lack, at in ((name, other, ~np.isin(days, others)), (other, name, ~np.isin(others, days))):
        labels = times_of((days if have == name else others)[at], clock).labels if at.any() else ()
        words += [f"{lack} lacks {listed(labels)}"] if labels else []
    fix = "name files that have both at the same times, or one of them with --set variables=NAME"
    return DataError(f"{name} and {other} have different times: {'; '.join(words)}", where=where, fix=fix)
