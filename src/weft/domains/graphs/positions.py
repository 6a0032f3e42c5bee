"""Where nodes are in their graph: eigenvectors of the Laplacian, and steps between nodes. Knows edges; no features.

Small graphs are solved whole. Of large ones each connected part is solved by SciPy, for few eigenvectors.
"""

import importlib.util

import numpy as np

from weft.errors import WeftError

MOST_STEPS = 5  # told apart; all pairs farther apart, or not joined at all, are one kind
STEP_KINDS = MOST_STEPS + 2  # 0 for a node and itself, 1 to MOST_STEPS, and farther
APART = 1e-5  # eigenvalues nearer than this share a plane of eigenvectors, in which no direction is special
MOST_WHOLE = 500  # nodes of a graph, or of a connected part, up to which all its eigenvectors are computed
MOST_TURNS = 200  # of the sparse solver: what has not converged by then is left at zero
PRECISION = 1e-7  # of the eigenvalues that the sparse solver finds


def solvable(size: int) -> bool:
    """Whether the eigenvectors of a graph with this number of nodes can be computed here: large graphs need SciPy."""
    return size <= MOST_WHOLE or importlib.util.find_spec("scipy") is not None


def laplacian_waves(edges: np.ndarray, size: int, count: int) -> np.ndarray:
    """(N, count) entries of the eigenvectors of the normalised Laplacian with the smallest eigenvalues above 0.

    Scaled so that a typical entry is 1. Where several eigenvalues are equal, their eigenvectors are any basis of a
    plane, and depend on the order of the nodes: they are left at zero. So are those that a small graph does not have.
    """
    waves = np.zeros((size, count), np.float32)
    if size < 2 or not count or not len(edges):
        return waves
    values, vectors = _whole(edges, size) if size <= MOST_WHOLE else _in_parts(edges, size, count + 1)
    chosen = np.flatnonzero(values > APART)[:count]
    for place, i in enumerate(chosen):
        beside = values[max(0, i - 1) : i + 2]
        if (np.abs(beside - values[i]) < APART).sum() == 1:
            waves[:, place] = vectors[:, i] * np.sqrt(size)
    return waves


def _whole(edges: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues of a graph, rising, and their vectors in columns."""
    joined = np.zeros((size, size))
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    degree = joined.sum(1)
    root = 1 / np.sqrt(np.maximum(degree, 1.0))
    return np.linalg.eigh(np.diag((degree > 0).astype(float)) - root[:, None] * joined * root)


def _in_parts(edges: np.ndarray, size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest `count` eigenvalues above 0 of a large graph, and their vectors.

    The eigenvectors of a graph are those of its connected parts, with zeros elsewhere.
    """
    try:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components
    except ImportError:
        problem = f"SciPy, which finds eigenvectors of a graph of {size:,} nodes, is missing"
        raise WeftError(problem, fix="pip install 'weft[graph]'") from None
    joined = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (size, size))
    _, part = connected_components(joined, directed=False)
    ends = part[edges[:, 0]]
    sizes, joins = np.bincount(part), np.bincount(ends, minlength=part.max() + 1)
    order, by_part = np.argsort(part, kind="stable"), np.argsort(ends, kind="stable")
    first_node, first_edge = (np.concatenate([[0], np.cumsum(some)]) for some in (sizes, joins))
    place = np.empty(size, np.int64)
    place[order] = np.arange(size) - first_node[part[order]]
    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    for i in np.flatnonzero(joins):
        nodes = order[first_node[i] : first_node[i + 1]]
        own = place[edges[by_part[first_edge[i] : first_edge[i + 1]]]]
        solve = _whole(own, len(nodes)) if len(nodes) <= MOST_WHOLE else _smallest(own, len(nodes), count + 1)
        above = [(float(value), nodes, vector) for value, vector in zip(solve[0], solve[1].T, strict=True)]
        found = sorted([*found, *(one for one in above if one[0] > APART)], key=lambda one: one[0])[: count + 1]
    vectors = np.zeros((size, len(found)))
    for column, (_, nodes, vector) in enumerate(found):
        vectors[nodes, column] = vector
    return np.array([value for value, _, _ in found]), vectors


def _smallest(edges: np.ndarray, size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of a connected graph, rising, and their vectors: those that the solver reached.

    They are the largest of D^-1/2 A D^-1/2, which needs products with a sparse matrix and nothing more.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    degree = np.bincount(edges.ravel(), minlength=size)
    root = 1 / np.sqrt(degree)
    rows, columns = (np.concatenate([edges[:, side], edges[:, 1 - side]]) for side in (0, 1))
    joined = csr_array((root[rows] * root[columns], (rows, columns)), (size, size))
    start = np.random.Generator(np.random.PCG64(0)).standard_normal(size)
    try:
        values, vectors = eigsh(joined, count, which="LA", v0=start, tol=PRECISION, maxiter=MOST_TURNS, ncv=4 * count)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    order = np.argsort(-values)
    return 1 - values[order], vectors[:, order]


def steps_between(edges: np.ndarray, size: int) -> np.ndarray:
    """(N, N) kinds: 0 for a node and itself, the number of steps up to MOST_STEPS, and one more for all beyond."""
    joined = np.zeros((size, size), np.float32)
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    steps = np.full((size, size), MOST_STEPS + 1, np.int8)
    np.fill_diagonal(steps, 0)
    reached = np.eye(size, dtype=np.float32)
    for step in range(1, MOST_STEPS + 1):
        reached = ((reached @ joined + reached) > 0).astype(np.float32)
        steps[(reached > 0) & (steps > step)] = step
    return steps
