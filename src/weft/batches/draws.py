"""Random numbers as a pure function of a key and a sample's index. Refuses to know samples, batches or generators.

What a sample gets depends on (key, its global index) and nothing else, so it gets the same in whatever batch, piece or
process it is computed, and there is no generator to store.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from weft.batches import order

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the step of SplitMix64: odd, and without a pattern in its bits


def draws(key: str, indices: np.ndarray, count: int) -> np.ndarray:
    """(B, count) numbers from 0 up to but not 1; a row depends on the key and its index only.

    Every index has a SplitMix64 stream of its own, begun where the key sends the index.
    """
    indices = np.asarray(indices, np.int64)
    if indices.size and indices.min() < 0:
        raise ValueError(f"expected indices from 0, found {indices.min()}")
    first, second = order.numbers(key, 2)
    start = order.mixed(order.mixed(indices.astype(np.uint64) + first) ^ second)
    steps = np.arange(1, count + 1, dtype=np.uint64) * GOLDEN
    return (order.mixed(start[:, None] + steps) >> np.uint64(11)) * 2.0**-53


@dataclass(frozen=True)
class Dice:
    """Draws for the samples of a batch, by name: what one name gives does not depend on which others are used."""

    key: str
    indices: np.ndarray

    def unit(self, name: str, count: int) -> np.ndarray:
        """(count, B) numbers from 0 to 1."""
        return draws(order.key(self.key, name), self.indices, count).T

    def signed(self, name: str, count: int) -> np.ndarray:
        """(count, B) numbers from -1 to 1."""
        return 2 * self.unit(name, count) - 1

    def subset(self, rows: np.ndarray) -> "Dice":
        """The same for some of the samples."""
        return Dice(self.key, self.indices[rows])


def beta(unit: np.ndarray, parameter: float) -> np.ndarray:
    """Numbers with the distribution Beta(parameter, parameter), from as many uniform ones."""
    cumulative, logits = _beta_table(parameter)
    return 0.5 + 0.5 * np.tanh(np.interp(unit, cumulative, logits) / 2)


@functools.lru_cache(maxsize=8)
def _beta_table(parameter: float) -> tuple[np.ndarray, np.ndarray]:
    """The distribution function of log(x / (1 - x)): its density, (x (1 - x))^parameter, has no poles."""
    reach = 40 / parameter + 12 / math.sqrt(parameter)
    logits = np.linspace(-reach, reach, 8001)
    density = np.exp(parameter * (2 * math.log(2) - np.logaddexp(0, logits) - np.logaddexp(0, -logits)))
    cumulative = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return cumulative / cumulative[-1], logits
