"""Pictures that a .csv or .tsv file names, with their classes. Knows columns; refuses to decode.

A header names the columns. Paths are those of the table's owner: relative to its folder, or absolute.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.data.decoding import shown
from weft.data.files import ending
from weft.data.images.places import Entry, FilePlace, Gathered, named_as_picture
from weft.data.pairs.tables import read_csv, read_tsv, separator_of
from weft.errors import DataError, nearest

ENDINGS = (".csv", ".tsv")
PATH = ("path", "file", "filename", "file_name", "filepath", "image", "image_path", "picture")
LABEL = ("label", "class", "category", "labels")
NUMBER = ("value", "number", "target", "score")  # in place of a label
SCALE = ("metres_per_pixel", "meters_per_pixel", "gsd", "scale")
HEADER = "begin the table with a line that names its columns, as in: path,label"
LOOK = 20  # rows looked at to recognise a table


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return ending(path, ENDINGS) is not None


def names_pictures(path: Path) -> bool:
    """Whether a table has a column of pictures' paths, by its first rows."""
    try:
        rows = [cells for _, cells in islice(_rows(path), LOOK) if any(map(str.strip, cells))]
    except DataError:
        return False
    place = _place(rows[0], PATH) if rows else None
    named = [named_as_picture(cells[place].strip()) for cells in rows[1:] if place is not None and place < len(cells)]
    return sum(named) * 2 > len(named)


def in_table(path: Path, *, labels: bool) -> Gathered:
    """The pictures a table names. Rows that cannot be used are counted as bad pictures."""
    where, rows = shown(path), _rows(path)
    first = next(((line, cells) for line, cells in rows if any(map(str.strip, cells))), None)
    if first is None:
        raise DataError("an empty table", where=where, fix=HEADER)
    line, header = first
    picture = _needed(header, PATH, f"{where}, line {line}")
    label = _needed(header, (*LABEL, *NUMBER), f"{where}, line {line}") if labels else None
    scale, found = _place(header, SCALE), Gathered([])
    for line, cells in rows:
        if not any(map(str.strip, cells)):
            continue
        try:
            found.entries.append(_entry(path.parent, cells, len(header), (picture, label, scale)))
        except DataError as error:
            name = cells[picture].strip() if picture < len(cells) else ""
            found.bad.append((shown(f"{path.name}, line {line}" + (f": {name}" if name else "")), error.problem))
    return found


def _entry(folder: Path, cells: list[str], count: int, places: tuple[int, int | None, int | None]) -> Entry:
    if len(cells) != count:
        raise DataError(f"{len(cells)} columns, expected {count} as in the header")
    name, label, scale = ("" if place is None else cells[place].strip() for place in places)
    if not name or "\0" in name:
        raise DataError("the path has a NUL in it" if name else "the path is blank")
    if places[1] is not None and not label:
        raise DataError("the label is blank")
    return Entry(shown(name), FilePlace(folder / name), None if places[1] is None else shown(label), _metres(scale))


def _metres(text: str) -> float:
    if not text:
        return math.nan
    try:
        metres = float(text)
    except ValueError:
        metres = math.nan
    if not 0 < metres < math.inf:
        raise DataError(f"expected metres per pixel, found {shown(text)!r}")
    return metres


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    return read_tsv(path) if ending(path, ENDINGS) == ".tsv" else read_csv(path, separator_of(path))


def _place(header: Sequence[str], names: tuple[str, ...]) -> int | None:
    """The place of the column that bears the first of these names."""
    plain = [cell.strip().casefold().replace(" ", "_") for cell in header]
    return next((plain.index(name) for name in names if name in plain), None)


def _needed(header: Sequence[str], names: tuple[str, ...], where: str) -> int:
    place = _place(header, names)
    if place is None:
        found = ", ".join(repr(shown(cell.strip())) for cell in header[:8])
        hints = [nearest(cell.strip().casefold(), names) for cell in header]
        hint = next((f" ({hint})" for hint in hints if hint.startswith("did you mean")), "")
        problem = f"no column {names[0]!r}; its columns: {found}"
        raise DataError(problem, where=where, fix=f"{HEADER}{hint}; known names: {', '.join(names)}")
    return place
