"""Formats that are text, yet no text to read: trees, graphs, tables, tagged words and points of other programs.

Each is known by how it begins, and has a command that makes a file of it that weft reads. Opens nothing.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.files.foreign import CLOUD_ENDINGS, ENDINGS, MAP, Foreign


def _networkx(read: str, how: str = "") -> str:
    """A Python command that lets NetworkX read a graph and write it as GraphML."""
    call = f"networkx.write_graphml(networkx.Graph(networkx.{read}(sys.argv[1]{how})), sys.argv[2])"
    return f'python -c "import sys, networkx; {call}" {{file}} {{stem}}.graphml'


EXPORT = Foreign("trees in NEGRA's export format",
                 "discodop treetransforms --inputfmt=export --outputfmt=bracket {file} {stem}.mrg")  # fmt: skip
NEWICK = Foreign("a tree of descent (Newick)")
BRACKETED = Foreign("bracketed trees, without the ending of such a file", "cp {file} {stem}.mrg")
PAJEK = Foreign("a network of Pajek", _networkx("read_pajek"))
EDGES = Foreign("a list of edges", _networkx("read_edgelist", ", data=False"))
LOOSE_PAJEK = Foreign(  # without the number of nodes, which NetworkX asks for
    "a network of Pajek",
    """awk '/^[*]/ {{on = tolower($1) ~ /edges|arcs|links/; next}} on && !/^[#%]/ {{print $1, $2}}' {file} > {stem}.txt && """
    + _networkx("read_edgelist", ", data=False").replace("{file}", "{stem}.txt"),
)
GEXF = Foreign("a graph of Gephi (GEXF)", _networkx("read_gexf"))
GRAPHVIZ = Foreign("a graph of Graphviz", "gv2gml {file} > {stem}.gml")
SMILES = Foreign(
    "molecules as SMILES without labels",
    """awk 'BEGIN {{print "smiles,name"}} NF {{print $1 "," $2}}' {file} > {stem}.csv   # and add a column label""",
)
ORANGE = Foreign("a table of Orange, whose second and third line are no rows", "sed 2,3d {file} > {stem}.tsv")
TAGGED = Foreign(
    "words with their tags, as in word/TAG",
    """awk '{{for (i = 1; i <= NF; i++) {{n = match($i, "/[^/]*$"); print substr($i, 1, n - 1) "\\t" substr($i, n + 1)}} """
    """print ""}}' {file} > {stem}.conll""",
)

SPANS = (
    """python -c "import sys, json, re; [print(json.dumps(dict(tokens=[w[0] for w in words], tags=[next((('B-' if w.start() """
    """<= a else 'I-') + n for a, b, n in row['NAME'] if a < w.end() and w.start() < b), 'O') for w in words]))) for row in """
    """map(json.loads, open(sys.argv[1])) if 'text' in row for words in [list(re.finditer(r'\\w+|\\S', row['text']))]]" """
    """{file} > {stem}-tags.jsonl"""
)
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
    if suffix in CLOUD_ENDINGS:
        return ENDINGS[suffix]
    if suffix == ".smi" or suffix == ".smiles":
        return SMILES
    if suffix == ".gml" and start.lstrip("\ufeff \n\r\t").startswith("<"):
        return MAP
    if suffix == ".gexf":
        return GEXF
    lines = [line for line in start.split("\n")[:LOOK] if line.strip()]
    if lines and lines[0].startswith(("%%", "#FORMAT", "#BOS")) and any(line.startswith("#BOS") for line in lines):
        return EXPORT
    first = next((line.strip() for line in lines if not line.startswith(COMMENT)), "").lower()
    if first.startswith(("*vertices", "*network")):
        return PAJEK if first.split()[-1].isdecimal() else LOOSE_PAJEK
    if suffix in (".dot", ".gv") and re.match(r"(strict\s+)?(di)?graph\b", first):
        return GRAPHVIZ
    if is_newick(start):
        return NEWICK
    if suffix == ".tab" and _is_orange(lines):
        return ORANGE
    if _is_edges(lines):
        return EDGES
    return TAGGED if _is_tagged(lines) else None


def known_objects(path: Path, first: Mapping[str, Any]) -> Foreign | None:
    """The form of the objects in a file of JSON of which this is the first, if weft reads them in another one."""
    for name, value in first.items():
        if "text" in first and _are_spans(value):
            return Foreign("texts with spans marked by their characters", SPANS.replace("NAME", name))
    talk = next((name for name in TALKS if isinstance(first.get(name), list)), None)
    picture = next((name for name in ("images", "image") if name in first), None)
    if talk is None or picture is None:
        return None
    place = f".{picture}[0]" if isinstance(first[picture], list) else f".{picture}"
    each = "" if path.name.lower().removesuffix(".gz").endswith(".jsonl") else ".[] | "
    return Foreign(
        "talks about pictures",
        f"jq -c '{each}{place} as $image | .{talk} as $said | range(0; $said | length; 2) | {{{{image: $image, question: "
        f'($said[.].{TALKS[talk]} | gsub("<image>"; "")), answer: $said[. + 1].{TALKS[talk]}}}}}\' {{file}} > {{stem}}-rows.jsonl',
    )


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
