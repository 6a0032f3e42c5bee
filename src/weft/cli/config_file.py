"""run.toml: the words of `weft train` in a file.

data = ["book.txt"]
model = "gpt"
minutes = 5

[set]
lr = [1e-3, 3e-3]     # a list is a sweep, as lr=1e-3,3e-3 is
dropout = 0.1
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.config import parse
from weft.errors import ConfigError, nearest
from weft.storage import store

WORDS: dict[str, Any] = {"task": str, "model": str, "preset": str, "out": str, "minutes": float, "steps": int,
                         "epochs": float, "from": str, "valid": str, "seed": int, "precision": str}  # fmt: skip
LARGEST = 2**20  # bytes
RENAMED = {"from": "from_"}  # a word of Python's
SETTINGS = ("seed", "precision")  # words that are settings in Python


def with_file(
    path: Path | None, words: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The words and settings of a training: those of the file, if there is one, replaced by those that were typed."""
    if path is None:
        return dict(words), dict(settings)
    where = store.shown(path)
    try:
        given = tomllib.loads(store.read_file(path, limit=LARGEST).decode("utf-8"))
        return _read(given, where, words, settings)
    except RecursionError:
        raise ConfigError("lists or tables inside one another without end", where=where) from None
    except ValueError as error:  # of TOML, of UTF-8, and of numbers with thousands of digits
        raise ConfigError(f"not a TOML file: {error}", where=where) from None


def _read(
    given: dict[str, Any], where: str, words: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    table = given.pop("set", {})
    if not isinstance(table, dict):
        raise ConfigError(
            "expected a table of settings", where=f"{where}: set", fix="write [set] and the settings below it"
        )
    data = given.pop("data", None)
    read: dict[str, Any] = {} if data is None else {"data": _names(data, f"{where}: data")}
    chosen = _flat(table, f"{where}: set")
    for name, value in given.items():
        if name not in WORDS:
            fix = f"{nearest(name, [*WORDS, 'data', 'set'])}; settings stand below [set]"
            raise ConfigError(f"there is no option {name!r}", where=where, fix=fix)
        parsed = parse(_text(value, f"{where}: {name}"), WORDS[name], where=f"{where}: {name}")
        (chosen if name in SETTINGS else read)[RENAMED.get(name, name)] = parsed
    return {**read, **words}, {**chosen, **settings}


def _names(value: Any, where: str) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError("expected a file, or a list of files", where=where)
    return names


def _flat(table: Mapping[str, Any], where: str, path: str = "") -> dict[str, Any]:
    """Settings by their dotted names: [set.augment] flip = true is augment.flip."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, where, f"{path}{name}.")
        else:
            found[f"{path}{name}"] = _text(value, f"{where}.{path}{name}")
    return found


def _text(value: Any, where: str) -> str:
    """A value as it is typed on the command line."""
    if isinstance(value, list):
        return ",".join(_text(one, where) for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    raise ConfigError(f"expected a text, a number, true or false, found {value!r:.80}", where=where)
