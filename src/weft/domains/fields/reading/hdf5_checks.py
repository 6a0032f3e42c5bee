"""Whether an HDF5 file (netCDF 4) stays within itself: looked at before any other library opens it.

External links, virtual datasets and values stored in other files are never followed; such a file is refused.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weft.errors import DataError
from weft.files.decoding import shown

if TYPE_CHECKING:
    import h5py

MOST_CHUNK = 2**30  # bytes of one chunk, which has to be held in memory whole
MOST_OBJECTS = 100_000
FIX = "copy what is linked into the file itself (h5repack, nccopy, or xarray's to_netcdf)"


def check_hdf5(path: Path) -> None:
    """Refuse a file that leads out of itself, or whose chunks are too large to be held."""
    import h5py

    with h5py.File(path, "r") as file:
        waiting, seen, where = [file["/"]], set[int](), shown(path)
        while waiting:
            group = waiting.pop()
            for name in group:
                full = f"{group.name.rstrip('/')}/{name}"
                if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                    link = group.get(name, getlink=True)
                    raise DataError(f"{full} is an external link (to {link.filename!r})", where=where, fix=FIX)
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    continue  # a link within the file, to what is looked at under its own name
                one = group[name]
                if one.id.__hash__() in seen or len(seen) > MOST_OBJECTS:
                    continue
                seen.add(one.id.__hash__())
                if isinstance(one, h5py.Group):
                    waiting.append(one)
                elif isinstance(one, h5py.Dataset):
                    _check_dataset(one, full, where)


def _check_dataset(dataset: "h5py.Dataset", name: str, where: str) -> None:
    if dataset.is_virtual:
        raise DataError(f"{name} is a virtual dataset: its values stand in other files", where=where, fix=FIX)
    if dataset.external:
        raise DataError(f"{name} has its values in another file ({dataset.external[0][0]!r})", where=where, fix=FIX)
    if dataset.chunks:
        size = int(np.prod([float(n) for n in dataset.chunks])) * dataset.dtype.itemsize
        if size > MOST_CHUNK:
            problem = f"one chunk of {name} has {size:,} bytes, {dataset.chunks} values"
            raise DataError(problem, where=where, fix="write it again in smaller chunks: one time each is best")
