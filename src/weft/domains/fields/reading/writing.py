"""Writing fields to netCDF files and zarr stores, laid out as the file that they were made from.

A file is there whole or not at all. Missing values are NaN, declared as `_FillValue`; numbers are never packed.
"""

import io
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.domains.fields.reading.calendars import CALENDARS
from weft.domains.fields.reading.contents import Variable
from weft.domains.fields.reading.conventions import Convention, convention_of, kept
from weft.domains.fields.reading.grid import Fields
from weft.domains.fields.reading.opening import libraries
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.grid_formats import is_store
from weft.files.writing import write_made
from weft.storage.disk import storage_error
from weft.version import VERSION

if TYPE_CHECKING:
    import xarray as xr

WRITTEN = (".nc", ".nc4", ".zarr")


@dataclass(frozen=True)
class FieldsToWrite:
    """What is to be written: values (n V Y X), or (M n V Y X) for several members, in the order of some fields' layers.

    `days` are the times, as in `Fields.times`; `spread` has the shape of one member; `made` says how values were made.
    """

    values: np.ndarray
    days: np.ndarray
    spread: np.ndarray | None = None
    made: str = "predicted"


def write_fields(path: Path, like: Fields, written: FieldsToWrite) -> None:
    """Write values as a file of the layout of `like`, from which they were made: netCDF, or zarr by the ending."""
    check_output(path)
    write_made(path, fields_content(path.suffix.lower(), like, written))


def fields_content(ending: str, like: Fields, written: FieldsToWrite) -> bytes:
    """Values in the layout of `like` as the bytes of a netCDF file, or of a zip file of a zarr store by the ending."""
    dataset = as_dataset(like, written)
    with tempfile.TemporaryDirectory(prefix="weft-made-") as folder:
        path = Path(folder) / f"fields{ending}"
        try:
            if ending != ".zarr":
                dataset.to_netcdf(path, engine="h5netcdf", format="NETCDF4")
                return path.read_bytes()
            dataset.to_zarr(path, mode="w-", zarr_format=2, consolidated=True)  # what most programs read
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
                for file in sorted(one for one in path.rglob("*") if one.is_file()):
                    archive.write(file, file.relative_to(path).as_posix())
            return packed.getvalue()
        except OSError as error:
            raise storage_error(error, path, needed=dataset.nbytes) from error


def check_output(path: Path) -> None:
    """Refuse a name that fields cannot be written to, before anything is computed."""
    libraries()
    if path.suffix.lower() not in WRITTEN:
        problem = f"fields cannot be written as {path.suffix or 'a file without an ending'}"
        raise DataError(problem, where=shown(path), fix=f"known endings: {', '.join(WRITTEN)}")
    if path.is_dir() and not is_store(path):
        raise DataError("a folder that is no zarr store has this name", where=shown(path), fix="choose another name")
    if not path.absolute().parent.is_dir():
        raise DataError("its folder is not there", where=shown(path), fix="make the folder first")


def as_dataset(like: Fields, written: FieldsToWrite) -> "xr.Dataset":
    """Values as an xarray.Dataset in the layout of the file that `like` was read from."""
    layout = convention_of(like)
    arrays: dict[str, Any] = {}
    for name, variable in layout.variables.items():
        chosen = [place for place, layer in enumerate(like.layers) if layer.variable == name]
        if not chosen:
            continue
        levels = {layer.name: level for level, layer in enumerate(variable.layers)}
        places = [(place, levels[like.layers[place].name]) for place in chosen]
        arrays[name] = _array(variable, layout, written.values, places)
        if written.spread is not None:
            spread = _array(variable, layout, written.spread, places)
            spread[2].update(long_name=f"spread of {variable.attributes.get('long_name', name)}")
            spread[2].pop("standard_name", None)
            arrays[f"{name}_spread"] = spread
    return _dataset(layout, arrays, written)


def _dataset(layout: Convention, arrays: dict[str, Any], written: FieldsToWrite) -> "xr.Dataset":
    """Variables with their coordinates, none of which is encoded any further."""
    used = {dim for dims, *_ in arrays.values() for dim in dims}
    coordinates = {}
    for dim, coordinate in layout.coordinates.items():
        if dim not in used:
            continue
        values, attributes = coordinate.values, kept(coordinate.attributes)
        if dim in {variable.dim("time") for variable in layout.variables.values()}:
            values, attributes = _times(layout, written.days, values, attributes)
        coordinates[coordinate.name] = ((dim,), values, attributes, {"_FillValue": None})
    attributes = kept(layout.attributes)
    attributes["history"] = "\n".join(
        filter(None, [f"weft {VERSION}: {written.made}", str(attributes.get("history", ""))])
    )
    return libraries().Dataset(arrays, coordinates, attributes)


def _array(
    variable: Variable, layout: Convention, values: np.ndarray, places: list[tuple[int, int]]
) -> tuple[Any, ...]:
    """Dimensions, values, attributes and encoding of a variable; what has no values is missing."""
    members = values.ndim == 5
    many = values if members else values[None]
    number, times = many.shape[:2]
    rows, columns = layout.rows.back, layout.columns.back
    whole = np.full((number, times, len(variable.layers), len(rows), len(columns)), np.nan, np.float32)
    for place, level in places:
        whole[:, :, level] = many[:, :, place][:, :, rows][:, :, :, columns]
    order = {"time": 1, "level": 2, "latitude": 3, "y": 3, "longitude": 4, "x": 4}
    axes = [order[role] for role in variable.roles if role is not None]
    if "level" not in variable.roles:
        whole = whole[:, :, 0]
        axes = [axis - (axis > 2) for axis in axes]
    ordered = whole.transpose(0, *axes)
    for at, role in enumerate(variable.roles):
        if role is None:
            ordered = np.expand_dims(ordered, at + 1)
    dims = ("member", *variable.dims) if members else variable.dims
    attributes, encoding = kept(variable.attributes), {"_FillValue": np.float32(np.nan)}
    return dims, ordered if members else ordered[0], attributes, encoding


def _times(
    layout: Convention, days: np.ndarray, stored: np.ndarray, attributes: dict[str, Any]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Times as the file counts them; in days where it writes dates or months."""
    numbers = layout.clock.numbers(days)
    if layout.clock.units != str(attributes.get("units", "")).strip():
        attributes |= {"units": layout.clock.units}
    if attributes.get("units") and CALENDARS.get(str(attributes.get("calendar", "standard"))) != layout.clock.calendar:
        attributes |= {"calendar": layout.clock.calendar}
    if stored.dtype.kind in "iu" and np.allclose(numbers, numbers.round(), rtol=0, atol=1e-6):
        return numbers.round().astype(stored.dtype.newbyteorder("=")), attributes
    return numbers, attributes
