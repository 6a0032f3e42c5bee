"""Graph: nodes, what is known of each, and who is joined to whom. Knows numpy alone; a set is a graph without edges."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class SparseRows:
    """Features of which most are zero: those of node i stand from indptr[i] to indptr[i + 1]."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes and features."""
        return len(self.indptr) - 1, self.width

    def dense(self) -> np.ndarray:
        """The same with its zeros."""
        whole = np.zeros(self.shape, np.float32)
        whole[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.values
        return whole


Features = np.ndarray | SparseRows
NOTHING = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """One graph as it was read, its edges clean: each stands once, and none joins a node to itself.

    `kinds` has a column for each property of nodes that is a word and not a number. In an undirected edge
    (a, b), a < b. `label` is that of the whole, `labels` are those of its nodes, "" where none is known. `parts` are
    nodes to train on, to validate on and to test on, where the file says so.
    """

    name: str
    size: int
    edges: np.ndarray = field(default_factory=lambda: NOTHING)  # (E, 2) from, to
    directed: bool = False
    weights: np.ndarray | None = None  # (E,), above 0
    types: np.ndarray | None = None  # (E,) of words
    features: Features | None = None  # (N, F)
    kinds: np.ndarray | None = None  # (N, C) of words
    names: tuple[str, ...] = ()  # of the nodes; none: their numbers from 0
    label: str = ""
    labels: tuple[str, ...] = ()
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def node(self, place: int) -> str:
        """What a node is called."""
        return self.names[place] if self.names else str(place)

    @property
    def width(self) -> int:
        """Features of a node."""
        return 0 if self.features is None else self.features.shape[1]

    def digest(self) -> bytes:
        """The SHA-256 of everything but names and labels: equal graphs have equal ones."""
        found = hashlib.sha256(f"{self.size} {self.directed}".encode())
        sparse = isinstance(self.features, SparseRows)
        parts = (self.features.indptr, self.features.indices, self.features.values) if sparse else (self.features,)  # type: ignore[union-attr]
        for array in (self.edges, self.weights, *parts):
            found.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        for words in (self.types, self.kinds):
            found.update(b"-" if words is None else "\0".join(map(str, words.ravel())).encode())
        return found.digest()
