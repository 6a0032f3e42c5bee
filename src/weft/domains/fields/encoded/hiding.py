"""Which cells of a window are hidden: the future, blocks, single patches, a whole layer, a state in the middle.

One mechanism for all that is asked of a model: a forecast hides the future, a gap what is missing. A sample's pattern
depends on the key and its index alone. Knows shapes and chance; refuses to know values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.batches.draws import draws

Purpose = Literal["all", "future", "gaps"]
Shape = tuple[int, int, int, int]  # layers, times, rows, columns
LARGEST_BLOCK = 16  # cells along a side
FEWEST_HIDDEN, MOST_HIDDEN = 0.1, 0.7  # share of the cells that blocks and patches hide
SHORT_PAST = 0.25  # share of forecasts that know only a part of the history
WITH_FUTURE = 0.3  # share of the other patterns that hide the future too
DRAWN = 4096  # numbers for one pattern, used again in turn where more are needed


@dataclass
class Chance:
    """Numbers from 0 to 1 for one sample, one after another."""

    numbers: np.ndarray
    at: int = 0

    def next(self) -> float:
        """One number."""
        return float(self.some(1)[0])

    def some(self, count: int) -> np.ndarray:
        """Several numbers."""
        where = np.arange(self.at, self.at + count)
        self.at += count
        return (self.numbers[where % DRAWN] + 0.618034 * (where // DRAWN)) % 1.0

    def below(self, count: int) -> int:
        """A whole number from 0 to below `count`."""
        return int(self.next() * count)


Kinds = Mapping[
    str, tuple[Callable[[Chance], np.ndarray], float]
]  # patterns by name, each with its share of the samples


class Hiding:
    """Draws patterns for windows of `history` fields followed by others."""

    def __init__(self, shape: Shape, history: int, purpose: Purpose = "all", patch: int = 4):
        self.shape, self.history, self.patch = shape, history, patch
        several: Kinds = {"layer": (self.layer, 0.1)} if shape[0] > 1 else {}
        gaps: Kinds = {
            "blocks": (self.blocks, 0.25),
            "patches": (self.patches, 0.1),
        }
        every: Mapping[Purpose, Kinds] = {
            "all": {"future": (self.future, 0.45), **gaps, "middle": (self.middle, 0.1), **several},
            "future": {"future": (self.future, 1.0)},
            "gaps": gaps,
        }
        self.kinds = every[purpose]

    def shown(self, key: str, indices: np.ndarray) -> np.ndarray:
        """For each sample, which cells (V T Y X) may be seen."""
        return np.stack([~self.hidden(Chance(row)) for row in draws(key, indices, DRAWN)])

    def hidden(self, chance: Chance) -> np.ndarray:
        """The hidden cells of one sample."""
        shares = np.cumsum([share for _, share in self.kinds.values()])
        name = list(self.kinds)[int(np.searchsorted(shares, chance.next() * shares[-1], side="right"))]
        hidden = self.kinds[name][0](chance)
        if name != "future" and "future" in self.kinds and chance.next() < WITH_FUTURE:
            hidden |= self.future(chance)
        return hidden

    def future(self, chance: Chance) -> np.ndarray:
        """All that follows the history; now and then the beginning of the history is not known either."""
        hidden = np.zeros(self.shape, bool)
        hidden[:, self.history :] = True
        if chance.next() < SHORT_PAST:
            hidden[:, : chance.below(self.history)] = True
        return hidden

    def middle(self, chance: Chance) -> np.ndarray:
        """Every second field, or one stretch of fields between others."""
        hidden, times = np.zeros(self.shape, bool), self.shape[1]
        if chance.next() < 0.5 or times < 3:
            hidden[:, 1::2] = True
        else:
            first = 1 + chance.below(times - 2)
            hidden[:, first : first + 1 + chance.below(times - 1 - first)] = True
        return hidden

    def layer(self, chance: Chance) -> np.ndarray:
        """One layer at all times."""
        hidden = np.zeros(self.shape, bool)
        hidden[chance.below(self.shape[0])] = True
        return hidden

    def patches(self, chance: Chance) -> np.ndarray:
        """Single patches of single fields."""
        layers, times, high, wide = self.shape
        rows, columns = -(-high // self.patch), -(-wide // self.patch)
        share = FEWEST_HIDDEN + (MOST_HIDDEN - FEWEST_HIDDEN) * chance.next()
        hidden = chance.some(layers * times * rows * columns).reshape(layers, times, rows, columns) < share
        return hidden.repeat(self.patch, 2).repeat(self.patch, 3)[:, :, :high, :wide]

    def blocks(self, chance: Chance) -> np.ndarray:
        """Squares of one size, which may overlap and go round the edge; the same in all layers or not."""
        layers, times, high, wide = self.shape
        side = min(2 ** (1 + chance.below(LARGEST_BLOCK.bit_length() - 1)), high, wide)
        share = FEWEST_HIDDEN + (MOST_HIDDEN - FEWEST_HIDDEN) * chance.next()
        alike = chance.next() < 0.5
        count = max(1, round(-np.log1p(-share) * high * wide / side**2))  # so that with overlaps the share is hidden
        hidden = np.zeros((1 if alike else layers, times, high, wide), bool)
        field = hidden.reshape(-1, high * wide)
        spots = chance.some(2 * len(field) * count).reshape(2, len(field), count)
        top = (spots[0] * (high + side - 1)).astype(np.int64) - side + 1
        left = (spots[1] * wide).astype(np.int64)
        within = np.arange(side)
        rows = top[..., None, None] + within[:, None]
        cells = rows.clip(0, high - 1) * wide + (left[..., None, None] + within) % wide
        inside = np.broadcast_to((rows >= 0) & (rows < high), cells.shape)
        which = np.broadcast_to(np.arange(len(field))[:, None, None, None], cells.shape)
        field[which[inside], cells[inside]] = True
        return np.broadcast_to(hidden, self.shape).copy()
