"""What simple rules reach on the same held-out data: the commonest label, a linear map, the labels of neighbours."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.dataset.data import HeldGraphs, LabelledNodes, Rows, labels_of
from weft.modalities.graph import Graph, SparseRows
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import numbers_of

PENALTY = 1.0  # of the linear map (ridge regression)
MOST_UNKNOWNS = 4000  # of a linear map
ROUNDS = 50  # of handing labels on along edges


def baselines(held_out: Rows, codec: LabelCodec, graphs: GraphCodec) -> dict[str, float]:
    """The measure that each rule reaches, by name; rules that learn need the data that the run was trained on."""
    truth, trained = _targets(labels_of(held_out), codec), _trained(held_out)
    measure = "accuracy" if isinstance(codec, ClassCodec) else "rmse"
    known = _targets(trained, codec) if trained else truth
    found = {f"{'majority' if measure == 'accuracy' else 'mean'}_{measure}": known.mean(0)[None].repeat(len(truth), 0)}
    if trained:
        linear = _linear(held_out, known, graphs)
        if linear is not None:
            found[f"linear_{measure}"] = linear
        if isinstance(held_out, LabelledNodes):
            found[f"propagation_{measure}"] = _propagated(held_out, codec)
    return {name: _score(values, truth, codec) for name, values in found.items()}


def in_words(found: dict[str, float]) -> str:
    """Baselines in a sentence, for a model card."""
    words = {"majority": "always the commonest class", "mean": "always the mean",
             "linear": "a linear map of the features", "propagation": "labels handed on along edges"}  # fmt: skip
    parts = [f"{words[name.partition('_')[0]]} {value:.3f}" for name, value in found.items()]
    return f"For comparison: {', '.join(parts)}." if parts else ""


def _trained(held_out: Rows) -> list[str]:
    """The labels that the run was trained on, where they are known."""
    if isinstance(held_out, LabelledNodes):
        return LabelledNodes(held_out.graphs, held_out.known).labels() if held_out.known else []
    return [graph.label for graph in held_out.trained] if isinstance(held_out, HeldGraphs) else []


def _targets(labels: Sequence[str], codec: LabelCodec) -> np.ndarray:
    """(labels, outputs): one column for each class, or the number itself."""
    if isinstance(codec, ClassCodec):
        return np.eye(codec.outputs)[codec.encode(labels)]
    return numbers_of(labels)[:, None]


def _score(values: np.ndarray, truth: np.ndarray, codec: LabelCodec) -> float:
    if isinstance(codec, ClassCodec):
        return float((values.argmax(1) == truth.argmax(1)).mean())
    return float(np.sqrt(((values - truth) ** 2).mean()))


def _linear(held_out: Rows, known: np.ndarray, codec: GraphCodec) -> np.ndarray | None:
    """Ridge regression on the features of nodes, or on the mean over the nodes of a graph."""
    if isinstance(held_out, LabelledNodes):
        each = [_described(graph, codec) for graph in held_out.graphs]
        train, test = (
            np.concatenate([rows[mask] for rows, mask in zip(each, masks, strict=True)])
            for masks in (held_out.known, held_out.masks)
        )
    else:
        assert isinstance(held_out, HeldGraphs)
        train, test = (np.stack([_summed(graph, codec) for graph in some]) for some in (held_out.trained, held_out))
    if min(train.shape) > MOST_UNKNOWNS:
        return None
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


def _propagated(held_out: LabelledNodes, codec: LabelCodec) -> np.ndarray:
    """Label propagation (Zhu and Ghahramani, 2002): every node takes the mean of its neighbours, known ones stay."""
    found = []
    counts = Counter(LabelledNodes(held_out.graphs, held_out.known).labels())
    usual = _targets(list(counts.elements()), codec).mean(0)
    for graph, known, mask in zip(held_out.graphs, held_out.known, held_out.masks, strict=True):
        values = np.tile(usual, (graph.size, 1))
        places = np.flatnonzero(known)
        own = _targets([graph.labels[i] for i in places], codec) if len(places) else np.zeros((0, len(usual)))
        values[places] = own
        degree = np.bincount(graph.edges.ravel(), minlength=graph.size)[:, None]
        ends, others = (np.concatenate([graph.edges[:, side], graph.edges[:, 1 - side]]) for side in (0, 1))
        for _ in range(ROUNDS):
            sums = np.stack([np.bincount(ends, column[others], graph.size) for column in values.T], 1)
            values = np.where(degree > 0, sums / np.maximum(degree, 1), usual)
            values[places] = own
        found.append(values[mask])
    return np.concatenate(found)
