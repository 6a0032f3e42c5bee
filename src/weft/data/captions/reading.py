"""Users' pictures with captions, every picture tried before it is relied on. Refuses to know tokens.

What has no picture or no caption is named and left out, up to a bound; beyond it the data is refused. Pictures beside a
table that none of its rows names are left out too, and listed, but are no fault: a table may be about a part of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from weft.data.captions.recognising import has_stems, tables_in
from weft.data.captions.shelves import Shelves
from weft.data.captions.stems import in_place
from weft.data.captions.tables import Asked, read_rows
from weft.data.decoding import shown
from weft.data.files import ending, missing
from weft.data.images.album import Found
from weft.data.images.places import Entry, Gathered, Place
from weft.data.images.reading import names_of, try_all
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
        found = _in_tables(tables, shelves, Asked(picture, caption, firm=learn))
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


def _in_tables(tables: Sequence[Path], shelves: Shelves, asked: Asked) -> Gathered:
    """The pictures that the tables name, each with all its captions, in the order in which they are first named."""
    found, places = Gathered([]), dict[str, tuple[str, Place]]()
    captions: dict[str, dict[str, None]] = {}
    for table in tables:
        for row in read_rows(table, asked):
            if isinstance(row, DataError):
                found.bad.append((row.where, row.problem))
                continue
            try:
                place = shelves.find(row.picture, table)
            except DataError as error:
                found.bad.append((f"{shown(table.name)}, line {row.line}: {shown(row.picture)}", error.problem))
                continue
            places.setdefault(place.where, (shown(row.picture), place))
            captions.setdefault(place.where, {}).update(dict.fromkeys(row.captions))
    found.entries.extend(Entry(name, place, captions=tuple(captions[where])) for where, (name, place) in places.items())
    found.skipped.extend(shelves.unnamed())
    return found
