"""A graph in tables (.csv, .tsv, .jsonl): edges, nodes, perhaps graphs. Knows columns by their names.

edges.csv   source,target[,weight][,type][,graph]
nodes.csv   id,anything,...[,label][,split][,graph]
graphs.csv  graph,label
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.cleaning import Tally, Where, clean_edges
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import ANY_LABEL, LabelColumn, label_column, sorted_properties, taken_label
from weft.errors import DataError
from weft.files.columns import first_named, number, plain
from weft.files.decoding import shown
from weft.files.gather import raising
from weft.files.roles import Role, known_as
from weft.files.tables import Table, open_table
from weft.modalities.graph import Graph

FROM = ("source", "from", "src", "u", "node1", "source_id", "from_id", "head")
TO = ("target", "to", "dst", "v", "node2", "target_id", "to_id", "tail")
ID = ("id", "node", "node_id", "name", "key")
WEIGHT = ("weight", "weights", "w")
TYPE = ("type", "kind", "relation", "edge_type")
GRAPH = ("graph", "graph_id", "molecule", "molecule_id", "network")
NEEDED = "name the two columns of edges source and target, and that of the nodes id"


ROLES = [known_as(names[0], names) for names in (FROM, TO, ID, WEIGHT, TYPE, GRAPH, ("label", "class"))]


def role_of(table: Table) -> str | None:
    """Whether a table holds edges, nodes or graphs, by the names of its columns."""
    if first_named(table.names, FROM) and first_named(table.names, TO):
        return "edges"
    if first_named(table.names, ID):
        return "nodes"
    return "graphs" if first_named(table.names, GRAPH) else None


@dataclass(frozen=True)
class WholeTable:
    """A table read whole: the line of each row, and its cells by column."""

    path: Path
    lines: list[int]
    columns: dict[str, list[str]]

    def where(self, place: int) -> str:
        """Where a row stands, for messages."""
        return f"{shown(self.path)}, line {self.lines[place]}" if self.lines else shown(self.path)

    def rows_at(self, rows: np.ndarray) -> Where:
        """Where some of the rows stand, by their places among these."""
        return lambda place: self.where(int(rows[place]))

    def column(self, names: Sequence[str]) -> list[str] | None:
        """The cells of the column that has one of some names."""
        name = first_named(self.columns, names)
        return None if name is None else self.columns[name]


def read_rows(path: Path, roles: Sequence[Role] | None = None) -> WholeTable:
    """A table read whole."""
    table = open_table(path, ROLES if roles is None else roles)
    rows = [(row.line, table.record(row)) for row in raising(table.rows()) if row.cells]
    names = [name or f"column {place + 1}" for place, name in enumerate(table.names)]
    return WholeTable(path, [line for line, _ in rows], {name: [cells[name] for _, cells in rows] for name in names})


def read_tables(paths: Sequence[Path], tally: Tally, *, directed: bool | None, label: LabelColumn) -> GraphSet:
    """The graphs of some tables: exactly one of edges, and one of nodes unless nodes have no properties."""
    by_role: dict[str, WholeTable] = {}
    for path in paths:
        role = role_of(open_table(path, ROLES))
        if role is None or role in by_role:
            problem = f"another table of {role}" if role else "neither edges, nor nodes, nor graphs by its columns"
            raise DataError(problem, where=shown(path), fix=NEEDED)
        by_role[role] = read_rows(path)
    if "edges" not in by_role:
        raise DataError("no table of edges", where=", ".join(map(shown, paths)), fix=NEEDED)
    edges, nodes = by_role["edges"], by_role.get("nodes")
    ids = _ids(edges, nodes)
    places = {name: place for place, name in enumerate(ids)}
    columns = {} if nodes is None else {n: c for n, c in nodes.columns.items() if plain(n) not in (*ID, *GRAPH)}
    of_graphs = label.name in (by_role["graphs"].columns if "graphs" in by_role else ())
    of_nodes = ANY_LABEL if of_graphs else label
    known = sorted_properties(columns, nodes.where if nodes else edges.where, label=of_nodes, file=shown(paths[0]))
    owners = _owners(nodes, len(ids))
    pairs = _pairs(edges, places, nodes)
    weights, types = _weights(edges), edges.column(TYPE)
    graph_label, labels = _graph_labels(by_role.get("graphs"), label if of_graphs else ANY_LABEL, needed=label.needed)
    graphs = []
    for name, mine in owners:
        inside = np.full(len(ids), -1)
        inside[mine] = np.arange(len(mine))
        own = np.flatnonzero(inside[pairs[:, 0]] >= 0)
        crossing = own[inside[pairs[own, 1]] < 0]
        if len(crossing):
            raise DataError("an edge joins nodes of two graphs", where=edges.where(int(crossing[0])))
        clean = clean_edges(
            inside[pairs[own]], len(mine), edges.rows_at(own), tally, directed=bool(directed),
            weights=None if weights is None else weights[own],
            types=None if types is None else np.array(types, object)[own],
        )  # fmt: skip
        graphs.append(
            Graph(
                name=name or shown(edges.path.name),
                size=len(mine),
                directed=bool(directed),
                features=None if known.values is None else known.values[mine],
                kinds=None if known.words is None else known.words[mine],
                names=tuple(ids[i] for i in mine),
                label=labels.get(name, ""),
                labels=tuple(known.labels[i] for i in mine) if known.labels else (),
                parts={part: inside[some][inside[some] >= 0] for part, some in known.parts.items()},
                **clean._asdict(),
            )
        )
    ignored = f"columns left out, as nearly every node has another word there: {', '.join(known.ignored)}"
    return GraphSet(
        graphs=graphs,
        features=known.features,
        kinds=known.kinds,
        notes=(ignored,) if known.ignored else (),
        taken=taken_label(graph_label or known.label),
    )


def _ids(edges: WholeTable, nodes: WholeTable | None) -> list[str]:
    found = nodes.column(ID) if nodes is not None else None
    if found is None or nodes is None:
        ends = [*(edges.column(FROM) or ()), *(edges.column(TO) or ())]
        return sorted(set(ends), key=lambda name: (number(name) is None, number(name) or 0.0, name))
    seen: dict[str, int] = {}
    for place, name in enumerate(found):
        if not name or name in seen:
            problem = (
                f"the id {name!r} stands in line {nodes.lines[seen[name]]} too" if name else "a node without an id"
            )
            raise DataError(problem, where=nodes.where(place), fix="give every node a different id")
        seen[name] = place
    return found


def _pairs(edges: WholeTable, places: dict[str, int], nodes: WholeTable | None) -> np.ndarray:
    def ends() -> Iterator[tuple[int, int]]:
        for place, pair in enumerate(zip(edges.column(FROM) or (), edges.column(TO) or (), strict=True)):
            for name in pair:
                if name not in places:
                    file = "" if nodes is None else f" in {shown(nodes.path.name)}"
                    problem = f"there is no node {name!r}{file}" if name else "an edge with one end"
                    raise DataError(problem, where=edges.where(place), fix="add the node, or delete the edge")
            yield places[pair[0]], places[pair[1]]

    return np.array(list(ends()), np.int64).reshape(-1, 2)


def _weights(edges: WholeTable) -> np.ndarray | None:
    cells = edges.column(WEIGHT)
    if cells is None:
        return None
    values = [number(cell) for cell in cells]
    for place, value in enumerate(values):
        if value is None:
            raise DataError(f"the weight {cells[place]!r} is not a number", where=edges.where(place), fix="correct it")
    return np.array(values, np.float64)


def _owners(nodes: WholeTable | None, count: int) -> list[tuple[str, np.ndarray]]:
    """The nodes of each graph, by the graph's name; one without a name where no column says otherwise."""
    cells = nodes.column(GRAPH) if nodes is not None else None
    if cells is None:
        return [("", np.arange(count))]
    order = dict.fromkeys(cells)
    owner = np.array(cells, object)
    return [(name, np.flatnonzero(owner == name)) for name in order]


def _graph_labels(graphs: WholeTable | None, label: LabelColumn, *, needed: bool) -> tuple[str | None, dict[str, str]]:
    """The column of the labels of whole graphs, and these by the graphs' names."""
    if graphs is None:
        return None, {}
    names = graphs.column(GRAPH) or []
    chosen = label_column(graphs.columns, label, shown(graphs.path))
    if chosen is None and not needed:
        return None, {}
    if chosen is None:
        raise DataError("no column of labels", where=shown(graphs.path), fix="name it label")
    return chosen, dict(zip(names, graphs.columns[chosen], strict=True))
