"""A linear inverse model: the leading patterns of a climate, each moved forward by what the others did (Penland, 1989).

Anomalies are projected on their leading empirical orthogonal functions; a matrix for each lead says what the patterns
become. What the patterns leave of a field is damped, cell by cell. On monthly temperatures it is hard to beat.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.measures.scores import Forecast
from weft.domains.fields.reading.climatology import blocks, pieces
from weft.domains.fields.reading.grid import FieldSpan, Times
from weft.modalities.climate import Climate

PATTERNS = 20
FIELDS_A_PATTERN = 10  # to learn from: with fewer the matrices are noise
MOST_VALUES = 60_000_000  # of the matrix that is decomposed
RIDGE = 0.03  # of the mean variance of the patterns: weak ones are drawn to 0


@dataclass(frozen=True)
class LinearInverse:
    """The patterns of a climate, and for each lead how they move, how the rest is damped, and what stays unknown."""

    climate: Climate
    factors: np.ndarray  # cells: anomalies times these are what is decomposed
    patterns: np.ndarray  # K cells
    moved: dict[int, np.ndarray]  # lead -> K K
    damped: dict[int, np.ndarray]  # lead -> cells
    spread: dict[int, np.ndarray]  # lead -> cells, in the units of the layers

    @classmethod
    def of(cls, train: FieldSpan, climate: Climate, leads: Sequence[int]) -> "LinearInverse | None":
        """The model of some fields; None where they are too few, or too many to decompose."""
        cells = climate.spread.size
        if len(train) < FIELDS_A_PATTERN * PATTERNS or len(train) * cells > MOST_VALUES:
            return None
        anomalies = _anomalies(train, climate)
        area = np.where(climate.known, train.fields.grid.weights[:, None], 0.0)
        usual = np.sqrt((area * climate.spread**2).sum((1, 2)) / np.maximum(area.sum((1, 2)), 1e-12))
        factors = (np.sqrt(area) / np.where(usual > 0, usual, 1.0)[:, None, None]).ravel()
        scaled = anomalies * factors
        product = scaled @ scaled.T
        leading = np.linalg.eigh(product)[1][:, -PATTERNS:].T  # each a line in time
        patterns = leading @ scaled
        patterns /= np.maximum(np.linalg.norm(patterns, axis=1, keepdims=True), 1e-12)
        found = cls(climate, factors, patterns, {}, {}, {})
        states = scaled @ patterns.T
        rest = anomalies - found._in_cells(states)
        for lead in leads:
            pairs = [
                np.arange(low, high - lead) - train.start
                for low, high in pieces(train.fields.times, train.start, train.stop)
                if high - low > lead
            ]
            if not pairs:
                continue
            now = np.concatenate(pairs)
            then = now + lead
            square = states[now].T @ states[now]
            ridge = RIDGE * np.trace(square) / PATTERNS + 1e-9
            found.moved[lead] = np.linalg.solve(square + ridge * np.eye(PATTERNS), states[now].T @ states[then])
            size = (rest[now] ** 2).sum(0)
            found.damped[lead] = (rest[now] * rest[then]).sum(0) / np.where(size > 0, size, 1.0)
            error = anomalies[then] - found._in_cells(states[now] @ found.moved[lead]) - rest[now] * found.damped[lead]
            found.spread[lead] = np.sqrt((error**2).mean(0))
        return found

    def forecast(self, times: Times, field: np.ndarray, start: int, lead: int) -> Forecast:
        """What is expected `lead` steps after the field (V Y X) of time `start`; unknown cells have no anomaly."""
        now, then = ((times.season[at], times.hour[at]) for at in (start, start + lead))
        anomaly = np.nan_to_num(field - self.climate.mean(*now)).ravel()
        state = (anomaly * self.factors) @ self.patterns.T
        rest = anomaly - self._in_cells(state)
        expected = self._in_cells(state @ self.moved[lead]) + rest * self.damped[lead]
        shape = field.shape
        return Forecast(self.climate.mean(*then) + expected.reshape(shape), self.spread[lead].reshape(shape))

    def _in_cells(self, states: np.ndarray) -> np.ndarray:
        """Anomalies (… cells) from the amounts of the patterns (… K)."""
        return (states @ self.patterns) / np.where(self.factors > 0, self.factors, np.inf)


def _anomalies(train: FieldSpan, climate: Climate) -> np.ndarray:
    """All anomalies (times, cells); 0 where a value is missing."""
    times = train.fields.times
    found = np.zeros((len(train), climate.spread.size), np.float32)
    for start, values in blocks(train.fields, train.start, train.stop):
        at = slice(start, start + len(values))
        usual = climate.mean(times.season[at], times.hour[at])
        rows = slice(start - train.start, start - train.start + len(values))
        found[rows] = np.nan_to_num(values - usual).reshape(len(values), -1)
    return found
