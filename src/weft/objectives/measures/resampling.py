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
