"""Graphs and sets with labels: whole ones, or some of their nodes. Knows neither files nor how they are divided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.files.dataset import Dataset
from weft.files.labels import Kind
from weft.modalities.graph import Graph

Level = Literal["nodes", "graphs"]


@dataclass(frozen=True)
class LabelledNodes:
    """Some labelled nodes of some graphs: those that `masks` has, graph by graph. `others` are the nodes to test on."""

    graphs: Sequence[Graph]
    masks: Sequence[np.ndarray]
    others: Sequence[np.ndarray] = ()

    @property
    def count(self) -> int:
        """How many nodes these are."""
        return int(sum(mask.sum() for mask in self.masks))

    def labels(self) -> list[str]:
        """Their labels, in order."""
        pairs = zip(self.graphs, self.masks, strict=True)
        return [graph.labels[i] for graph, mask in pairs for i in np.flatnonzero(mask)]


Rows = Sequence[Graph] | LabelledNodes


@dataclass(frozen=True, kw_only=True)
class GraphData(Dataset[Rows, Rows]):
    """Graphs with labels, or with labelled nodes. `classes` are in the order of their numbers; numbers have none."""

    level: Level
    kind: Kind
    classes: tuple[str, ...]
    feature_names: tuple[str, ...] = ()
    kind_names: tuple[str, ...] = ()
    thing: str = "graphs"
    elements: str = "nodes"

    def labels(self) -> list[str]:
        """The labels of what is trained on."""
        return labels_of(self.train)


def graphs_of(rows: Rows) -> Sequence[Graph]:
    """The graphs themselves."""
    return rows.graphs if isinstance(rows, LabelledNodes) else rows


def labels_of(rows: Rows) -> list[str]:
    """The labels of graphs, or of nodes."""
    return rows.labels() if isinstance(rows, LabelledNodes) else [graph.label for graph in rows]
