"""Which of two runs of a task is better: the measure that decides, and a score (more is better). Loads no torch."""

from collections.abc import Mapping

HIGHER = (
    "accuracy",
    "f1",
    "bleu",
    "r2",
)  # measures by which runs are compared, the first that a task has; else the loss


def deciding(metrics: Mapping[str, float]) -> str:
    """The name of the measure by which runs with these measures are compared."""
    return next((name for name in HIGHER if name in metrics), "loss")


def score(metrics: Mapping[str, float], measure: str | None = None) -> float:
    """How good these measures are; more is better."""
    name = measure or deciding(metrics)
    return metrics[name] if name in HIGHER else -metrics[name]
