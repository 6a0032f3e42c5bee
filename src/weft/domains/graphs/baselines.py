"""Plain methods for graphs, nodes and sets: a linear map, the labels of neighbours, a forest on substructures."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import LabelledNodes
from weft.modalities.graph import Graph, SparseRows
from weft.tasks.baselines import Baseline
from weft.tasks.labels.baselines import LabelTarget

PENALTY = 1.0  # of the linear map (ridge regression)
MOST_UNKNOWNS = 4000  # of a linear map
ROUNDS = 50  # of handing labels on along edges
RADIUS = 2  # edges from a node to the rim of its substructure
BINS = 1024  # that substructures are counted in
MOST_NODES = 400_000  # of all graphs together whose substructures are counted


def node_baselines(
    target: LabelTarget, train: LabelledNodes, held_out: LabelledNodes, codec: GraphCodec
) -> Iterator[Baseline]:
    """A linear map of the features of nodes; the labels of neighbours, where nodes of the same graphs are known."""

    def rows(some: LabelledNodes) -> np.ndarray:
        each = zip(some.graphs, some.masks, strict=True)
        return np.concatenate([_described(graph, codec)[mask] for graph, mask in each])

    yield from _mapped(target, rows(train), rows(held_out))
    if train.graphs is held_out.graphs:
        found = _answers(_propagated(train, held_out, target), target)
        yield target.scored("propagation", "labels handed on along edges", found)


def whole_baselines(
    target: LabelTarget, train: Sequence[Graph], held_out: Sequence[Graph], codec: GraphCodec
) -> Iterator[Baseline]:
    """A linear map of the mean over nodes or elements; a forest on that and on substructures."""
    known, asked = (np.stack([_summed(graph, codec) for graph in some]) for some in (train, held_out))
    yield from _mapped(target, known, asked)
    if sum(graph.size for graph in (*train, *held_out)) <= MOST_NODES:
        pairs = ((known, train), (asked, held_out))
        features = (np.concatenate([means, fingerprints(some)], 1) for means, some in pairs)
        edges = any(len(graph.edges) for graph in train)
        words = "a forest on fingerprints" if edges else "a forest on the means of sets"
        yield target.fitted("forest", words, target.forest(), *features)


def _mapped(target: LabelTarget, known: np.ndarray, asked: np.ndarray) -> Iterator[Baseline]:
    if min(known.shape) <= MOST_UNKNOWNS:
        yield target.scored("linear", "a linear map of the features", _answers(_linear(known, asked, target), target))


def fingerprints(graphs: Sequence[Graph]) -> np.ndarray:
    """(graphs, BINS): how often each substructure stands in a graph, those around its nodes by up to RADIUS edges.

    A substructure is known by a hash of words, types of edges and degrees, as in circular fingerprints of molecules
    (Rogers and Hahn, 2010).
    """
    found = np.zeros((len(graphs), BINS), np.float32)
    known: dict[object, int] = {}
    for row, graph in enumerate(graphs):
        degree = np.bincount(graph.edges.ravel(), minlength=graph.size)
        words = [()] * graph.size if graph.kinds is None else list(map(tuple, graph.kinds.tolist()))
        codes: list[int] = [_code((words[i], int(degree[i])), known) for i in range(graph.size)]
        ends: list[list[tuple[int, str]]] = [[] for _ in range(graph.size)]
        types = [""] * len(graph.edges) if graph.types is None else list(map(str, graph.types))
        for (a, b), kind in zip(graph.edges.tolist(), types, strict=True):
            ends[a].append((b, kind))
            ends[b].append((a, kind))
        np.add.at(found[row], np.array(codes, np.int64) % BINS, 1)
        for _ in range(RADIUS if len(graph.edges) else 0):
            codes = [
                _code((codes[i], tuple(sorted((kind, codes[j]) for j, kind in ends[i]))), known)
                for i in range(graph.size)
            ]
            np.add.at(found[row], np.array(codes, np.int64) % BINS, 1)
    return found


def _code(of: object, known: dict[object, int]) -> int:
    """The same number for the same substructure, on every machine."""
    if of not in known:
        known[of] = int.from_bytes(hashlib.blake2b(repr(of).encode("utf-8"), digest_size=6).digest(), "little")
    return known[of]


def _targets(labels: np.ndarray, target: LabelTarget) -> np.ndarray:
    """(labels, outputs): one column for each class, or the number itself."""
    return np.eye(target.codec.outputs)[labels] if target.classes else labels[:, None]


def _answers(values: np.ndarray, target: LabelTarget) -> np.ndarray:
    return values.argmax(1) if target.classes else values[:, 0]


def _linear(train: np.ndarray, test: np.ndarray, target: LabelTarget) -> np.ndarray:
    """Ridge regression."""
    known = _targets(target.known, target)
    middle, mean = train.mean(0), known.mean(0)
    x, y = train - middle, known - mean
    if len(x) < x.shape[1]:
        weights = x.T @ np.linalg.solve(x @ x.T + PENALTY * np.eye(len(x)), y)
    else:
        weights = np.linalg.solve(x.T @ x + PENALTY * np.eye(x.shape[1]), x.T @ y)
    return (test - middle) @ weights + mean


def _described(graph: Graph, codec: GraphCodec) -> np.ndarray:
    """Each node by its features, its words and its degree."""
    (encoded,) = codec.encode([graph])
    rows = encoded.features
    parts = [rows.dense() if isinstance(rows, SparseRows) else rows] if rows is not None else []
    if encoded.kinds is not None:
        for column, words in enumerate(codec.config.kinds):
            parts.append(np.eye(len(words) + 1)[encoded.kinds[:, column]])
    return np.concatenate([*parts, np.log1p(encoded.degree)[:, None]], 1).astype(np.float64)


def _summed(graph: Graph, codec: GraphCodec) -> np.ndarray:
    """A graph by the mean over its nodes and the logarithm of its size."""
    config = codec.config
    width = config.features + sum(len(words) + 1 for words in config.kinds) + 1
    mean = _described(graph, codec).mean(0) if graph.size else np.zeros(width)
    return np.append(mean, np.log1p(graph.size))


def _propagated(train: LabelledNodes, held_out: LabelledNodes, target: LabelTarget) -> np.ndarray:
    """Label propagation (Zhu and Ghahramani, 2002): every node takes the mean of its neighbours, known ones stay."""
    found, every = list[np.ndarray](), _targets(target.known, target)
    usual, begin = every.mean(0), 0
    for graph, known, mask in zip(train.graphs, train.masks, held_out.masks, strict=True):
        values, places = np.tile(usual, (graph.size, 1)), np.flatnonzero(known)
        own = every[begin : begin + len(places)]
        begin += len(places)
        values[places] = own
        degree = np.bincount(graph.edges.ravel(), minlength=graph.size)[:, None]
        ends, others = (np.concatenate([graph.edges[:, side], graph.edges[:, 1 - side]]) for side in (0, 1))
        for _ in range(ROUNDS):
            sums = np.stack([np.bincount(ends, column[others], graph.size) for column in values.T], 1)
            values = np.where(degree > 0, sums / np.maximum(degree, 1), usual)
            values[places] = own
        found.append(values[mask])
    return np.concatenate(found)
