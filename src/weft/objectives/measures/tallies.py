"""Tallies: a measure kept example by example, so that two methods are compared over the same resamples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.objectives.measures.classes import wilson
from weft.objectives.measures.resampling import RESAMPLES

MOST_DRAWN = 20_000_000  # examples drawn in all resamples together; with more examples there are fewer resamples
AT_ONCE = 2_000_000  # examples drawn at once
Interval = list[float]


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first column divided by the second."""
    return sums[..., 0] / np.maximum(sums[..., 1], 1e-12)


def root(sums: np.ndarray) -> np.ndarray:
    """The square root of that, for errors that were squared."""
    return np.sqrt(ratio(sums))


@dataclass(frozen=True)
class Tally:
    """One measure: `rows` (N, k) has the counts of each example, and `of` makes the measure of their sums."""

    measure: str
    rows: np.ndarray
    of: Callable[[np.ndarray], np.ndarray] = ratio
    lower: bool = False  # whether lower is better
    counted: str = "example"  # what a row is: example, window

    @staticmethod
    def shares(measure: str, right: np.ndarray) -> "Tally":
        """The share of examples that are right."""
        return Tally(measure, np.stack([np.asarray(right, float), np.ones(len(right))], 1))

    @staticmethod
    def errors(measure: str, errors: np.ndarray) -> "Tally":
        """The root mean square of errors, (N,) or (N, …)."""
        squared = np.asarray(errors, float).reshape(len(errors), -1) ** 2
        return Tally(measure, np.stack([squared.sum(1), np.full(len(squared), squared.shape[1])], 1), root, lower=True)

    @staticmethod
    def means(measure: str, scores: np.ndarray, owner: np.ndarray | None = None, *, lower: bool = False) -> "Tally":
        """The mean of scores; those with the same number in `owner` are drawn together."""
        _, group = np.unique(np.arange(len(scores)) if owner is None else owner, return_inverse=True)
        return Tally(measure, np.stack([np.bincount(group, scores), np.bincount(group)], 1), lower=lower)

    @property
    def value(self) -> float:
        """The measure over all examples."""
        return float(self.of(self.rows.sum(0)[None])[0])


def resampled(tallies: Sequence[Tally], resamples: int = RESAMPLES, seed: int = 0) -> list[np.ndarray]:
    """The measure of each tally over resamples of the examples, the same ones for all of them."""
    count, ends = len(tallies[0].rows), np.cumsum([one.rows.shape[1] for one in tallies])
    resamples = max(100, min(resamples, MOST_DRAWN // max(count, 1)))
    rows, generator = np.concatenate([one.rows for one in tallies], 1), np.random.default_rng(seed)
    sums, step = list[np.ndarray](), max(1, AT_ONCE // count)
    for start in range(0, resamples, step):
        some = min(step, resamples - start)
        drawn = generator.integers(0, count, (some, count)) + count * np.arange(some)[:, None]
        sums.append(np.bincount(drawn.ravel(), minlength=some * count).reshape(some, count) @ rows)
    parts = np.split(np.concatenate(sums), ends[:-1], 1)
    return [one.of(part) for one, part in zip(tallies, parts, strict=True)]


def interval(tally: Tally, values: np.ndarray) -> Interval:
    """The 95 % interval of a measure: Wilson's where examples are right or wrong, else the middle of its resamples."""
    if tally.of is ratio and np.isin(tally.rows[:, 0], (0, 1)).all() and (tally.rows[:, 1] == 1).all():
        return wilson(int(tally.rows[:, 0].sum()), len(tally.rows))
    return middle(values)


def middle(values: np.ndarray) -> Interval:
    """The middle 95 % of some values."""
    return [round(float(end), 4) for end in np.quantile(values, (0.025, 0.975))]
