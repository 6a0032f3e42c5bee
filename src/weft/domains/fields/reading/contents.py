"""One file of fields, understood: its axes, times and variables. Reads coordinates and attributes, no fields.

A variable is used where it has time, rows, columns and at most levels besides; others are listed with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.domains.fields.reading.axes import COLUMNS, ROWS, Axis, Role, columns, role_of, rows
from weft.domains.fields.reading.calendars import FileClock, read_clock
from weft.domains.fields.reading.grid import FieldLayer
from weft.domains.fields.reading.opening import damaged
from weft.domains.fields.reading.remedies import remedy
from weft.domains.fields.reading.values import Packing, packing_of, unpacked
from weft.errors import DataError, nearest
from weft.files.decoding import shown

if TYPE_CHECKING:
    import xarray as xr

MOST_STEPS = 2**26  # along one dimension: 7,600 years of hours, whose coordinate fills 0.5 GB
Skipped = list[tuple[str, str]]


@dataclass(frozen=True)
class Coordinate:
    """The coordinate along a dimension as the file has it."""

    name: str
    values: np.ndarray
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Variable:
    """A variable of a file: its dimensions in the file's order, with the role of each (None: of size 1, dropped)."""

    name: str
    dims: tuple[str, ...]
    roles: tuple[Role | None, ...]
    packing: Packing
    attributes: Mapping[str, Any]
    layers: tuple[FieldLayer, ...]
    chunk: int  # times in a chunk of the file

    def dim(self, *roles: Role) -> str:
        """The dimension that has one of some roles."""
        return next(dim for dim, role in zip(self.dims, self.roles, strict=True) if role in roles)


@dataclass(frozen=True)
class FileContents:
    """One file: its variables on one grid at some times, in the file's order."""

    path: Path
    variables: tuple[Variable, ...]
    rows: Axis
    columns: Axis
    days: np.ndarray
    clock: FileClock
    skipped: tuple[tuple[str, str], ...]
    coordinates: Mapping[str, Coordinate]  # of the dimensions in use, where the file has any
    attributes: Mapping[str, Any]

    @property
    def layers(self) -> tuple[FieldLayer, ...]:
        """One for each variable, or for each of its levels."""
        return tuple(layer for variable in self.variables for layer in variable.layers)


def read_part(path: Path, dataset: "xr.Dataset", asked: Sequence[str] = ()) -> FileContents:
    """What a file holds; of its variables those that are `asked` for, else all that are fields."""
    where, file = shown(path), _File(path, dataset)
    unknown = [name for name in asked if name not in dataset.variables]
    if unknown:
        fix = nearest(unknown[0], file.candidates)
        raise DataError(f"no variable is named {unknown[0]!r}", where=where, fix=fix)
    skipped: Skipped = []
    found = [v for v in (file.variable(name, skipped) for name in asked or file.candidates) if v is not None]
    if not found or (asked and skipped):
        raise _nothing(path, skipped, file)
    cells = [(v.dim(*ROWS), v.dim(*COLUMNS), v.dim("time")) for v in found]
    common = max(cells, key=cells.count)
    skipped += [
        (v.name, f"stands on another grid ({', '.join(c)})") for v, c in zip(found, cells, strict=True) if c != common
    ]
    used = tuple(v for v, c in zip(found, cells, strict=True) if c == common)
    y, x, time = common
    days, clock = read_clock(time, *file.coordinate(time), where)
    return FileContents(
        path=path,
        variables=used,
        rows=rows(y, file.role(y) or "y", file.coordinate(y)[0], where),
        columns=columns(x, file.role(x) or "x", file.coordinate(x)[0], where),
        days=days,
        clock=clock,
        skipped=tuple(skipped),
        coordinates=file.coordinates(dict.fromkeys(dim for variable in used for dim in variable.dims)),
        attributes=dict(dataset.attrs),
    )


class _File:
    """The variables and dimensions of one dataset."""

    def __init__(self, path: Path, dataset: "xr.Dataset"):
        self.path, self.where, self.dataset = path, shown(path), dataset
        self.named: dict[str, str] = {}  # dimension -> its coordinate
        self.known: dict[str, tuple[np.ndarray, Mapping[str, Any]]] = {}
        for dim in dataset.dims:
            self.named[str(dim)] = self._coordinate_name(str(dim))

    @property
    def candidates(self) -> list[str]:
        """Variables that may be fields: neither coordinates, nor bounds, nor named by others as such."""
        apart = {str(dim) for dim in self.dataset.dims} | set(self.named.values())
        for variable in self.dataset.variables.values():
            for key in ("bounds", "climatology", "coordinates", "grid_mapping", "ancillary_variables"):
                apart |= set(str(variable.attrs.get(key, "")).replace(":", " ").split())
        return [str(name) for name in self.dataset.variables if str(name) not in apart and not _is_bounds(str(name))]

    def role(self, dim: str) -> Role | None:
        """Which axis a dimension is. Rows and columns without coordinates are a plane: nobody knows their latitudes."""
        variable = self.dataset.variables.get(self.named[dim])
        if variable is not None:
            return role_of(self.named[dim], variable.attrs)
        role = role_of(dim, {})
        return "y" if role == "latitude" else "x" if role == "longitude" else role

    def coordinate(self, dim: str) -> tuple[np.ndarray, Mapping[str, Any]]:
        """The values along a dimension and their attributes; it is counted where the file gives none."""
        if dim not in self.known:
            variable, size = self.dataset.variables.get(self.named[dim]), self.dataset.sizes[dim]
            if size > MOST_STEPS:
                problem = f"{size:,} steps along {self.named[dim]}; weft reads at most {MOST_STEPS:,} of a file"
                raise DataError(problem, where=self.where, fix="split the file, or check its dimensions")
            try:
                values = np.arange(size) if variable is None else np.asarray(variable.values)
            except Exception as error:
                raise damaged(self.path, error) from None
            attributes = {} if variable is None else dict(variable.attrs)
            self.known[dim] = unpacked(self.named[dim], values, attributes, self.where)
        return self.known[dim]

    def coordinates(self, dims: Iterable[str]) -> dict[str, Coordinate]:
        """The coordinates of some dimensions that the file gives."""
        given = [dim for dim in dims if self.named[dim] in self.dataset.variables]
        return {dim: Coordinate(self.named[dim], *self.coordinate(dim)) for dim in given}

    def variable(self, name: str, skipped: Skipped) -> Variable | None:
        """A variable as layers, or None where it is no field: then the reason is added to what was skipped."""
        stored = self.dataset.variables[name]
        roles: list[Role | None] = [self.role(str(dim)) for dim in stored.dims]
        sizes = dict(zip(map(str, stored.dims), stored.shape, strict=True))
        reason = _unfit(roles, sizes)
        if reason is None and 0 in sizes.values():
            reason = "holds no values"
        if reason is None:
            try:
                packing = packing_of(name, stored.dtype, stored.attrs, self.where)
            except DataError as error:
                reason = error.problem
        if reason is not None:
            if len(sizes) > 1:  # a lone number or a list of numbers is nobody's field
                skipped.append((name, reason))
            return None
        self._refuse_curvilinear(stored, roles)
        return Variable(
            name=name,
            dims=tuple(sizes),
            roles=tuple(roles),
            packing=packing,
            attributes=dict(stored.attrs),
            layers=self._layers(name, stored.attrs, list(sizes), roles),
            chunk=_chunk(stored, roles.index("time")),
        )

    def _layers(
        self, name: str, attributes: Mapping[str, Any], dims: list[str], roles: list[Role | None]
    ) -> tuple[FieldLayer, ...]:
        units = str(attributes.get("units", "")).strip()
        title = str(attributes.get("long_name", attributes.get("standard_name", ""))).strip()
        if "level" not in roles:
            return (FieldLayer(name, None, units, title),)
        levels, _ = self.coordinate(dims[roles.index("level")])
        if len(levels) == 1:
            return (FieldLayer(name, None, units, title),)
        if levels.dtype.kind not in "iuf" or len(set(levels.tolist())) < len(levels):
            raise DataError(f"the levels of {name} are no numbers, or one stands there twice", where=self.where)
        return tuple(FieldLayer(name, float(level), units, title) for level in levels)

    def _coordinate_name(self, dim: str) -> str:
        """The coordinate along a dimension: of its name, else a line of numbers whose attributes make it an axis."""
        variables = self.dataset.variables
        if dim in variables and variables[dim].ndim == 1:
            return dim
        lines = [str(n) for n, v in variables.items() if v.dims == (dim,) and role_of("", v.attrs) is not None]
        return next(iter(lines), dim)

    def is_scattered(self, dim: str) -> bool:
        """Whether a dimension counts cells that each have a latitude and a longitude: triangles, meshes, stations."""
        along = [role_of(str(name), v.attrs) for name, v in self.dataset.variables.items() if v.dims == (dim,)]
        return {"latitude", "longitude"} <= set(along)

    def _refuse_curvilinear(self, stored: "xr.Variable", roles: list[Role | None]) -> None:
        """Refuse rows and columns without coordinates of their own, where latitudes stand beside them in a plane."""
        cells = [str(d) for d, r in zip(stored.dims, roles, strict=True) if r in ROWS + COLUMNS]
        if all(self.named[dim] in self.dataset.variables for dim in cells):
            return
        for name, other in self.dataset.variables.items():
            if set(map(str, other.dims)) == set(cells) and role_of(str(name), other.attrs) in ("latitude", "longitude"):
                rows(str(name), "latitude", np.empty(other.shape), self.where)


def _unfit(roles: Sequence[Role | None], sizes: Mapping[str, int]) -> str | None:
    """Why dimensions are not those of a field."""
    for wanted, word in (
        (("time",), "time axis"),
        (ROWS, "rows (latitude or y)"),
        (COLUMNS, "columns (longitude or x)"),
    ):
        if not any(role in wanted for role in roles):
            return f"has no {word}: its dimensions are {', '.join(sizes) or 'none'}"
    extra = [dim for (dim, size), role in zip(sizes.items(), roles, strict=True) if role is None and size > 1]
    if extra:
        choose = f"choose one entry of it, with ds.isel({extra[0]}=0)"
        return f"has a further dimension {extra[0]} of size {sizes[extra[0]]}: {choose}"
    known = [role for role in roles if role is not None]
    return None if len(known) == len(set(known)) else f"has two axes of one kind: {', '.join(sizes)}"


def _nothing(path: Path, skipped: Skipped, file: "_File") -> DataError:
    lines = "".join(f"\n  {name}: {reason}" for name, reason in skipped) or (
        f"\n  found: {', '.join(map(str, file.dataset.variables)) or 'no variables'}"
    )
    roles = {name: {str(dim): file.role(str(dim)) for dim in file.dataset.variables[name].dims} for name, _ in skipped}
    cells = next((dim for dims in roles.values() for dim in dims if file.is_scattered(dim)), None)
    return DataError(f"no field can be read:{lines}", where=shown(path), fix=remedy(path, roles, cells))


def _is_bounds(name: str) -> bool:
    return name.lower().endswith(("_bnds", "_bounds", "_bnd"))


def _chunk(stored: "xr.Variable", axis: int) -> int:
    sizes = stored.encoding.get("chunksizes") or stored.encoding.get("preferred_chunks") or ()
    if isinstance(sizes, Mapping):
        return int(sizes.get(stored.dims[axis], 1))
    return int(sizes[axis]) if len(sizes) > axis else 1
