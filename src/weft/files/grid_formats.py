"""Which files hold fields, by their endings and first bytes. Needs neither numpy nor the libraries that read them."""

import os
from pathlib import Path
from typing import Literal

NETCDF = (".nc", ".nc4", ".nc3", ".cdf", ".netcdf", ".h5", ".hdf5", ".he5")
ZARR = (".zarr", ".zarr.zip")
ENDINGS = (*NETCDF, *ZARR)
MARKS = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")  # a folder with one of these files is a zarr store
HDF5 = b"\x89HDF\r\n\x1a\n"
CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")  # netCDF 3: classic, 64-bit offsets, 64-bit data

Format = Literal["hdf5", "classic", "zarr", "zarr zip"]


def is_store(path: str | Path) -> bool:
    """Whether a path is a zarr store: a folder with zarr's metadata, or such a folder in a .zarr.zip file."""
    if os.path.isdir(path):
        return any(os.path.isfile(os.path.join(path, mark)) for mark in MARKS)
    return str(path).lower().endswith(".zarr.zip") and os.path.isfile(path)


def is_fields(path: str | Path) -> bool:
    """Whether a path holds fields, by its name, or by zarr's metadata."""
    return str(path).lower().endswith(NETCDF) or is_store(path)


def format_of(path: Path) -> Format | None:
    """The format of a file or folder by what it holds; None where it is none of those known."""
    if is_store(path):
        return "zarr" if path.is_dir() else "zarr zip"
    with open(path, "rb") as file:
        start = file.read(8)
    if start == HDF5:
        return "hdf5"
    return "classic" if start.startswith(CLASSIC) else None
