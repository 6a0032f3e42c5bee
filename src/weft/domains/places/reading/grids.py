"""Grids and pictures: every cell with a value is a place. Knows arrays' names and shapes; never unpickles."""

from pathlib import Path
from typing import Any

import numpy as np

from weft.amounts import beyond_globe
from weft.domains.places.reading.rows import GLOBE, FoundPlaces, PlaceRows
from weft.domains.places.settings import PlaceTraining
from weft.errors import DataError
from weft.files.columns import plain
from weft.files.decoding import shown
from weft.files.known_roles import LAT_NAMES, LON_NAMES, TIME_NAMES
from weft.files.pictures.formats import named_as_picture
from weft.files.roles import LearnedColumn
from weft.files.survey import NO, Judgement, Surveyed

ARRAYS, NETCDF = (".npz",), (".nc", ".nc4", ".netcdf")
MOST_CELLS = 4_000_000  # of a picture; a larger one is scaled down first
SAVE = "save the arrays lat (rows), lon (columns) and one of numbers with a row for each lat and a column for each lon"
KNOWN = "give a table (.csv, .tsv, .jsonl), a grid (.npz, .nc) or one picture"
PIXEL_AXES = ("x", "y")


def read_cells(path: Path, asked: PlaceTraining) -> FoundPlaces:
    """The cells of a grid or the pixels of a picture."""
    if path.is_dir():
        raise DataError("a folder, expected one file", where=shown(path), fix=KNOWN)
    for name in ("lat_column", "lon_column", "time_column", "plane_columns"):
        if not isinstance(getattr(asked, name), LearnedColumn | None):
            raise DataError("only tables have columns", where=f"{shown(path)}: --set {name}", fix="leave it out")
    ending = path.suffix.lower()
    if ending in ARRAYS:
        return _grid(*_arrays(path, asked.value_column), shown(path))
    if ending in NETCDF:
        return _grid(*_variable(path, asked.value_column), shown(path))
    if named_as_picture(path.name):
        return picture_places(_pixels(path), shown(path))
    raise DataError("the ending of this file is not known", where=shown(path), fix=KNOWN)


# Pictures


def picture_places(picture: tuple[np.ndarray, np.ndarray | None], where: str) -> FoundPlaces:
    """The pixels of a picture, (Y, X, 1 or 3) in bytes, at the middles of their squares; missing ones are left out."""
    pixels, missing = picture
    height, width, channels = pixels.shape
    rows = PlaceRows(pixel_places(height, width), pixels.reshape(-1, channels))
    known = np.arange(len(rows)) if missing is None else np.flatnonzero(~missing.ravel())
    notes: tuple[str, ...] = (f"{where}: {width} x {height} pixels, {'colour' if channels == 3 else 'grey'}",)
    if len(known) < len(rows):
        notes += (f"transparent pixels, left out: {len(rows) - len(known):,}",)
    cells = (height, width)
    kept = rows if len(known) == len(rows) else rows.take(known)
    return FoundPlaces(kept, PIXEL_AXES, "colours", "colour", cells=cells, columns=(*PIXEL_AXES, "colour"), notes=notes)


def pixel_places(height: int, width: int) -> np.ndarray:
    """(Y X, 2) x and y of the middles of pixels: the longer side runs from -1 to 1, whatever the number of pixels."""
    longest = max(height, width)
    x, y = ((2 * (np.arange(side) + 0.5) - side) / longest for side in (width, height))
    return np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def _pixels(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    from weft.files.decoding import opened
    from weft.files.pictures.decoding import decode, resized

    with opened(path) as file:
        found = decode(file.read(), where=shown(path))
    height, width, _ = found.pixels.shape
    if height * width > MOST_CELLS:
        shrink = (MOST_CELLS / (height * width)) ** 0.5
        found = resized(found, max(1, int(height * shrink)), max(1, int(width * shrink)))
    return found.pixels, found.missing


# Grids


def _grid(lat: np.ndarray, lon: np.ndarray, values: np.ndarray, name: str, where: str) -> FoundPlaces:
    """The cells of a grid of (lat, lon); those that are no number are left out."""
    for axis, line in zip(GLOBE, (lat, lon), strict=True):
        for index, value in enumerate(line.tolist()):
            problem = beyond_globe(axis, value) if np.isfinite(value) else f"{axis} is {value}, which is no number"
            if problem:
                raise DataError(
                    problem, where=f"{where}: {axis}[{index}]", fix="give latitude and longitude in degrees"
                )
    places = np.stack(np.meshgrid(lat, lon, indexing="ij"), -1).reshape(-1, 2).astype(np.float64)
    flat = values.astype(np.float64).ravel()
    known = np.flatnonzero(np.isfinite(flat))
    notes: tuple[str, ...] = (f"{where}: {name} in {len(lat)} rows of {len(lon)} cells",)
    if len(known) < len(flat):
        notes += (f"cells that are no number, left out: {len(flat) - len(known):,}",)
    rows = PlaceRows(places, flat).take(known)
    return FoundPlaces(rows, GLOBE, "numbers", name, cells=(len(lat), len(lon)), columns=(*GLOBE, name), notes=notes)


def _named(names: list[str], wanted: tuple[str, ...]) -> str | None:
    return next((name for name in names if plain(name) in wanted), None)


def _arrays(path: Path, asked: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """The latitudes, longitudes and values of a .npz file, and what the values are called."""
    from weft.files.arrays import array, headers

    found = headers(path)
    lat, lon, values = _chosen({name: known.shape for name, known in found.items()}, asked, shown(path))
    return array(path, lat), array(path, lon), array(path, values), values


def _chosen(shapes: dict[str, tuple[int, ...]], asked: str | None, where: str) -> tuple[str, str, str]:
    """The names of the arrays of latitude, longitude and value."""
    names = list(shapes)
    lat, lon = _named(names, LAT_NAMES), _named(names, LON_NAMES)
    held = ", ".join(f"{name} {list(shape)}" for name, shape in list(shapes.items())[:12]) or "nothing"
    if lat is None or lon is None or len(shapes[lat]) != 1 or len(shapes[lon]) != 1:
        problem = f"no lines of latitudes and longitudes by their names; it holds {held}"
        raise DataError(problem, where=where, fix=SAVE)
    wanted = (*shapes[lat], *shapes[lon])
    fitting = [name for name in names if shapes[name] == wanted and asked in (None, name)]
    if len(fitting) != 1:
        found = "no array" if not fitting else f"{len(fitting)} arrays"
        fix = f"say which: --set value_column={fitting[0]}" if fitting else SAVE
        raise DataError(f"{found} of {list(wanted)}, one is needed; it holds {held}", where=where, fix=fix)
    return lat, lon, fitting[0]


def _variable(path: Path, asked: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """The same of a variable of a netCDF file; of several times, the first."""
    try:
        import xarray
    except ImportError:
        fix = "install it with: pip install 'weft[weather]'"
        raise DataError("netCDF files are read by xarray, which is not installed", where=shown(path), fix=fix) from None
    try:
        with xarray.open_dataset(path, decode_times=False) as opened:
            grids: dict[str, Any] = {}
            for name, one in opened.data_vars.items():
                times = {axis: 0 for axis in one.dims if plain(str(axis)) in TIME_NAMES}
                grids[str(name)] = one.isel(times)
            lines = {str(name): line for name, line in opened.coords.items() if line.ndim == 1}
            shapes = {name: tuple(one.shape) for name, one in {**lines, **grids}.items()}
            lat, lon, value = _chosen(shapes, asked, shown(path))
            return lines[lat].values, lines[lon].values, grids[value].values, value
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        problem = f"not a netCDF file that can be read: {str(error).splitlines()[0][:200]}"
        raise DataError(problem, where=shown(path), fix="copy or save it again") from None


def judge_grid(source: Surveyed) -> Judgement:
    """Sure of a .npz file with latitudes, longitudes and one array over both."""
    if source.kind != "file" or source.path.suffix.lower() not in ARRAYS:
        return NO
    from weft.files.arrays import headers

    try:
        found = headers(source.path)
        _, _, value = _chosen({name: known.shape for name, known in found.items()}, None, shown(source.path))
    except DataError:
        return NO
    return Judgement("sure", f"a grid of numbers over latitude and longitude ({value})")
