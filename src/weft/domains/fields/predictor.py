"""Fields predicted by a trained model: rolled forward in time, gaps filled, states between two times.

All three are one thing, a window with cells that are not known. Knows anomalies and windows; opens no files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.encoded.windows import WindowReader, moments
from weft.domains.fields.reading.grid import FieldSpan
from weft.errors import NotNumbers
from weft.generate.stopping import check_stop
from weft.modalities.climate import Number
from weft.models.stream import Stream

AT_ONCE = 4  # windows computed at once
FARTHEST = 50.0  # spreads from the climatology: a forecast that goes farther has diverged
NOISE_KEPT = 0.8  # correlation of a member's random part from one lead to the next

Count = Callable[[int], None]


@dataclass(frozen=True)
class Rolled:
    """Fields of several leads in their own units (n V Y X): mean, spread and, where asked for, members (m n V Y X).

    A forecast that diverged ends before the lead at which it did: `diverged` is that lead.
    """

    mean: np.ndarray
    spread: np.ndarray
    members: np.ndarray | None = None
    diverged: int | None = None


class FieldPredictor:
    """A model and its codec, ready to predict."""

    def __init__(self, model: Stream, codec: FieldCodec):
        self.model, self.codec = model.eval(), codec
        self.device = next(model.parameters()).device
        self._last: WindowReader | None = None
        self.never = ~codec.climate.known  # cells without a value at any time: land in a sea temperature

    @torch.inference_mode()
    def predict(
        self,
        values: np.ndarray,
        shown: np.ndarray,
        season: np.ndarray,
        hour: np.ndarray,
        time: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread of windows of anomalies (B V T Y X); known cells keep their values and have no spread."""
        config, means, spreads = self.codec.config, [], []
        steps = np.arange(1 - config.history, config.ahead + 1) if time is None else time
        for i in range(0, len(values), AT_ONCE):
            some = slice(i, i + AT_ONCE)
            when = np.broadcast_to(steps, season[some].shape)
            given = self.codec.window(values[some], shown[some], season[some], hour[some], when).to(self.device)
            found = self.model.embed.distribution(given, self.model(given))
            means.append(found.mean.float().cpu().numpy())
            spreads.append(found.spread.float().cpu().numpy())
        return np.concatenate(means), np.concatenate(spreads)

    def roll(self, stretch: FieldSpan, end: int, steps: int, *, members: int = 1, seed: int = 0) -> Rolled:
        """Forecasts of the fields that follow field `end` of some fields, rolled forward by feeding them back.

        Several members differ by random fields as large as the model's spread; the spread is then that of all of them.
        """
        config, reader = self.codec.config, self._reader(stretch)
        times = stretch.fields.times
        season, hour = moments(times, np.arange(end - config.history + 1, end + 1 + steps + config.ahead))
        state = np.repeat(reader.read(end)[0][None, :, : config.history], members, 0)
        noise = Noise(self.codec, members, seed)
        fields: list[np.ndarray] = []
        means: list[np.ndarray] = []
        spreads: list[np.ndarray] = []
        diverged = None
        while len(means) < steps and diverged is None:
            check_stop()
            at = len(means)
            mean, spread = self._ahead(state, season[at:], hour[at:])
            for lead in range(min(config.ahead, steps - at)):
                drawn = mean[:, :, lead] + spread[:, :, lead] * next(noise) if members > 1 else mean[:, :, lead]
                drawn[:, self.never] = np.nan
                near = (np.abs(drawn[:, ~self.never]) < FARTHEST).all()  # False for NaN too
                if not (near and np.isfinite(spread[:, :, lead]).all()):
                    diverged = at + lead + 1
                    break
                means.append(mean[:, :, lead].mean(0))
                spreads.append(np.sqrt((spread[:, :, lead] ** 2).mean(0) + mean[:, :, lead].var(0)))
                fields.append(drawn)
                state = np.concatenate([state, drawn[:, :, None]], 2)
            state = state[:, :, -config.history :]
        when = (season[config.history :][: len(means)], hour[config.history :][: len(means)])
        shape = (len(means), *self.never.shape)  # of no field, where it diverged at once
        mean = self._in_units(np.reshape(means, shape), *when)
        spread = np.where(self.never, np.nan, self.codec.spreads(np.reshape(spreads, shape)))
        if members == 1:
            return Rolled(mean, spread, diverged=diverged)
        every = [self._in_units(np.reshape([one[m] for one in fields], shape), *when) for m in range(members)]
        return Rolled(mean, spread, np.stack(every), diverged)

    def _ahead(self, state: np.ndarray, season: np.ndarray, hour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread of the fields that follow some histories (B V H Y X)."""
        config, rows = self.codec.config, len(state)
        missing = np.full((*state.shape[:2], config.ahead, *state.shape[3:]), np.nan, np.float32)
        values = np.concatenate([state, missing], 2)
        when = (np.broadcast_to(one[: config.times], (rows, config.times)) for one in (season, hour))
        mean, spread = self.predict(values, np.isfinite(values), *when)
        return mean[:, :, config.history :], spread[:, :, config.history :]

    def fill(
        self, stretch: FieldSpan, at: int, hide: Callable[[int], np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """One field with its gaps filled, and its spread (V Y X); `hide` gives further cells to hide in each field."""
        middle = self.codec.config.times // 2
        ((_, field, spread),) = self._filled(stretch, at - middle, range(middle, middle + 1), hide)
        return field, spread

    def filled(self, stretch: FieldSpan, count: Count | None = None) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Every field of a stretch with its gaps filled: its number, values (V Y X) in their units, their spread."""
        for start, taken in _windows(len(stretch), self.codec.config.times):
            check_stop()
            for at, field, spread in self._filled(stretch, stretch.start + start, taken):
                yield at, field, spread
                if count is not None:
                    count(at - stretch.start + 1)

    def _filled(
        self, stretch: FieldSpan, first: int, taken: range, hide: Callable[[int], np.ndarray] | None = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Some steps of the window that begins with field `first`; what was given stays to the last digit."""
        values, season, hour = self._reader(stretch).around(first)
        shown = np.isfinite(values)
        for step in range(values.shape[1]) if hide is not None else ():
            if shown[:, step].any():
                shown[:, step] &= ~hide(first + step)  # type: ignore[misc]
        mean, spread = self.predict(values[None], shown[None], season[None], hour[None])
        for step in taken:
            given, here = stretch.fields.read(first + step, first + step + 1)[0], shown[:, step]
            field = np.where(here, given, self._in_units(mean[0, :, step], season[step], hour[step]))
            doubt = self.codec.spreads(spread[0, :, step])
            yield first + step, field, np.where(self.never & ~here, np.nan, doubt)

    def between(self, stretch: FieldSpan, count: Count | None = None) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """States half-way between neighbouring fields: place (1.5 is between fields 1 and 2), values and spread."""
        reader, config = self._reader(stretch), self.codec.config
        half = np.arange(1 - config.history, config.ahead + 1) / 2
        for low, high in reader.pieces:
            low = max(low, stretch.start)
            for start, taken in _windows(2 * (high - low) - 1, config.times):
                check_stop()
                values, season, hour = reader.spaced(low, high, start)
                mean, spread = self.predict(values[None], np.isfinite(values)[None], season[None], hour[None], half)
                for step in taken:
                    if (start + step) % 2:
                        field = self._in_units(mean[0, :, step], season[step], hour[step])
                        doubt = np.where(self.never, np.nan, self.codec.spreads(spread[0, :, step]))
                        yield low + (start + step) / 2, field, doubt
                        if count is not None:
                            count(low + (start + step + 1) // 2 - stretch.start)

    def _reader(self, stretch: FieldSpan) -> WindowReader:
        """The reader of a stretch; the last one is kept, with the fields that it has read."""
        if self._last is None or self._last.stretch != stretch:
            self._last = WindowReader(stretch, self.codec)
        return self._last

    def _in_units(self, anomalies: np.ndarray, season: Number, hour: Number) -> np.ndarray:
        if not np.isfinite(anomalies[..., ~self.never]).all():
            problem = "the model gives values that are not finite"
            raise NotNumbers(problem, fix="train again with a lower learning rate, for example --set lr=1e-3")
        values = self.codec.values(anomalies, season, hour)
        return np.where(self.never, np.float32(np.nan), values).astype(np.float32)


class Noise:
    """Random fields for the members of an ensemble, with variance 1 and the patterns of the fields' own surprises."""

    def __init__(self, codec: FieldCodec, members: int, seed: int):
        self.patterns, self.members = codec.surprises, members
        self.rng = np.random.default_rng(seed)
        self.weights = self.rng.standard_normal((members, len(self.patterns)))

    def __next__(self) -> np.ndarray:
        fresh = self.rng.standard_normal(self.weights.shape)
        found = np.tensordot(self.weights, self.patterns, 1) / np.sqrt(len(self.patterns))
        self.weights = NOISE_KEPT * self.weights + np.sqrt(1 - NOISE_KEPT**2) * fresh
        return found.astype(np.float32)


def _windows(fields: int, times: int) -> list[tuple[int, range]]:
    """Where windows begin so that every field is near the middle of one, and the steps that are taken from each."""
    quarter, half = times // 4, max(1, times // 2)
    starts = range(0, fields, half)
    return [(start - quarter, range(quarter, quarter + min(half, fields - start))) for start in starts]
