"""Graphs and sets that a user hands over to be labelled: names of files, or values in Python."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.cleaning import Tally
from weft.domains.graphs.reading.exchange import linked_graph
from weft.domains.graphs.reading.files import read_graphs
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.reading.set_files import read_set_files
from weft.domains.graphs.reading.sets import set_of
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.tables import is_table

Named = Iterator[tuple[str, GraphSet]]  # graphs by the name of what they were given as


def are_tables(inputs: Sequence[object]) -> bool:
    """Whether all inputs are names of tables, which together are one graph."""
    return bool(inputs) and all(isinstance(one, str | Path) and is_table(one) for one in inputs)


def given_graphs(inputs: Sequence[object], *, directed: bool | None, label: str | None) -> Named:
    """Each input by its name with its graphs; tables that are named together are one graph. They need no labels."""
    column = LabelColumn(label, needed=False)
    if are_tables(inputs):
        names = [str(one) for one in inputs]
        yield ", ".join(names), read_graphs(names, directed=directed, label=column)
        return
    for one in inputs:
        if isinstance(one, dict) and "nodes" in one:
            graph, known = linked_graph(one, "graph", Tally(), directed=directed, label=column)
            yield "graph", GraphSet(graphs=[graph], features=known.features, kinds=known.kinds)
        elif isinstance(one, str | Path):
            yield str(one), read_graphs([str(one)], directed=directed, label=column)
        else:
            problem = f"expected the name of a graph file, found {type(one).__name__}"
            raise DataError(problem, where="input", fix="name a file, or give node-link data as a dictionary")


def given_sets(inputs: Sequence[object], *, set_column: str | None, label: str | None) -> Named:
    """Each input by its name with its sets: a file, or a list of vectors, as JSON or in Python. They need no labels."""
    column = LabelColumn(label, needed=False)
    for one in inputs:
        if isinstance(one, str) and one.lstrip().startswith("["):
            yield one, set_in_words(one)
        elif isinstance(one, str | Path):
            yield str(one), read_set_files([str(one)], set_column=set_column, label=column)
        elif isinstance(one, list | tuple | np.ndarray):
            yield "set", GraphSet(graphs=[set_of(one, "input")])
        else:
            problem = f"expected the name of a file or a list of vectors, found {type(one).__name__}"
            raise DataError(problem, where="input", fix="for example: '[[1.0, 2.0], [0.5, 1.5]]'")


def set_in_words(text: str) -> GraphSet:
    """One set, given as a list of vectors in JSON."""
    return GraphSet(graphs=[set_of(_vectors(text), "input")])


def _vectors(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"no list of vectors: {error}"
        raise DataError(problem, where=shown(text[:40]), fix="for example: '[[1.0, 2.0], [0.5, 1.5]]'") from None
