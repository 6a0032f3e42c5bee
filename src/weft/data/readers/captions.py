"""Users' pictures with captions, every picture tried before it is relied on. Refuses to know tokens.

What has no picture or no caption is named and left out, up to a bound; beyond it the data is refused. Pictures beside a
table that none of its rows names are left out too, and listed, but are no fault: a table may be about a part of them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.data.bad_rows import Skip
from weft.data.files import ending, missing
from weft.data.images.album import Found
from weft.data.images.archives import first_names
from weft.data.images.folders import in_folder
from weft.data.images.formats import named_as_picture
from weft.data.images.places import Gathered
from weft.data.images.reading import names_of, try_all
from weft.data.readers.caption_stems import in_place, is_text, stem_of
from weft.data.readers.caption_tables import Asked, judge_table, read_rows
from weft.data.readers.coco_captions import coco_rows, counted_rows, is_coco, is_counted, is_named_table
from weft.data.readers.picture_lookup import Shelves
from weft.data.readers.picture_rows import PictureRows, Row
from weft.data.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.data.tables import ENDINGS as TABLES
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
        read = PictureRows(shelves)
        for table in tables:
            read.add(table, rows_in(table, Asked(picture, caption, firm=learn)))
        found = read.gathered(skip, names_of(sources))
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
        if path.is_file() and says_captions(path):
            tables.append(path)
        else:
            places.append(path)
    if not tables:
        tables = [table for place in places if place.is_dir() and not has_stems(place) for table in tables_in(place)]
    return tables, places


def says_captions(path: Path) -> bool:
    """Whether a file is of a kind that names pictures and their captions: any table, and what collections publish."""
    return is_table(path) or is_coco(path) or is_counted(path) or is_named_table(path)


def rows_in(path: Path, asked: Asked) -> Iterator[Row | DataError]:
    """The rows of a file of captions, or what is wrong with one."""
    if is_coco(path):
        return coco_rows(path)
    return counted_rows(path) if is_counted(path) else read_rows(path, asked)


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are tables of captions, alone or with the places of their pictures, or pictures beside text files."""
    tables = [source for source in survey.sources if source.kind == "file" and says_captions(source.path)]
    others = [source for source in survey.sources if source not in tables]
    if any(source.kind not in ("folder", "archive") for source in others):
        return NO
    return weakest(map(_judge_file, tables)) if tables else weakest(map(_judge_place, others))


def _judge_file(source: Surveyed) -> Judgement:
    if is_table(source.path):
        return weakest(map(judge_table, source.tables))
    form = "COCO's form" if is_coco(source.path) else "the form of Flickr8k"
    return Judgement("sure", f"captions of pictures in {form}")


def _judge_place(source: Surveyed) -> Judgement:
    if has_stems(source.path):
        return Judgement("sure", "pictures with a text file of the same name each")
    if source.kind == "folder" and tables_in(source.path, LOOK):
        return Judgement("sure", "a folder with a table of pictures and captions")
    return NO


def tables_in(folder: Path, most: int | None = None) -> list[Path]:
    """The tables of captions that stand in a folder, not below it; `most` is how many are opened to tell."""
    named = sorted(path for path in folder.iterdir() if ending(path, (*TABLES, ".json")))
    files = islice((path for path in named if path.is_file()), most)
    return [path for path in files if says_captions(path) and _judge_file(Surveyed(path))]


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
