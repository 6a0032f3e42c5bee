"""Lines of words: samples for learning words from their neighbours. Knows ids, their counts and where to cut."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from weft.batches.draws import Dice
from weft.batches.order import WindowOrder, key
from weft.batches.words import TableRows, WordLines, WordNeighbours

LINE = 64  # words that share the drawn ones
DRAWN = 32  # words drawn for a line
NOISE_POWER = 0.75  # words are drawn in proportion to this power of their counts (Mikolov et al., 2013)
TABLE = 2**20  # entries of the table that words are drawn from, at least
PROBED_STRETCHES = 8  # held-out stretches in a batch


@dataclass(frozen=True)
class Thinning:
    """How a text becomes lines: the `window` in which words are neighbours, and how much of a frequent word is kept.

    A word of a share p of the text is kept with probability min(1, sqrt(s / p) + s / p), s = `sample`; 0 keeps all.
    """

    window: int
    sample: float

    def kept(self, counts: np.ndarray) -> np.ndarray:
        """The probability with which each word is kept."""
        if not self.sample:
            return np.ones(len(counts))
        ratio = self.sample * counts.sum() / np.maximum(counts, 1)
        return np.minimum(1.0, np.sqrt(ratio) + ratio)


class NoiseTable:
    """Draws words in proportion to a power of their counts."""

    def __init__(self, counts: np.ndarray):
        self.shares = np.maximum(counts, 1) ** NOISE_POWER
        self.shares /= self.shares.sum()
        size = max(TABLE, 4 * len(counts))
        middle = (np.arange(size) + 0.5) / size
        self.table = np.searchsorted(np.cumsum(self.shares), middle).clip(0, len(counts) - 1).astype(np.int32)

    def words(self, unit: np.ndarray) -> np.ndarray:
        """A word for each number from 0 to 1."""
        return self.table[(unit * len(self.table)).astype(np.int64)]


class NeighbourLines:
    """A `Source` over two streams of ids, in which the number of words stands where sentences end.

    A sample is a stretch of `span` ids. The words of a batch that are kept stand one after another in lines of `LINE`;
    sentences stay apart, also where two stretches meet. Processes divide the lines of a batch, since a line may hold
    words of two stretches.
    """

    divides = True

    def __init__(
        self,
        train: np.ndarray,
        held_out: np.ndarray,
        counts: np.ndarray,
        how: Thinning,
        *,
        span: int,
        fingerprint: str,
        seed: int,
    ):
        self.train, self.valid, self.counts, self.how, self.fingerprint = train, held_out, counts, how, fingerprint
        self.span = min(span, len(train))
        self.order = WindowOrder(len(train), self.span, fingerprint, seed)
        self.key = key(fingerprint, seed, "neighbours")
        self.keep = how.kept(counts)
        self.noise = NoiseTable(counts)

    @property
    def per_epoch(self) -> int:
        """Stretches in one epoch."""
        return self.order.per_epoch

    def batch(self, indices: np.ndarray, mine: slice | None = None) -> WordLines:
        """The stretches at these global indices; of the lines that they make, the part that `mine` is of them."""
        places = self.order.starts(indices)[:, None] + np.arange(self.span)
        lines = self._lines(self.train[np.minimum(places, len(self.train) - 1)], Dice(self.key, indices))
        if mine is None:
            return lines
        first, stop = (len(lines) * place // len(indices) for place in (mine.start, mine.stop))
        return lines[first:stop]

    def held_out(self, *, most: int | None = None) -> Iterator[WordLines]:
        """The held-out text, spread evenly over it when not all of it is asked for; drawn alike whatever the seed."""
        span = min(self.span, len(self.valid))
        starts = np.arange(0, max(1, len(self.valid) - span + 1), span)
        if most is not None and len(starts) > most:
            starts = starts[np.linspace(0, len(starts) - 1, most).round().astype(int)]
        mark = key(self.fingerprint, "held-out neighbours")
        for i in range(0, len(starts), PROBED_STRETCHES):
            some = starts[i : i + PROBED_STRETCHES]
            yield self._lines(self.valid[some[:, None] + np.arange(span)], Dice(mark, some))

    def _lines(self, ids: np.ndarray, dice: Dice) -> WordLines:
        """Stretches of ids, (B, span), as lines of the words that are kept, with their neighbours and drawn words."""
        span = ids.shape[1]
        breaks = ids == len(self.counts)
        breaks[:, 0] = True
        sentence = np.cumsum(breaks.ravel()).astype(np.int32)
        chance = np.append(self.keep, 0.0)[ids]
        kept = np.flatnonzero((chance > dice.unit("kept", span).T).ravel())
        reach = (dice.unit("reach", span).T.ravel()[kept] * self.how.window).astype(np.int32) + 1
        lines = max(1, -(-len(kept) // LINE))
        empty = lines * LINE - len(kept)
        words = np.concatenate((ids.ravel()[kept], np.zeros(empty, ids.dtype))).reshape(lines, LINE)
        alone = -1 - np.arange(
            empty, dtype=np.int32
        )  # padding: each place is a sentence of its own, with no neighbours
        most = -(-span // LINE)  # lines of a stretch of which every word is kept
        drawn = self.noise.words(dice.unit("drawn", most * DRAWN).T.reshape(-1, DRAWN)[:lines])
        return WordLines(
            TableRows.of(words),
            WordNeighbours(
                TableRows.of(np.concatenate((words, drawn), axis=1)),
                torch.from_numpy(np.concatenate((sentence[kept], alone)).reshape(lines, LINE)),
                torch.from_numpy(np.concatenate((reach, np.zeros(empty, np.int32))).reshape(lines, LINE)),
            ),
        )
