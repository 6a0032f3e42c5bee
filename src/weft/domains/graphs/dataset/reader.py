"""Graphs, sets and nodes in files, divided into those to learn from and those held out."""

from collections.abc import Sequence
from typing import final

import numpy as np

from weft.domains.graphs.dataset.data import GraphData, LabelledNodes, Level
from weft.domains.graphs.dataset.dividing import nodes_split
from weft.domains.graphs.reading import files as graphs
from weft.domains.graphs.reading import set_files as sets
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.sample import dice_throws, party
from weft.domains.graphs.settings import GraphTraining, SetTraining
from weft.errors import DataError, listed
from weft.files.dataset import Count, Reader
from weft.files.held_out import SHARE, share_of_each, split_rows
from weft.files.labels import Kind, in_order, kind_of
from weft.files.survey import Judgement, Survey
from weft.modalities.graph import Graph

LEAST = 10  # labels to learn from


# Whole graphs


def whole_data(
    found: GraphSet,
    valid: GraphSet | None,
    asked: Kind | None,
    name: str | None,
    thing: str = "graphs",
    elements: str = "nodes",
) -> GraphData:
    """Graphs or sets with a label each, divided; those of `valid` are held out where a user names it."""
    labelled = [graph for graph in found.graphs if graph.label]
    where = listed(found.files)
    kind = _checked([graph.label for graph in labelled], asked, where, thing)
    if valid is None:
        train, held, rule = _split(labelled, kind, thing)
    else:
        train, held = labelled, [graph for graph in valid.graphs if graph.label]
        rule = f"{len(held)} {thing}: those in {name}"
    twice = len({graph.digest() for graph in train} & {graph.digest() for graph in held})
    notes = [f"{len(labelled):,} labelled {thing}", *found.notes]
    notes += [f"{thing} both trained on and held out: {twice:,}"] if twice else []
    missing = len(found.graphs) - len(labelled)
    notes += [f"{missing:,} {thing} without a label (left out)"] if missing else []
    return GraphData(
        train=train,
        held_out=held,
        fingerprint=found.fingerprint + (f" {valid.fingerprint}" if valid else ""),
        rule=rule,
        described=f"{len(labelled):,} {thing} ({where})",
        notes=tuple(notes),
        skipped=found.skipped,
        columns=(*found.features, *found.kinds),
        taken=found.taken,
        feature_names=found.features,
        kind_names=found.kinds,
        amounts={"train": len(train), "held_out": len(held), "overlap": twice},
        level="graphs",
        kind=kind,
        classes=in_order({graph.label for graph in labelled}) if kind == "classes" else (),
        thing=thing,
        elements=elements,
    )


def _split(graphs: Sequence[Graph], kind: Kind, thing: str) -> tuple[list[Graph], list[Graph], str]:
    groups = [graph.label for graph in graphs] if kind == "classes" else None
    train, out = split_rows(graphs, [graph.digest() for graph in graphs], what=thing, groups=groups)
    how_much = share_of_each(SHARE, len(out), len(graphs), "class" if kind == "classes" else "")
    rule = (
        f"{len(out):,} of {len(graphs):,} {thing}: {how_much} are held out, those with the lowest "
        f"SHA-256, so that equal {thing} fall on the same side"
    )
    return train, out, rule


# Nodes


def node_data(found: GraphSet, valid: GraphSet | None, asked: Kind | None, name: str | None) -> GraphData:
    """Graphs with labelled nodes, divided: by a file of its own, by the parts that the file names, or by name."""
    graphs, where = found.graphs, listed(found.files)
    labelled = [np.array([bool(text) for text in g.labels] or [False] * g.size, bool) for g in graphs]
    every = LabelledNodes(graphs, labelled)
    kind = _checked(every.labels(), asked, where, "nodes")
    classes = in_order(set(every.labels())) if kind == "classes" else ()
    others: list[np.ndarray] = []
    if valid is not None:
        train = every
        masks = [np.array([bool(text) for text in g.labels] or [False] * g.size, bool) for g in valid.graphs]
        held = LabelledNodes(valid.graphs, masks)
        rule = f"{held.count:,} nodes: those in {name}"
    elif any(graph.parts for graph in graphs):
        train_masks, held_masks, others = _by_parts(graphs, labelled, where)
        train = LabelledNodes(graphs, train_masks)
        held = LabelledNodes(graphs, held_masks, others)
        rule = f"{held.count:,} nodes: those that the file names for validation"
    else:
        train_masks, held_masks = nodes_split(every, kind)
        train, held = LabelledNodes(graphs, train_masks), LabelledNodes(graphs, held_masks)
        rule = (
            f"{held.count:,} of {every.count:,} labelled nodes: about {SHARE:.0%} are held out, those whose name has "
            "the lowest SHA-256; their edges and features are read in training, their labels are not"
        )
    tested = int(sum(mask.sum() for mask in others))
    notes = [f"{every.count:,} labelled nodes", *found.notes]
    notes += [f"{tested:,} nodes to test on, which neither train nor choose"] if tested else []
    return GraphData(
        train=train,
        held_out=held,
        fingerprint=found.fingerprint + (f" {valid.fingerprint}" if valid else ""),
        rule=rule,
        described=f"{every.count:,} labelled nodes ({where})",
        notes=tuple(notes),
        skipped=found.skipped,
        columns=(*found.features, *found.kinds),
        taken=found.taken,
        feature_names=found.features,
        kind_names=found.kinds,
        amounts={"train": train.count, "held_out": held.count, "test": tested},
        level="nodes",
        kind=kind,
        classes=classes,
    )


def _by_parts(
    graphs: Sequence[Graph], labelled: Sequence[np.ndarray], where: str
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """The nodes of the parts that the file names: to train on, to validate on, to test on."""

    def masks(part: str) -> list[np.ndarray]:
        found = []
        for graph, known in zip(graphs, labelled, strict=True):
            mask = np.zeros(graph.size, bool)
            mask[graph.parts.get(part, np.zeros(0, np.int64))] = True
            unlabelled = np.flatnonzero(mask & ~known)
            if len(unlabelled):
                problem = f"the node {graph.node(int(unlabelled[0]))} is named for {part} and has no label"
                raise DataError(problem, where=graph.name, fix="give it a label, or leave it out of that part")
            found.append(mask)
        return found

    train, held, test = (masks(part) for part in ("train", "val", "test"))
    if not any(mask.any() for mask in train):
        raise DataError("val and test nodes are named, and none to train on", where=where, fix="name some as train")
    if not any(mask.any() for mask in held):
        held, test = test, []
    if not any(mask.any() for mask in held):
        raise DataError("nodes to train on are named, and none to validate on", where=where, fix="name some as val")
    return train, held, test


def _checked(labels: Sequence[str], asked: Kind | None, where: str, thing: str) -> Kind:
    """Whether the labels are classes or numbers; too few, or all alike, are refused."""
    if len(labels) < LEAST:
        problem = f"{len(labels)} labelled {thing} are too few: at least {LEAST} are needed"
        raise DataError(problem, where=where, fix="add more")
    if len(set(labels)) == 1:
        problem = f"all {thing} have the same label, {labels[0]!r}: there is nothing to tell apart"
        raise DataError(problem, where=where, fix=f"add {thing} with other labels")
    kind: Kind = asked or kind_of(labels)
    if kind == "classes" and len(set(labels)) * 2 > len(labels):
        problem = f"{len(set(labels)):,} different labels for {len(labels):,} {thing}: these do not look like classes"
        raise DataError(problem, where=where, fix="--set labels=numbers if they are numbers")
    return kind


@final
class LabelledGraphs(Reader[GraphData]):
    """Graphs in files of many kinds."""

    sample = "graph"

    def judge(self, survey: Survey) -> Judgement:
        return graphs.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: GraphTraining, count: Count | None = None
    ) -> GraphData:

        def files(some: Sequence[str]) -> GraphSet:
            return graphs.read_graphs(some, directed=asked.directed, label=LabelColumn(asked.label_column))

        found = files(sources) if sources else party()
        level = level_of(found, asked.level, ", ".join(sources))
        if level == "nodes":
            return node_data(found, files([valid]) if valid else None, asked.labels, valid)
        return whole_data(found, files([valid]) if valid else None, asked.labels, valid)


@final
class LabelledSets(Reader[GraphData]):
    """Sets of vectors in files."""

    sample = "sets"

    def judge(self, survey: Survey) -> Judgement:
        return sets.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: SetTraining, count: Count | None = None
    ) -> GraphData:

        def files(some: Sequence[str]) -> GraphSet:
            return sets.read_set_files(some, set_column=asked.set_column, label=LabelColumn(asked.label_column))

        found = files(sources) if sources else dice_throws()
        held = files([valid]) if valid else None
        return whole_data(found, held, asked.labels, valid, thing="sets", elements="vectors")


def level_of(found: GraphSet, asked: Level | None, where: str) -> Level:
    """Whether labels are of whole graphs or of nodes; refused where there are none."""
    has = {"graphs": found.has_graph_labels, "nodes": found.has_node_labels}
    level: Level = asked or ("graphs" if has["graphs"] else "nodes")
    if not has[level]:
        fix = "name their column or array label, or say which it is: --set label_column=NAME"
        raise DataError(f"no labels of {asked or 'nodes or of graphs'}", where=where, fix=fix)
    return level
