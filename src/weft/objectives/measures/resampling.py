"""Bootstrap: how far a measure would move on other examples of the same kind."""

from collections.abc import Callable, Mapping

import numpy as np

RESAMPLES = 1000


def bootstrap(
    count: int, measure: Callable[[np.ndarray], Mapping[str, float]], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, list[float]]:
    """The middle 95 % of each measure over resamples of the examples (Efron, 1979), always the same ones.

    `measure` takes the places of examples, some of them several times. Where a resample has no value it is left out; a
    measure without any value has no interval.
    """
    generator = np.random.default_rng(seed)
    drawn = [measure(generator.integers(0, count, count)) for _ in range(resamples)]
    found: dict[str, list[float]] = {}
    for name in drawn[0] if drawn else ():
        values = np.array([one[name] for one in drawn])
        values = values[np.isfinite(values)]
        if len(values):
            found[name] = [round(float(end), 4) for end in np.quantile(values, (0.025, 0.975))]
    return found


def bootstrap_means(scores: Mapping[str, np.ndarray], owner: np.ndarray | None = None) -> dict[str, list[float]]:
    """The same for the mean of each list of scores; scores with the same number in `owner` are drawn together."""
    if not scores:
        return {}
    count = len(next(iter(scores.values())))
    _, group = np.unique(np.arange(count) if owner is None else owner, return_inverse=True)
    counts = np.bincount(group)
    sums = {name: np.bincount(group, score, len(counts)) for name, score in scores.items()}

    def means(places: np.ndarray) -> dict[str, float]:
        drawn = counts[places].sum()
        return {name: float(each[places].sum() / drawn) for name, each in sums.items()}

    return bootstrap(len(counts), means)
