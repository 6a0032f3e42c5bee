"""Pictures that a .csv or .tsv file names, with their classes. Knows columns; refuses to decode.

A header names the columns. Paths are relative to the table's folder, or to the folders and archives named with it; the
ending may be left out. Paths that lead out of the folder are bad unless allowed.
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path

from weft.domains.pictures.reading.lookup import Shelves, are_beside
from weft.errors import DataError, nearest, placed
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.known_roles import CLASS_NAMES, NUMBER_NAMES, PICTURE, PICTURE_NAMES
from weft.files.pictures.formats import named_as_picture
from weft.files.pictures.in_parquet import own_picture
from weft.files.pictures.locations import TABLES, FilePlace, Gathered, PictureEntry, PictureLocation
from weft.files.roles import Role, asked_column, binding, known_as
from weft.files.tables import Row, Table, as_cell, is_list, open_table

LABEL = known_as("label", (*CLASS_NAMES, *NUMBER_NAMES))
SCALE = known_as("scale", ("metres_per_pixel", "meters_per_pixel", "gsd", "scale"))
ROLES = (PICTURE, LABEL, SCALE)
NAMES = {"picture": PICTURE_NAMES, "label": (*CLASS_NAMES, *NUMBER_NAMES)}
SAY = "say which it is: --set label_column="
HEADER = "begin the table with a line that names its columns, as in: path,label"


def is_picture_table(path: Path) -> bool:
    """Whether a file is a table by its name, of the kinds that may name pictures and classes."""
    return ending(path, TABLES) is not None or is_list(path)


def picture_column(table: Table, places: Sequence[Path] = ()) -> int | None:
    """The column that names pictures: by its cells, or where their names without endings are in a folder at hand."""
    if any(table.names) and (named := set(PICTURE.by_content(table.columns)) & set(PICTURE.by_name(table.names))):
        return min(named)
    folders = [path for path in (table.path.parent, *places) if path.is_dir()]
    likely = [column for column in table.columns if any(table.names) and column.distinct == len(column.values) > 1]
    for column in likely:
        if column.looks != "picture" and any(are_beside(column.values, folder) for folder in folders):
            return column.place
    return None


def in_table(path: Path, *, labels: bool, places: Sequence[Path] = (), label: str | None = None) -> Gathered:
    """The pictures a table names, in its folder or in the `places` named with it; rows that cannot be used are bad.

    `label` names or numbers the column of the labels.
    """
    where, table = shown(path), open_table(path, ROLES, (None, label, None))
    if not table.columns:
        raise DataError("an empty table", where=where, fix=HEADER)
    header = [name or "" for name in table.names] if any(table.names) else _first_row(table)
    found = picture_column(table, places)
    picture = _needed(header, PICTURE, table.where(table.line)) if found is None else found
    chosen = label_place(table, picture, label) if labels else None
    scale, gathered = next(iter(SCALE.by_name(header)), None), Gathered([])
    gathered.taken.update({} if chosen is None else {"label_column": table.title(chosen)})
    shelves, width = Shelves(places, what="label" if labels else "row"), table.width or len(header)

    def read(row: Row) -> PictureEntry:
        whole = isinstance(row.cells, dict)
        cells = [as_cell(table.value(row, place)) for place in range(width)] if whole else list(row.cells)
        name = cells[picture].strip() if picture < len(cells) else ""
        with placed(shown(f"{path.name}, {table.unit} {row.line}" + (f": {name}" if name else ""))):
            return _entry(path, cells, width, (picture, chosen, scale), shelves)

    for entry in table.each(read, even=False):
        if isinstance(entry, DataError):
            gathered.bad.append((entry.where, entry.problem))
        else:
            gathered.entries.append(entry)
    return gathered


def label_place(table: Table, picture: int, asked: str | None) -> int:
    """The column of the labels: the one asked for, or named so, else the only one that can be it by what it holds."""
    where, header = table.where(table.line), [name or "" for name in table.names]
    if (asked := binding(table.columns, asked)) is not None:
        return asked_column(table.columns, asked, where)
    taken = (picture, *SCALE.by_name(header))
    others = [place for place in range(len(header)) if place not in taken]
    if not LABEL.by_name(header) and len(others) == 1:
        return others[0]
    classes = [c.place for c in table.columns if c.place in others and c.is_class and c.distinct > 1]
    if not LABEL.by_name(header) and len(classes) == 1:
        return classes[0]
    try:
        return _needed(header, LABEL, where)
    except DataError as error:
        ask = f"{SAY}{table.columns[others[0]].called}" if others else "add a column of labels"
        raise DataError(error.problem, where=where, fix=f"{error.fix}; or {ask}") from None


def _first_row(table: Table) -> list[str]:
    """The cells of the first row, which must be a header here."""
    first = next(item for item in table.items if not isinstance(item, DataError) and item.cells)
    return list(first.cells)


def _entry(
    path: Path, cells: list[str], count: int, places: tuple[int, int | None, int | None], shelves: Shelves
) -> PictureEntry:
    if len(cells) != count:
        raise DataError(f"{len(cells)} columns, expected {count} as in the header")
    name, label, scale = ("" if place is None else cells[place].strip() for place in places)
    if not name or "\0" in name:
        raise DataError("the path has a NUL in it" if name else "the path is blank")
    if places[1] is not None and not label:
        raise DataError("the label is blank")
    place = _place(path, name, shelves)
    return PictureEntry(shown(name), place, None if places[1] is None else shown(label), metres_in(scale))


def _place(path: Path, name: str, shelves: Shelves) -> PictureLocation:
    """Where a picture is; one that is nowhere is one that cannot be opened, as any other file that is missing."""
    if (inside := own_picture(name, path)) is not None:
        return inside
    if not shelves.named.sources:
        if leads_out(path.parent / name, path.parent):
            raise DataError(f"the path {OUTSIDE}")
        if os.path.lexists(path.parent / name):
            return FilePlace(path.parent / name)
    try:
        return shelves.find(name, path)
    except DataError:
        if shelves.named.sources or not named_as_picture(name):
            raise
        return FilePlace(path.parent / name)


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
