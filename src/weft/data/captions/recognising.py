"""Whether sources hold pictures with captions, at a quick look. Careful: pictures with classes are another task's data."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

from weft.data.captions.stems import is_text, stem_of
from weft.data.captions.tables import CAPTION, is_header, names_captions, picture_column, sampled
from weft.data.files import ending
from weft.data.images.archives import first_names, is_archive
from weft.data.images.folders import in_folder
from weft.data.images.places import named_as_picture
from weft.data.images.tables import LABEL
from weft.data.labelled.columns import columns_of, plain
from weft.data.labelled.formats import TABLES, as_cell, read_objects
from weft.errors import DataError

LOOK = 400  # files looked at, or rows of one
WORDS = 3  # of a typical caption, at least, where no name says that it is one


def looks_captioned(sources: Sequence[Path]) -> bool:
    """Whether these are tables of captions, alone or with the places of their pictures, or pictures beside text files."""
    tables = [path for path in sources if path.is_file() and ending(path, TABLES) is not None]
    others = [path for path in sources if path not in tables]
    if not all(path.is_dir() or (path.is_file() and is_archive(path)) for path in others):
        return False
    if tables:
        return all(map(is_caption_table, tables))
    return bool(others) and all(has_stems(place) or (place.is_dir() and tables_in(place, LOOK)) for place in others)


def tables_in(folder: Path, most: int | None = None) -> list[Path]:
    """The tables of captions that stand in a folder, not below it; at most so many files are opened to tell."""
    named = sorted(path for path in folder.iterdir() if ending(path, TABLES) is not None)
    files = islice((path for path in named if path.is_file()), most)
    return [path for path in files if is_caption_table(path)]


def is_caption_table(path: Path) -> bool:
    """Whether a table names pictures and says something about them, and not which class they are of."""
    try:
        if ending(path, TABLES) == ".jsonl":
            objects = [item[1] for item in islice(read_objects(path), LOOK) if not isinstance(item, DataError)]
            return bool(objects) and names_captions(list(objects[0])) and _pictured(objects[0].values())
        rows = [cells for _, cells in sampled(path)[0]]
    except (DataError, OSError):
        return False
    if not rows:
        return False
    header = is_header(rows[0])
    fitting = [cells for cells in rows[header:] if len(cells) == len(rows[0])]
    columns = columns_of(rows[0] if header else [None] * len(rows[0]), fitting)
    picture = picture_column(columns)
    others = [column for column in columns if column.place != picture and column.values]
    names = {plain(column.name or "") for column in others}
    if picture is None or not others or names & set(LABEL):
        return False
    named = any(CAPTION.fullmatch(name) for name in names)
    return named or all(median(len(text.split()) for text in column.values) >= WORDS for column in others)


def _pictured(values: Iterable[object]) -> bool:
    return any(named_as_picture(as_cell(value)) for value in values)


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
