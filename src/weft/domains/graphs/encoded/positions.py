"""Where nodes are in their graph: eigenvectors of the Laplacian, and steps between nodes. Knows numpy alone."""

import numpy as np

MOST_STEPS = 5  # told apart; all pairs farther apart, or not joined at all, are one kind
STEP_KINDS = MOST_STEPS + 2  # 0 for a node and itself, 1 to MOST_STEPS, and farther
APART = 1e-5  # eigenvalues nearer than this share a plane of eigenvectors, in which no direction is special


def laplacian_waves(edges: np.ndarray, size: int, count: int) -> np.ndarray:
    """(N, count) entries of the eigenvectors of the normalised Laplacian with the smallest eigenvalues above 0.

    Scaled so that a typical entry is 1. Where several eigenvalues are equal, their eigenvectors are any basis of a
    plane, and depend on the order of the nodes: they are left at zero. So are those that a small graph does not have.
    """
    waves = np.zeros((size, count), np.float32)
    if size < 2 or not count:
        return waves
    joined = np.zeros((size, size))
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    degree = joined.sum(1)
    root = 1 / np.sqrt(np.maximum(degree, 1.0))
    values, vectors = np.linalg.eigh(np.diag((degree > 0).astype(float)) - root[:, None] * joined * root)
    chosen = np.flatnonzero(values > APART)[:count]
    for place, i in enumerate(chosen):
        beside = values[max(0, i - 1) : i + 2]
        if (np.abs(beside - values[i]) < APART).sum() == 1:
            waves[:, place] = vectors[:, i] * np.sqrt(size)
    return waves


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
