"""How well any number of labels a sample are recognised: F1 over all labels, and by label."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.objectives.measures.classes import f1_of, wilson
from weft.objectives.measures.resampling import bootstrap
from weft.objectives.measures.tallies import Tally


def several_tally(given: np.ndarray, truth: np.ndarray) -> Tally:
    """The micro F1, sample by sample, of labels given and true, (samples, labels) of truth values."""
    right = (given & truth).sum(1)
    return Tally("micro_f1", np.stack([2.0 * right, given.sum(1) + truth.sum(1)], 1))


def macro_f1(given: np.ndarray, truth: np.ndarray) -> float:
    """The mean F1 of the labels that are there or were given, so that rare ones count like common ones."""
    right, found, true = (given & truth).sum(0), given.sum(0), truth.sum(0)
    f1 = f1_of(right, found, true)[2][(found + true) > 0]
    return float(f1.mean()) if len(f1) else 0.0


def several_measures(
    shares: np.ndarray, given: np.ndarray, truth: np.ndarray, names: Sequence[str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures of probabilities and of the labels that they give, (samples, labels), and details for a report."""
    right, found, true = (given & truth).sum(0), given.sum(0), truth.sum(0)
    precision, recall, f1 = f1_of(right, found, true)
    exact = int((given == truth).all(1).sum())
    losses = -np.log(np.maximum(np.where(truth, shares, 1 - shares), 1e-12))
    metrics = {
        "micro_f1": several_tally(given, truth).value,
        "macro_f1": macro_f1(given, truth),
        "exact": exact / len(truth),
        "loss": float(losses.mean()),
    }

    def drawn(rows: np.ndarray) -> dict[str, float]:
        some, real = given[rows], truth[rows]
        each = f1_of((some & real).sum(0), some.sum(0), real.sum(0))[2]
        return {
            "micro_f1": several_tally(some, real).value,
            "macro_f1": macro_f1(some, real),
            **{f"f1 {name}": float(each[i]) for i, name in enumerate(names) if true[i]},
        }

    absent = [name for i, name in enumerate(names) if not true[i]]
    return metrics, {
        "intervals": {**bootstrap(len(truth), drawn), "exact": wilson(exact, len(truth))},
        "precision": {name: float(precision[i]) for i, name in enumerate(names) if found[i]},
        "recall": {name: float(recall[i]) for i, name in enumerate(names) if true[i]},
        "f1": {name: float(f1[i]) for i, name in enumerate(names) if true[i]},
        **({"absent": absent} if absent else {}),
    }
