"""Calibration: whether a model that is 80 % sure is right in 80 of 100 cases."""

from dataclasses import dataclass

import numpy as np

BINS = 10


@dataclass(frozen=True)
class Reliability:
    """By how sure the model was, in bins of equal width from 0 to 1: how many answers, how sure, how many right.

    Bins without an answer hold zeros.
    """

    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error: how far sureness is from being right, on average (Guo et al., 2017)."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float((self.counts * gaps).sum() / max(self.counts.sum(), 1))


def reliability(shares: np.ndarray, truth: np.ndarray, bins: int = BINS) -> Reliability:
    """How reliable probabilities (one row an example, one column a class) are, judged by the likeliest class."""
    sure, right = shares.max(1), shares.argmax(1) == truth
    place = np.minimum((sure * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    means = [np.bincount(place, weights=values, minlength=bins) / np.maximum(counts, 1) for values in (sure, right)]
    return Reliability(counts, *means)
