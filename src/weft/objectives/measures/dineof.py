"""DINEOF: gaps filled by the empirical orthogonal functions of the fields themselves.

Beckers and Rixen (2003), Alvera-Azcárate et al. (2005): missing values start at 0, a truncated singular value
decomposition replaces them until they stay the same, and known values that were set aside choose the number of modes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ITERATIONS = 100
STEADY = 1e-3  # change of the missing values in one iteration, relative to the spread of the known ones
PATIENCE = 3  # numbers of modes in a row that may do worse than the best before the search ends
ASIDE = 0.03  # of the known values, set aside to choose the number of modes


@dataclass(frozen=True)
class Filled:
    """Values without gaps (T C), the number of modes, and the errors on values set aside by number of modes."""

    values: np.ndarray
    modes: int
    errors: tuple[float, ...]


def dineof(
    anomalies: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    aside: np.ndarray | None = None,
    most: int = 30,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Filled:
    """Anomalies (times, cells) whose NaN are filled; cells that are never known stay NaN.

    `weights` (cells) are areas: columns are multiplied by their square roots, so that small cells near the poles do not
    count like large ones. `aside` (times, cells) marks the known values that choose the number of modes; by default 3 %
    of them, at random. Values that gaps in blocks hide are best chosen for by blocks.
    """
    ever = np.isfinite(anomalies).any(0)
    factors = np.sqrt(np.ones(anomalies.shape[1]) if weights is None else weights)[ever]
    values = anomalies[:, ever] * factors
    known = np.isfinite(values)
    if aside is None:
        aside = np.random.default_rng(seed).random(anomalies.shape) < ASIDE
    tried = aside[:, ever] & known
    most = min(most, min(values.shape) - 1)
    filled = np.where(known, values, 0.0)
    modes, errors = 0, [float(np.sqrt(np.mean(values[tried] ** 2))) if tried.any() else 0.0]
    if tried.any():
        trial = np.where(tried, 0.0, filled)
        for count in range(1, most + 1):
            trial = _converged(trial, ~known | tried, count)
            errors.append(float(np.sqrt(np.mean((trial[tried] - values[tried]) ** 2))))
            modes = int(np.argmin(errors))
            if progress is not None:
                progress(count, most)
            if count - modes >= PATIENCE:
                break
    for count in range(1, modes + 1):
        filled = _converged(filled, ~known, count)
    whole = np.full(anomalies.shape, np.nan)
    whole[:, ever] = np.where(known, values, filled) / factors
    return Filled(whole, modes, tuple(errors))


def _converged(values: np.ndarray, missing: np.ndarray, modes: int) -> np.ndarray:
    """Missing values replaced by those of the first modes, again and again until they are steady."""
    spread = values[~missing].std() or 1.0
    for _ in range(ITERATIONS):
        found = _truncated(values, modes)[missing]
        change = np.sqrt(np.mean((found - values[missing]) ** 2)) if len(found) else 0.0
        values = values.copy()
        values[missing] = found
        if change < STEADY * spread:
            break
    return values


def _truncated(values: np.ndarray, modes: int) -> np.ndarray:
    """The matrix of the first modes, by the eigenvectors of the smaller of its two square products."""
    if values.shape[0] > values.shape[1]:
        return _truncated(values.T, modes).T
    _, vectors = np.linalg.eigh(values @ values.T)
    leading = vectors[:, -modes:]
    return leading @ (leading.T @ values)
