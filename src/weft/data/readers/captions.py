"""Users' pictures with captions, every picture tried before it is relied on. Refuses to know tokens.

What has no picture or no caption is named and left out, up to a bound; beyond it the data is refused. Rows that cannot be
read are counted among rows, and a picture that is missing once, however many rows name it. Pictures beside a table that
none of its rows names are left out too, and listed, but are no fault: a table may be about a part of them.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from weft.data.bad_rows import Reasons, Skip, check_bad
from weft.data.decoding import shown
from weft.data.files import missing
from weft.data.images.album import Found
from weft.data.images.archives import first_names
from weft.data.images.folders import in_folder
from weft.data.images.formats import named_as_picture
from weft.data.images.places import Entry, Gathered, Place
from weft.data.images.reading import names_of, try_all
from weft.data.readers.caption_stems import in_place, is_text, stem_of
from weft.data.readers.caption_tables import Asked, judge_table, read_rows
from weft.data.readers.picture_lookup import Shelves
from weft.data.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.data.tables import is_table
from weft.errors import DataError

LOOK = 400  # files of a place that are looked at
FORMS = "name a table with pictures and captions, and the folder or archive of the pictures where it is elsewhere"


def read_captions(
    sources: Sequence[str | Path],
    *,
    further: Sequence[str | Path] = (),
    picture: str | None = None,
    caption: str | None = None,
    skip: Skip = None,
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
        check_bad(read.bad, read.rows, skip, names_of(sources), unit="rows")
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
        if path.is_file() and is_table(path):
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
        self.rows, self.bad = 0, Reasons()
        self.places: dict[str, tuple[str, Place]] = {}
        self.captions: dict[str, dict[str, None]] = {}
        self.missing: dict[str, tuple[str, str]] = {}

    def add(self, table: Path) -> None:
        """The rows of one more table."""
        for row in read_rows(table, self.asked):
            self.rows += 1
            if isinstance(row, DataError):
                self.bad.append((row.where, _reason(row)))
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
        return Gathered(entries, [*self.bad, *self.shelves.unnamed()], list(self.missing.values()))


def _reason(error: DataError) -> str:
    """What is wrong, and what to do about it."""
    return f"{error.problem} ({error.fix})" if error.fix else error.problem


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are tables of captions, alone or with the places of their pictures, or pictures beside text files."""
    tables = [source for source in survey.sources if source.kind == "file" and is_table(source.path)]
    others = [source for source in survey.sources if source not in tables]
    if any(source.kind not in ("folder", "archive") for source in others):
        return NO
    if tables:
        return weakest(weakest(map(judge_table, source.tables)) for source in tables)
    return weakest(map(_judge_place, others))


def _judge_place(source: Surveyed) -> Judgement:
    if has_stems(source.path):
        return Judgement("sure", "pictures with a text file of the same name each")
    if source.kind == "folder" and tables_in(source.path, LOOK):
        return Judgement("sure", "a folder with a table of pictures and captions")
    return NO


def tables_in(folder: Path, most: int | None = None) -> list[Path]:
    """The tables of captions that stand in a folder, not below it; `most` is how many are opened to tell."""
    named = sorted(path for path in folder.iterdir() if is_table(path))
    files = islice((path for path in named if path.is_file()), most)
    return [path for path in files if any(map(judge_table, Surveyed(path).tables))]


def has_stems(source: Path) -> bool:
    """Whether at least half of the first pictures have a text file of the same name."""
    try:
        if source.is_dir():
            found = in_folder(source, most=LOOK)
            names = ["/".join(file.parts) for file in (*found.pictures, *found.others)]
        else:
            names = first_names(source, LOOK)
    except (DataError, OSError):
        return False
    pictures = [stem_of((name,)) for name in names if named_as_picture(name)]
    texts = {stem_of((name,)) for name in names if is_text(name)}
    return 0 < len(pictures) <= 2 * sum(stem in texts for stem in pictures)
