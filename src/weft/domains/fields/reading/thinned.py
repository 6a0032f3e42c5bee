"""Fields thinned out: blocks of times spread evenly over a long stretch, where all is not needed. Needs no torch."""

import numpy as np

from weft.domains.fields.reading.grid import Fields, FieldSpan, Times

BLOCK = 48  # times in a row of a block: lags of some steps are seen whole


class ThinnedFields(Fields):
    """Some blocks of a stretch; no block follows another, so nothing is taken for a step that is none."""

    def __init__(self, stretch: FieldSpan, starts: np.ndarray, block: int):
        self.fields, self.grid, self.layers = stretch.fields, stretch.fields.grid, stretch.fields.layers
        self.chosen = np.concatenate([np.arange(start, start + block) for start in starts])
        times = stretch.fields.times
        pieces = [
            (i * block + max(0, low - start), i * block + min(block, high - start))
            for i, start in enumerate(starts.tolist())
            for low, high in times.pieces
            if low < start + block and high > start
        ]
        self.times = Times(
            days=times.days[self.chosen],
            season=times.season[self.chosen],
            hour=times.hour[self.chosen],
            labels=tuple(times.labels[at] for at in self.chosen),
            step=times.step,
            pieces=tuple(pieces),
        )

    def read(self, start: int, stop: int) -> np.ndarray:
        some = self.chosen[start:stop]
        cuts = np.flatnonzero(np.diff(some) != 1) + 1
        runs = np.split(some, cuts)
        return np.concatenate([self.fields.read(int(run[0]), int(run[-1]) + 1) for run in runs])


def thinned(stretch: FieldSpan, most: int) -> FieldSpan:
    """The stretch itself where it has at most `most` values, else blocks of it with about as many."""
    one = len(stretch.fields.layers) * int(np.prod(stretch.fields.grid.shape))
    blocks = max(2, most // (one * BLOCK))
    if len(stretch) * one <= most or len(stretch) <= blocks * BLOCK:
        return stretch
    starts = np.linspace(stretch.start, stretch.stop - BLOCK, blocks).round().astype(np.int64)
    chosen = ThinnedFields(stretch, starts, BLOCK)
    return FieldSpan(chosen, 0, len(chosen))
