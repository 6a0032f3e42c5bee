"""Many graphs in the two layouts of the TU collection (Morris et al., 2020): one text file, or a folder of files.

The text file: the number of graphs; for each graph a line `nodes label`, then for each node a line
`kind degree neighbour ... [number ...]`. The folder: NAME_A.txt with an edge a line, NAME_graph_indicator.txt,
NAME_graph_labels.txt, and NAME_node_labels.txt, NAME_node_attributes.txt, NAME_edge_labels.txt where there are such.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.cleaning import Tally, Where, check_features, clean_edges
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.json_lines import numbered
from weft.modalities.graph import Graph

LAYOUT = "a graph is a line 'nodes label', then a line 'kind degree neighbours' for each node"


def is_tu_text(lines: list[tuple[int, str]]) -> bool:
    """Whether the first lines of a file are those of a text of graphs."""
    words = [line.split() for _, line in lines[:4000] if line.strip()]
    if len(words) < 2 or len(words[0]) != 1 or len(words[1]) != 2 or not all(w.isdecimal() for w in words[0]):
        return False
    if not words[1][0].isdecimal():
        return False
    nodes = words[2 : 2 + int(words[1][0])]
    return all(len(node) >= 2 and node[1].isdecimal() and len(node) >= 2 + int(node[1]) for node in nodes)


def read_tu_text(path: Path, tally: Tally) -> list[Graph]:
    """The graphs of a text file."""
    lines = ((number, line.split()) for number, line in numbered(path) if line.strip())
    number, first = next(lines, (1, []))
    if len(first) != 1 or not first[0].isdecimal():
        raise DataError("expected the number of graphs", where=_at(path, number), fix=LAYOUT)
    graphs = [_read_one(path, place, lines, tally) for place in range(int(first[0]))]
    rest = next(lines, None)
    if rest is not None:
        problem = f"more lines than those of {len(graphs)} graphs, which line 1 announces"
        raise DataError(problem, where=_at(path, rest[0]), fix=LAYOUT)
    return graphs


def _read_one(path: Path, place: int, lines: Iterator[tuple[int, list[str]]], tally: Tally) -> Graph:
    number, head = next(lines, (0, []))
    if len(head) != 2 or not head[0].isdecimal():
        found = " ".join(head)[:40] if number else "the end of the file"
        raise DataError(
            f"expected 'nodes label' of graph {place}, found {found!r}", where=_at(path, number), fix=LAYOUT
        )
    size, nodes = int(head[0]), list(islice(lines, int(head[0])))
    if len(nodes) < size:
        raise DataError(f"graph {place} has {size} nodes, {len(nodes)} follow", where=_at(path, number), fix=LAYOUT)
    edges, kinds, values, rows = [], [], [], []
    for node, (row, words) in enumerate(nodes):
        degree = int(words[1]) if len(words) > 1 and words[1].isdecimal() else -1
        if degree < 0 or len(words) < 2 + degree:
            raise DataError(
                f"node {node} of graph {place} is no 'kind degree neighbours'", where=_at(path, row), fix=LAYOUT
            )
        try:
            edges += [(node, int(other)) for other in words[2 : 2 + degree]]
            values.append([float(word) for word in words[2 + degree :]])
        except ValueError as error:
            raise DataError(f"node {node} of graph {place}: {error}", where=_at(path, row), fix=LAYOUT) from None
        kinds.append(words[0])
        rows += [row] * degree
    widths = {len(one) for one in values}
    if len(widths) > 1:
        raise DataError(f"graph {place} has nodes with {sorted(widths)} numbers", where=_at(path, number), fix=LAYOUT)
    clean = clean_edges(np.array(edges, np.int64), size, lambda i: _at(path, rows[i] if rows else number), tally)
    features = check_features(np.array(values), lambda i: _at(path, nodes[i][0])) if widths > {0} else None
    return Graph(
        name=f"graph {place}",
        size=size,
        features=features,
        kinds=np.array(kinds, object).reshape(size, 1),
        label=head[1],
        **clean._asdict(),
    )


def _at(path: Path, line: int) -> str:
    return f"{shown(path)}, line {line}" if line else shown(path)


# The folder


def tu_stem(folder: Path) -> str | None:
    """The name before _A.txt in a folder of such files, or None."""
    if not folder.is_dir():
        return None
    found = sorted(folder.glob("*_A.txt"))
    stems = [file.name.removesuffix("_A.txt") for file in found]
    return next((stem for stem in stems if (folder / f"{stem}_graph_indicator.txt").is_file()), None)


def read_tu_folder(folder: Path, tally: Tally) -> list[Graph]:
    """The graphs of a folder."""
    stem = tu_stem(folder)
    assert stem is not None

    def table(name: str) -> np.ndarray | None:
        return _numbers(folder / f"{stem}_{name}.txt")

    edges, owners = table("A"), table("graph_indicator")
    assert edges is not None and owners is not None
    labels, kinds, values = (table(name) for name in ("graph_labels", "node_labels", "node_attributes"))
    types, size = table("edge_labels"), len(owners)
    owners, file = owners[:, 0].astype(np.int64) - 1, folder / f"{stem}_A.txt"
    for name, found, count in (
        ("node_labels", kinds, size),
        ("node_attributes", values, size),
        ("edge_labels", types, len(edges)),
    ):
        if found is not None and len(found) != count:
            raise DataError(f"{len(found):,} lines, expected {count:,}", where=shown(folder / f"{stem}_{name}.txt"))
    if edges.shape[1] != 2:
        raise DataError(f"{edges.shape[1]} numbers in a line, expected the two ends of an edge", where=_at(file, 1))
    edges = edges.astype(np.int64) - 1
    bad = np.flatnonzero(((edges < 0) | (edges >= size)).any(1))
    if len(bad):
        pair = (edges[bad[0]] + 1).tolist()
        problem = f"the edge {pair[0]} – {pair[1]} needs nodes from 1 to {size}"
        raise DataError(problem, where=_at(file, int(bad[0]) + 1), fix="name nodes that the other files have")
    crossing = np.flatnonzero(owners[edges[:, 0]] != owners[edges[:, 1]])
    if len(crossing):
        raise DataError("an edge joins nodes of two graphs", where=_at(file, int(crossing[0]) + 1))
    features = None if values is None else check_features(values, lambda i: f"{stem}_node_attributes.txt, line {i + 1}")
    order = np.argsort(owners[edges[:, 0]], kind="stable")
    cuts = np.searchsorted(owners[edges[:, 0]][order], np.arange(int(owners.max(initial=-1)) + 2))
    graphs = []
    for number in range(int(owners.max(initial=-1)) + 1):
        mine, own = np.flatnonzero(owners == number), order[cuts[number] : cuts[number + 1]]
        kind = None if types is None else np.array([f"{value:g}" for value in types[own, 0]], object)
        place = np.searchsorted(mine, edges[own])
        clean = clean_edges(place, len(mine), _named(file, own), tally, types=kind)
        words = None if kinds is None else np.array([[f"{value:g}" for value in row] for row in kinds[mine]], object)
        graphs.append(
            Graph(
                name=f"graph {number + 1}",
                size=len(mine),
                features=None if features is None else features[mine],
                kinds=words,
                label="" if labels is None else f"{labels[number, 0]:g}",
                **clean._asdict(),
            )
        )
    return graphs


def _named(file: Path, rows: np.ndarray) -> Where:
    return lambda place: _at(file, int(rows[place]) + 1)


def _numbers(path: Path) -> np.ndarray | None:
    """The numbers of a file, a row a line; None where there is no such file."""
    if not path.is_file():
        return None
    rows: list[list[float]] = []
    for number, line in numbered(path):
        if line.strip():
            try:
                rows.append([float(word) for word in line.replace(",", " ").split()])
            except ValueError as error:
                raise DataError(f"expected numbers, {error}", where=_at(path, number)) from None
            if len(rows[-1]) != len(rows[0]):
                raise DataError(f"{len(rows[-1])} numbers, expected {len(rows[0])}", where=_at(path, number))
    return np.array(rows).reshape(len(rows), -1)
