"""Tables that name pictures and say something about each. Knows columns and fields; refuses to look for the pictures.

A column is known by its name or, without a header, by its cells: those that are names of pictures are one column, and
all others hold captions. A row may hold several captions, and several rows may be about one picture.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from weft.domains.captions.reading.about import AboutPicture, named_picture, text_fault, tidy
from weft.domains.captions.reading.question_tables import judge_table as judge_questions
from weft.errors import DataError
from weft.files.columns import listed, plain
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.gather import Reading
from weft.files.json_lines import read_string
from weft.files.known_roles import CAPTION, CAPTION_NAME, CAPTIONED, CLASS_NAMES, PICTURE
from weft.files.roles import asked_column
from weft.files.survey import NO, Judgement
from weft.files.tables import Row, Table, open_table

WORDS = 3  # of a typical caption, at least, where no name says that it is one
SAY = "say which columns they are, by name or number: --set picture_column=… --set caption_column=…"
Texts = tuple[str, Sequence[str]]  # the name of a picture, and its captions
OBJECT = 'write {"file": "…", "caption": "…"} on every line; several captions are a list'


class CaptionColumns(NamedTuple):
    """The columns asked for by name or number."""

    picture: str | None = None
    caption: str | None = None


def judge_table(table: Table) -> Judgement:
    """Whether a table names pictures and says something about them, and not which class they are of."""
    picture = next(iter(PICTURE.by_content(table.columns)), None)
    if picture is None:
        return NO
    lists = [] if table.separator is not None else CAPTION.by_name(table.names)  # which may hold several captions
    others = [c for c in table.columns if c.place != picture and (c.values or c.place in lists)]
    names = {plain(column.name or "") for column in others}
    if not others or names & set(CLASS_NAMES) or judge_questions(table):
        return NO
    if any(CAPTION_NAME.fullmatch(name) for name in names):
        return Judgement("sure", "a table of pictures and captions, by the names of its columns")
    if table.separator is not None and all(column.words >= WORDS for column in others):
        return Judgement("sure", "a table of pictures and sentences about them")
    longest = max(others, key=lambda column: column.words)
    ask = f"--set picture_column={table.columns[picture].called} --set caption_column={longest.called}"
    return Judgement("possible", "a table of pictures", ask)


def read_rows(path: Path, asked: CaptionColumns) -> Reading[AboutPicture]:
    """The rows of a .tsv, .csv or .jsonl file, or what is wrong with one."""
    table = open_table(path, CAPTIONED, asked, objects=OBJECT)
    picture, captions = _chosen(table, asked) if table.columns else (0, ())
    most = len(table.columns) if table.header or ending(path, (".csv",)) else None

    def read(item: Row) -> AboutPicture:
        texts = _fields(table, item, picture, captions) if table.separator is None else cells(item)
        return captioned(f"line {item.line}", *texts, shown(path))

    def cells(item: Row) -> Texts:
        """The picture and the captions of a row, which may have fewer columns than others; None: all others."""
        found, where = list(item.cells), table.where(item.line)
        if most is not None and len(found) > most:
            problem = f"{len(found)} columns, expected {most} as in the first line"
            fix = "put quotes around a caption that has a separator in it (.csv), or use tabs (.tsv)"
            raise DataError(problem, where=where, fix=fix)
        if len(found) <= picture:
            raise DataError(f"{len(found)} columns, the picture is number {picture + 1}", where=where)
        places = [place for place in range(len(found)) if place != picture] if captions is None else captions
        return found[picture], [found[place] for place in places if place < len(found)]

    only = {"caption_column": captions[0]} if captions and len(captions) == 1 else {}
    columns = {"picture_column": picture, **only}
    taken = {name: table.title(place) for name, place in columns.items() if table.columns}
    return Reading((path,), table.each(read, even=False), taken=taken)


def _fields(table: Table, item: Row, picture: int, captions: Sequence[int] | None) -> Texts:
    """The same of a line of JSON."""
    where = table.where(item.line)
    texts = [
        text for place in captions or () for text in _texts(table.value(item, place), table.names[place] or "", where)
    ]
    return table.text(item, picture), texts


def _texts(found: Any, key: str, where: str) -> list[str]:
    """The captions in a field: one, several in a list, or none."""
    many = [] if found is None else found if isinstance(found, list) else [found]
    return [read_string({key: one}, key, where=where, fix=OBJECT) for one in many]


def captioned(at: str, picture: str, captions: Sequence[str], name: str) -> AboutPicture:
    """A row of a file without white space around its texts, if there are any and none is too long."""
    where = f"{name}, {at}"
    picture = named_picture(picture, where)
    tidied = tidy(captions)
    if (fault := text_fault(tidied, "caption")) is not None:
        raise DataError(fault, where=f"{where}: {shown(picture)}", fix="correct or delete the row")
    return AboutPicture(at, picture, tidied)


def _chosen(table: Table, asked: CaptionColumns) -> tuple[int, tuple[int, ...] | None]:
    """Which column names the picture and which hold its captions: asked for, else by name, else by content.

    Without names, all other columns hold captions (None), unless there are numbers among them.
    """
    columns, where = table.columns, table.where(table.line)
    picture, caption = table.wanted(asked)
    if picture is not None:
        place: int | None = asked_column(columns, picture, where)
    else:
        place = next(iter((*PICTURE.by_name(table.names), *PICTURE.by_content(columns))), None)
    if place is None:
        raise DataError(f"no column names pictures; its columns:{listed(columns)}", where=where, fix=SAY)
    if caption is not None:
        return place, (asked_column(columns, caption, where),)
    if not any(table.names):
        numbers = [c.place for c in columns if c.values and len(c.numbers) == len(c.values)]
        return place, tuple(c.place for c in columns if c.place not in (place, *numbers)) if numbers else None
    texts = tuple(other for other in CAPTION.by_name(table.names) if other != place)
    if not texts and len(columns) != 2:
        problem = f"which column holds the captions is not clear; its columns:{listed(columns)}"
        raise DataError(problem, where=where, fix=SAY)
    return place, texts or (1 - place,)
