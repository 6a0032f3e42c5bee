"""Users' pictures with captions, every picture tried before it is relied on. Refuses to know tokens.

What has no picture or no caption is named and left out, up to a bound; beyond it the data is refused. Pictures beside a
table that none of its rows names are left out too, and listed, but are no fault: a table may be about a part of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from weft.domains.captions.reading.about import AboutPicture
from weft.domains.captions.reading.caption_tables import CaptionColumns, judge_table, read_rows
from weft.domains.captions.reading.coco import coco_rows, counted_rows, is_coco, is_counted, is_named_table
from weft.domains.captions.reading.kept import kept_readings
from weft.domains.captions.reading.rows import PictureRows
from weft.domains.captions.reading.sources import LOOK, Files, Sources, files_in, judged, sorted_out
from weft.domains.captions.reading.stems import in_place, says
from weft.domains.pictures.reading.album import FoundPictures
from weft.domains.pictures.reading.folders import in_folder
from weft.domains.pictures.reading.lookup import Shelves
from weft.domains.pictures.reading.samples import FIELDS, shards_in, stem_of
from weft.domains.pictures.reading.samples import TEXT as TXT
from weft.domains.pictures.reading.trying import names_of, try_all
from weft.errors import DataError
from weft.files.bad_rows import Skip
from weft.files.finding import ending
from weft.files.gather import Reading
from weft.files.json_values import ENDINGS as JSON
from weft.files.json_values import is_json
from weft.files.pictures.archives import first_names
from weft.files.pictures.formats import named_as_picture
from weft.files.pictures.locations import Gathered
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import is_list, is_table

ENDINGS, TEXT = (*TABLES, *JSON), (".txt",)
FEW = 20  # .txt files of a folder that may be tables
FORMS = "name a table with pictures and captions, and the folder or archive of the pictures where it is elsewhere"


def read_captions(
    sources: Sequence[str | Path],
    *,
    further: Sequence[str | Path] = (),
    picture: str | None = None,
    caption: str | None = None,
    skip: Skip = None,
    progress: Callable[[int, int], None] | None = None,
) -> FoundPictures:
    """Find pictures and their captions, and decode every picture once.

    `sources` are tables, with the folders and archives of their pictures, or folders and archives whose pictures have
    text files beside them. What a table names and does not have beside it is looked for where `further` data has its
    pictures. `picture` and `caption` name columns of tables.
    """
    tables, places, skipped = _sorted_out(sources)
    if tables:
        others, more, _ = _sorted_out(further) if further and not places else Sources([], [], [])
        shelves = Shelves(places, more, [table.parent for table in others])
        read = PictureRows(shelves)
        asked = CaptionColumns(picture, caption)
        for reading in kept_readings("captions", tables, asked, lambda: (rows_in(table, asked) for table in tables)):
            read.add(reading)
        found = read.gathered(skip, names_of(sources))
        found.skipped.extend(skipped)
    else:
        found = Gathered([])
        for place in places:
            one = in_place(place)
            found.entries.extend(one.entries)
            found.skipped.extend(one.skipped)
            found.bad.extend(one.bad)
    return try_all(found, labels=False, where=names_of(sources), skip=skip, progress=progress)


def _sorted_out(sources: Sequence[str | Path]) -> Sources:
    return sorted_out(sources, (*ENDINGS, *TEXT), _tables_without_stems, fix=FORMS)


def _tables_without_stems(folder: Path) -> Files:
    """The tables of captions in a folder, unless its captions are in text files named like the pictures."""
    return Files([], []) if has_stems(folder) else _tables_in(folder)


def rows_in(path: Path, asked: CaptionColumns) -> Reading[AboutPicture]:
    """The rows of a file of captions, or what is wrong with one."""
    if is_json(path) and not is_list(path):
        return Reading((path,), coco_rows(path))
    return Reading((path,), counted_rows(path)) if is_counted(path) else read_rows(path, asked)


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are tables of captions, alone or with the places of pictures, or pictures beside text files."""
    return judged(survey, _judge_file, _judge_place)


def _judge_file(source: Surveyed) -> Judgement:
    if is_table(source.path):
        return weakest(map(judge_table, source.tables))
    if is_coco(source.path):
        return Judgement("sure", "captions of pictures in COCO's form")
    if is_counted(source.path) or is_named_table(source.path):
        return Judgement("sure", "captions of pictures in the form of Flickr8k")
    return NO


def _judge_place(source: Surveyed) -> Judgement:
    if has_stems(source.path):
        return Judgement("sure", "pictures with a text file of the same name each")
    if source.kind == "folder" and _tables_in(source.path, LOOK).taken:
        return Judgement("sure", "a folder with a table of pictures and captions")
    return NO


def _tables_in(folder: Path, most: int | None = None) -> Files:
    """The tables of captions that stand in a folder; where it has many .txt files, they are texts and no tables."""
    texts = sum(ending(path, TEXT) is not None for path in folder.iterdir())
    endings = ENDINGS if texts > FEW else (*ENDINGS, *TEXT)
    return files_in(folder, endings, lambda path: bool(_judge_file(Surveyed(path))), most)


def has_stems(source: Path) -> bool:
    """Whether at least half of the first pictures have a text file of the same name, or fields with captions."""
    try:
        shards = shards_in(source) if source.is_dir() else [source]
        if shards:
            names = first_names(shards[0], LOOK)
        else:
            found = in_folder(source, most=LOOK)
            names = ["/".join(file.parts) for file in (*found.pictures, *found.others)]
    except (DataError, OSError):
        return False
    pictures = [stem_of((name,)) for name in names if named_as_picture(name)]
    for kind in (TXT, FIELDS):
        texts = {stem_of((name,)) for name in names if name.lower().endswith(kind)}
        if 0 < len(pictures) <= 2 * sum(stem in texts for stem in pictures):
            return kind == TXT or says(source)
    return False
