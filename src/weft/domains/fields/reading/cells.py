"""Places on a grid: coordinates as people write them, the cell they fall into, distances. Needs no torch."""

import re
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid
from weft.errors import ConfigError, harmless

EARTH_RADIUS_KM = 6371.0
WINDS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")  # clockwise
COORDINATE = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*°?\s*([NSEW]?)", re.IGNORECASE)


@dataclass(frozen=True)
class GridPoint:
    """A point of a grid: the row and column of its cell, and its own coordinates as the grid counts them."""

    row: int
    column: int
    y: float
    x: float
    words: str  # as people read it: 48.2°N 16.4°E


def find_place(text: str, grid: FieldGrid) -> GridPoint:
    """The place that `latitude,longitude` names: 48.2,16.4 or 48.2N,16.4E or -33.9,151.2; on a plane `y,x`.

    Refused where it is no pair of numbers, or lies outside the grid by more than half a cell.
    """
    y, x = _coordinates(text, sphere=grid.surface == "sphere")
    if grid.surface == "sphere":
        if abs(y) > 90:
            raise ConfigError(f"expected a latitude from -90 to 90, found {y:g}", where="at", fix=_range(grid))
        x = _turned(x, grid)
    for name, value, coordinates in (("y", y, grid.y), ("x", x, grid.x)):
        low, high = _reach(coordinates)
        beyond_pole = name == "y" and grid.surface == "sphere" and _reaches_pole(value, coordinates)
        if not (low <= value <= high or beyond_pole or (name == "x" and grid.wraps)):
            raise ConfigError(f"{point_words(y, x, grid)} lies outside the grid", where="at", fix=_range(grid))
    return GridPoint(_nearest(y, grid.y), _nearest_column(x, grid), y, x, point_words(y, x, grid))


def _coordinates(text: str, *, sphere: bool) -> tuple[float, float]:
    """The two numbers of a place, first y; letters say which is which and which way they count."""
    wanted = "latitude,longitude such as 48.2,16.4 or 48.2N,16.4E" if sphere else "y,x as two numbers"
    problem = ConfigError(f"expected {wanted}, found {harmless(text)!r}", where="at")
    parts = [COORDINATE.fullmatch(part) for part in re.split(r"\s*[,;]\s*|\s+(?=[+-]?[.\d])", text.strip())]
    if len(parts) != 2 or None in parts:
        raise problem
    numbers, letters = zip(*((float(part[1]), part[2].upper()) for part in parts if part), strict=True)
    signed_twice = any(letter and number < 0 for number, letter in zip(numbers, letters, strict=True))
    if not np.isfinite(numbers).all() or signed_twice or (any(letters) and not sphere):
        raise problem
    first, second = (
        -number if letter in ("S", "W") else number for number, letter in zip(numbers, letters, strict=True)
    )
    north = [letter in ("N", "S") for letter in letters]
    east = [letter in ("E", "W") for letter in letters]
    if (north[0] and north[1]) or (east[0] and east[1]):
        raise problem
    return (second, first) if east[0] or north[1] else (first, second)


def _turned(longitude: float, grid: FieldGrid) -> float:
    """The same longitude by whole turns, in the turn that lies nearest to the middle of the grid."""
    middle = (grid.x[0] + grid.x[-1]) / 2
    return float(longitude - 360 * np.round((longitude - middle) / 360))


def _reach(coordinates: np.ndarray) -> tuple[float, float]:
    """The smallest and largest coordinate that still belong to a cell."""
    edges = cell_edges(coordinates)
    return float(edges.min()), float(edges.max())


def _reaches_pole(value: float, latitudes: np.ndarray) -> bool:
    """Whether the outermost row on the side of a latitude is the last before the pole."""
    spacing = 1.0 if len(latitudes) < 2 else float(np.abs(np.diff(latitudes)).max())
    outermost = latitudes.max() if value > 0 else latitudes.min()
    return bool(90 - abs(outermost) < 1.5 * spacing and abs(value) > abs(outermost) and value * outermost > 0)


def cell_edges(coordinates: np.ndarray) -> np.ndarray:
    """Where cells begin and end: halfway between their middles; one more than there are cells."""
    if len(coordinates) == 1:
        return coordinates[0] + np.array([0.5, -0.5])
    halfway = (coordinates[1:] + coordinates[:-1]) / 2
    first, last = 2 * coordinates[0] - halfway[0], 2 * coordinates[-1] - halfway[-1]
    return np.concatenate([[first], halfway, [last]])


def _nearest(value: float, coordinates: np.ndarray) -> int:
    return int(np.abs(coordinates - value).argmin())


def _nearest_column(x: float, grid: FieldGrid) -> int:
    apart = np.abs(grid.x - x)
    return int((np.minimum(apart, 360 - apart) if grid.wraps and grid.surface == "sphere" else apart).argmin())


def _range(grid: FieldGrid) -> str:
    """What the grid covers, for a message."""
    if grid.surface == "plane":
        return (
            f"the grid goes from y {grid.y.min():g} to {grid.y.max():g} and from x {grid.x.min():g} to {grid.x.max():g}"
        )
    south, north, west, east = (float(end) for end in (grid.y.min(), grid.y.max(), grid.x.min(), grid.x.max()))
    around = "all longitudes" if grid.wraps else f"{longitude_words(west)} to {longitude_words(east)}"
    return f"the grid covers {latitude_words(south)} to {latitude_words(north)}, {around}"


def latitude_words(latitude: float) -> str:
    """A latitude as people read it: 48.2°N."""
    latitude = round(latitude, 2)
    return f"{abs(latitude):g}°{'N' if latitude > 0 else 'S' if latitude < 0 else ''}"


def longitude_words(longitude: float) -> str:
    """A longitude as people read it, from 180°W to 180°E whatever the turn it is counted in."""
    longitude = round((longitude + 180) % 360 - 180, 2)
    return f"{abs(longitude):g}°{'' if longitude in (0, 180, -180) else 'E' if longitude > 0 else 'W'}"


def point_words(y: float, x: float, grid: FieldGrid) -> str:
    """A point as people read it: by latitude and longitude, or by y and x on a plane."""
    return f"{latitude_words(y)} {longitude_words(x)}" if grid.surface == "sphere" else f"y {y:.4g}, x {x:.4g}"


def distances(place: GridPoint, y: np.ndarray, x: np.ndarray, grid: FieldGrid) -> np.ndarray:
    """How far each point is from a place: along the sphere in kilometres; on a plane in the grid's own units."""
    if grid.surface == "plane":
        return np.hypot(y - place.y, x - place.x)
    here, there = np.radians(place.y), np.radians(y)
    half = np.sin((there - here) / 2) ** 2 + np.cos(here) * np.cos(there) * np.sin(np.radians(x - place.x) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(half.clip(0, 1)))


def direction(place: GridPoint, y: float, x: float, grid: FieldGrid) -> str:
    """Where a point lies on the map as seen from a place, to one of eight winds; around the sphere the shorter way."""
    east, north = x - place.x, y - place.y
    if grid.surface == "sphere":
        east = ((east + 180) % 360 - 180) * np.cos(np.radians((y + place.y) / 2))
    return WINDS[int(np.round(np.degrees(np.arctan2(east, north)) / 45)) % 8]
