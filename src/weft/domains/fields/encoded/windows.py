"""Windows of fields: the samples of forecast. Fields are read with their windows: a store may be larger than memory."""

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

import numpy as np
import torch

from weft.batches.epochs import Epochs
from weft.batches.field_windows import Cells, FieldSamples
from weft.batches.order import key
from weft.batches.samples import Samples
from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.encoded.hiding import Hiding
from weft.domains.fields.reading.climatology import pieces
from weft.domains.fields.reading.grid import Fields, FieldSpan, Times

KEPT_BYTES = 64 * 2**20  # of fields that were read, kept as anomalies for the windows to come
SCORED = 4  # windows in one batch of held-out ones
YEAR = 365.25  # days
PROBED = 2  # held-out windows that training looks at, for each sample that is asked for


class Anomalies:
    """Fields as anomalies by time; what was read last is kept, up to a number of bytes."""

    def __init__(self, fields: Fields, codec: FieldCodec):
        self.fields, self.codec = fields, codec
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()
        self._turn = Lock()  # batches are read ahead in a thread beside the one that computes
        one = 4 * len(fields.layers) * int(np.prod(fields.grid.shape))
        self._room = max(codec.config.times, KEPT_BYTES // one)

    def __getitem__(self, times: range) -> np.ndarray:
        """The anomalies of some times in a row (n V Y X)."""
        with self._turn:
            return self._read(times)

    def _read(self, times: range) -> np.ndarray:
        missing = [time for time in times if time not in self._kept]
        if missing:
            first, last = missing[0], missing[-1] + 1
            season, hour = self.fields.times.season[first:last], self.fields.times.hour[first:last]
            found = self.codec.anomalies(self.fields.read(first, last), season, hour)
            self._kept.update(zip(range(first, last), found.astype(np.float32), strict=True))
        result = np.stack([self._kept[time] for time in times])
        for time in times:
            self._kept.move_to_end(time)
        while len(self._kept) > self._room:
            self._kept.popitem(last=False)
        return result


class WindowReader:
    """Cuts windows out of a stretch of fields. `ends` are the last fields of their histories."""

    def __init__(self, stretch: FieldSpan, codec: FieldCodec):
        self.stretch, self.codec = stretch, codec
        self.anomalies = Anomalies(stretch.fields, codec)
        self.pieces = pieces(stretch.fields.times, 0, stretch.stop)
        inside = [range(max(a, stretch.start - 1), b - 1) for a, b in self.pieces]
        self.ends = np.array([end for one in inside for end in one], np.int64)

    def read(self, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The window whose history ends with a field: its anomalies (V T Y X), and season and hour of its fields.

        What lies beyond a gap, or beyond the stretch, is not known.
        """
        first = end - self.codec.config.history + 1
        low, high = next((a, b) for a, b in self.pieces if a <= end < b)
        return self._cut(first, range(low, high))

    def around(self, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The window that begins with field `first`, or before the first one; the piece in its middle is known."""
        middle = first + self.codec.config.times // 2
        inside = [range(a, b) for a, b in self.pieces]
        return self._cut(first, min(inside, key=lambda one: max(one.start - middle, middle - one.stop + 1)))

    def spaced(self, low: int, high: int, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A window at half steps over the fields from `low` to `high`: field low + i stands at step 2 i - start."""
        config, times = self.codec.config, self.stretch.fields.times
        values = self._empty()
        halves = np.arange(start, start + config.times)
        for step, at in enumerate(halves):
            if at % 2 == 0 and 0 <= at // 2 < high - low:
                values[:, step] = self.anomalies[range(low + at // 2, low + at // 2 + 1)][0]
        before, after = (moments(times, low + (halves + odd) // 2) for odd in (0, 1))
        season, hour = ((a + ((b - a) % 1.0) / 2 * (halves % 2)) % 1.0 for a, b in zip(before, after, strict=True))
        return values, season, hour

    def _cut(self, first: int, known: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values, steps = self._empty(), np.arange(first, first + self.codec.config.times)
        some = range(max(first, known.start), min(first + len(steps), known.stop))
        if some:
            values[:, some.start - first : some.stop - first] = self.anomalies[some].swapaxes(0, 1)
        return values, *moments(self.stretch.fields.times, steps)

    def _empty(self) -> np.ndarray:
        config = self.codec.config
        return np.full((len(config.layers), config.times, len(config.y), len(config.x)), np.nan, np.float32)

    def truths_from(self, end: int) -> int:
        """The first step of a window whose values may be predicted: those before the stretch are history alone."""
        return max(0, self.stretch.start - (end - self.codec.config.history + 1))


def moments(times: Times, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Season and hour of fields by their number; before the first and after the last they go on by the usual step."""
    inside = at.clip(0, len(times) - 1)
    beyond = (at - inside) * times.step
    hourly = 1.0 if np.ptp(times.hour) or _dated_alone(times) else 0.0
    return (times.season[inside] + beyond * _yearly(times)) % 1.0, (times.hour[inside] + beyond * hourly) % 1.0


def _yearly(times: Times) -> float:
    """The share of the year that passes in a day: 0 where no dates are known."""
    if _dated_alone(times):
        return 1 / YEAR
    if len(times) < 2 or not np.ptp(times.season):
        return 0.0
    return float(np.median((np.diff(times.season) % 1.0) / np.diff(times.days)))


def _dated_alone(times: Times) -> bool:
    """Whether there is one field with a date: nothing but the calendar says how season and hour go on."""
    return len(times) == 1 and bool(times.season[0] or times.hour[0])


class FieldWindows:
    """A `Source` of windows with hidden cells. An epoch meets every window once; held-out patterns never change."""

    def __init__(
        self, train: FieldSpan, held_out: FieldSpan, codec: FieldCodec, hiding: Hiding, *, fingerprint: str, seed: int
    ):
        self.codec, self.hiding, self.fingerprint = codec, hiding, fingerprint
        self.train, self.valid = WindowReader(train, codec), WindowReader(held_out, codec)
        self.order = Epochs(len(self.train.ends), fingerprint, seed)
        self.key = key(fingerprint, seed, "hidden cells")
        self._weights = torch.from_numpy(train.fields.grid.weights.astype(np.float32))

    @property
    def per_epoch(self) -> int:
        """Windows in one epoch."""
        return self.order.count

    def batch(self, indices: np.ndarray) -> FieldSamples:
        """The windows at these global indices."""
        shown = self.hiding.shown(self.key, np.asarray(indices))
        return self._samples(self.train, self.train.ends[self.order.rows(indices)], shown)

    def held_out(self, *, most: int | None = None) -> Iterator[FieldSamples]:
        """Held-out windows, spread evenly where not all are asked for."""
        places = np.arange(len(self.valid.ends))
        if most is not None and PROBED * most < len(places):
            places = np.unique(np.linspace(0, len(places) - 1, PROBED * most).round().astype(np.int64))
        mark = key(self.fingerprint, "hidden cells when held out")
        for i in range(0, len(places), SCORED):
            some = places[i : i + SCORED]
            yield self._samples(self.valid, self.valid.ends[some], self.hiding.shown(mark, some))

    def _samples(self, reader: WindowReader, ends: np.ndarray, shown: np.ndarray) -> FieldSamples:
        values, season, hour = (np.stack(part) for part in zip(*(reader.read(int(end)) for end in ends), strict=True))
        config = self.codec.config
        time = np.broadcast_to(np.arange(1 - config.history, config.ahead + 1), season.shape)
        given = self.codec.window(values, shown, season, hour, time)
        truth = torch.from_numpy(values)
        scored = truth.isfinite() & ~given.known
        for row, end in enumerate(ends):
            scored[row, :, : reader.truths_from(int(end))] = False
        weights = self._weights.expand(len(ends), -1)
        return Samples(given, Cells(truth.nan_to_num(0.0), scored, weights))
