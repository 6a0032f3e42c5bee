"""Graphs from files of every kind that weft reads, and whether sources hold some.

One .npz file, tables of edges and nodes named together, a text or a folder of the TU collection, or GraphML, GML and
node-link JSON with a graph each.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.arrays import holds_graph, read_arrays
from weft.domains.graphs.reading.cleaning import Tally
from weft.domains.graphs.reading.exchange import ENDINGS as EXCHANGE
from weft.domains.graphs.reading.exchange import is_node_link, read_exchange
from weft.domains.graphs.reading.graph_set import GraphSet, check_nodes
from weft.domains.graphs.reading.molecules import is_molecules, judge_molecules, read_molecules
from weft.domains.graphs.reading.properties import ANY_LABEL, LabelColumn, Properties, taken_label
from weft.domains.graphs.reading.tables import read_tables, role_of
from weft.domains.graphs.reading.tu import is_tu_text, read_tu_folder, read_tu_text, tu_stem
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.finding import ending, find
from weft.files.foreign_text import known_text
from weft.files.survey import NO, Judgement, Survey, Surveyed, sure_if
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import is_table
from weft.modalities.graph import Graph

KNOWN = (".npz", *TABLES, ".txt", *EXCHANGE)


def read_graphs(sources: Sequence[str], *, directed: bool | None = None, label: LabelColumn = ANY_LABEL) -> GraphSet:
    """The graphs of some files, all with the same properties of nodes."""
    tally, folders = Tally(), [Path(source) for source in sources if tu_stem(Path(source)) is not None]
    rest = [source for source in sources if Path(source) not in folders]
    found = find(rest, KNOWN) if rest else None
    paths = list(found.paths) if found else []
    tables = [path for path in paths if is_table(path) and not is_molecules(path)]
    sets = [GraphSet(graphs=read_tu_folder(folder, tally)) for folder in folders]
    exchanged: list[tuple[Graph, Properties]] = []
    for path in paths:
        if path in tables:
            continue
        if is_table(path):
            sets.append(read_molecules(path, label))
        elif ending(path, (".npz",)):
            sets.append(GraphSet(graphs=read_arrays(path, tally, directed=directed)))
        elif ending(path, (".txt",)):
            sets.append(GraphSet(graphs=read_tu_text(path, tally)))
        else:
            exchanged.append(read_exchange(path, tally, directed=directed, label=label))
    if tables:
        sets.append(read_tables(tables, tally, directed=directed, label=label))
    if exchanged:
        sets.append(_aligned(exchanged))
    files = tuple(shown(path.name) for path in [*folders, *paths])
    whole = joined(sets, files, ", ".join(map(shown, sources)))
    notes = (*whole.notes, *tally.notes())
    return dataclasses.replace(whole, notes=notes, skipped=found.skipped if found else ())


def joined(sets: Sequence[GraphSet], files: tuple[str, ...], where: str) -> GraphSet:
    """Several sets of graphs as one; their nodes must have the same properties."""
    graphs = [graph for one in sets for graph in one.graphs]
    for graph in graphs:
        check_nodes(graph)
        if graph.size and graph.width != (wide := next(g for g in graphs if g.size)).width:
            problem = f"{graph.width} features for each node, {wide.name} has {wide.width}"
            raise DataError(problem, where=graph.name, fix="give all nodes the same features")
    if not any(graph.size for graph in graphs):
        raise DataError(f"{len(graphs)} graphs and no node", where=where, fix="name files that hold graphs")
    first = next(iter(sets), GraphSet(graphs=()))
    return GraphSet(
        graphs=graphs,
        features=first.features,
        kinds=first.kinds,
        notes=tuple(note for one in sets for note in one.notes),
        files=files,
        taken=next((one.taken for one in sets if one.taken), {}),
    )


def _aligned(found: Sequence[tuple[Graph, Properties]]) -> GraphSet:
    """Graphs of a file each with the properties that all of them have, in one order."""
    features, kinds = (
        tuple(n for n in getattr(found[0][1], side) if all(n in getattr(known, side) for _, known in found))
        for side in ("features", "kinds")
    )
    graphs = []
    for graph, known in found:
        values = _picked(known.values, known.features, features)
        words = _picked(known.words, known.kinds, kinds)
        graphs.append(dataclasses.replace(graph, features=values, kinds=words))
    lost = {n for _, known in found for n in (*known.features, *known.kinds)} - {*features, *kinds}
    lost |= {n for _, known in found for n in known.ignored}
    notes = (f"properties of nodes left out: {', '.join(sorted(lost))}",) if lost else ()
    taken = taken_label(next((known.label for _, known in found if known.label), None))
    return GraphSet(graphs=graphs, features=features, kinds=kinds, notes=notes, taken=taken)


def _picked(values: np.ndarray | None, names: Sequence[str], wanted: Sequence[str]) -> np.ndarray | None:
    return None if values is None or not wanted else values[:, [names.index(name) for name in wanted]]


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are graphs: arrays of edges, tables of edges and nodes, graph files, texts or folders of graphs."""
    if survey.sources and all(source.kind == "file" and source.tables for source in survey.sources):
        return _judge_tables(survey)
    return survey.weakest(_judge_source)


def _judge_tables(survey: Survey) -> Judgement:
    molecules = survey.weakest(judge_molecules)
    if molecules.level != "no":
        return molecules
    roles = [role_of(table) for table in survey.tables]
    if roles.count("edges") == 1 and "nodes" in roles and None not in roles:
        return Judgement("sure", "a table of edges (source, target) and one of nodes (id)")
    return NO


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind == "folder":
        if tu_stem(source.path) is not None:
            return Judgement("sure", "a folder of graphs in the layout of the TU collection")
        return sure_if(source.share(EXCHANGE[:2]) > 0.5, "a folder of graph files")
    if source.kind != "file":
        return NO
    if ending(source.path, (".npz",)):
        return sure_if(holds_graph(source.path), "arrays of edges")
    if ending(source.path, EXCHANGE[:2]):
        if isinstance(source.start, str) and known_text(source.path, source.start) is not None:
            return NO  # a map, whose files end in .gml too
        return Judgement("sure", "a graph, by its ending")
    if ending(source.path, (".json",)):
        return sure_if(isinstance(source.start, str) and is_node_link(source.start), "a graph as node-link JSON")
    if ending(source.path, (".txt",)):
        return sure_if(is_tu_text(source.lines), "a text of graphs: nodes with their neighbours")
    return NO
