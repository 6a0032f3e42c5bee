"""Tables that stand among pictures in a folder and give them their classes, as contests hand them out. Decodes nothing.

contest/train.csv     id,breed
contest/train/        4f2a.jpg, 9c1b.jpg, …
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from weft.domains.pictures.reading.folders import side_by_side
from weft.domains.pictures.reading.lookup import LOOK, Shelves
from weft.domains.pictures.reading.tables import LABEL, ROLES, label_place, picture_column
from weft.errors import DataError
from weft.files.bounds import link_leads_out
from weft.files.columns import NEARLY_ALL, Column
from weft.files.finding import ending
from weft.files.parquet_columns import PARQUET, has_pictures
from weft.files.pictures.locations import TABLES
from weft.files.tables import Table, open_table

MOST = 20  # tables of a folder that are opened


def label_tables(folder: Path, label: str | None = None) -> list[Path]:
    """The tables in a folder, not below it, that name pictures there and their classes; `label` is the column asked."""
    return list(_found(folder, label))


def picture_tables(folder: Path) -> list[Path]:
    """The Parquet files in a folder, not below it, that have pictures in their rows: parts of one set."""
    try:
        named = sorted(path for path in folder.iterdir() if ending(path, (PARQUET,)) and not path.name.startswith("."))
    except OSError:
        return []
    return [path for path in named if not link_leads_out(path, folder) and has_pictures(path)]


def _found(folder: Path, label: str | None) -> Iterator[Path]:
    try:
        named = sorted(path for path in folder.iterdir() if ending(path, TABLES) and not path.name.startswith("."))
    except OSError:
        return
    for path in islice((path for path in named if path.is_file() and not link_leads_out(path, folder)), MOST):
        try:
            table = open_table(path, ROLES, (None, label, None))
            place = picture_column(table, [folder])
            if place is None:
                continue
            column = table.columns[label_place(table, place, label)]
        except (DataError, OSError):
            continue
        if (label is not None or _tells(table, column, folder)) and _are_there(table.columns[place], path):
            yield path


def _tells(table: Table, column: Column, folder: Path) -> bool:
    """Whether a column is one of classes by its name; or the only other one, where no folders could be the classes."""
    alone = len(table.columns) == 2 and side_by_side(folder) < 2
    return column.is_class and column.distinct > 1 and (column.place in LABEL.by_name(table.names) or alone)


def _are_there(pictures: Column, table: Path) -> bool:
    """Whether nearly all of the first pictures that a table names are in its folder, or in one that it holds."""
    shelves, found = Shelves(()), 0
    names = pictures.values[:LOOK]
    for name in names:
        try:
            shelves.find(name, table)
            found += 1
        except DataError:
            continue
    return found >= NEARLY_ALL * len(names)
