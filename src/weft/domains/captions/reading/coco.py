"""Captions in the files of public collections: COCO's JSON, and the lines of Flickr8k. Refuses to look for pictures.

{"images": [{"id": 42, "file_name": "42.jpg"}], "annotations": [{"image_id": 42, "caption": "A dog runs."}]}
42.jpg#0<tab>A dog runs.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.domains.captions.reading.about import AboutPicture
from weft.domains.captions.reading.caption_tables import captioned, judge_table
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.gather import tried
from weft.files.json_lines import kind, numbered, read_string
from weft.files.json_values import has_keys, objects_in, read_json
from weft.files.known_roles import CAPTIONED
from weft.files.roles import names_columns
from weft.files.survey import Surveyed
from weft.files.tables import open_table

KEYS = ("images", "file_name", "annotations", "image_id", "caption")
COUNTED_LINE = re.compile(r"[^\t]+\.\w+#\d+\t.+")  # dog.jpg#0, a tab and a caption
LOOK = 100  # lines by which a file is recognised
FORM = 'write {"images": [{"id": 42, "file_name": "42.jpg"}], "annotations": [{"image_id": 42, "caption": "…"}]}'
LINE = "write the picture's name, # and a number, a tab and the caption: dog.jpg#0"


def is_coco(path: Path) -> bool:
    """Whether a file has captions in COCO's form, by the keys that stand in it."""
    return has_keys(path, KEYS)


def is_counted(path: Path) -> bool:
    """Whether nearly all of the first lines of a .txt file are a picture's name with a number, and a caption."""
    if ending(path, (".txt",)) is None:
        return False
    lines = [line for _, line in Surveyed(path).lines[:LOOK] if line.strip()]
    return bool(lines) and sum(COUNTED_LINE.fullmatch(line) is not None for line in lines) * 10 >= 9 * len(lines)


def is_named_table(path: Path) -> bool:
    """Whether a .txt file is a table of captions: its first line names the columns (image,caption), pictures follow."""
    if ending(path, (".txt",)) is None:
        return False
    first = next((line for _, line in Surveyed(path).lines[:1]), "")
    named = any(len(cells) > 1 and names_columns(cells, CAPTIONED) for cells in (first.split(","), first.split("\t")))
    try:
        return named and bool(judge_table(open_table(path, CAPTIONED)))
    except DataError:
        return False


def coco_rows(path: Path) -> Iterator[AboutPicture | DataError]:
    """The captions of a file in COCO's form, in their order, or what is wrong with one."""
    data, names = read_json(path), dict[int | str, str]()

    def image(found: tuple[str, dict[str, Any]]) -> None:
        where, one = f"{shown(path)}, {found[0]}", found[1]
        number, name = key_of(one, "id", where, FORM), read_string(one, "file_name", where=where, fix=FORM)
        if names.setdefault(number, name) != name:
            problem = f"a second picture with the id {number}: {shown(name)}, after {shown(names[number])}"
            raise DataError(problem, where=where, fix="give each picture a different id")

    def caption(found: tuple[str, dict[str, Any]]) -> AboutPicture:
        where, one = f"{shown(path)}, {found[0]}", found[1]
        text, number = read_string(one, "caption", where=where, fix=FORM), key_of(one, "image_id", where, FORM)
        if number not in names:
            fix = 'add it to "images", or delete the caption'
            raise DataError(f"a caption for the image {number}, which is not in the list", where=where, fix=fix)
        return captioned(found[0], names[number], [text], shown(path))

    yield from tried(objects_in(data, "images", path, FORM), image)
    yield from tried(objects_in(data, "annotations", path, FORM), caption)


def counted_rows(path: Path) -> Iterator[AboutPicture | DataError]:
    """The captions of lines as in Flickr8k.token.txt, or what is wrong with one."""

    def read(found: tuple[int, str]) -> AboutPicture:
        at, (name, tab, caption) = f"line {found[0]}", found[1].partition("\t")
        if not tab:
            raise DataError("no tab in it", where=f"{shown(path)}, {at}", fix=LINE)
        return captioned(at, name, [caption], shown(path))

    return tried((one for one in numbered(path) if one[1].strip()), read)


def key_of(data: dict[str, Any], name: str, where: str, fix: str) -> int | str:
    """A field that tells things apart: a whole number or a text; a text of digits is the number it says."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        found = "an empty text" if value == "" else repr(value) if isinstance(value, float) else kind(value)
        found = found if name in data else "nothing"
        raise DataError(f'expected a whole number or a text in "{name}", found {found}', where=where, fix=fix)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19 else value
