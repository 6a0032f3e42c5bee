"""How a file lays out its fields: axes by name, order and direction, units, attributes. Written files follow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.domains.fields.reading.axes import Axis, Role
from weft.domains.fields.reading.calendars import FileClock, date_of
from weft.domains.fields.reading.contents import Coordinate, Variable
from weft.domains.fields.reading.grid import FieldLayer, Fields
from weft.domains.fields.reading.measured import ChosenFields
from weft.domains.fields.reading.opened import OpenedFields
from weft.domains.fields.reading.values import Packing

# Of the file that was read: these tell how its numbers were packed, or name variables that are not written.
DROPPED = ("scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range", "valid_min", "valid_max",
           "_Unsigned", "coordinates", "grid_mapping", "bounds", "climatology", "ancillary_variables",
           "actual_range")  # fmt: skip


@dataclass(frozen=True)
class Convention:
    """The layout of a file."""

    variables: Mapping[str, Variable]
    coordinates: Mapping[str, Coordinate]  # by dimension
    rows: Axis
    columns: Axis
    clock: FileClock
    attributes: Mapping[str, Any]


def convention_of(fields: Fields) -> Convention:
    """The layout of the file that some fields were read from; one after the CF conventions where there is none."""
    if isinstance(fields, ChosenFields):
        return convention_of(fields.opened)
    if not isinstance(fields, OpenedFields):
        return _own(fields)
    first = fields.parts[0]
    variables = {source.name: fields.variable(source, 0) for source in fields.sources}
    holders = [fields.parts[source.part[0]] for source in fields.sources]
    coordinates = {dim: coordinate for part in holders[::-1] for dim, coordinate in part.coordinates.items()}
    return Convention(variables, coordinates, first.rows, first.columns, fields.clock, first.attributes)


def kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that stay true of what is written: texts and numbers."""
    simple = (str, int, float, np.number)
    return {
        key: value
        for key, value in attributes.items()
        if key not in DROPPED
        and (isinstance(value, simple) or (isinstance(value, np.ndarray) and value.dtype.kind in "iufSU"))
    }


def _own(fields: Fields) -> Convention:
    """Fields that stand in no file, as weft would write them."""
    size = np.arange(len(fields.grid.y)), np.arange(len(fields.grid.x))
    sphere = fields.grid.surface == "sphere"
    dims = ("time", "lat", "lon") if sphere else ("time", "y", "x")
    roles: tuple[Role, ...] = ("time", "latitude", "longitude") if sphere else ("time", "y", "x")
    named = {
        "lat": {"standard_name": "latitude", "units": "degrees_north"},
        "lon": {"standard_name": "longitude", "units": "degrees_east"},
    }
    origin = fields.times.labels[0].replace("T", " ")
    clock = FileClock(f"hours since {origin}", "noleap", date_of(origin, "noleap"), 1 / 24)
    time = {"standard_name": "time", "units": clock.units, "calendar": clock.calendar}
    coordinates = {dims[0]: Coordinate(dims[0], fields.times.days * 24, time)}
    for dim, values in zip(dims[1:], (fields.grid.y, fields.grid.x), strict=True):
        coordinates[dim] = Coordinate(dim, values, named.get(dim, {}))
    variables = {layer.variable: _variable(layer, dims, roles) for layer in fields.layers}
    rows, columns = (
        Axis(dim, role, coordinates[dim].values, at, at)
        for dim, role, at in zip(dims[1:], roles[1:], size, strict=True)
    )
    return Convention(variables, coordinates, rows, columns, clock, {"Conventions": "CF-1.8"})


def _variable(layer: FieldLayer, dims: tuple[str, ...], roles: tuple[Role, ...]) -> Variable:
    attributes = {"units": layer.units, "long_name": layer.title or layer.variable}
    return Variable(layer.variable, dims, roles, Packing(np.dtype(np.float32)), attributes, (layer,), 1)
