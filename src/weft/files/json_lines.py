"""Numbered lines, and lines of strict JSON. Knows objects and strings; refuses to know what the fields are for."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.files.decoding import read_text, shown
from weft.files.gather import tried

MAX_LINE = 64 * 2**20  # characters of one line, which is held in memory


def numbered(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1. A newline at the very end begins no line."""
    number, tail, size = 1, list[str](), 0  # a line that goes on, in pieces
    for piece in read_text(path, encoding):
        *lines, rest = piece.split("\n")
        for line in lines:
            yield number, "".join((*tail, line))
            number, tail, size = number + 1, [], 0
        tail.append(rest)
        size += len(rest)
        if size > MAX_LINE:
            problem, fix = f"longer than {MAX_LINE >> 20} MiB", "put a document of this size into a separate .txt file"
            raise DataError(problem, where=f"{shown(path)}, line {number}", fix=fix)
    if size:
        yield number, "".join(tail)


def objects_on(
    lines: Iterable[tuple[int, str]], path: Path, fix: str
) -> Iterator[tuple[int, dict[str, Any]] | DataError]:
    """The object on each line that is not blank, with the line's number, or what is wrong with it."""
    filled = ((number, line) for number, line in lines if line.strip())
    return tried(filled, lambda one: (one[0], read_object(one[1], where=f"{shown(path)}, line {one[0]}", fix=fix)))


def parsed(text: str, *, where: str, fix: str, numbered_lines: bool = False) -> Any:
    """The value that a text of JSON is: no repeated keys, no NaN."""
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    except RecursionError:
        raise DataError("nested too deeply", where=where, fix=fix) from None
    except json.JSONDecodeError as error:
        there = f"{where}, line {error.lineno}" if numbered_lines else where
        raise DataError(f"not valid JSON at column {error.colno}: {error.msg}", where=there, fix=fix) from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", where=where, fix=fix) from None


def read_object(line: str, *, where: str, fix: str) -> dict[str, Any]:
    """The object on a line of JSON: no repeated keys, no NaN."""
    data = parsed(line, where=where, fix=fix)
    if not isinstance(data, dict):
        raise DataError(f"expected an object, found {kind(data)}", where=where, fix=fix)
    return data


def read_string(data: dict[str, Any], name: str, *, where: str, fix: str) -> str:
    """A field of an object that must hold text; its newlines become LF, as they do in files."""
    if name not in data:
        keys = ", ".join(map(repr, list(data)[:8])) or "none"
        raise DataError(f'no field "{name}"; its fields: {keys}', where=where, fix=fix)
    text = data[name]
    if not isinstance(text, str):
        raise DataError(f'the field "{name}" is {kind(text)}, expected a string', where=where, fix=fix)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"\\u{ord(text[error.start]):04x} is half of a surrogate pair, not a character"
        raise DataError(problem, where=where, fix="write the whole pair, or leave it out") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys must differ."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} stands twice")
        result[key] = value
    return result


def refuse_constant(name: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{name} is not a number in JSON")
