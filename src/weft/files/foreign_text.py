"""Formats that are text, yet no text to read: trees, graphs, tables, tagged words and points of other programs.

Each is known by how it begins, and has a command that makes a file of it that weft reads. Opens nothing.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from weft.files.foreign import Foreign, formats, known_by, unpacked_suffix
from weft.files.json_forms import gathered
from weft.files.pictures.formats import named_as_picture
from weft.files.prose import is_records, no_prose

STRUCTURED = (".json", ".geojson", ".ipynb", ".jsonl")  # which json_forms and the tables tell
TALKS = {"messages": "content", "conversations": "value"}  # lists of what was said, and the field that holds it

ORANGE_TYPES = {
    "c", "continuous", "d", "discrete", "s", "string", "text", "t", "time", "m", "meta", "i", "ignore", "b", "basket",
    "class",
}  # fmt: skip
EDGE = re.compile(r"\s*\d+[ \t]+\d+([ \t]+[\d.eE+-]+)?\s*")
FEWEST_EDGES = 10  # lines
FEWEST_NODES = 3  # different ones on each side, at least one more than this
LONGEST_VALUE = 60  # characters of a value in a record of XML
FEWEST_RECORDS = 3  # children of the root of XML that are alike
TAGGED_WORD = re.compile(r"\S+/[^\s/]+")
TAGGED_WORDS = 20  # that must be there to tell
TAGGED_SHARE = 0.9  # of all words have a tag
FEWEST_TAGS = 3  # different ones
TAGS_REPEAT = 3  # times, at least, on average
LOOK = 100  # lines
COMMENT = ("#", "%")
XML = re.compile(r"<\?xml|<[A-Za-z][^<>]*\sxmlns(?::\w+)?\s*=")
READABLE = ("graphml", "tmx")  # roots of XML that is read as it is: graphs, translations


def known_text(path: Path, start: str) -> Foreign | None:
    """The format of a text that begins so, if it is none to learn to continue; None where it is, as far as is known."""
    suffix = unpacked_suffix(path)
    if suffix in STRUCTURED:
        return None
    found = known_by("text").get(suffix) or next((known for sign, known in _beginnings() if sign.match(start)), None)
    marked = start.lstrip("\ufeff \n\r\t")
    if found is None and suffix == ".gml" and marked.startswith("<"):
        return formats()["map"]
    if found is None and (suffix == ".xml" or XML.match(marked)):
        return _xml(start)
    if found is None and (key := _begins_as(start)) is not None:
        return formats()[key]
    return found


@cache
def _beginnings() -> list[tuple[re.Pattern[str], Foreign]]:
    """The formats that are told by how their text begins."""
    return [(re.compile(known.begins), known) for known in formats().values() if known.begins]


def _begins_as(start: str) -> str | None:
    """The key in foreign.toml of the format that a text begins as; None where it is not known."""
    lines = [line for line in start.split("\n")[:LOOK] if line.strip()]
    if lines and lines[0].startswith(("%%", "#FORMAT", "#BOS")) and any(line.startswith("#BOS") for line in lines):
        return "export"
    first = next((line.strip() for line in lines if not line.startswith(COMMENT)), "").lower()
    if first.startswith(("*vertices", "*network")):
        return "pajek" if first.split()[-1].isdecimal() else "loose-pajek"
    if is_newick(start):
        return "newick"
    if _is_orange(lines):
        return "orange"
    if is_records(start):
        return "records"
    return "edges" if _is_edges(lines) else "tagged" if _is_tagged(lines) else no_prose(lines)


def known_objects(path: Path, first: Mapping[str, Any]) -> Foreign | None:
    """The form of the objects in a file of JSON of which this is the first, if weft reads them in another one."""
    lines = path.name.lower().removesuffix(".gz").endswith(".jsonl")
    each, rows = ("", "map(json.loads, open(sys.argv[1]))") if lines else (".[] | ", "json.load(open(sys.argv[1]))")
    if (marked := _marked(first)) is not None:
        return formats()["spans"].about(ROWS=rows, TEXT=marked[0], SPANS=marked[1])
    data = first.get("data")
    if isinstance(data, dict) and '"choices"' in json.dumps(first.get("annotations", "")):
        field = next((name for name, value in data.items() if isinstance(value, str)), "text")
        name = "file_name" if named_as_picture(str(data.get(field))) else "text"
        return formats()["chosen"].about(EACH=each, NAME=name, FIELD=field)
    talk = next((name for name in TALKS if isinstance(first.get(name), list)), None)
    picture = next((name for name in ("images", "image") if first.get(name)), None)
    if talk is not None and picture is not None:
        place = f".{picture}[0]" if isinstance(first[picture], list) else f".{picture}"
        return formats()["talks"].about(EACH=each, PICTURE=place, TALK=talk, SAID=TALKS[talk])
    lists = gathered(first)
    return None if lists is None else formats()["gathered"].about(EACH=each, LABEL=lists[0], TEXTS=lists[1])


def _marked(first: Mapping[str, Any]) -> tuple[str, str] | None:
    """In Python, the text of a row and its spans (beginning, end, name); None where it has none."""
    if isinstance(first.get("text"), str):
        for name, value in first.items():
            some = value if isinstance(value, list) else []
            if some and all(isinstance(one, list) and list(map(type, one)) == [int, int, str] for one in some):
                return "row['text']", f"row['{name}']"
            if some and all(isinstance(one, dict) and {"start", "end", "label"} <= one.keys() for one in some):
                return "row['text']", f"[(s['start'], s['end'], s['label']) for s in row['{name}']]"
    data, notes = first.get("data"), first.get("annotations")
    if isinstance(data, dict) and isinstance(data.get("text"), str) and '"labels"' in json.dumps(notes):
        values = "for r in row['annotations'][0]['result'] for v in [r['value']]"
        return "row['data']['text']", f"[(v['start'], v['end'], v['labels'][0]) {values}]"
    return None


def is_newick(start: str) -> bool:
    """Whether a text is trees of descent: brackets with commas between, each tree closed by a semicolon."""
    body = re.sub(r"\[[^][]*\]", "", start)  # comments
    found = re.match(r"\s*(?:\d+\s+\d*\s*)?(\([^;]{3,}\)[^;()]{0,80};)", body)
    return found is not None and "," in found[1] and found[1].count("(") == found[1].count(")")


def _is_orange(lines: Sequence[str]) -> bool:
    """Whether the second line of a table has types of columns and nothing else, or for some all values they have."""
    types = [one.strip().lower() for one in lines[1].split("\t")] if len(lines) > 2 else []
    named, listed = [one in ORANGE_TYPES for one in types], [one == "" or " " in one for one in types]
    return len(types) > 1 and 2 * sum(named) > len(types) and all(map(max, named, listed))


def _is_edges(lines: Sequence[str]) -> bool:
    """Whether every line has the numbers of two nodes, and perhaps a weight."""
    rows = [line for line in lines if not line.startswith("#")]
    if len(rows) < FEWEST_EDGES or not all(map(EDGE.fullmatch, rows)):
        return False
    ends = [tuple(row.split()[:2]) for row in rows]
    varied = all(len(set(side)) > FEWEST_NODES for side in zip(*ends, strict=True))
    return varied and len(set(ends)) == len(ends)  # else they are measures


def _xml(start: str) -> Foreign | None:
    """The format of XML: records where some elements are alike, else a text with marks; None of what is read."""
    parser: Any = ElementTree.XMLPullParser(("start",))
    with suppress(ElementTree.ParseError):  # cut off, or damaged: what was read tells enough
        parser.feed(start)
    _, root = next(parser.read_events(), (None, None))
    if root is None:
        return formats()["xml"]
    if any(known in root.tag.lower() for known in READABLE):
        return None
    if (record := _record(root)) is not None:
        return formats()["xml-records"].about(PATH=f".//{{{{*}}}}{record.rpartition('}')[2]}")
    return formats()["xml-records"].about(PATH=".") if _is_record(root) else formats()["xml"]


def _record(root: ElementTree.Element) -> str | None:
    """The tag of the elements that are records: most children of the root, or of one of these if they have fields."""
    for holder in (root, *root):
        tags = Counter(child.tag for child in holder)
        tag, alike = max(tags.items(), key=lambda item: item[1], default=("", 0))
        fields = sum(len(child) > 0 and not (child.text or "").strip() for child in holder if child.tag == tag)
        if alike >= FEWEST_RECORDS and alike * 2 > tags.total() and (holder is root or fields * 2 > alike):
            return tag
    return None


def _is_record(root: ElementTree.Element) -> bool:
    """Whether XML is one record: elements of elements, or of a short value; no text with marks in it."""
    every = list(root.iter())
    mixed = any((one.tail or "").strip() or (len(one) and (one.text or "").strip()) for one in every[1:])
    values = [(one.text or "").strip() for one in every if not len(one)]
    tags = Counter(one.tag for one in every if not len(one))
    few = 2 * max(tags.values(), default=0) <= tags.total()  # of each field; paragraphs are many of one kind
    return not mixed and few and len(values) >= FEWEST_RECORDS and max(map(len, values)) <= LONGEST_VALUE


def _is_tagged(lines: Sequence[str]) -> bool:
    """Whether nearly all words have a tag behind a slash, and few tags serve for all of them."""
    words = [word for line in lines[:LOOK] for word in line.split()]
    tags = [word.rpartition("/")[2] for word in words if TAGGED_WORD.fullmatch(word)]
    enough = len(tags) >= TAGGED_WORDS and len(tags) >= TAGGED_SHARE * len(words)
    return enough and FEWEST_TAGS <= len(set(tags)) <= len(tags) / TAGS_REPEAT
