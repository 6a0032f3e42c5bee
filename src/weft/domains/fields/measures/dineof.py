"""DINEOF: gaps filled by the empirical orthogonal functions of the fields themselves.

Beckers and Rixen (2003), Alvera-Azcárate et al. (2005): missing values start at the mean of their cell, a truncated
singular value decomposition replaces them until they are steady, and known values that were set aside choose the number
of modes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ITERATIONS = 100
STEADY = 1e-3  # change of the missing values in one iteration, relative to the spread of the known ones
GAIN = 1e-3  # what a mode must lower the error by, as a share of the error without modes
PATIENCE = 3  # numbers of modes in a row without a gain before the search ends
ASIDE = 0.03  # of the known values of times with gaps, set aside to choose the number of modes


@dataclass(frozen=True)
class Filled:
    """Values without gaps (T C), the number of modes, and the errors on values set aside by number of modes."""

    values: np.ndarray
    modes: int
    errors: tuple[float, ...]


def dineof(
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    most: int = 30,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Filled:
    """Values (times, cells) whose NaN are filled; cells that are never known stay NaN.

    `weights` (cells) are areas: anomalies are multiplied by their square roots, so that small cells near the poles do
    not count like large ones. `most` is the largest number of modes that is tried.
    """
    ever = np.isfinite(values).any(0)
    factors = np.sqrt(np.ones(values.shape[1]) if weights is None else weights)[ever]
    known = np.isfinite(values[:, ever])
    means = np.nanmean(np.where(known, values[:, ever], np.nan), 0) if ever.any() else np.zeros(0)
    anomalies = np.where(known, (values[:, ever] - means) * factors, 0.0)
    aside = known & ~known.all(1, keepdims=True) & (np.random.default_rng(seed).random(known.shape) < ASIDE)
    modes, errors, trial = _modes(anomalies, known, aside, most, progress)
    if modes:  # the values set aside come back
        anomalies = _steady(np.where(known, anomalies, trial), ~known, modes)
    whole = np.full(values.shape, np.nan)
    whole[:, ever] = np.where(known, values[:, ever], anomalies / factors + means)
    return Filled(whole, modes, errors)


def _modes(
    anomalies: np.ndarray, known: np.ndarray, aside: np.ndarray, most: int, progress: Callable[[int, int], None] | None
) -> tuple[int, tuple[float, ...], np.ndarray]:
    """The number of modes that restores set-aside values best, the errors with 0, 1, 2 … modes, and the best fill."""
    if not aside.any():
        return 0, (), anomalies
    most = min(most, min(anomalies.shape) - 1)
    trial = filled = np.where(aside, 0.0, anomalies)
    best, errors = 0, [float(np.sqrt(np.mean(anomalies[aside] ** 2)))]
    for count in range(1, most + 1):
        trial = _steady(trial, ~known | aside, count)
        errors.append(float(np.sqrt(np.mean((trial[aside] - anomalies[aside]) ** 2))))
        if errors[count] < errors[best] - GAIN * errors[0]:
            best, filled = count, trial
        if progress is not None:
            progress(count, most)
        if count - best >= PATIENCE:
            break
    return best, tuple(errors), filled


def _steady(values: np.ndarray, missing: np.ndarray, modes: int) -> np.ndarray:
    """Missing values replaced by those of the leading modes, again and again until they stay the same.

    The modes are eigenvectors of the product of all pairs of times; only times with gaps change it.
    """
    values, rows = values.copy(order="C"), np.flatnonzero(missing.any(1))
    places, gaps = np.flatnonzero(missing), np.flatnonzero(missing[rows])  # in the matrix, and in its rows with gaps
    spread = values[~missing].std() or 1.0
    product = values @ values.T
    for _ in range(ITERATIONS):
        leading = np.linalg.eigh(product)[1][:, -modes:]
        found = (leading[rows] @ (leading.T @ values)).ravel()[gaps]
        change = np.sqrt(np.mean((found - values.ravel()[places]) ** 2)) if len(found) else 0.0
        values.ravel()[places] = found
        if change < STEADY * spread:
            break
        product[rows] = values[rows] @ values.T
        product[:, rows] = product[rows].T
    return values
