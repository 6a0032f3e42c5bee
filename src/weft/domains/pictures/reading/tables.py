"""Pictures that a .csv or .tsv file names, with their classes. Knows columns; refuses to decode.

A header names the columns. Paths are relative to the table's folder; those that lead out of it are bad unless allowed.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from weft.errors import DataError, nearest, placed
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.known_roles import CLASS_NAMES, NUMBER_NAMES, PICTURE, PICTURE_NAMES
from weft.files.pictures.locations import TABLES, FilePlace, Gathered, PictureEntry
from weft.files.roles import Role, known_as
from weft.files.tables import Row, Table, open_table

LABEL = known_as("label", (*CLASS_NAMES, *NUMBER_NAMES))
SCALE = known_as("scale", ("metres_per_pixel", "meters_per_pixel", "gsd", "scale"))
ROLES = (PICTURE, LABEL, SCALE)
NAMES = {"picture": PICTURE_NAMES, "label": (*CLASS_NAMES, *NUMBER_NAMES)}
HEADER = "begin the table with a line that names its columns, as in: path,label"


def is_picture_table(path: Path) -> bool:
    """Whether a file is a table by its name, of the kinds that may name pictures and classes."""
    return ending(path, TABLES) is not None


def in_table(path: Path, *, labels: bool) -> Gathered:
    """The pictures a table names. Rows that cannot be used are counted as bad pictures."""
    where, table = shown(path), open_table(path, ROLES)
    if not table.columns:
        raise DataError("an empty table", where=where, fix=HEADER)
    header = [name or "" for name in table.names] if table.header else _first_row(table)
    picture = _needed(header, PICTURE, table.where(table.line))
    label = _label(header, picture, table.where(table.line)) if labels else None
    scale, found = next(iter(SCALE.by_name(header)), None), Gathered([])

    def read(row: Row) -> PictureEntry:
        cells = list(row.cells)
        name = cells[picture].strip() if picture < len(cells) else ""
        with placed(shown(f"{path.name}, line {row.line}" + (f": {name}" if name else ""))):
            return _entry(path.parent, cells, len(header), (picture, label, scale))

    for entry in table.each(read, even=False):
        if isinstance(entry, DataError):
            found.bad.append((entry.where, entry.problem))
        else:
            found.entries.append(entry)
    return found


def _label(header: Sequence[str], picture: int, where: str) -> int:
    """The column of the labels: the one that is named so, else the only one beside the picture and its scale."""
    scale = SCALE.by_name(header)
    others = [place for place in range(len(header)) if place != picture and place not in scale]
    if not LABEL.by_name(header) and len(others) == 1:
        return others[0]
    return _needed(header, LABEL, where)


def _first_row(table: Table) -> list[str]:
    """The cells of the first row, which must be a header here."""
    first = next(item for item in table.items if not isinstance(item, DataError) and item.cells)
    return list(first.cells)


def _entry(folder: Path, cells: list[str], count: int, places: tuple[int, int | None, int | None]) -> PictureEntry:
    if len(cells) != count:
        raise DataError(f"{len(cells)} columns, expected {count} as in the header")
    name, label, scale = ("" if place is None else cells[place].strip() for place in places)
    if not name or "\0" in name:
        raise DataError("the path has a NUL in it" if name else "the path is blank")
    if leads_out(folder / name, folder):
        raise DataError(f"the path {OUTSIDE}")
    if places[1] is not None and not label:
        raise DataError("the label is blank")
    return PictureEntry(
        shown(name), FilePlace(folder / name), None if places[1] is None else shown(label), metres_in(scale)
    )


def metres_in(text: str) -> float:
    """Metres per pixel in a cell; NaN where it is blank."""
    if not text:
        return math.nan
    try:
        metres = float(text)
    except ValueError:
        metres = math.nan
    if not 0 < metres < math.inf:
        raise DataError(f"expected metres per pixel, found {shown(text)!r}")
    return metres


def _needed(header: Sequence[str], role: Role, where: str) -> int:
    place = next(iter(role.by_name(header)), None)
    if place is None:
        names = NAMES[role.name]
        found = ", ".join(repr(shown(cell.strip())) for cell in header[:8])
        hints = [nearest(cell.strip().casefold(), names) for cell in header]
        hint = next((f" ({hint})" for hint in hints if hint.startswith("did you mean")), "")
        problem = f"no column {names[0]!r}; its columns: {found}"
        raise DataError(problem, where=where, fix=f"{HEADER}{hint}; known names: {', '.join(names)}")
    return place
