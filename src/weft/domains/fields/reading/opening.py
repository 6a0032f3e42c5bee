"""Opening files of fields: which files a user's words stand for, and each as an xarray.Dataset as it is stored.

Nothing is decoded here. xarray and its engines are an extra, asked for when the first file is opened.
"""

import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.domains.fields.reading.hdf5_checks import check_hdf5
from weft.domains.fields.reading.zarr_checks import check_zarr
from weft.errors import DataError, WeftError
from weft.files.bounds import OUTSIDE, link_leads_out
from weft.files.decoding import kind, shown
from weft.files.finding import is_pattern, is_run, missing
from weft.files.grid_formats import ENDINGS, Format, format_of, is_fields, is_store

if TYPE_CHECKING:
    import xarray as xr

INSTALL = "pip install 'weft[weather]'"
ENGINES = {"hdf5": "h5netcdf", "classic": "scipy", "zarr": "zarr", "zarr zip": "zarr"}


class Stores(NamedTuple):
    """Files and zarr stores, and lines for people about links that were not followed, pipes and devices."""

    paths: list[Path]
    notes: list[str]


def find_stores(sources: Sequence[str | Path]) -> Stores:
    """The files and zarr stores that are named, stand in named folders or match patterns; each once, by name."""
    found: dict[str, Path] = {}
    left_out: list[str] = []
    for source in sources:
        path = Path(source)
        if os.path.lexists(path):
            if odd := _never_ends(path):
                raise DataError(f"expected a file or folder, found {odd}", where=shown(path))
            taken = [path] if path.is_file() or is_store(path) else _below(path, path, left_out)
        elif is_pattern(path):
            taken = [
                p
                for p in map(Path, sorted(glob.glob(str(path), recursive=True)))
                if is_fields(p) and not _never_ends(p)
            ]
        else:
            raise missing(path)
        if not taken:
            problem = "; ".join(["no file of fields is there", *left_out])
            raise DataError(problem, where=shown(path), fix=f"known endings: {', '.join(ENDINGS)}")
        found.update((os.path.realpath(one), one) for one in taken)
    return Stores(list(found.values()), left_out)


def check_store(path: Path) -> list[str]:
    """Refuse a file that leads out of itself, or whose metadata cannot be true; returns lines for people."""
    form = _format(path)
    try:
        if form.startswith("zarr"):
            return check_zarr(path)
        if form == "hdf5":
            check_hdf5(path)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise damaged(path, error) from None
    return []


def open_store(path: Path) -> "xr.Dataset":
    """A file that was checked, as it is stored; values are read when asked for."""
    xarray, form = libraries(), _format(path)
    options: dict[str, Any] = {"consolidated": False} if form.startswith("zarr") else {}
    if form == "hdf5":
        options["phony_dims"] = "access"  # names for dimensions that HDF5 does not name
    try:
        place: Any = path
        if form == "zarr zip":
            import zarr

            place = zarr.storage.ZipStore(path, mode="r")
        return xarray.open_dataset(place, engine=ENGINES[form], decode_cf=False, cache=False, **options)
    except WeftError:
        raise
    except Exception as error:  # each engine has its own
        raise damaged(path, error) from None


def _format(path: Path) -> Format:
    libraries()
    try:
        form = format_of(path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
    if form is None:
        fix = f"expected netCDF 3, netCDF 4 or zarr ({', '.join(ENDINGS)}); GRIB can be converted with cfgrib or cdo"
        raise DataError("this is neither netCDF nor zarr, by its first bytes", where=shown(path), fix=fix)
    return form


def damaged(path: Path, error: Exception) -> DataError:
    """The error for a file that its library cannot read."""
    words = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    return DataError(
        f"cannot be read: {words}", where=shown(path), fix="the file may be cut off or damaged: get it again"
    )


def libraries() -> Any:
    """xarray, with the engines that it needs; one line says what is missing."""
    try:
        import cftime  # noqa: F401
        import h5netcdf  # noqa: F401
        import scipy  # noqa: F401
        import xarray
        import zarr  # noqa: F401
    except ImportError as error:
        name = (error.name or "a library").split(".")[0]
        raise WeftError(f"files of fields need {name}, which is not installed", fix=INSTALL) from None
    return xarray


def _below(folder: Path, root: Path, left_out: list[str]) -> list[Path]:
    """The files of fields in a folder and below it, by name; hidden ones and runs are left out.

    Pipes, devices and links that lead out of the root, which is the folder that was named, are left out too, and noted.
    """
    taken: list[Path] = []
    for entry in sorted(folder.iterdir()) if folder.is_dir() and not is_run(folder) else []:
        if entry.name.startswith("."):
            continue
        if link_leads_out(entry, root):
            left_out.append(f"{shown(entry)} {OUTSIDE}")
        elif is_fields(entry):
            if odd := _never_ends(entry):
                left_out.append(f"{shown(entry)} is {odd}")
            else:
                taken.append(entry)
        elif entry.is_dir() and not entry.is_symlink():
            taken += _below(entry, root, left_out)
    return taken


def _never_ends(path: Path) -> str:
    """What is neither a file nor a folder and would be waited for, in words; nothing where it is one of these."""
    try:
        info = path.stat()
    except OSError:  # said where it is read
        return ""
    return "" if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) else kind(info)
