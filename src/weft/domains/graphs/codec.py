"""GraphCodec: graphs to numbers. Knows features, words and types of edges; refuses to know files and models."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from weft.errors import ConfigError, DataError, listed
from weft.modalities.embedder import Embedder
from weft.modalities.graph import Features, Graph, SparseRows
from weft.modalities.graph_embed import GraphEmbed
from weft.tasks.codec import Codec

SPARSE = 0.1  # features of which a smaller share is not zero are kept without the zeros
WIDE = 64  # and only where there are at least this many


@dataclass(frozen=True)
class EncodedGraph:
    """A graph as numbers. Every node reads itself and its neighbours: `query` reads `key`."""

    size: int
    features: Features | None
    kinds: np.ndarray | None  # (N, C); 0 stands for a word that was never learned
    edges: np.ndarray  # (E, 2), each once
    query: np.ndarray
    key: np.ndarray
    types: np.ndarray
    weights: np.ndarray | None
    _kept: dict[Hashable, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def kept(self, name: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
        """A value derived from the graph, computed once."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    @property
    def degree(self) -> np.ndarray:
        """Neighbours of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.size)


class GraphCodec(Codec):
    """Features around 0 with a spread of 1; rows of sparse features brought to length 1."""

    class Config(Codec.Config):
        """`mean` and `spread` have a number for each feature, or none where features are sparse (`bags`).

        `names` are those of the features, where the files had some. `kinds` are the words of each kind, `edge_types`
        those of edges. An edge of a directed graph is read from both ends, in two types.
        """

        features: int = 0
        names: tuple[str, ...] = ()
        bags: bool = False
        mean: tuple[float, ...] = ()
        spread: tuple[float, ...] = ()
        kinds: tuple[tuple[str, ...], ...] = ()
        kind_names: tuple[str, ...] = ()
        edge_types: tuple[str, ...] = ()
        directed: bool = False
        weighted: bool = False

        @property
        def type_count(self) -> int:
            """Types of edges that a model tells apart, that from a node to itself included."""
            return 1 + max(1, len(self.edge_types)) * (2 if self.directed else 1)

    config: Config

    @classmethod
    def of(
        cls,
        graphs: Sequence[Graph],
        also: Sequence[Graph] = (),
        names: Sequence[str] = (),
        kind_names: Sequence[str] = (),
    ) -> Self:
        """The codec for graphs like these; words and types of edges may come from others `also`."""
        every = [*graphs, *also]
        width = max((graph.width for graph in graphs), default=0)
        bags = width >= WIDE and _density(graphs) < SPARSE
        columns = max((graph.kinds.shape[1] for graph in graphs if graph.kinds is not None), default=0)
        words = tuple(
            tuple(sorted({str(w) for g in every if g.kinds is not None for w in g.kinds[:, c] if w}))
            for c in range(columns)
        )
        types = sorted({str(t) for graph in every if graph.types is not None for t in graph.types})
        mean, spread = ((), ()) if bags or not width else _scale(graphs)
        config = cls.Config(
            features=width,
            names=tuple(names),
            bags=bags,
            mean=mean,
            spread=spread,
            kinds=words,
            kind_names=tuple(kind_names),
            edge_types=tuple(types),
            directed=any(graph.directed for graph in every),
            weighted=any(graph.weights is not None for graph in every),
        )
        return cls(config)

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        if isinstance(embed, GraphEmbed.Config) and embed.features != self.config.features:
            problem = f"the model reads {embed.features} features of a node, its codec gives {self.config.features}"
            raise ConfigError(problem, where=where, fix="config.json is of two different runs")

    def encode(self, graphs: Sequence[Graph]) -> list[EncodedGraph]:
        """Graphs as numbers; those with other features or types of edges than were learned are refused by name."""
        return [self._one(graph) for graph in graphs]

    def _one(self, graph: Graph) -> EncodedGraph:
        config, names, size = self.config, graph.name, graph.size
        if graph.width != config.features and size:
            problem = f"{graph.width} features for each node, the model learned from {config.features}"
            raise DataError(problem, where=names, fix="give nodes the same features, in the same order")
        columns = 0 if graph.kinds is None else graph.kinds.shape[1]
        if columns != len(config.kinds) and size:
            problem = f"{columns} properties in words for each node, the model learned from {len(config.kinds)}"
            raise DataError(problem, where=names, fix="give nodes the same properties, in the same order")
        types = self._types(graph)
        own = np.arange(size)
        query, key = (np.concatenate([graph.edges[:, side], graph.edges[:, 1 - side], own]) for side in (0, 1))
        back = types + max(1, len(config.edge_types)) if config.directed else types
        weights = None
        if config.weighted:
            given = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
            weights = np.concatenate([given, given, np.ones(size)]).astype(np.float32)
        return EncodedGraph(
            size=size,
            features=self._scaled(graph.features if size else np.zeros((0, config.features), np.float32)),
            kinds=self._kinds(graph) if config.kinds else None,
            edges=graph.edges,
            query=query,
            key=key,
            types=np.concatenate([types, back, np.zeros(size, np.int64)]),
            weights=weights,
        )

    def _types(self, graph: Graph) -> np.ndarray:
        """The type of each edge, from 1."""
        if not self.config.edge_types:
            return np.ones(len(graph.edges), np.int64)
        if graph.types is None and len(graph.edges):
            raise DataError("edges without types, the model learned from typed ones", where=graph.name)
        numbers = {name: i for i, name in enumerate(self.config.edge_types, 1)}
        unknown = sorted({str(one) for one in graph.types} - set(numbers)) if graph.types is not None else []
        if unknown:
            problem = f"edges of types that the model has not learned: {listed(unknown)}"
            raise DataError(problem, where=graph.name, fix=f"the types are {listed(self.config.edge_types)}")
        words: Sequence[object] = [] if graph.types is None else graph.types.tolist()
        return np.array([numbers[str(one)] for one in words], np.int64)

    def _kinds(self, graph: Graph) -> np.ndarray:
        """(N, C) numbers of the words of each node."""
        found = np.zeros((graph.size, len(self.config.kinds)), np.int64)
        if graph.kinds is not None and graph.size:
            for column, words in enumerate(self.config.kinds):
                numbers = {word: i for i, word in enumerate(words, 1)}
                found[:, column] = [numbers.get(str(word), 0) for word in graph.kinds[:, column]]
        return found

    def _scaled(self, features: Features | None) -> Features | None:
        if features is None or not self.config.features:
            return None
        if not self.config.bags:
            dense = features.dense() if isinstance(features, SparseRows) else features
            return ((dense - np.array(self.config.mean)) / np.array(self.config.spread)).astype(np.float32)
        rows = features if isinstance(features, SparseRows) else _sparse(features)
        sums = np.concatenate([[0.0], np.cumsum(rows.values.astype(np.float64) ** 2)])
        lengths = np.sqrt(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
        scale = np.repeat(1 / np.maximum(lengths, 1e-12), np.diff(rows.indptr))
        return SparseRows(rows.indptr, rows.indices, (rows.values * scale).astype(np.float32), rows.width)


def _density(graphs: Sequence[Graph]) -> float:
    """The share of features that are not zero."""
    filled, total = 0, 0
    for graph in graphs:
        if graph.features is not None:
            rows = graph.features
            filled += len(rows.values) if isinstance(rows, SparseRows) else int(np.count_nonzero(rows))
            total += rows.shape[0] * rows.shape[1]
    return filled / max(total, 1)


def _scale(graphs: Sequence[Graph]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each feature; a spread of 1 where it never varies."""
    rows = [g.features.dense() if isinstance(g.features, SparseRows) else g.features for g in graphs]
    every = np.concatenate([one for one in rows if one is not None and len(one)]).astype(np.float64)
    spread = every.std(0)
    return tuple(every.mean(0).tolist()), tuple(np.where(spread > 1e-9, spread, 1.0).tolist())


def _sparse(features: np.ndarray) -> SparseRows:
    nodes, indices = np.nonzero(features)
    counts = np.bincount(nodes, minlength=len(features))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return SparseRows(indptr, indices, features[nodes, indices], features.shape[1])
