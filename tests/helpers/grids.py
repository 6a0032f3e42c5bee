"""Fields made for tests, as datasets and files with any quirk, and what comes of reading them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.domains.fields.reading.opened import OpenedFields
from weft.domains.fields.reading.scanned import open_fields
from weft.errors import DataError

xr = pytest.importorskip("xarray", reason="xarray is not installed")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")
for name in ("h5netcdf", "zarr", "scipy", "cftime"):
    pytest.importorskip(name, reason=f"{name} is not installed")

TIMES, ROWS, COLUMNS = 12, 6, 8
UNITS = "days since 2001-01-01"


def numbers(times: int = TIMES, rows: int = ROWS, columns: int = COLUMNS, seed: int = 0) -> np.ndarray:
    """Smooth values with a little noise, different in every cell; rows from the south."""
    t, y, x = np.meshgrid(np.arange(times), np.arange(rows), np.arange(columns), indexing="ij")
    return (t + 10 * y + 0.3 * x + np.random.default_rng(seed).random(t.shape)).astype(np.float32)


def dataset(values: np.ndarray | None = None, name: str = "t2m", **attributes: Any) -> Any:
    """Daily fields from south to north and from 0 to 315 degrees."""
    values = numbers() if values is None else values
    times, rows, columns = values.shape
    return xr.Dataset(
        {name: (("time", "lat", "lon"), values, {"units": "K", **attributes})},
        {
            "time": ("time", np.arange(times, dtype=np.float64), {"units": UNITS, "calendar": "standard"}),
            "lat": ("lat", np.linspace(-75.0, 75.0, rows), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(columns) * 360.0 / columns, {"units": "degrees_east"}),
        },
    )


def written(path: Path, data: Any, **options: Any) -> Path:
    """A dataset as a netCDF 4 file, as it is: nothing is encoded besides."""
    plain = {str(name): {"_FillValue": None} for name in data.variables if "_FillValue" not in data[name].attrs}
    options.setdefault("encoding", {})
    options["encoding"] = {**plain, **options["encoding"]}
    data.to_netcdf(path, engine="h5netcdf", **options)
    return path


def stored(path: Path, data: Any, **options: Any) -> Path:
    """A dataset as a zarr store, one time a chunk."""
    options.setdefault("zarr_format", 2)
    encoding = {name: {"chunks": (1, *data[name].shape[1:])} for name in data.data_vars}
    data.to_zarr(path, encoding=encoding, consolidated=False, **options)
    return path


def opened(*paths: Path, names: tuple[str, ...] = ()) -> OpenedFields:
    """Fields in files, looked through in this process."""
    return open_fields(paths, names, apart=False)


def everything(fields: OpenedFields) -> np.ndarray:
    """All values."""
    return fields.read(0, len(fields))


def refused(*paths: Path, names: tuple[str, ...] = ()) -> str:
    """What is said where files are refused."""
    with pytest.raises(DataError) as caught:
        opened(*paths, names=names)
    return str(caught.value)


# Files of HDF5 that lead elsewhere, or claim more than they hold


def linked(file: Any) -> None:
    file["elsewhere"] = h5py.ExternalLink("secret.nc", "/t2m")


def virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((12, 6, 8), "f4")
    layout[:] = h5py.VirtualSource("secret.nc", "t2m", (12, 6, 8))
    file.create_virtual_dataset("elsewhere", layout)


def external(file: Any) -> None:
    file.create_dataset("elsewhere", (12, 6, 8), "f4", external=[("secret.bin", 0, 4 * 12 * 6 * 8)])


def huge(file: Any) -> None:
    file.create_dataset("elsewhere", (10**6, 10**6), "f4", chunks=(10**5, 10**4))


LEADING_ELSEWHERE = {"linked": linked, "virtual": virtual, "external": external, "huge": huge}
