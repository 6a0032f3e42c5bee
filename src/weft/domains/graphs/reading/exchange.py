"""Graphs in files that NetworkX reads: GraphML, GML and node-link JSON. One graph a file; needs the extra `graph`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.graphs.reading.cleaning import Tally, clean_edges
from weft.domains.graphs.reading.properties import ANY_LABEL, LabelColumn, Properties, sorted_properties
from weft.domains.graphs.reading.tables import TYPE, WEIGHT
from weft.errors import DataError, WeftError
from weft.files.columns import plain
from weft.files.decoding import read_text, shown
from weft.files.finding import ending
from weft.files.known_roles import LABEL_NAMES
from weft.files.tables import as_cell
from weft.modalities.graph import Graph

ENDINGS = (".graphml", ".gml", ".json")
# Both are lists, of objects where they are not empty: a dictionary of words may have these words too.
LISTS = (re.compile(r'"nodes"\s*:\s*\[\s*[{\]]'), re.compile(r'"(links|edges)"\s*:\s*\[\s*[{\]]'))
LAYOUT = 'write {"nodes": [{"id": ...}, ...], "links": [{"source": ..., "target": ...}, ...]}'


def is_node_link(start: str) -> bool:
    """Whether the beginning of a JSON file has a list of nodes and one of links or edges."""
    return start.lstrip().startswith("{") and all(one.search(start) for one in LISTS)


def read_exchange(path: Path, tally: Tally, *, directed: bool | None, label: LabelColumn) -> tuple[Graph, Properties]:
    """The graph of one file, and the properties of its nodes."""
    nodes, edges, whole, way = _node_link(path) if ending(path, (".json",)) else _networkx(path)
    return graph_of(shown(path), nodes, edges, whole, way if directed is None else directed, tally, label)


def graph_of(
    name: str,
    nodes: Mapping[str, Mapping[str, Any]],
    edges: list[tuple[str, str, Mapping[str, Any]]],
    whole: Mapping[str, Any],
    directed: bool,
    tally: Tally,
    label: LabelColumn,
) -> tuple[Graph, Properties]:
    """A graph from the properties of its nodes, of its edges and of itself, by their names."""
    ids = list(nodes)
    places = {one: place for place, one in enumerate(ids)}
    columns: dict[str, list[str]] = {}
    for place, properties in enumerate(nodes.values()):
        for key, value in properties.items():
            columns.setdefault(key, [""] * len(ids))[place] = as_cell(value).strip()
    own = next((whole[key] for key in whole if plain(key) in (*LABEL_NAMES, "y")), "") if label.name is None else ""
    if label.name is not None and label.name in whole:
        own, label = whole[label.name], ANY_LABEL
    known = sorted_properties(columns, lambda i: f"{name}: node {ids[i]}" if ids else name, label=label, file=name)
    for place, (start, end, _) in enumerate(edges):
        for one in (start, end):
            if one not in places:
                raise DataError(f"there is no node {one!r}", where=f"{name}: edge {place}", fix="add the node")
    pairs = np.array([(places[a], places[b]) for a, b, _ in edges], np.int64).reshape(-1, 2)
    weights, types = _of_edges(edges, WEIGHT), _of_edges(edges, TYPE)
    try:
        numbers = None if weights is None else np.array([float(value) for value in weights])
    except ValueError as error:
        raise DataError(f"the weight of an edge is no number: {error}", where=name) from None
    words = None if types is None else np.array(types, object)
    clean = clean_edges(
        pairs, len(ids), lambda i: f"{name}: edge {i}", tally, directed=directed, weights=numbers, types=words
    )
    return (
        Graph(
            name=name,
            size=len(ids),
            directed=directed,
            features=known.values,
            kinds=known.words,
            names=tuple(ids),
            label=as_cell(own),
            labels=known.labels,
            parts=known.parts,
            **clean._asdict(),
        ),
        known,
    )


def _of_edges(edges: list[tuple[str, str, Mapping[str, Any]]], names: tuple[str, ...]) -> list[str] | None:
    """A property of edges that has one of some names; edges that lack it have the weight 1, or no type."""
    key = next((key for *_, properties in edges for key in properties if plain(key) in names), None)
    lacking = "1" if names is WEIGHT else ""
    return None if key is None else [as_cell(properties.get(key, lacking)) for *_, properties in edges]


def linked_graph(
    data: Any, name: str, tally: Tally, *, directed: bool | None, label: LabelColumn
) -> tuple[Graph, Properties]:
    """A graph from node-link data, and the properties of its nodes."""
    nodes, edges, whole, way = _linked(data, name)
    return graph_of(name, nodes, edges, whole, way if directed is None else directed, tally, label)


def _node_link(path: Path) -> tuple[Any, ...]:
    try:
        data = json.loads("".join(read_text(path)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON: {error}", where=shown(path), fix=LAYOUT) from None
    return _linked(data, shown(path))


def _linked(data: Any, name: str) -> tuple[Any, ...]:
    ends = ("source", "target")
    try:
        nodes = {as_cell(node["id"]): {k: v for k, v in node.items() if k != "id"} for node in data["nodes"]}
        found = data["links"] if "links" in data else data["edges"]
        edges = [
            (as_cell(e["source"]), as_cell(e["target"]), {k: v for k, v in e.items() if k not in ends}) for e in found
        ]
    except (KeyError, TypeError, AttributeError):
        problem = "no node-link data: a node without an id, or a link without a source and a target"
        raise DataError(problem, where=name, fix=LAYOUT) from None
    if len(nodes) < len(data["nodes"]):
        raise DataError("two nodes have the same id", where=name, fix="give every node a different id")
    whole = data.get("graph", {})
    return nodes, edges, whole if isinstance(whole, dict) else {}, bool(data.get("directed", False))


def _networkx(path: Path) -> tuple[Any, ...]:
    try:
        import networkx
    except ImportError:
        problem = f"{path.suffix} files are read by NetworkX, which is not installed"
        fix = "pip install 'weft[graph]', or save the graph as .npz or node-link .json"
        raise WeftError(problem, where=shown(path), fix=fix) from None
    next(read_text(path), "")  # refuses what is no text in words
    try:
        if path.suffix.lower() == ".gml":
            graph = _gml(networkx, path)
        else:
            graph = networkx.read_graphml(path)
    except Exception as error:  # whatever a damaged file makes a parser say
        reason = str(error).splitlines()[0][:200] if str(error) else repr(error)
        problem = f"no {path.suffix.lower()[1:]} file, or a damaged one: {reason}"
        raise DataError(problem, where=shown(path), fix="write it again with NetworkX") from None
    nodes = {str(node): dict(properties) for node, properties in graph.nodes(data=True)}
    edges = [(str(a), str(b), dict(properties)) for a, b, properties in graph.edges(data=True)]
    return nodes, edges, dict(graph.graph), graph.is_directed()


def _gml(networkx: Any, path: Path) -> Any:
    """The graph of a GML file, whose nodes are called by their labels; by their ids, where two have the same label."""
    try:
        return networkx.read_gml(path)
    except networkx.NetworkXError:
        return networkx.read_gml(path, label="id")
