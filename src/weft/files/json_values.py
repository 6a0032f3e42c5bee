"""Files that are one value of strict JSON, as annotations of pictures often are. Refuses to know what they say."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.files.decoding import read_text, shown
from weft.files.finding import ending
from weft.files.json_lines import kind, parsed, refuse_constant, unique_keys
from weft.files.tables import LOOK, Item, Row, Table, columns_of_objects

ENDINGS = (".json",)
OBJECT_BEGINS = re.compile(r"\s*,?\s*\{")
LARGEST = 2**30  # characters of a file, which is held in memory
START = 2**18  # characters at the beginning of a file by whose objects it is judged


def is_json(path: str | Path) -> bool:
    """Whether a file is JSON as a whole, by its name."""
    return ending(path, ENDINGS) is not None


def has_keys(path: Path, keys: Sequence[str]) -> bool:
    """Whether all of these keys stand in a file, wherever that is; no where it cannot be read."""
    if not is_json(path):
        return False
    try:
        known = _known_keys(path, _version(path))
        if False not in map(known.get, keys):  # no key is known to be missing
            known |= _look_for(path, [key for key in keys if key not in known])
        return all(map(known.get, keys))
    except (DataError, OSError):
        return False


@lru_cache(maxsize=1024)
def _known_keys(path: Path, version: tuple[int, int]) -> dict[str, bool]:
    """Whether keys stand in a file, of those that were looked for: no file is read twice for one key."""
    return {}


def _look_for(path: Path, keys: Sequence[str]) -> dict[str, bool]:
    """Whether each key stands in a file; it is read until all are found."""
    missing, longest = set(keys), max(map(len, keys), default=0) + 2
    seen, tail = 0, ""
    for piece in read_text(path) if missing else ():
        text = tail + piece  # a key may be cut in two by the end of a piece
        if not seen and text.lstrip()[:1] not in ("{", "["):
            break
        missing = {key for key in missing if f'"{key}"' not in text}
        seen, tail = seen + len(piece), text[-longest:]
        if not missing or seen > LARGEST:
            break
    return {key: key not in missing for key in keys}


def begins_objects(path: Path) -> bool:
    """Whether the value in a file is a list whose first element is an object; no where it cannot be read."""
    return re.match(r"\s*\[\s*\{", _start_of(path)) is not None


def begins_a_list(path: Path) -> bool:
    """Whether the value in a file is a list, by its first character; no where it cannot be read."""
    return _start_of(path).lstrip()[:1] == "["


def first_table(path: Path, key: str | None, objects: str) -> Table:
    """The objects at the beginning of a list as a table, as `object_table` has all of them; those that can be read."""
    text, place, found = _start_of(path), 0, list[Item]()
    opening = re.match(r"\s*\[", text) if key is None else re.search(rf'"{re.escape(key)}"\s*:\s*\[', text)
    decoder = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    while opening is not None and len(found) < LOOK and (begin := OBJECT_BEGINS.match(text, place or opening.end())):
        try:
            one, place = decoder.raw_decode(text, begin.end() - 1)
        except (ValueError, RecursionError):
            break  # cut off where the beginning ends, or damaged
        found.append(Row(len(found) + 1, one))
    return _table(path, found, objects)


@lru_cache(maxsize=16)
def _start(path: Path, version: tuple[int, int]) -> str:
    return next(read_text(path), "")[:START]


def _start_of(path: Path) -> str:
    try:
        return _start(path, _version(path))
    except (DataError, OSError):
        return ""


def _version(path: Path) -> tuple[int, int]:
    """What changes when a file is written anew: its time and its size."""
    info = path.stat()
    return info.st_mtime_ns, info.st_size


def read_json(path: Path) -> Any:
    """The value in a file: no repeated keys, no NaN."""
    pieces, size = [], 0
    for piece in read_text(path):
        size += len(piece)
        if size > LARGEST:
            raise DataError(f"more than {LARGEST:,} characters", where=shown(path), fix="split it into several files")
        pieces.append(piece)
    fix = "copy or download it again, or correct it at this place"
    return parsed("".join(pieces), where=shown(path), fix=fix, numbered_lines=True)


def object_table(path: Path, key: str | None, objects: str) -> Table:
    """A list of objects as a table: the file is the list, or an object that holds it under a key.

    `objects` says what one of them should be.
    """
    data = read_json(path)
    items: list[Item] = []
    for number, one in enumerate(objects_in({"": data} if key is None else data, key or "", path, objects), 1):
        items.append(one if isinstance(one, DataError) else Row(number, one[1]))
    return _table(path, items, objects)


def _table(path: Path, items: list[Item], objects: str) -> Table:
    full = [item.cells for item in items[:LOOK] if isinstance(item, Row) and isinstance(item.cells, dict)]
    columns = tuple(columns_of_objects(full))
    return Table(path, columns, 1, False, None, objects, items=iter(items), unit="object")


def objects_in(data: Any, key: str, path: Path, fix: str) -> Iterator[tuple[str, dict[str, Any]] | DataError]:
    """The objects in a list that an object holds, each with its place (annotations[7]); or what is wrong with one."""
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, list):
        problem = f'no list "{key}" in it' if isinstance(data, dict) else f"expected an object, found {kind(data)}"
        raise DataError(problem, where=shown(path), fix=fix)
    for number, one in enumerate(found):
        at = f"{key}[{number}]"
        wrong = DataError(f"expected an object, found {kind(one)}", where=f"{shown(path)}, {at}", fix=fix)
        yield (at, one) if isinstance(one, dict) else wrong
