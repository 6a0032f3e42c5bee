"""Formats that are text, yet no text to read: trees, graphs, tables, tagged words and points of other programs.

Each is known by how it begins, and has a command that makes a file of it that weft reads. Opens nothing.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.files.foreign import Foreign, formats, known_by

TALKS = {"messages": "content", "conversations": "value"}  # lists of what was said, and the field that holds it

ORANGE_TYPES = {
    "c", "continuous", "d", "discrete", "s", "string", "text", "t", "time", "m", "meta", "i", "ignore", "b", "basket",
    "class", "",
}  # fmt: skip
EDGE = re.compile(r"\s*\d+[ \t]+\d+([ \t]+[\d.eE+-]+)?\s*")
FEWEST_EDGES = 10  # lines
TAGGED_WORD = re.compile(r"\S+/[^\s/]+")
TAGGED_WORDS = 20  # that must be there to tell
TAGGED_SHARE = 0.9  # of all words have a tag
FEWEST_TAGS = 3  # different ones
TAGS_REPEAT = 3  # times, at least, on average
LOOK = 100  # lines
COMMENT = ("#", "%")


def known_text(path: Path, start: str) -> Foreign | None:
    """The format of a text that begins so, if it is none to learn to continue; None where it is, as far as is known."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    found = known_by("text").get(suffix)
    if found is None and (key := _begins_as(suffix, start)) is not None:
        found = formats()[key]
    return found


def _begins_as(suffix: str, start: str) -> str | None:
    """The key in foreign.toml of the format that a text begins as; None where it is not known."""
    if suffix == ".gml" and start.lstrip("\ufeff \n\r\t").startswith("<"):
        return "map"
    lines = [line for line in start.split("\n")[:LOOK] if line.strip()]
    if lines and lines[0].startswith(("%%", "#FORMAT", "#BOS")) and any(line.startswith("#BOS") for line in lines):
        return "export"
    first = next((line.strip() for line in lines if not line.startswith(COMMENT)), "").lower()
    if first.startswith(("*vertices", "*network")):
        return "pajek" if first.split()[-1].isdecimal() else "loose-pajek"
    if suffix in (".dot", ".gv") and re.match(r"(strict\s+)?(di)?graph\b", first):
        return "graphviz"
    if is_newick(start):
        return "newick"
    if suffix == ".tab" and _is_orange(lines):
        return "orange"
    return "edges" if _is_edges(lines) else "tagged" if _is_tagged(lines) else None


def known_objects(path: Path, first: Mapping[str, Any]) -> Foreign | None:
    """The form of the objects in a file of JSON of which this is the first, if weft reads them in another one."""
    for name, value in first.items():
        if "text" in first and _are_spans(value):
            return formats()["spans"].about(NAME=name)
    talk = next((name for name in TALKS if isinstance(first.get(name), list)), None)
    picture = next((name for name in ("images", "image") if name in first), None)
    if talk is None or picture is None:
        return None
    place = f".{picture}[0]" if isinstance(first[picture], list) else f".{picture}"
    each = "" if path.name.lower().removesuffix(".gz").endswith(".jsonl") else ".[] | "
    return formats()["talks"].about(EACH=each, PICTURE=place, TALK=talk, SAID=TALKS[talk])


def _are_spans(value: Any) -> bool:
    """Whether a value is a list of beginnings, ends and names."""
    return isinstance(value, list) and bool(value) and all(
        isinstance(one, list) and list(map(type, one)) == [int, int, str] for one in value
    )  # fmt: skip


def is_newick(start: str) -> bool:
    """Whether a text is trees of descent: brackets with commas between, each tree closed by a semicolon."""
    body = re.sub(r"\[[^]]*\]", "", start)  # comments
    found = re.match(r"\s*(?:\d+\s+\d*\s*)?(\([^;]{3,}\)[^;()]{0,80};)", body)
    return found is not None and "," in found[1] and found[1].count("(") == found[1].count(")")


def _is_orange(lines: Sequence[str]) -> bool:
    """Whether the second line of a table has nothing but types of columns."""
    types = lines[1].rstrip("\r").split("\t") if len(lines) > 2 else ["?"]
    return len(types) > 1 and all(one.strip().lower() in ORANGE_TYPES for one in types)


def _is_edges(lines: Sequence[str]) -> bool:
    """Whether every line has the numbers of two nodes, and perhaps a weight."""
    rows = [line for line in lines if not line.startswith("#")]
    return len(rows) >= FEWEST_EDGES and all(map(EDGE.fullmatch, rows))


def _is_tagged(lines: Sequence[str]) -> bool:
    """Whether nearly all words have a tag behind a slash, and few tags serve for all of them."""
    words = [word for line in lines[:LOOK] for word in line.split()]
    tags = [word.rpartition("/")[2] for word in words if TAGGED_WORD.fullmatch(word)]
    enough = len(tags) >= TAGGED_WORDS and len(tags) >= TAGGED_SHARE * len(words)
    return enough and FEWEST_TAGS <= len(set(tags)) <= len(tags) / TAGS_REPEAT
