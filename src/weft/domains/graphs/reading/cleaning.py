"""Edges as files have them, made clean: ends checked, loops and repeats taken out and counted. Knows numpy alone."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weft.errors import DataError

Where = Callable[[int], str]  # the number of an edge -> where it stands, for messages


class CleanEdges(NamedTuple):
    """Each edge once, none from a node to itself, with the weight and type of its first mention."""

    edges: np.ndarray
    weights: np.ndarray | None
    types: np.ndarray | None


class Tally:
    """What was found in all graphs of some files that a user should know of."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def notes(self) -> tuple[str, ...]:
        """Lines for people."""
        words = {
            "loops": "edges from a node to itself (left out; every node reads itself anyway)",
            "repeats": "repeated edges (each counts once)",
            "both ways": "undirected edges that stand in both directions (each counts once)",
            "zero": "edges of weight 0 (left out)",
            "answered": "directed edges that are answered by one the other way",
            "isolated": "nodes without edges",
            "empty": "graphs without nodes",
        }
        return tuple(f"{self.found[name]:,} {text}" for name, text in words.items() if self.found[name])


def clean_edges(
    edges: np.ndarray,
    size: int,
    where: Where,
    tally: Tally,
    *,
    directed: bool = False,
    weights: np.ndarray | None = None,
    types: np.ndarray | None = None,
) -> CleanEdges:
    """The edges of a graph of `size` nodes; `where` says where the i-th stands."""
    edges = whole_numbers(edges, where)
    check_ends(edges, size, where)
    kept = _positive(weights, where, len(edges)) if weights is not None else np.ones(len(edges), bool)
    tally.found["zero"] += int((~kept).sum())
    loops = edges[:, 0] == edges[:, 1]
    tally.found["loops"] += int(loops.sum())
    kept &= ~loops
    forward = edges[:, 0] * size + edges[:, 1]
    backward = edges[:, 1] * size + edges[:, 0]
    repeats = int(kept.sum()) - len(np.unique(forward[kept]))
    tally.found["repeats"] += repeats
    keys = forward if directed else np.minimum(forward, backward)
    _, first = np.unique(keys[kept], return_index=True)
    places = np.flatnonzero(kept)[first]
    if directed:
        tally.found["answered"] += int(np.isin(backward[places], forward[places]).sum())
        found = edges[places]
    else:
        tally.found["both ways"] += int(kept.sum()) - repeats - len(places)
        found = np.sort(edges[places], axis=1)
    tally.found["isolated"] += size - len(np.unique(found)) if len(edges) else 0
    tally.found["empty"] += size == 0
    chosen = [None if values is None else values[places] for values in (weights, types)]
    return CleanEdges(found, *chosen)


def whole_numbers(edges: np.ndarray, where: Where) -> np.ndarray:
    """Ends of edges as whole numbers."""
    edges = np.asarray(edges).reshape(-1, 2)
    if edges.dtype.kind == "f":
        bad = np.flatnonzero(~(np.isfinite(edges) & (edges == np.round(edges))).all(1))
        if len(bad):
            problem = f"an edge joins two nodes by their numbers, found {edges[bad[0]].tolist()}"
            raise DataError(problem, where=where(int(bad[0])), fix="write whole numbers")
    if edges.dtype.kind not in "iuf":
        raise DataError(f"edges are pairs of numbers of nodes, found {edges.dtype}", where=where(0))
    return edges.astype(np.int64)


def check_ends(edges: np.ndarray, size: int, where: Where) -> None:
    """Refuse an edge to a node that is not there."""
    bad = np.flatnonzero(((edges < 0) | (edges >= size)).any(1))
    if len(bad):
        pair = edges[bad[0]].tolist()
        problem = f"the edge {pair[0]} – {pair[1]} needs nodes from 0 to {size - 1}: there are {size:,}"
        more = f" ({len(bad):,} such edges)" if len(bad) > 1 else ""
        raise DataError(problem + more, where=where(int(bad[0])), fix="count nodes from 0, or add the missing ones")


def _positive(weights: np.ndarray, where: Where, count: int) -> np.ndarray:
    if len(weights) != count:
        raise DataError(f"{len(weights):,} weights for {count:,} edges", where=where(0))
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        problem = f"the weight of an edge says how much is read along it and is at least 0, found {weights[bad[0]]}"
        raise DataError(
            problem, where=where(int(bad[0])), fix="correct it; signs and kinds of edges belong in a column named type"
        )
    return weights > 0


def check_features(values: np.ndarray, where: Where) -> np.ndarray:
    """Features as finite numbers; `where` says where the i-th node stands."""
    values = np.asarray(values)
    if values.dtype.kind not in "iufb":
        raise DataError(f"features are numbers, found {values.dtype}", where=where(0))
    values = values.astype(np.float32)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        node, column = bad[0].tolist()
        problem = f"feature {column} is {values[node, column]}, which is not a number"
        more = f" ({len(np.unique(bad[:, 0])):,} such nodes)" if len(np.unique(bad[:, 0])) > 1 else ""
        raise DataError(problem + more, where=where(node), fix="fill it in, or leave the node out")
    return values
