"""Files that are one value of strict JSON, as annotations of pictures often are. Refuses to know what they say."""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.data.decoding import read_text, shown
from weft.data.files import ending
from weft.data.jsonl import kind, refuse_constant, unique_keys
from weft.data.tables import LOOK, Item, Row, Table, columns_of_objects
from weft.errors import DataError

ENDINGS = (".json",)
LARGEST = 2**30  # characters of a file, which is held in memory
ENDS = 2**16  # characters at either end by which a file is recognised


def is_json(path: str | Path) -> bool:
    """Whether a file is JSON as a whole, by its name."""
    return ending(path, ENDINGS) is not None


@lru_cache(maxsize=64)
def _ends(path: Path, changed: float) -> str:
    first, last = "", ""
    for piece in read_text(path):
        first = first or piece[:ENDS]
        last = (last + piece)[-ENDS:]
    return first + last


def ends_of(path: Path) -> str:
    """The beginning and the end of a file, by which it is recognised; nothing where it cannot be read."""
    try:
        return _ends(path, path.stat().st_mtime)
    except (DataError, OSError):
        return ""


def has_keys(path: Path, keys: Sequence[str]) -> bool:
    """Whether all of these keys stand at the beginning or the end of a file."""
    return is_json(path) and all(f'"{key}"' in ends_of(path) for key in keys)


def read_json(path: Path) -> Any:
    """The value in a file: no repeated keys, no NaN."""
    pieces, size = [], 0
    for piece in read_text(path):
        size += len(piece)
        if size > LARGEST:
            raise DataError(f"more than {LARGEST:,} characters", where=shown(path), fix="part it into several files")
        pieces.append(piece)
    fix = "copy or download it again, or mend it at this place"
    try:
        return json.loads("".join(pieces), object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    except RecursionError:
        raise DataError("nested too deeply", where=shown(path), fix=fix) from None
    except json.JSONDecodeError as error:
        where = f"{shown(path)}, line {error.lineno}"
        raise DataError(f"not valid JSON at column {error.colno}: {error.msg}", where=where, fix=fix) from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", where=shown(path), fix=fix) from None


def object_table(path: Path, key: str | None, objects: str) -> Table:
    """A list of objects as a table: the file is the list, or an object that holds it under a key.

    `objects` says what one of them should be.
    """
    data = read_json(path)
    items: list[Item] = []
    for number, (_, one) in enumerate(objects_in({"": data} if key is None else data, key or "", path, objects), 1):
        items.append(Row(number, one) if isinstance(one, dict) else one)
    full = [item.cells for item in items[:LOOK] if isinstance(item, Row) and isinstance(item.cells, dict)]
    columns = tuple(columns_of_objects(full))
    return Table(path, columns, 1, False, None, objects, items=iter(items), unit="object")


def objects_in(data: Any, key: str, path: Path, fix: str) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """The objects in a list that an object holds, each with its place: annotations[7]; or what is wrong with one."""
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, list):
        problem = f'no list "{key}" in it' if isinstance(data, dict) else f"expected an object, found {kind(data)}"
        raise DataError(problem, where=shown(path), fix=fix)
    for number, one in enumerate(found):
        at = f"{key}[{number}]"
        wrong = DataError(f"expected an object, found {kind(one)}", where=f"{shown(path)}, {at}", fix=fix)
        yield at, one if isinstance(one, dict) else wrong
