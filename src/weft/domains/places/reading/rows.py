"""Places with a value each: what all their files become, and which reader a file needs. Refuses to know models.

A file is a table with coordinates and a value in each row, a grid of numbers (.npz, .nc), or one picture, whose pixels
are places with a colour.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from weft.domains.places.settings import PlaceTraining
from weft.errors import DataError
from weft.files.decoding import shown

Kind = Literal["classes", "numbers", "colours"]
LEAST = 10  # places to learn from
GLOBE = ("lat", "lon")


@dataclass(frozen=True)
class PlaceRows:
    """Coordinates, (N, A), and what is known there: (N,) numbers or names of classes, or (N, C) colours in bytes."""

    where: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.where)

    def take(self, rows: Sequence[int] | np.ndarray) -> "PlaceRows":
        """Some of the places."""
        chosen = np.asarray(rows, np.int64)
        return PlaceRows(self.where[chosen], self.values[chosen])


@dataclass(frozen=True)
class FoundPlaces:
    """What files hold. `cells` is the height and width of a picture, or of a grid without time."""

    rows: PlaceRows
    axes: tuple[str, ...]
    kind: Kind
    value: str  # what the values are called
    cells: tuple[int, int] | None = None
    dates: bool = False  # whether the axis time is in days since 1970, and people write dates
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """Changes with any place or value."""
        digest = hashlib.sha256(repr((self.axes, self.kind, self.cells, self.rows.values.shape)).encode())
        digest.update(np.ascontiguousarray(self.rows.where).tobytes())
        values = self.rows.values
        named = "\0".join(values.tolist()).encode("utf-8", "surrogatepass") if self.kind == "classes" else b""
        digest.update(named or np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


def check_places(found: FoundPlaces, where: str) -> None:
    """Refuse data that nothing can be learned from."""
    rows = found.rows
    if len(rows) < LEAST:
        problem = f"{len(rows)} places with a value are too few: at least {LEAST} are needed"
        raise DataError(problem, where=where, fix="add more")
    different = len(set(rows.values.tolist())) if found.kind == "classes" else 2
    if different < 2 or (found.kind == "numbers" and not np.ptp(rows.values)):
        problem = f"every place has the same value, {rows.values.ravel()[0]}: there is nothing to learn"
        raise DataError(problem, where=where, fix="name another value: --set value_column=…")
    if different * 2 > len(rows) and found.kind == "classes":
        problem = f"{different:,} different values for {len(rows):,} places: this does not look like classes"
        raise DataError(problem, where=where, fix="name another value: --set value_column=…")


def read_places(sources: Sequence[str], asked: PlaceTraining, *, learn: bool = True) -> FoundPlaces:
    """The places in files. Without `learn` they are measured on: few are enough."""
    from weft.domains.places.reading import grids as place_grids
    from weft.domains.places.reading import tables as place_tables
    from weft.files.finding import missing

    names = [Path(source) for source in sources]
    for path in names:
        if not path.exists():
            raise missing(path)
    if all(place_tables.is_places_table(path) for path in names):
        found = place_tables.read_tables(names, asked)
    elif len(names) > 1:
        problem = f"{len(names)} files, expected tables, or one picture or grid"
        raise DataError(problem, where=", ".join(map(shown, names[:3])), fix="train on one of them at a time")
    else:
        found = place_grids.read_cells(names[0], asked)
    if learn:
        check_places(found, ", ".join(map(shown, names[:3])))
    return found
