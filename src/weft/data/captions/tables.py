"""Tables that name pictures and say something about each. Knows columns and fields; refuses to look for the pictures.

A column is known by its name or, without a header, by its cells: those that are names of pictures are one column, and
all others hold captions. A row may hold several captions, and several rows may be about one picture.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from weft.data.decoding import shown
from weft.data.files import ending
from weft.data.images.places import named_as_picture
from weft.data.images.tables import PATH
from weft.data.jsonl import read_string
from weft.data.labelled.columns import Column, asked_column, columns_of, has_column, plain
from weft.data.labelled.formats import TABLES, as_cell, read_objects
from weft.data.pairs.tables import read_csv, read_tsv, separator_of
from weft.errors import DataError

PICTURE = (*PATH, "image_name", "image_file", "img", "photo")
CAPTION = re.compile(r"(?:caption|text|sentence|title|description|comment)s?_?\d*")
COUNTED = re.compile(r"(.+\.\w+)#\d+")  # a picture's name with the number of the caption behind it
LONGEST = 10_000  # characters of a caption
LOOK = 200  # rows looked at to find the columns
SAY = "say which columns they are, by name or number: --set picture_column=… --set caption_column=…"
HEADER = "give it a header line with the names file and caption; in .jsonl, name the fields so"
OBJECT = 'write {"file": "…", "caption": "…"} on every line; several captions are a list'


class Row(NamedTuple):
    """A picture by its name, with what is said of it, and the line that this stands on."""

    line: int
    picture: str
    captions: tuple[str, ...]


class Columns(NamedTuple):
    """The places of the picture and of its captions, and how many columns a row may have; None: any number."""

    picture: int
    captions: tuple[int, ...] | None  # None: all others
    most: int | None


class Asked(NamedTuple):
    """The columns asked for by name or number; where they were asked for of other data, they are not `firm`."""

    picture: str | None = None
    caption: str | None = None
    firm: bool = True

    def among(self, columns: Sequence[Column]) -> "Asked":
        """Those that count: what is not firm counts where a column bears the name."""
        if self.firm:
            return self
        picture, caption = (name if has_column(columns, name) else None for name in (self.picture, self.caption))
        return Asked(picture, caption, False)

    @property
    def fix(self) -> str:
        """What to do where columns are not clear."""
        return SAY if self.firm else HEADER


def read_rows(path: Path, asked: Asked) -> Iterator[Row | DataError]:
    """The rows of a .tsv, .csv or .jsonl file, or what is wrong with one."""
    read = _objects if ending(path, TABLES) == ".jsonl" else _cells
    for row in read(path, asked):
        yield row if isinstance(row, DataError) else _checked(row, shown(path))


def _checked(row: Row, name: str) -> Row | DataError:
    """The row without white space around its texts, if there are any and none is too long."""
    where = f"{name}, line {row.line}"
    picture = COUNTED.sub(r"\1", row.picture.strip())
    captions = tuple(filter(None, (" ".join(text.split()) for text in row.captions)))
    if not picture or "\0" in picture:
        problem = "the picture's name has a NUL in it" if picture else "no picture is named"
        return DataError(problem, where=where, fix="name one, or delete the row")
    if (fault := caption_fault(captions)) is not None:
        return DataError(fault, where=f"{where}: {shown(picture)}", fix="mend or delete the row")
    return Row(row.line, picture, captions)


def caption_fault(captions: Sequence[str]) -> str | None:
    """What is wrong with a picture's captions, if anything."""
    if not captions:
        return "no caption"
    longest = max(map(len, captions))
    return f"a caption of {longest:,} characters, more than {LONGEST:,}" if longest > LONGEST else None


def names_captions(cells: Sequence[str]) -> bool:
    """Whether a row names the columns of captions."""
    found = [plain(cell) for cell in cells]
    return any(name in PICTURE for name in found) and any(CAPTION.fullmatch(name) for name in found)


def sampled(path: Path) -> tuple[list[tuple[int, list[str]]], Iterator[tuple[int, list[str]]]]:
    """The first rows of a .tsv or .csv file, and the rest; none is blank."""
    rows = read_tsv(path) if ending(path, TABLES) == ".tsv" else read_csv(path, separator_of(path, names_captions))
    real = ((line, cells) for line, cells in rows if any(map(str.strip, cells)))
    return list(islice(real, LOOK)), real


def is_header(first: Sequence[str], asked: Sequence[str | None] = ()) -> bool:
    """Whether a first row names columns: it names no picture, and a column by a known name or by one asked for."""
    found = {plain(cell) for cell in first}
    wanted = {plain(name) for name in asked if name is not None and not name.isdecimal()}
    named = any(_is_picture(cell) for cell in first)
    return not named and bool(found & set(PICTURE) or (wanted and wanted <= found))


def picture_column(columns: Sequence[Column]) -> int | None:
    """The first column most of whose cells are names of pictures."""
    likely = (c.place for c in columns if c.values and 2 * sum(map(_is_picture, c.values)) > len(c.values))
    return next(likely, None)


def _is_picture(cell: str) -> bool:
    return named_as_picture(COUNTED.sub(r"\1", cell.strip()))


def _cells(path: Path, asked: Asked) -> Iterator[Row | DataError]:
    sample, rest = sampled(path)
    if not sample:
        return
    (line, first), size = sample[0], len(sample[0][1])
    header = is_header(first, (asked.picture, asked.caption))
    fitting = [cells for _, cells in sample[header:] if len(cells) == size]
    columns = columns_of(first if header else [None] * size, fitting)
    chosen = _chosen(columns, asked, where=f"{shown(path)}, line {line}")
    if header or ending(path, TABLES) == ".csv":
        chosen = chosen._replace(most=size)
    for line, cells in chain(sample[header:], rest):
        yield _row(line, cells, chosen, f"{shown(path)}, line {line}")


def _row(line: int, cells: list[str], columns: Columns, where: str) -> Row | DataError:
    if columns.most is not None and len(cells) > columns.most:
        problem = f"{len(cells)} columns, expected {columns.most} as in the first line"
        fix = "put quotes around a caption that has a separator in it (.csv), or use tabs (.tsv)"
        return DataError(problem, where=where, fix=fix)
    if len(cells) <= columns.picture:
        return DataError(f"{len(cells)} columns, the picture is number {columns.picture + 1}", where=where)
    places = columns.captions or [place for place in range(len(cells)) if place != columns.picture]
    return Row(line, cells[columns.picture], tuple(cells[place] for place in places if place < len(cells)))


def _chosen(columns: Sequence[Column], asked: Asked, *, where: str) -> Columns:
    """Which column names the picture and which hold its captions: asked for, else by name, else by content."""
    picture, caption, _ = asked.among(columns)
    named = [column for column in columns if column.name is not None]
    place = None if picture is None else asked_column(columns, picture, where)
    if place is None:
        names = {plain(column.name or ""): column.place for column in reversed(named)}
        place = next((names[name] for name in PICTURE if name in names), picture_column(columns))
    listed = "".join(f"\n     {column}" for column in columns)
    if place is None:
        raise DataError(f"no column names pictures; its columns:{listed}", where=where, fix=asked.fix)
    if caption is not None:
        return Columns(place, (asked_column(columns, caption, where),), None)
    if not named:
        numbers = [c.place for c in columns if c.values and len(c.numbers) == len(c.values)]
        texts = tuple(c.place for c in columns if c.place not in (place, *numbers))
        return Columns(place, texts if numbers else None, None)
    texts = tuple(c.place for c in named if CAPTION.fullmatch(plain(c.name or "")) and c.place != place)
    if not texts and len(columns) == 2:
        texts = (1 - place,)
    if not texts:
        problem = f"which column holds the captions is not clear; its columns:{listed}"
        raise DataError(problem, where=where, fix=asked.fix)
    return Columns(place, texts, None)


def _objects(path: Path, asked: Asked) -> Iterator[Row | DataError]:
    items = read_objects(path, OBJECT)
    sample = list(islice(items, LOOK))
    good = [item[1] for item in sample if not isinstance(item, DataError)]
    keys = list(dict.fromkeys(key for data in good for key in data))
    columns = columns_of(keys, [[_as_cell(data.get(key)) for key in keys] for data in good])
    chosen = _chosen(columns, asked, where=shown(path)) if good else Columns(0, None, None)
    for item in chain(sample, items):
        if isinstance(item, DataError):
            yield item
            continue
        line, data = item
        where = f"{shown(path)}, line {line}"
        try:
            texts = [text for place in chosen.captions or () for text in _texts(data, keys[place], where)]
            yield Row(line, read_string(data, keys[chosen.picture], where=where, fix=OBJECT), tuple(texts))
        except DataError as error:
            yield error


def _as_cell(value: Any) -> str:
    return as_cell(value[0]) if isinstance(value, list) and value else as_cell(value)


def _texts(data: dict[str, Any], key: str, where: str) -> list[str]:
    """The captions in a field: one, several in a list, or none."""
    found = data.get(key)
    many = [] if found is None else found if isinstance(found, list) else [found]
    return [read_string({key: one}, key, where=where, fix=OBJECT) for one in many]
