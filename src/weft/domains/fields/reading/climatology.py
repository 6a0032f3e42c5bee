"""Learning a Climate from fields, in two passes over the training times, block by block.

Memory grows with the cells of one field, never with the number of times. Needs no torch.
"""

from collections.abc import Callable, Iterator

import numpy as np

from weft.domains.fields.reading.grid import Fields, FieldSpan, Times
from weft.errors import DataError
from weft.modalities.climate import ANNUAL, COLUMNS, DIURNAL, Climate, season_bin, waves

BLOCK_BYTES = 4 * 2**20  # of float32 values read at once; sums over them need several times as much
TWO_YEARS = 719.0  # days; two years in a calendar of 360 days, less one for rounding
SHORTEST_MONTH = 20.0  # days; fields further apart than this have 12 parts of the year, others 73 of five days
NEW_VARIANCE = 0.1  # what a wave must vary beside the waves before it; 0.5 where times are spread evenly
VALUES_PER_WAVE = 3  # known values of a cell for each wave of its mean; with fewer it keeps its plain mean
WEAK_EIGENVALUE, RIDGE = 0.05, 0.1  # cells known in some seasons only: waves are held back by a ridge
SOLVED_AT_ONCE = 20_000  # cells with missing values, each with its own small system
YEAR = 365.25  # days
FEWEST_YEARS = 15  # from which a change of the climate can be told
HALF_LIVES = (40.0, 20.0, 10.0, 5.0)  # years
TOLD_BY = 5  # half-lives are compared on the last fifth of the fields
FEWEST_PAIRS = 10  # for the correlation of a cell; with fewer it has the mean correlation of its layer
LEAST_SPREAD = 1e-3  # of a cell, as a share of its layer's

Progress = Callable[[int, int], None]


def learn(
    stretch: FieldSpan, lags: int = 6, progress: Progress | None = None, half_life: float | None = None
) -> Climate:
    """The climate of the fields to train on: means by season and hour, spreads, correlations at 1..lags steps.

    With a `half_life` in years, the weight of a field in the mean halves with each such span before the last field.
    """
    fields, total = stretch.fields, 2 * len(stretch)
    if not len(stretch):
        raise DataError("no fields to learn a climatology from")
    tell = progress or (lambda done, of: None)
    means = MeanSums(stretch, half_life)
    for start, values in blocks(fields, stretch.start, stretch.stop):
        means.add(start, values)
        tell(start + len(values) - stretch.start, total)
    harmonics = means.harmonics()
    memory, done = MemorySums(means.cells, lags), len(stretch)
    for first, last in pieces(fields.times, stretch.start, stretch.stop):
        memory.cut()
        for start, values in blocks(fields, first, last):
            memory.add(values.reshape(len(values), -1) - means.basis(start, start + len(values)) @ harmonics)
            done += len(values)
            tell(done, total)
    return _climate(means, harmonics, memory)


def best_half_life(stretch: FieldSpan) -> float | None:
    """The half-life whose mean comes nearest to the last fifth of the fields, learned from those before it.

    A climate that changes, as one that warms, is known best from its last years. None, for a mean of all years alike,
    where that comes nearest, or where there are few years to tell.
    """
    fields, days = stretch.fields, stretch.fields.times.days
    if not len(stretch) or days[stretch.stop - 1] - days[stretch.start] < FEWEST_YEARS * YEAR:
        return None
    cut = stretch.stop - len(stretch) // TOLD_BY
    area = fields.grid.weights[:, None]
    errors: dict[float | None, float] = {}
    for half_life in (None, *HALF_LIVES):
        early = MeanSums(FieldSpan(fields, stretch.start, cut), half_life)
        for start, values in blocks(fields, stretch.start, cut):
            early.add(start, values)
        harmonics = early.harmonics()
        squares, counts = np.zeros((2, early.shape[0]))
        for start, values in blocks(fields, cut, stretch.stop):
            usual = (early.basis(start, start + len(values)) @ harmonics).reshape(values.shape)
            difference = values - usual
            known = np.isfinite(difference)
            squares += (area * np.where(known, difference, 0.0) ** 2).sum((0, 2, 3))
            counts += (area * known).sum((0, 2, 3))
        mean_squares = squares / np.maximum(counts, 1e-12)
        errors[half_life] = float(
            np.log(np.maximum(mean_squares, 1e-300)).mean()
        )  # by logarithms, units of layers do not matter
    return min(errors, key=errors.__getitem__)


def blocks(fields: Fields, start: int, stop: int) -> Iterator[tuple[int, np.ndarray]]:
    """The fields from `start` to before `stop` in blocks of bounded size, each with its first time; NaN: missing."""
    one = 4 * len(fields.layers) * int(np.prod(fields.grid.shape))
    size = max(1, BLOCK_BYTES // one)
    for first in range(start, stop, size):
        values = fields.read(first, min(first + size, stop))
        yield first, np.where(np.isfinite(values), values, np.float32(np.nan))


def pieces(times: Times, start: int, stop: int) -> list[tuple[int, int]]:
    """The pieces of the times without a gap, cut to those from `start` to before `stop`."""
    cut = [(max(first, start), min(last, stop)) for first, last in times.pieces]
    return [(first, last) for first, last in cut if first < last]


def useful_columns(times: Times, start: int, stop: int) -> np.ndarray:
    """The waves that the times can tell apart: none of the year below two years, of the day from steps of 12 h."""
    design = waves(times.season[start:stop], times.hour[start:stop])
    span = times.days[stop - 1] - times.days[start] + times.step
    asked = [0, *(ANNUAL if span >= TWO_YEARS else ()), *(DIURNAL if times.step < 0.5 else ())]
    kept: list[int] = []
    for column in asked:
        rest = design[:, column]
        if kept:
            rest = rest - design[:, kept] @ np.linalg.lstsq(design[:, kept], rest, rcond=None)[0]
        enough = len(design) >= VALUES_PER_WAVE * (len(kept) + 1)
        if not kept or (enough and np.mean(rest**2) >= NEW_VARIANCE):
            kept.append(column)
    return np.array(kept, np.int64)


class MeanSums:
    """Sums for the means of every cell: normal equations of the waves, and totals by part of the year.

    In the equations a field counts by its age (see `learn`); in the totals all fields count alike.
    """

    def __init__(self, stretch: FieldSpan, half_life: float | None = None):
        times = stretch.fields.times
        chosen = slice(stretch.start, stretch.stop)
        self.last, self.half_life = times.days[stretch.stop - 1], half_life
        self.times, self.shape = times, (len(stretch.fields.layers), *stretch.fields.grid.shape)
        self.cells = int(np.prod(self.shape))
        self.columns = useful_columns(times, stretch.start, stretch.stop)
        self.parts = 12 if times.step > SHORTEST_MONTH else 73
        # The usual place of a time within its part: first days of months must not fall on the borders.
        turn = np.exp(2j * np.pi * self.parts * times.season[chosen]).mean()
        self.phase = float((0.5 - np.angle(turn) / (2 * np.pi)) % 1) if abs(turn) > 0.5 else 0.0
        wide = len(self.columns)
        self.count = np.zeros(self.cells)
        self.right = np.zeros((wide, self.cells))  # sums of wave · value
        self.whole = np.zeros((wide, wide))  # sums of wave · wave over all times
        self.lacking: np.ndarray | None = None  # cells K K: the part of `whole` at which a cell is missing
        self.totals = np.zeros((self.parts, self.cells))
        self.counts = np.zeros((self.parts, self.cells), np.int32)

    def basis(self, start: int, stop: int) -> np.ndarray:
        """The waves of some times (n K)."""
        return waves(self.times.season[start:stop], self.times.hour[start:stop])[:, self.columns]

    def add(self, start: int, values: np.ndarray) -> None:
        """Count some fields (n V Y X), of which the first is at time `start`."""
        flat = values.reshape(len(values), -1)
        known, basis = ~np.isnan(flat), self.basis(start, start + len(values))
        clear = np.where(known, flat, 0).astype(np.float64)
        weighted = basis * self._weights(start, start + len(values))[:, None]
        self.count += known.sum(0)
        self.right += weighted.T @ clear
        self.whole += weighted.T @ basis
        gaps = np.flatnonzero(~known.all(0))
        if len(gaps):
            if self.lacking is None:
                self.lacking = np.zeros((self.cells, len(self.columns), len(self.columns)))
            products = (weighted[:, :, None] * basis[:, None, :]).reshape(len(values), -1)
            self.lacking[gaps] += ((~known[:, gaps]).T @ products).reshape(-1, *self.whole.shape)
        part = season_bin(self.times.season[start : start + len(values)], self.parts, self.phase)
        for row, which in enumerate(part):
            self.totals[which] += clear[row]
            self.counts[which] += known[row]

    def _weights(self, start: int, stop: int) -> np.ndarray:
        """How much each of some times counts."""
        if self.half_life is None:
            return np.ones(stop - start)
        return 0.5 ** ((self.last - self.times.days[start:stop]) / (self.half_life * YEAR))

    def harmonics(self) -> np.ndarray:
        """The waves of every cell (K cells) by least squares; the mean of a cell with few values, NaN without any."""
        total = self.whole[0, 0] - (0 if self.lacking is None else self.lacking[:, 0, 0])  # the first wave is 1
        with np.errstate(invalid="ignore", divide="ignore"):
            plain = np.where(self.count > 0, self.right[0] / total, np.nan)
        wide = len(self.columns)
        found = np.zeros((wide, self.cells))
        found[0] = plain
        enough = self.count >= VALUES_PER_WAVE * wide
        if wide == 1 or not enough.any():
            return found
        gaps = np.zeros(self.cells, bool) if self.lacking is None else self.lacking[:, 0, 0] > 0
        complete = enough & ~gaps
        found[:, complete] = np.linalg.solve(self.whole, self.right[:, complete])
        rest = np.flatnonzero(enough & gaps)
        for first in range(0, len(rest), SOLVED_AT_ONCE):
            some = rest[first : first + SOLVED_AT_ONCE]
            found[:, some] = self._solve(some)
        return found

    def _solve(self, some: np.ndarray) -> np.ndarray:
        """The waves of cells that miss values, each by its own normal equations."""
        assert self.lacking is not None
        left = self.whole - self.lacking[some]
        total = left[:, 0, 0]
        weak = np.linalg.eigvalsh(left / total[:, None, None])[:, 0] < WEAK_EIGENVALUE
        ridge = np.diag(np.r_[0.0, np.full(len(self.whole) - 1, RIDGE)])
        left = left + (weak * total)[:, None, None] * ridge
        return np.linalg.solve(left, self.right[:, some].T[:, :, None])[:, :, 0].T


class MemorySums:
    """Sums of squares and lagged products of anomalies, for spreads and correlations."""

    def __init__(self, cells: int, lags: int):
        self.lags = lags
        self.count, self.squares = np.zeros(cells), np.zeros(cells)
        self.pairs = np.zeros((lags, cells), np.int32)
        self.products, self.earlier, self.later = np.zeros((3, lags, cells))
        self.cut()

    def cut(self) -> None:
        """What comes next does not follow what was there."""
        self.tail = np.zeros((0, len(self.count)))

    def add(self, anomalies: np.ndarray) -> None:
        """Count the next anomalies (n cells), which follow the last ones by one step."""
        known = ~np.isnan(anomalies)
        self.count += known.sum(0)
        self.squares += np.square(anomalies, where=known, out=np.zeros_like(anomalies)).sum(0)
        line, old = np.concatenate([self.tail, anomalies]), len(self.tail)
        for lag in range(1, self.lags + 1):
            first = max(old, lag)  # only pairs that end in the new ones
            after, before = line[first:], line[first - lag : max(len(line) - lag, 0)]
            both = ~np.isnan(after) & ~np.isnan(before)
            after, before = np.where(both, after, 0), np.where(both, before, 0)
            self.pairs[lag - 1] += both.sum(0, dtype=np.int32)
            self.products[lag - 1] += (after * before).sum(0)
            self.earlier[lag - 1] += (before**2).sum(0)
            self.later[lag - 1] += (after**2).sum(0)
        self.tail = line[max(len(line) - self.lags, 0) :]

    def spread(self, waves_used: np.ndarray) -> np.ndarray:
        """The standard deviation of each cell, for the degrees of freedom that its mean left; NaN at none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            free = np.maximum(self.count - waves_used, 1)
            return np.where(self.count > waves_used, np.sqrt(self.squares / free), np.nan)

    def correlation(self) -> np.ndarray:
        """The correlation at each lag (L cells); NaN where a cell has few pairs or does not vary."""
        size = np.sqrt(self.earlier * self.later)
        enough = (self.pairs >= FEWEST_PAIRS) & (size > 0)
        found = np.divide(self.products, size, out=np.full_like(size, np.nan), where=enough)
        return found.clip(-1, 1)


def _climate(means: MeanSums, harmonics: np.ndarray, memory: MemorySums) -> Climate:
    """All sums as one Climate, with the layer's own numbers where a cell has none."""
    known = means.count > 0
    spread = memory.spread(np.where((harmonics[1:] != 0).any(0), len(harmonics), 1))
    layers = means.shape[0]

    def filled(values: np.ndarray, otherwise: float) -> np.ndarray:
        by_layer = values.reshape(len(values), layers, -1)
        counted = np.isfinite(by_layer)
        sums = np.where(counted, by_layer, 0).sum(-1, keepdims=True)
        number = counted.sum(-1, keepdims=True)
        usual = np.where(number > 0, sums / np.maximum(number, 1), otherwise)
        return np.where(counted, by_layer, usual)

    harmonics = filled(harmonics, 0.0)
    middles = (np.arange(means.parts) + 0.5 - means.phase) / means.parts
    yearly = waves(middles, 0.0)
    yearly[:, DIURNAL[0] : COLUMNS] = 0  # the mean of a day
    smooth = np.tensordot(yearly[:, means.columns], harmonics, 1)
    seen = means.counts > 0
    bins = np.divide(means.totals, means.counts, out=smooth.reshape(means.parts, -1).copy(), where=seen)
    variance = filled(spread[None] ** 2, 1.0)[0]
    usual = np.sqrt(variance.mean(-1, keepdims=True))
    spreads = np.maximum(np.sqrt(variance), np.where(usual > 0, LEAST_SPREAD * usual, 1.0))

    def stacked(values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, *means.shape).astype(np.float32)

    return Climate(
        harmonics=stacked(harmonics),
        bins=stacked(bins),
        spread=stacked(spreads)[0],
        correlation=stacked(filled(memory.correlation(), 0.0)),
        known=known.reshape(means.shape),
        columns=means.columns,
        phase=means.phase,
    )
