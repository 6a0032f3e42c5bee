"""Files of JSON that are no list of objects: what each is, and the command that writes it as rows. Opens nothing.

The commands are programs for jq, put together from the names and the shape of the value at hand.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from weft.files.foreign import Foreign, formats

DEEPEST = 4  # objects around a list of rows
FEWEST = 3  # rows, columns of numbers or entries that make a table
MANY = 50  # keys of a dictionary of words
SAYINGS = ("patterns", "examples", "utterances", "sentences", "texts", "questions", "phrases", "samples")
MIDDLE = '[.geometry | .. | arrays | select(.[0] | type == "number")] as $p'  # all corners of a shape
COLUMNS = "to_entries as $c | range($c[0].value | length) as $i | $c | map({key, value: .value[$i]}) | from_entries"
BY_NUMBER = (
    "to_entries as $c | ($c[0].value | keys_unsorted[]) as $i | $c | map({key, value: .value[$i]}) | from_entries"
)
DETECTED = (
    "(.images | map({(.id | tostring): .file_name}) | add) as $file | (.categories | map({(.id | tostring): .name}) "
    "| add) as $name | .annotations[] | {file_name: $file[.image_id | tostring], label: $name[.category_id | tostring]}"
)
SENTENCE = 5  # words, at least, of a text in a list
MARKED = {"label", "points"}  # what labelme says of each thing that is marked in a picture
SPLIT = ".columns as $c | .data[] | [$c, .] | transpose | map({key: (.[0] | tostring), value: .[1]}) | from_entries"


def form_of(value: Any) -> Foreign:
    """What a value of JSON is, with the command that makes a file of rows of it; or that it has none."""
    if isinstance(value, Mapping):
        found = _known(value) or _inner_rows(value) or _of_entries(value)
    else:
        found = _of_list(value) if isinstance(value, list) else None
    return found or formats()["numbers" if _mostly_numbers(value) else "no-rows"]


def _rows(name: str, program: str, *, raw: bool = False, note: str = "") -> Foreign:
    """A form of which a program of jq makes rows: objects, or cells with tabs between them."""
    program = program.replace("{", "{{").replace("}", "}}")
    quoted = program.replace("'", "'\\''")
    command = f"jq -{'r' if raw else 'c'} '{quoted}' {{file}} > {{stem}}.{'tsv' if raw else 'jsonl'}"
    return Foreign(name, command + (f"   # {note}" if note else ""), advice="write its rows line by line")


def _known(value: Mapping[str, Any]) -> Foreign | None:
    """The forms that bear names: maps, networks, marked pictures, frames of pandas."""
    features, kind = value.get("features"), value.get("type")
    if kind == "FeatureCollection" and isinstance(features, list):
        kinds = {(one.get("geometry") or {}).get("type") for one in features if isinstance(one, Mapping)}
        if kinds == {"Point"}:
            place = "{lon: .geometry.coordinates[0], lat: .geometry.coordinates[1]}"
            return _rows("a map (GeoJSON)", f".features[] | .properties + {place}")
        place = "{lon: ($p | map(.[0]) | add / length), lat: ($p | map(.[1]) | add / length)}"
        shapes = f".features[] | select(.geometry) | {MIDDLE} | .properties + {place}"
        return _rows("a map (GeoJSON)", shapes, note="lon, lat: the middle of each shape")
    if kind == "Topology" and isinstance(value.get("objects"), Mapping):
        return formats()["topology"].about(OBJECT=next(iter(value["objects"]), "OBJECT"))
    if all(isinstance(value.get(key), list) for key in ("images", "annotations", "categories")):
        return _rows("objects marked in pictures (COCO)", DETECTED, note="a row for each object, with its class")
    if (
        isinstance(data := value.get("data"), list)
        and isinstance(value.get("columns"), list)
        and data
        and isinstance(data[0], list)
    ):
        return _rows("a frame of pandas", SPLIT)
    if isinstance(inner := value.get("elements"), Mapping) and {"nodes", "edges"} <= inner.keys():
        return formats()["cytoscape"]
    return None


def _inner_rows(value: Mapping[str, Any]) -> Foreign | None:
    """The longest list of objects inside of objects."""
    found = max(_lists(value, ()), key=lambda one: len(one[1]), default=None)
    if found is None or len(found[1]) < (1 if found[1][0].keys() >= MARKED else FEWEST):
        return None
    path, first = _path(found[0]), found[1][0]
    said = next((key for key in SAYINGS if isinstance(first.get(key), list)), None)
    label = next((key for key, one in first.items() if isinstance(one, str)), None)
    if said is not None and label is not None:
        program = f"{path}[] | {_path((label,))} as $class | {_path((said,))}[] | {{text: ., label: $class}}"
        return _rows("texts by their class, in an object of JSON", program)
    return _rows("JSON with rows inside of an object", f"{path}[]")


def _lists(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for key, one in value.items():
        if isinstance(one, list) and one and all(isinstance(row, Mapping) for row in one):
            yield (*path, key), one
        elif isinstance(one, Mapping) and len(path) + 1 < DEEPEST:
            yield from _lists(one, (*path, key))


def _path(keys: Sequence[str]) -> str:
    """A path in jq: .a.b, with brackets around names that need quotes."""
    plain = all(re.fullmatch(r"[A-Za-z_]\w*", key) for key in keys)
    return "".join(f".{key}" for key in keys) if plain else "." + "".join(f"[{json.dumps(key)}]" for key in keys)


def _of_entries(value: Mapping[str, Any]) -> Foreign | None:
    """An object whose entries are the rows or the columns."""
    inner = list(value.values())
    even = len(inner) >= 2 and all(isinstance(one, list) and len(one) == len(inner[0]) >= FEWEST for one in inner)
    if even and not any(isinstance(x, dict | list) for one in inner for x in one):
        return _rows("a table by its columns", COLUMNS)
    if len(inner) >= 2 and all(isinstance(one, list) and all(isinstance(x, str) for x in one) for one in inner):
        if len(inner) > MANY and median(map(len, inner)) <= 2:
            return _rows("a dictionary", "to_entries[] | {text: .key, label: .value[0]}")
        program = "to_entries[] | .key as $class | .value[] | {text: ., label: $class}"
        return _rows("texts by their class, in an object of JSON", program)
    if len(inner) < FEWEST:
        return None
    if all(isinstance(one, Mapping) for one in inner):
        keys = [set(one) for one in inner]
        counted = keys[0] and all(one == keys[0] for one in keys) and all(key.isdecimal() for key in keys[0])
        return _rows("a table by its columns", BY_NUMBER) if counted else _rows(
            "objects by their names", "to_entries[] | {key} + .value"
        )  # fmt: skip
    if len(inner) > MANY and all(isinstance(one, str | int | float) for one in inner):
        if all(isinstance(one, str) for one in inner) and sum(" " in key for key in value) * 2 > len(inner):
            return _rows("texts by texts", "to_entries[] | {source: .key, target: .value}")
        return _rows("a dictionary", "to_entries[] | {text: .key, label: .value}")
    return None


def _of_list(value: list[Any]) -> Foreign | None:
    """A list of lists or of texts."""
    if not value:
        return None
    if all(isinstance(one, Mapping) for one in value) and (lists := gathered(value[0])) is not None:
        return formats()["gathered"].about(EACH=".[] | ", LABEL=lists[0], TEXTS=lists[1])
    if all(isinstance(one, str) for one in value):
        return _rows("a list of texts", ".[] | {text: .}")
    if not all(isinstance(one, list) for one in value):
        return None
    if all(len(one) == 2 and isinstance(one[1], Mapping) and "entities" in one[1] for one in value):
        return formats()["spans"].about(ROWS="json.load(open(sys.argv[1]))", TEXT="row[0]", SPANS="row[1]['entities']")
    flat = not any(isinstance(cell, dict | list) for one in value for cell in one)
    return _rows("a list of lists", ".[] | @tsv", raw=True) if flat else None


def gathered(first: Mapping[str, Any]) -> tuple[str, str] | None:
    """The fields of a class and of a list of texts, in an object that has these two and nothing else."""
    kinds = {name: "texts" if _is_texts(value) else type(value).__name__ for name, value in first.items()}
    if sorted(kinds.values()) != ["str", "texts"] or not all(map(str.isidentifier, first)):
        return None
    label, texts = sorted(kinds, key=lambda name: kinds[name])
    return label, texts


def _is_texts(value: object) -> bool:
    """Whether a value of JSON is several sentences."""
    some = value if isinstance(value, list) else []
    return len(some) > 1 and all(isinstance(one, str) and len(one.split()) >= SENTENCE for one in some)


def _mostly_numbers(value: Any) -> bool:
    """Whether most that stands in a value, but the keys, are numbers."""
    waiting, numbers, seen = [value], 0, 0
    while waiting:
        one = waiting.pop()
        waiting.extend(one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ())
        seen += not isinstance(one, dict | list)
        numbers += isinstance(one, int | float) and not isinstance(one, bool)
    return numbers * 2 > seen
