"""Whether a model looked at its pictures: its score beside those of answers that did not. Knows scores alone.

A score is given for each example, so that examples are resampled for the model and the baseline together.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.objectives.measures.resampling import bootstrap_means
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline

BESIDE = {
    "shuffled": "with the pictures shuffled",
    "constant": "the best single {} for all pictures",
    "nearest": "the {} of the nearest training picture",
    "kind": "the most frequent {} to questions of the same kind",
    "question": "the most frequent {} to the same question, or to its kind where it is new",
}


def another(keys: Sequence[str]) -> np.ndarray:
    """For each row the place of another row: all rows in an order that their keys decide, each takes the next one's.

    A row that is alone keeps its own.
    """
    digests = [hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest() for key in keys]
    order = np.array(sorted(range(len(keys)), key=lambda row: (digests[row], row)), np.int64)
    found = np.empty(len(keys), np.int64)
    found[order] = np.roll(order, -1)
    return found


def beside(
    own: np.ndarray, others: Mapping[str, np.ndarray], owner: np.ndarray | None = None
) -> dict[str, dict[str, Any]]:
    """For each baseline its score, how much better the model is, and the 95 % interval of that over resampled examples.

    Examples with the same number in `owner`, as the questions about one picture, are drawn together.
    """
    gains = {name: own - scores for name, scores in others.items()}
    ends = bootstrap_means(gains, owner)
    return {
        name: {
            "score": round(float(others[name].mean()), 6),
            "gain": round(float(gain.mean()), 6),
            "interval": ends.get(name),
        }
        for name, gain in gains.items()
    }


def unseeing(
    measure: str, what: str, others: Mapping[str, np.ndarray], owner: np.ndarray | None = None
) -> tuple[Baseline, ...]:
    """The same as baselines of a report; `what` is written: a caption or an answer."""
    return tuple(
        Baseline(name, BESIDE[name].format(what) if name != "shuffled" else "the model with the pictures shuffled",
                 Tally.means(measure, scores, owner))
        for name, scores in others.items()
    )  # fmt: skip


def in_words(measure: str, what: str, own: float, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for the model and for each baseline, with the model's gain; `what` is written: a caption or an answer."""
    lines = [f"did it look? {measure} {own:.3f} with its own pictures"]
    for name, one in found.items():
        low, high = one["interval"] or (one["gain"], one["gain"])
        verdict = "" if low > 0 else ": the model is worse" if high < 0 else ": the model is not clearly better"
        gain = f"gain {one['gain']:+.3f}, 95 % of resamples from {low:+.3f} to {high:+.3f}"
        lines.append(f"  {one['score']:.3f} {BESIDE[name].format(what)} ({gain}){verdict}")
    return lines
