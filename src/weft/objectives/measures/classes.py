"""How well classes are recognised."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.objectives.measures.calibration import reliability


def wilson(right: int, count: int, z: float = 1.96) -> list[float]:
    """The 95 % interval of an accuracy, [low, high] (Wilson, 1927)."""
    share, spread = right / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * np.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return [round(float(middle - half), 4), round(float(middle + half), 4)]


def confusion_counts(found: np.ndarray, truth: np.ndarray, classes: int) -> np.ndarray:
    """counts[true, found]: how often class `found` was predicted for class `true`."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (truth, found), 1)
    return counts


def f1_of(right: np.ndarray, found: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision, recall and F1, their harmonic mean, from counts; 0 where there is nothing to divide by."""
    precision = right / np.maximum(found, 1)
    recall = right / np.maximum(true, 1)
    return precision, recall, 2 * right / np.maximum(found + true, 1)


def class_measures(
    shares: np.ndarray, truth: np.ndarray, classes: Sequence[str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures of probabilities (one row an example, one column a class), and details for a report.

    The macro F1 is the mean over all classes that are there or were found, so that small ones count like large ones.
    """
    answers = shares.argmax(1)
    counts = confusion_counts(answers, truth, len(classes))
    right, own = int(np.trace(counts)), shares[np.arange(len(truth)), truth]
    found, true = counts.sum(0), counts.sum(1)
    precision, recall, f1 = f1_of(np.diagonal(counts), found, true)
    metrics = {
        "accuracy": right / len(truth),
        "macro_f1": float(f1[(found + true) > 0].mean()),
        "loss": float(-np.log(np.maximum(own, 1e-12)).mean()),
        "calibration_error": reliability(shares, truth).error,
    }
    if len(classes) > 5:
        metrics["top5"] = float(((shares > own[:, None]).sum(1) < 5).mean())
    absent = [name for i, name in enumerate(classes) if not true[i]]
    more = {
        "intervals": {"accuracy": wilson(right, len(truth))},
        "precision": {name: float(precision[i]) for i, name in enumerate(classes) if found[i]},
        "recall": {name: float(recall[i]) for i, name in enumerate(classes) if true[i]},
        "f1": {name: float(f1[i]) for i, name in enumerate(classes) if true[i]},
    }
    return metrics, {**more, **({"absent": absent} if absent else {})}
