"""Every name that a config.json may hold and every setting that a user may give, as plain JSON.

`python -m helpers.part_table` adds what is new to tests/fixtures/parts.json. It refuses where something that stands in
the file is gone or has changed: runs that are on people's disks were written with it.
"""

import dataclasses
import importlib
import json
import pkgutil
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import weft
from weft.config import RENAMED, Config, _parts, _to_json, field_types, part_name
from weft.domains.registry import CARDS

TABLE = Path(__file__).parents[1] / "fixtures" / "parts.json"
USES = ("Predict", "Look", "Evaluate", "Export")  # settings of a task that need no registered name


def import_everything() -> None:
    """Import all modules of weft, so that all its parts are registered."""
    for found in pkgutil.walk_packages(weft.__path__, "weft."):
        if not found.name.endswith(("__main__", "._kernels")):  # a program, and a library that is no module
            importlib.import_module(found.name)


def type_in_words(kind: Any) -> str:
    """A type as a reader would write it; a config goes by its registered name, and no module is named."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(map(type_in_words, args))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(type_in_words, args))}]"
    if kind is Ellipsis or kind is Any or kind is type(None):
        return {Ellipsis: "...", Any: "Any"}.get(kind, "None")
    return part_name(kind) if issubclass(kind, Config) else kind.__name__


def fields_of(config: type[Config]) -> dict[str, dict[str, Any]]:
    """The fields of a config in order, each with its type and, where it has one, its default."""
    found: dict[str, dict[str, Any]] = {}
    defaults = {field.name: field for field in dataclasses.fields(config)}
    for name, kind in field_types(config).items():
        field = defaults[name]
        found[name] = {"type": type_in_words(kind)}
        if field.default is not dataclasses.MISSING:
            found[name]["default"] = _to_json(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[name]["default"] = _to_json(field.default_factory())
    return found


def kinds_of(config: type[Config], names: Mapping[type[Config], str]) -> list[str]:
    """The registered names of the configs this one is a kind of, the nearest first: it may stand in their slots."""
    return [names[base] for base in config.__mro__[1:] if base in names]


def part_table() -> dict[str, Any]:
    """All registered parts by name, the settings of the uses of each task, and what each card lists, in order."""
    import_everything()
    own = {name: config for name, config in sorted(_parts.items()) if config.__module__.partition(".")[0] == "weft"}
    names = {config: name for name, config in own.items()}
    uses: dict[str, dict[str, Any]] = {}
    for card in CARDS.values():
        settings = {use: getattr(card.task, use) for use in USES}
        uses[card.name] = {use: None if config is None else fields_of(config) for use, config in settings.items()}
    return {
        "parts": {
            name: {"kinds": kinds_of(config, names), "builds": config.part is not None, "fields": fields_of(config)}
            for name, config in own.items()
        },
        "renamed": dict(RENAMED),
        "uses": uses,
        "tasks": [
            {
                "name": card.name,
                "training": part_name(card.training),
                "models": list(card.models),
                "presets": list(card.presets),
            }
            for card in CARDS.values()
        ],
    }


def lost_or_changed(known: Any, found: Any, where: str = "") -> list[str]:
    """What of the known table is not in what was found, in words. New keys are no loss; a list is a whole."""
    if isinstance(known, dict) and isinstance(found, dict):
        lost = [f"{where}{key} is gone" for key in known if key not in found]
        there = [key for key in known if key in found]
        return lost + [line for key in there for line in lost_or_changed(known[key], found[key], f"{where}{key} ")]
    same = json.dumps(known) == json.dumps(found)  # 1 and 1.0 and true are three things in a config.json
    return [] if same else [f"{where}was {json.dumps(known)} and is {json.dumps(found)}"]


def kept(known: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What was lost or changed of a table, in words. A name keeps its very fields, in order; whole names may be new."""
    lines = lost_or_changed(_by_name(known), _by_name(found))
    for name, fields in _fields(known).items():
        now = _fields(found).get(name, fields)
        if list(now) != list(fields):
            lines.append(f"{name} had the fields {list(fields)} and has {list(now)}")
    order, now = ([task["name"] for task in table["tasks"]] for table in (known, found))
    if [name for name in now if name in order] != order:
        lines.append(f"the order of tasks was {order} and is {now}")
    return lines


def _by_name(table: dict[str, Any]) -> dict[str, Any]:
    """The table without the order of tasks; the kinds of a part are a set, to which a new one may be added."""
    parts = {name: {**part, "kinds": dict.fromkeys(part["kinds"], True)} for name, part in table["parts"].items()}
    return {**table, "parts": parts, "tasks": {task["name"]: task for task in table["tasks"]}}


def _fields(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of each part and of each use of a task."""
    uses = {f"{task} {use}": fields or {} for task, found in table["uses"].items() for use, fields in found.items()}
    return {**{name: part["fields"] for name, part in table["parts"].items()}, **uses}


def as_lines(table: dict[str, Any]) -> str:
    """The table as JSON with a line for each name, so that a new one is a line of a diff."""
    groups = []
    for title, group in table.items():
        items = group.items() if isinstance(group, dict) else [(None, entry) for entry in group]
        rows = [(f"{json.dumps(name)}: " if name else "") + json.dumps(entry) for name, entry in items]
        ends = "{}" if isinstance(group, dict) else "[]"
        groups.append(f"{json.dumps(title)}: {ends[0]}\n" + ",\n".join(rows) + f"\n{ends[1]}")
    return "{\n" + ",\n".join(groups) + "\n}\n"


if __name__ == "__main__":
    table = part_table()
    problems = kept(json.loads(TABLE.read_text()), table) if TABLE.exists() else []
    if problems:
        sys.exit("\n".join(problems))
    TABLE.write_text(as_lines(table))
