"""Graphs and sets as numbers and as samples: whole ones with a label each, or one label for each of some nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import AtTokens, Classes, Numbers, Samples, wanted
from weft.domains.graphs.codec import EncodedGraph, GraphCodec
from weft.domains.graphs.dataset.data import GraphData, LabelledNodes
from weft.domains.graphs.positions import laplacian_waves, steps_between
from weft.modalities.graph import Graph, SparseRows
from weft.modalities.graph_embed import Bags, Graphs
from weft.relations import EdgeList
from weft.tasks.labels.label import LabelCodec

USUAL_MINUTES = (0.5, 10.0)  # the least and the most, where the user does not say
NODES_PER_MINUTE = 5000  # of the data, where the user does not say


@dataclass(frozen=True)
class NodePositions:
    """What a model wants to know of nodes besides the data: a number of eigenvectors, and the steps between them."""

    waves: int = 0
    steps: bool = False


@dataclass(frozen=True)
class GraphRows:
    """Encoded graphs with their targets: one for each graph, or one for each node of `where`, graph by graph."""

    graphs: Sequence[EncodedGraph]
    targets: Any  # an array with an entry for each graph, or a list of arrays with one for each node
    where: Sequence[np.ndarray] | None = None  # the nodes that count in each graph, as masks
    places: NodePositions = NodePositions()
    _kept: dict[tuple[int, ...], Samples] = field(default_factory=dict, repr=False, compare=False)

    def lengths(self) -> np.ndarray:
        """A column with the nodes of each graph."""
        return np.array([[graph.size] for graph in self.graphs], np.int64).reshape(-1, 1)

    def take(self, rows: Sequence[int] | np.ndarray) -> Samples[Graphs, Classes | Numbers | AtTokens]:
        """Some of the graphs with their targets. A single large graph is put together once."""
        key = tuple(int(row) for row in rows)
        if key in self._kept:
            return self._kept[key]
        given = batch_of([self.graphs[row] for row in key], self.places)
        made = Samples(given, self._wanted(key, given.degree.shape[1]))
        if len(self.graphs) == 1:
            self._kept[key] = made
        return made

    def _wanted(self, rows: Sequence[int], nodes: int) -> Classes | Numbers | AtTokens:
        if self.where is None:
            return wanted(self.targets[np.asarray(rows)])
        values = np.zeros((len(rows), nodes), self.targets[rows[0]].dtype)
        where = np.zeros((len(rows), nodes), bool)
        for place, row in enumerate(rows):
            size = self.graphs[row].size
            values[place, :size], where[place, :size] = self.targets[row], self.where[row]
        return AtTokens(torch.from_numpy(values), torch.from_numpy(where))


@dataclass(frozen=True)
class EncodedGraphs:
    """The graphs of a data set as numbers, to train on and held out."""

    data: GraphData
    train: GraphRows
    held_out: GraphRows

    @staticmethod
    def of(data: GraphData, codec: GraphCodec, label: LabelCodec) -> "EncodedGraphs":
        """Graphs and labels to numbers."""
        known: dict[int, EncodedGraph] = {}
        train, held = (_rows(side, codec, label, known) for side in (data.train, data.held_out))
        return EncodedGraphs(data, train, held)

    def source(self, places: NodePositions, *, tokens: int, rows: int, seed: int) -> LikeLengthSource[Graphs, Any]:
        """The samples of a model: micro-batches of at most `tokens` nodes and `rows` graphs."""
        train, held = (GraphRows(r.graphs, r.targets, r.where, places) for r in (self.train, self.held_out))
        mark = self.data.fingerprint
        return LikeLengthSource(train, held, tokens=tokens, rows=rows, fingerprint=mark, seed=seed)

    @cached_property
    def nodes(self) -> int:
        """Nodes of all graphs to train on."""
        return sum(graph.size for graph in self.train.graphs)

    @cached_property
    def edges(self) -> int:
        """Pairs of nodes that read each other, in all graphs to train on."""
        return sum(len(graph.query) for graph in self.train.graphs)

    @cached_property
    def largest(self) -> EncodedGraph:
        """The graph with the most nodes."""
        return max([*self.train.graphs, *self.held_out.graphs], key=lambda graph: graph.size)

    @property
    def typical(self) -> float:
        """The usual number of nodes of a graph."""
        return max(1.0, float(f"{self.nodes / max(1, len(self.train.graphs)):.3g}"))

    @property
    def minutes(self) -> float:
        """How long to train where the user does not say."""
        least, most = USUAL_MINUTES
        return min(most, max(least, self.nodes / NODES_PER_MINUTE))

    @property
    def amounts(self) -> Mapping[str, int | float]:
        """Counts for config.json."""
        return {"nodes": self.nodes, "edges": sum(len(graph.edges) for graph in self.train.graphs)}

    def lines(self) -> Mapping[str, str]:
        """The graphs in words, for a plan."""
        data, edges = self.data, self.amounts["edges"]
        joined = f", {edges:,} edges" if data.thing == "graphs" else ""
        what = f"{data.described}: {self.nodes:,} {data.elements}{joined}"
        return {"data": what, "held out": data.rule}


def _rows(
    side: Sequence[Graph] | LabelledNodes, codec: GraphCodec, label: LabelCodec, known: dict[int, EncodedGraph]
) -> GraphRows:
    graphs = side.graphs if isinstance(side, LabelledNodes) else side
    encoded = []
    for graph in graphs:  # a graph of which some nodes are held out is on both sides, and encoded once
        if id(graph) not in known:
            known[id(graph)] = codec.encode([graph])[0]
        encoded.append(known[id(graph)])
    if not isinstance(side, LabelledNodes):
        return GraphRows(encoded, label.encode([graph.label for graph in graphs]))
    targets = []
    for graph, mask in zip(graphs, side.masks, strict=True):
        own = label.encode([graph.labels[i] for i in np.flatnonzero(mask)], graph.name)
        values = np.zeros(graph.size, own.dtype)
        values[mask] = own
        targets.append(values)
    return GraphRows(encoded, targets, side.masks)


def batch_of(graphs: Sequence[EncodedGraph], places: NodePositions) -> Graphs:
    """Graphs in one padded batch."""
    nodes = max(1, *(graph.size for graph in graphs))
    shifts = [np.int64(row * nodes) for row in range(len(graphs))]
    query, key = (
        torch.from_numpy(np.concatenate([getattr(g, end) + s for g, s in zip(graphs, shifts, strict=True)]))
        for end in ("query", "key")
    )
    values = {"type": torch.from_numpy(np.concatenate([graph.types for graph in graphs]))}
    if graphs[0].weights is not None:
        values["weight"] = torch.from_numpy(np.concatenate([graph.weights for graph in graphs]))
    kinds = [graph.kinds for graph in graphs]
    columns = next((one.shape[1] for one in kinds if one is not None), 0)
    steps = [_steps(graph) for graph in graphs] if places.steps else []
    waves = [_waves(graph, places.waves) for graph in graphs] if places.waves else []
    return Graphs(
        sizes=torch.tensor([graph.size for graph in graphs]),
        degree=_filled([graph.degree for graph in graphs], (nodes,), np.int64),
        edges=EdgeList.of(query, key, batch=len(graphs), tokens=nodes, values=values),
        features=_features(graphs, nodes),
        kinds=_filled(kinds, (nodes, columns), np.int64) if columns else None,
        waves=_filled(waves, (nodes, places.waves), np.float32) if waves else None,
        steps=_filled(steps, (nodes, nodes), np.int64) if steps else None,
    )


def _steps(graph: EncodedGraph) -> np.ndarray:
    return graph.kept("steps", lambda: steps_between(graph.edges, graph.size))


def _waves(graph: EncodedGraph, count: int) -> np.ndarray:
    return graph.kept(("waves", count), lambda: laplacian_waves(graph.edges, graph.size, count))


def _features(graphs: Sequence[EncodedGraph], nodes: int) -> Any:
    given = [graph.features for graph in graphs]
    first = next((one for one in given if one is not None), None)
    if first is None:
        return None
    if not isinstance(first, SparseRows):
        return _filled(given, (nodes, first.shape[1]), np.float32)
    counts = np.zeros((len(graphs), nodes), np.int64)
    for row, one in enumerate(given):
        if isinstance(one, SparseRows):
            counts[row, : one.shape[0]] = np.diff(one.indptr)
    parts = [one for one in given if isinstance(one, SparseRows)]
    ids, values = (np.concatenate([getattr(one, name) for one in parts]) for name in ("indices", "values"))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Bags(torch.from_numpy(ids), torch.from_numpy(values), torch.from_numpy(offsets))


def _filled(parts: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
    """Arrays of different sizes in one, zeros behind."""
    whole = np.zeros((len(parts), *shape), dtype)
    for row, part in zip(whole, parts, strict=True):
        if part is not None:
            row[tuple(slice(side) for side in part.shape)] = part
    return torch.from_numpy(whole)
