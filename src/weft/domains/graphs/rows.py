"""Graphs and sets in tables that are to be labelled, with the rows that each stands in.

A row holds a molecule, the name of a file, or a whole set; or a row is a node of a graph, or one vector of a set.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.domains.graphs.reading.given import Named, set_in_words
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.molecules import PROPERTIES, molecule
from weft.domains.graphs.reading.sets import SET, VECTORS, set_of
from weft.domains.graphs.reading.tables import ROLES, role_of
from weft.errors import DataError
from weft.files.known_roles import SMILES_NAMES
from weft.files.roles import known_as
from weft.files.tables import Table, as_cell, is_table, open_table
from weft.tasks.asks import Given, Opened, TableRow
from weft.tasks.table_inputs import FILE, InputColumn, InputRow, InputTable

MOLECULE = InputColumn(known_as("smiles", SMILES_NAMES), "smiles_column")
VECTOR_SET = known_as("set", VECTORS)
IN_RUNS = known_as("set", SET)


# Graphs


def is_part_of_graph(path: Path) -> bool:
    """Whether a table holds edges, nodes or graphs, which are one input together with other tables."""
    table = open_table(path, ROLES)
    return role_of(table) is not None and not FILE.by_name(table.names)


def molecule_in(row: InputRow) -> Given:
    """The molecule in a row."""
    text = row.text(0)
    return Given(Opened(GraphSet(graphs=[molecule(text, row.where)], kinds=PROPERTIES)), text)


def rows_of_nodes(words: Sequence[object]) -> tuple[TableRow, ...]:
    """The rows of the table of nodes among some tables, in the order of the graph's nodes."""
    for word in words:
        if isinstance(word, str | Path) and is_table(word):
            table = open_table(Path(word), ROLES)
            if role_of(table) == "nodes":
                return tuple(row for row, _ in InputTable(table, (), ()).rows())
    return ()


# Sets


def is_set_in_each_row(table: Table, asked: str | None) -> bool:
    """Whether rows are whole sets: objects, or cells with a list of vectors."""
    if table.separator is None:
        return True
    named = VECTOR_SET.by_name(table.names)
    places = [place for place in named if table.columns[place].values[:1] and _is_list(table.columns[place].values[0])]
    return bool(places)


def set_in(row: InputRow) -> Given:
    """The set in a row: a list of vectors, as JSON or as a value."""
    found = row.value()
    if isinstance(found, str):
        return Given(Opened(set_in_words(found)), found)
    return Given(Opened(GraphSet(graphs=[set_of(found, row.where)])), row.where)


def sets_of_rows(table: Table, asked: str | None, read: Named) -> Iterator[Given]:
    """The sets of a table with a vector in each row, each with its rows; `read` are the same sets, read already."""
    place = next((i for i, name in enumerate(table.names) if asked and name == asked), None)
    place = int(asked) - 1 if place is None and asked and asked.isdecimal() else place
    place = next(iter(IN_RUNS.by_name(table.names)), 0) if place is None else place
    rows: dict[str, list[TableRow]] = {}
    for whole, row in InputTable(table, (), ()).rows():
        if isinstance(row, DataError):
            raise row
        rows.setdefault(as_cell(table.value(row.row, place)).strip(), []).append(whole)
    for _, found in read:
        for graph in found.graphs:
            one = GraphSet(graphs=[graph], features=found.features, kinds=found.kinds)
            yield Given(Opened(one), graph.name, tuple(rows.get(graph.name, ())))


def _is_list(cell: str) -> bool:
    return cell.lstrip().startswith("[")
