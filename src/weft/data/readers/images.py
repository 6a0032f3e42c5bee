"""Pictures, with or without classes: whether sources hold them, and reading them. `data.images` does the work."""

from pathlib import Path

from weft.data.images.arrays import holds_pictures, is_arrays
from weft.data.images.folders import in_folder
from weft.data.images.formats import named_as_picture
from weft.data.images.places import NO_PICTURE, has_picture, leftover
from weft.data.images.reading import find_pictures, read_images
from weft.data.images.tables import is_picture_table
from weft.data.known_roles import PICTURE
from weft.data.readers import captions, questions
from weft.data.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.data.tables import Table
from weft.errors import DataError

LOOK = 200  # files looked at to recognise a folder or an archive

__all__ = ["find_pictures", "judge", "read_images"]


def judge(survey: Survey) -> Judgement:
    """Whether these are pictures: files, mostly pictures in folders and archives, arrays of them, or tables of paths."""
    found = survey.weakest(_judge_source)
    return NO if found and (captions.judge(survey) or questions.judge(survey)) else found


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind == "folder":
        try:
            found = in_folder(source.path, most=LOOK)
        except DataError:
            return NO
        others = sum(reason == NO_PICTURE for _, reason in found.skipped)
        return _sure("a folder of pictures", len(found.pictures) > others)
    if source.kind == "archive":
        names = [name for name in source.names[:LOOK] if not any(map(leftover, Path(name).parts))]
        return _sure("an archive of pictures", sum(map(named_as_picture, names)) * 2 > len(names))
    if source.kind == "pattern":
        return _sure("pictures, by their endings", sum(map(named_as_picture, source.names)) * 2 > len(source.names))
    if source.kind != "file":
        return NO
    if source.tables:
        return weakest(map(_judge_table, source.tables))
    if is_arrays(source.path):
        return _sure("arrays that have the shape of pictures", holds_pictures(source.path))
    return _sure("a picture", not is_picture_table(source.path) and has_picture(source.path))


def _judge_table(table: Table) -> Judgement:
    """Whether a column that is named after pictures holds their names."""
    pictures = set(PICTURE.by_content(table.columns))
    if table.header and pictures & set(PICTURE.by_name(table.names)) and is_picture_table(table.path):
        return Judgement("sure", "a table of pictures, by the names of its columns")
    why = "names of pictures: with a header line that names the columns, as in path,label, their classes can be learned"
    return Judgement("possible", why) if pictures else NO


def _sure(why: str, is_so: bool) -> Judgement:
    return Judgement("sure", why) if is_so else NO
