"""How good predicted numbers are."""

from typing import Any

import numpy as np

from weft.objectives.measures.resampling import bootstrap


def number_measures(predicted: np.ndarray, truth: np.ndarray) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures of predicted numbers with their intervals.

    rmse and mae are in the user's unit; r2 is the share of the spread that is explained; pearson and spearman compare
    the numbers and their order. What is not defined (no spread at all) is NaN.
    """
    predicted, truth = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    intervals = bootstrap(len(truth), lambda rows: _measures(predicted[rows], truth[rows]))
    return _measures(predicted, truth), {"intervals": intervals}


def _measures(predicted: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    errors, spread = predicted - truth, ((truth - truth.mean()) ** 2).sum()
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": float(1 - (errors**2).sum() / spread) if spread > 0 else float("nan"),
        "pearson": correlation(predicted, truth),
        "spearman": correlation(ranks(predicted), ranks(truth)),
    }


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation; NaN where one side does not vary."""
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / size) if size > 0 else float("nan")


def ranks(values: np.ndarray) -> np.ndarray:
    """The place of each value in their order; equal values share the mean of their places."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]
