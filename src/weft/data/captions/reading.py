"""Users' pictures with captions, every picture tried before it is relied on. Refuses to know tokens.

What has no picture or no caption is named and left out, up to a bound; beyond it the data is refused. Rows that cannot be
read are counted among rows, and a picture that is missing once, however many rows name it. Pictures beside a table that
none of its rows names are left out too, and listed, but are no fault: a table may be about a part of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from weft.data.captions.picture_lookup import Shelves
from weft.data.captions.recognising import has_stems, tables_in
from weft.data.captions.stems import in_place
from weft.data.captions.tables import Asked, read_rows
from weft.data.decoding import shown
from weft.data.files import ending, missing
from weft.data.images.album import Found
from weft.data.images.places import Entry, Gathered, Place
from weft.data.images.reading import Reasons, bear, names_of, try_all
from weft.data.labelled.formats import TABLES
from weft.errors import DataError

FORMS = "name a table with pictures and captions, and the folder or archive of the pictures where it is elsewhere"


def read_captions(
    sources: Sequence[str | Path],
    *,
    further: Sequence[str | Path] = (),
    picture: str | None = None,
    caption: str | None = None,
    skip: int | float | None = None,
    progress: Callable[[int, int], None] | None = None,
    learn: bool = True,
) -> Found:
    """Find pictures and their captions, and decode every picture once.

    `sources` are tables, with the folders and archives of their pictures, or folders and archives whose pictures have
    text files beside them. What a table names and does not have beside it is looked for where `further` data has its
    pictures. `picture` and `caption` name columns of tables; without `learn`, a table may name its columns otherwise
    than the one that was learned from.
    """
    tables, places = sorted_out(sources)
    if tables:
        others, more = sorted_out(further) if further and not places else ([], [])
        shelves = Shelves(places, more, [table.parent for table in others])
        read = _Tables(shelves, Asked(picture, caption, firm=learn))
        for table in tables:
            read.add(table)
        bear(read.faults, read.rows, skip, names_of(sources), unit="rows")
        found = read.gathered()
    else:
        found = Gathered([])
        for place in places:
            one = in_place(place)
            found.entries.extend(one.entries)
            found.skipped.extend(one.skipped)
            found.bad.extend(one.bad)
    return try_all(found, labels=False, where=names_of(sources), skip=skip, progress=progress)


def sorted_out(sources: Sequence[str | Path]) -> tuple[list[Path], list[Path]]:
    """The tables, and the folders and archives of pictures; a folder may hold its tables itself."""
    tables: list[Path] = []
    places: list[Path] = []
    if not sources:
        raise DataError("no data was named", fix=FORMS)
    for path in map(Path, sources):
        if not path.exists():
            raise missing(path)
        if path.is_file() and ending(path, TABLES) is not None:
            tables.append(path)
        else:
            places.append(path)
    if not tables:
        tables = [table for place in places if place.is_dir() and not has_stems(place) for table in tables_in(place)]
    return tables, places


class _Tables:
    """The pictures that tables name, each with all its captions, in the order in which they are first named."""

    def __init__(self, shelves: Shelves, asked: Asked):
        self.shelves, self.asked = shelves, asked
        self.rows, self.faults = 0, Reasons()
        self.places: dict[str, tuple[str, Place]] = {}
        self.captions: dict[str, dict[str, None]] = {}
        self.missing: dict[str, tuple[str, str]] = {}

    def add(self, table: Path) -> None:
        """The rows of one more table."""
        for row in read_rows(table, self.asked):
            self.rows += 1
            if isinstance(row, DataError):
                self.faults.append((row.where, _reason(row)))
                continue
            try:
                place = self.shelves.find(row.picture, table)
            except DataError as error:
                line = f"{shown(table.name)}, line {row.line}: {shown(row.picture)}"
                self.missing.setdefault(row.picture, (line, _reason(error)))
                continue
            self.places.setdefault(place.where, (shown(row.picture), place))
            self.captions.setdefault(place.where, {}).update(dict.fromkeys(row.captions))

    def gathered(self) -> Gathered:
        """All of them; pictures that are missing are bad ones."""
        places = self.places.items()
        entries = [Entry(name, place, captions=tuple(self.captions[where])) for where, (name, place) in places]
        return Gathered(entries, [*self.faults, *self.shelves.unnamed()], list(self.missing.values()))


def _reason(error: DataError) -> str:
    """What is wrong, and what to do about it."""
    return f"{error.problem} ({error.fix})" if error.fix else error.problem
