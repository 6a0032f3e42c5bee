"""The axes of a file: which dimension is time, level, row or column, and their order in weft's convention.

An axis is known by its CF attributes (`standard_name`, `units`, `axis`), then by its name. Rows go from north to south,
columns from west to east. Columns round the globe begin at the first longitude from -180; others at their widest gap.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid
from weft.errors import DataError

Role = Literal["time", "level", "latitude", "longitude", "y", "x"]
ROWS: tuple[Role, ...] = ("latitude", "y")
COLUMNS: tuple[Role, ...] = ("longitude", "x")

STANDARD: dict[str, Role] = {
    "time": "time",
    "latitude": "latitude",
    "longitude": "longitude",
    "projection_y_coordinate": "y",
    "projection_x_coordinate": "x",
    "grid_latitude": "y",  # of a rotated pole: no latitude of the globe
    "grid_longitude": "x",
    "air_pressure": "level",
    "height": "level",
    "altitude": "level",
    "depth": "level",
    "model_level_number": "level",
}
UNITS: tuple[tuple[str, Role], ...] = (
    (r"degrees?_?n(orth)?", "latitude"),
    (r"degrees?_?e(ast)?", "longitude"),
    (r"\w+\s+since\s.*", "time"),
    (r"pa|hpa|mb|millibars?|mbar|bar|sigma_level|level|layer", "level"),
)
LETTERS: dict[str, Role] = {"t": "time", "z": "level", "y": "y", "x": "x"}
NAMES: tuple[tuple[str, Role], ...] = (
    (r"t|times?|taxis|date|datetime|valid_time|time_counter|months?|years?|days?|hours?", "time"),
    (
        r"z|zaxis|levels?|lev|plev|pressure|pressure_level|isobaricinhpa|model_level|height|altitude|depth\w?|sigma",
        "level",
    ),
    (r"lat|lats|latitudes?|nav_lat|rows_lat|glat", "latitude"),
    (r"lon|lons|long|longitudes?|nav_lon|glon", "longitude"),
    (r"y|yaxis|yc|northings?|nj|rows?|rlat|grid_latitude|projection_y_coordinate", "y"),
    (r"x|xaxis|xc|eastings?|ni|cols?|columns?|rlon|grid_longitude|projection_x_coordinate", "x"),
)
JITTER = 1e-4  # of a spacing: by how much coordinates may differ and still be the same
WIDE = 1.5  # spacings: a wider gap between neighbouring columns ends the round trip about the globe


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a file: coordinates in weft's order, and the way there and back.

    `take[i]` is the place in the file of entry i; `back[j]` is the entry that the file has at place j.
    """

    name: str
    role: Role
    values: np.ndarray
    take: np.ndarray
    back: np.ndarray
    wraps: bool = False


def taken(values: np.ndarray, take: np.ndarray, axis: int) -> np.ndarray:
    """Entries along an axis in another order: a view where it is kept or reversed, two parts where it is rolled."""
    steps = np.diff(take)
    jumps = np.flatnonzero(np.abs(steps) != 1)
    runs = np.split(take, jumps + 1)
    if not len(take) or len(runs) > 2 or any(len(set(np.diff(run).tolist())) > 1 for run in runs):
        return values.take(take, axis)
    pieces = []
    for run in runs:
        step = 1 if run[-1] >= run[0] else -1
        stop = int(run[-1]) + step
        pieces.append(values[(*[slice(None)] * axis, slice(int(run[0]), None if stop < 0 else stop, step))])
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis)


def role_of(name: str, attributes: Mapping[str, Any]) -> Role | None:
    """Which axis a coordinate is; None where nothing says so."""
    said = {key: str(attributes.get(key, "")).strip().lower() for key in ("standard_name", "units", "axis", "positive")}
    if said["standard_name"] in STANDARD:
        return STANDARD[said["standard_name"]]
    for pattern, role in UNITS:
        if re.fullmatch(pattern, said["units"]):
            return role
    named = next((role for pattern, role in NAMES if re.fullmatch(pattern, name.lower())), None)
    lettered = LETTERS.get(said["axis"])
    if lettered is not None:
        both = {"y": ROWS, "x": COLUMNS}.get(lettered, ())
        return named if named in both else lettered  # "Y" may be a latitude by its name
    return "level" if said["positive"] in ("up", "down") else named


def rows(name: str, role: Role, values: np.ndarray, where: str) -> Axis:
    """Latitudes or other rows, north first."""
    values = _finite(name, values, where)
    if role == "latitude" and len(values) and np.abs(values).max() > 90 + JITTER:
        at = int(np.abs(values).argmax())
        raise DataError(f"{name}[{at}] is {values[at]:g}; expected a latitude from -90 to 90", where=where)
    _monotonic(name, values, np.diff(values), where)
    take = np.argsort(-values, kind="stable")
    return Axis(name, role, values[take], take, np.argsort(take))


def columns(name: str, role: Role, values: np.ndarray, where: str) -> Axis:
    """Longitudes or other columns, west first. The column at 360 degrees that repeats the first is dropped."""
    values = _finite(name, values, where)
    if role != "longitude" or len(values) < 2:
        _monotonic(name, values, np.diff(values), where)
        take = np.argsort(values, kind="stable")
        return Axis(name, role, _near_zero(values[take], role), take, np.argsort(take))
    steps = np.diff(values)
    if steps.min() < 0 < steps.max():  # 0 to 180 and -180 to 0 go on across the date line
        steps = (steps + 180) % 360 - 180
    _monotonic(name, values, steps, where)
    spacing, span = float(np.median(np.abs(steps))), float(np.abs(steps).sum())
    repeated = abs(span - 360) < max(JITTER * spacing, 1e-4)
    if span > 360 and not repeated:
        raise DataError(f"{name} goes round the globe more than once ({span:g} degrees)", where=where)
    return _round(name, values[:-1] if repeated else values, spacing, repeated=repeated)


def grid_of(rows: Axis, columns: Axis) -> FieldGrid:
    """The cells of rows and columns."""
    surface: Literal["sphere", "plane"] = (
        "sphere" if (rows.role, columns.role) == ("latitude", "longitude") else "plane"
    )
    return FieldGrid(rows.values, columns.values, surface, wraps=columns.wraps)


def _round(name: str, values: np.ndarray, spacing: float, *, repeated: bool) -> Axis:
    """Longitudes from -180 on where they go round the globe, else from behind the widest gap."""
    wrapped = (values + 180) % 360 - 180
    wrapped = np.where(wrapped > 180 - JITTER * spacing, wrapped - 360, wrapped)  # 179.9999999 is -180
    take = np.argsort(wrapped, kind="stable")
    gaps = np.diff(np.append(wrapped[take], wrapped[take[0]] + 360))
    wraps = bool(gaps.max() < WIDE * spacing)
    if not wraps:
        first = (int(gaps.argmax()) + 1) % len(take)
        take = np.roll(take, -first)
    ordered = wrapped[take]
    ordered = np.where(ordered < ordered[0] - JITTER * spacing, ordered + 360, ordered)
    back = np.argsort(take)
    return Axis(name, "longitude", ordered, take, np.append(back, back[0]) if repeated else back, wraps=wraps)


def _near_zero(values: np.ndarray, role: Role) -> np.ndarray:
    """A lone longitude between -180 and 180; other coordinates as they are."""
    return (values + 180) % 360 - 180 if role == "longitude" else values


def _finite(name: str, values: np.ndarray, where: str) -> np.ndarray:
    if values.ndim != 1:
        fix = "interpolate the fields to a grid with one latitude a row and one longitude a column"
        raise DataError(f"{name} has {values.ndim} dimensions: curvilinear grids are not read", where=where, fix=fix)
    if values.dtype.kind not in "iuf":
        raise DataError(f"{name} holds {values.dtype}; expected numbers", where=where)
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"{name}[{at}] is {values[at]}; expected a coordinate", where=where, fix="repair the coordinate"
        )
    return values


def _monotonic(name: str, values: np.ndarray, steps: np.ndarray, where: str) -> None:
    """Refuse coordinates that repeat or turn back."""
    if not len(steps):
        return
    usual = np.median(steps)
    least = JITTER * abs(usual)
    wrong = np.flatnonzero(np.abs(steps) <= least) if usual else np.arange(1)
    word = "repeats the one before"
    if not len(wrong):
        wrong, word = np.flatnonzero(np.sign(steps) != np.sign(usual)), "turns back"
    if len(wrong):
        at = int(wrong[0]) + 1
        problem = f"{name}[{at}] is {values[at]:g} after {values[at - 1]:g}: it {word}"
        raise DataError(problem, where=where, fix="sort the coordinate and drop what it holds twice")
