"""Graphs in .npz files: arrays of edges, features and labels. Never unpickles.

edges (E, 2) or edge_index (2, E)        weight (E,)   type (E,)   directed
x (N, F), or x_indptr, x_indices, x_data and x_shape of a sparse matrix
labels or y, one for each node           train, val, test: numbers of nodes, or masks
graph (N,): the number of the graph that each node belongs to; then labels has one entry for each graph
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.cleaning import Tally, Where, check_ends, check_features, clean_edges, whole_numbers
from weft.errors import DataError
from weft.files.arrays import array, headers
from weft.files.decoding import shown
from weft.modalities.graph import Features, Graph, SparseRows

EDGES = ("edges", "edge_index", "edge_list")
FEATURES = ("x", "features", "node_features")
LABELS = ("labels", "y", "label", "node_labels", "graph_labels")
WEIGHTS = ("weight", "weights", "edge_weight", "edge_weights")
TYPES = ("type", "types", "edge_type", "edge_types", "edge_labels")
OWNERS = ("graph", "batch", "graph_indicator", "set")
PARTS = {"train": ("train", "train_mask"), "val": ("val", "valid", "val_mask"), "test": ("test", "test_mask")}
MOST_ALONE = 1000  # nodes for each edge, where nothing else is known of them
MOST_FEATURES = 10**7
NAMES = "name arrays edges (E, 2), x (N, F) and labels (N,); docs/graphs.md lists them all"


def holds_graph(path: Path) -> bool:
    """Whether a file of arrays has one that is named after edges."""
    try:
        return any(name in EDGES for name in headers(path))
    except DataError:
        return False


def read_arrays(path: Path, tally: Tally, *, directed: bool | None, edges_needed: bool = True) -> list[Graph]:
    """The graphs of one .npz file."""
    return _Arrays(path, tally, directed, edges_needed).graphs()


class _Arrays:
    """The arrays of a file by what they mean."""

    def __init__(self, path: Path, tally: Tally, directed: bool | None, edges_needed: bool):
        self.path, self.tally, self.known = path, tally, headers(path)
        self.directed = directed if directed is not None else self._flag("directed")
        self.features = self._features()
        self.edges = self._edges(edges_needed)
        self.labels = self._words(LABELS)
        self.owners = self._found(OWNERS)
        self.size = self._size()

    def graphs(self) -> list[Graph]:
        """One graph, or as many as `graph` numbers."""
        weights, types = self._found(WEIGHTS), self._words(TYPES)
        for name, values in (("weight", weights), ("type", types)):
            if values is not None and len(values) != len(self.edges):
                raise self._wrong(f"{name} has {len(values):,} entries for {len(self.edges):,} edges")
        if self.owners is None:
            return [self._one(weights, types)]
        return self._several(weights, types)

    def _one(self, weights: np.ndarray | None, types: np.ndarray | None) -> Graph:
        clean = clean_edges(
            self.edges, self.size, self._edge, self.tally, directed=self.directed, weights=weights, types=types
        )
        if self.labels is not None and len(self.labels) not in (1, self.size):
            raise self._wrong(f"{len(self.labels):,} labels for {self.size:,} nodes")
        whole = self.labels is not None and len(self.labels) == 1 and self.size != 1
        return Graph(
            name=shown(self.path.name),
            size=self.size,
            directed=self.directed,
            features=self.features,
            label=str(self.labels[0]) if whole and self.labels is not None else "",
            labels=() if whole or self.labels is None else tuple(self.labels),
            parts=self._parts(),
            **clean._asdict(),
        )

    def _several(self, weights: np.ndarray | None, types: np.ndarray | None) -> list[Graph]:
        owners = np.asarray(self.owners).astype(np.int64)
        if len(owners) != self.size:
            raise self._wrong(f"graph has {len(owners):,} entries for {self.size:,} nodes")
        bad = owners[(owners < 0) | (owners > len(owners) + (len(self.labels) if self.labels is not None else 0))]
        if len(bad):
            raise self._wrong(f"graph names the graph {bad[0]:,}, of {len(owners):,} nodes: count graphs from 0")
        count = max(int(owners.max(initial=-1)) + 1, len(self.labels) if self.labels is not None else 0)
        by_node = self.labels is not None and len(self.labels) == self.size != count
        if self.labels is not None and len(self.labels) != count and not by_node:
            raise self._wrong(f"{len(self.labels):,} labels for {count:,} graphs and {self.size:,} nodes")
        edges = whole_numbers(self.edges, self._edge)
        check_ends(edges, self.size, self._edge)
        crossing = np.flatnonzero(owners[edges[:, 0]] != owners[edges[:, 1]])
        if len(crossing):
            raise DataError("an edge joins nodes of two graphs", where=self._edge(int(crossing[0])))
        dense = self.features.dense() if isinstance(self.features, SparseRows) else self.features
        found = []
        for number, (mine, own) in enumerate(
            zip(_by_graph(owners, count), _by_graph(owners[edges[:, 0]], count), strict=True)
        ):
            place = np.searchsorted(mine, edges[own])
            picked = [None if values is None else values[own] for values in (weights, types)]
            clean = clean_edges(
                place, len(mine), self._edges_at(own), self.tally, directed=self.directed,
                weights=picked[0], types=picked[1],
            )  # fmt: skip
            found.append(
                Graph(
                    name=f"{shown(self.path.name)}[{number}]",
                    size=len(mine),
                    directed=self.directed,
                    features=None if dense is None else dense[mine],
                    label="" if by_node or self.labels is None else str(self.labels[number]),
                    labels=tuple(self.labels[mine]) if by_node and self.labels is not None else (),
                    **clean._asdict(),
                )
            )
        return found

    # The arrays

    def _found(self, names: Sequence[str]) -> np.ndarray | None:
        name = next((name for name in names if name in self.known), None)
        return None if name is None else array(self.path, name)

    def _flag(self, name: str) -> bool:
        return bool(array(self.path, name)) if name in self.known else False

    def _words(self, names: Sequence[str]) -> np.ndarray | None:
        found = self._found(names)
        if found is None:
            return None
        if found.ndim != 1:
            raise self._wrong(f"expected one label a row, found the shape {found.shape}")
        if found.dtype.kind == "f":
            return np.array(["" if np.isnan(value) else repr(float(value)) for value in found], object)
        return np.array([str(value) for value in found.tolist()], object)

    def _edges(self, needed: bool) -> np.ndarray:
        name = next((name for name in EDGES if name in self.known), None)
        if name is None:
            if needed:
                held = ", ".join(map(repr, list(self.known)[:8]))
                raise DataError(f"no array of edges; it holds {held}", where=shown(self.path), fix=NAMES)
            return np.zeros((0, 2), np.int64)
        edges = array(self.path, name)
        if edges.ndim != 2 or 2 not in edges.shape:
            raise self._wrong(f"{name} has the shape {edges.shape}, expected (edges, 2) or (2, edges)")
        return edges if edges.shape[1] == 2 and name != "edge_index" else edges.T

    def _features(self) -> Features | None:
        if "x_indptr" in self.known:
            return self._sparse()
        found = self._found(FEATURES)
        if found is None:
            return None
        if found.ndim != 2:
            raise self._wrong(f"x has the shape {found.shape}, expected (nodes, features)")
        return check_features(found, self._node)

    def _sparse(self) -> SparseRows:
        missing = [name for name in ("x_indices", "x_shape") if name not in self.known]
        if missing:
            raise self._wrong(f"x_indptr needs {' and '.join(missing)} beside it")
        indptr, indices, shape = (array(self.path, f"x_{name}") for name in ("indptr", "indices", "shape"))
        values = array(self.path, "x_data") if "x_data" in self.known else np.ones(len(indices), np.float32)
        values = check_features(values[:, None], lambda i: f"{shown(self.path)}: x_data[{i}]")[:, 0]
        ordered = len(indptr) == shape[0] + 1 and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
        if not ordered or indptr[-1] != len(indices) or len(values) != len(indices):
            raise self._wrong("x_indptr, x_indices, x_data and x_shape do not fit together")
        if not 0 <= shape[1] <= MOST_FEATURES:
            raise self._wrong(f"x_shape claims {shape[1]:,} features, more than {MOST_FEATURES:,}")
        if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
            raise self._wrong(f"x_indices go from {indices.min()} to {indices.max()}, there are {shape[1]} features")
        return SparseRows(indptr.astype(np.int64), indices.astype(np.int64), values, int(shape[1]))

    def _parts(self) -> Mapping[str, np.ndarray]:
        parts = {}
        for name, names in PARTS.items():
            found = self._found(names)
            if found is None:
                continue
            nodes = np.flatnonzero(found) if found.dtype == bool else found.astype(np.int64)
            bad = nodes[(nodes < 0) | (nodes >= self.size)]
            if len(bad):
                raise self._wrong(f"{name} names the node {bad[0]}, there are {self.size:,}")
            parts[name] = np.unique(nodes)
        if len(parts) > 1:
            every = np.concatenate(list(parts.values()))
            twice = np.unique(every[np.bincount(every, minlength=self.size)[every] > 1])
            if len(twice):
                raise self._wrong(f"{len(twice):,} nodes are in two of {', '.join(parts)}, as node {twice[0]}")
        return parts

    def _size(self) -> int:
        if self.features is not None:
            return self.features.shape[0]
        known = [len(values) for values in (self.owners, self.labels) if values is not None and len(values) > 1]
        last = int(self.edges.max(initial=-1))
        if not known and last > MOST_ALONE * (len(self.edges) + 1):
            raise self._wrong(f"edges name the node {last:,}, and there are {len(self.edges):,} edges: count from 0")
        return known[0] if known else last + 1

    def _edges_at(self, rows: np.ndarray) -> Where:
        return lambda place: self._edge(int(rows[place]))

    def _edge(self, place: int) -> str:
        return f"{shown(self.path)}: edges[{place}]"

    def _node(self, place: int) -> str:
        return f"{shown(self.path)}: node {place}"

    def _wrong(self, problem: str) -> DataError:
        return DataError(problem, where=shown(self.path), fix=NAMES)


def _by_graph(owners: np.ndarray, count: int) -> list[np.ndarray]:
    """The places of each graph's entries, in order."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, count))) if count else []
