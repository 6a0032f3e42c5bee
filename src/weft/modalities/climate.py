"""Climate: what is usual at each cell of a grid: its mean by season and hour, its spread, how long anomalies last.

Numbers only; `weft.domains.fields.reading.climatology` learns them from fields. Needs no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from weft.errors import DataError

HARMONICS = 2  # waves of a year, and of a day
COLUMNS = 1 + 4 * HARMONICS  # the mean; cosine and sine of each wave of the year; the same of the day
ANNUAL = tuple(range(1, 1 + 2 * HARMONICS))
DIURNAL = tuple(range(1 + 2 * HARMONICS, COLUMNS))

Number = float | np.ndarray


def waves(season: Number, hour: Number) -> np.ndarray:
    """All columns that a climatology may have, for one time (9) or several (n 9).

    1, cos 2πs, sin 2πs, cos 4πs, sin 4πs of the share s of the year, then the same of the share of the day.
    """
    season, hour = np.broadcast_arrays(np.asarray(season, np.float64), np.asarray(hour, np.float64))
    turns = [2 * np.pi * k * share for share in (season, hour) for k in range(1, HARMONICS + 1)]
    return np.stack([np.ones_like(season), *(f(turn) for turn in turns for f in (np.cos, np.sin))], -1)


def season_bin(season: Number, bins: int, phase: float) -> np.ndarray:
    """Which of `bins` equal parts of the year each season falls into; `phase` moves their borders, in bins."""
    return np.floor(np.asarray(season, np.float64) * bins + phase).astype(int) % bins


@dataclass(frozen=True)
class Climate:
    """Mean, spread and memory of every cell of V layers on a grid of Y rows and X columns; finite at every cell.

    The mean is a sum of waves: harmonics[k] · waves(season, hour)[columns[k]]. An anomaly is a value minus this mean.
    Where a cell had no value to learn from (`known` is False) it has the mean, spread and correlation of its layer.
    """

    harmonics: np.ndarray  # K V Y X
    bins: np.ndarray  # M V Y X: means of the M parts of the year
    spread: np.ndarray  # V Y X: standard deviation of the anomalies, above 0
    correlation: np.ndarray  # L V Y X: of anomalies that are 1..L steps apart, from -1 to 1
    known: np.ndarray  # V Y X, bool
    columns: np.ndarray  # K: which of the waves the mean is made of
    phase: float = 0.0  # of the parts of the year, see season_bin

    @property
    def lags(self) -> int:
        """The longest lag with a correlation."""
        return len(self.correlation)

    def mean(self, season: Number, hour: Number) -> np.ndarray:
        """The climatology at one time (V Y X), or at several (n V Y X), in float32."""
        basis = waves(season, hour)[..., self.columns].astype(np.float32)
        return np.tensordot(basis, self.harmonics, 1)

    def monthly_mean(self, season: Number) -> np.ndarray:
        """The mean of the part of the year that a time falls into (V Y X), or several times (n V Y X)."""
        return self.bins[season_bin(season, len(self.bins), self.phase)]

    def correlation_at(self, lag: int) -> np.ndarray:
        """The correlation of anomalies `lag` steps apart (V Y X); beyond the longest lag it decays geometrically."""
        if lag < 1:
            raise ValueError(f"a lag of at least 1 step, found {lag}")
        if lag <= self.lags:
            return self.correlation[lag - 1]
        return self.correlation[-1].clip(min=0) ** (lag / self.lags)

    def damped(self, field: np.ndarray, lag: int, now: tuple[float, float], then: tuple[float, float]) -> np.ndarray:
        """Damped anomaly persistence: what a field (V Y X) lets expect `lag` steps later; NaN where it is NaN.

        `now` and `then` are (season, hour) of the field and of the forecast.
        """
        return self.mean(*then) + self.correlation_at(lag) * (field - self.mean(*now))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays by name, for a file."""
        return {
            "harmonics": self.harmonics,
            "bins": self.bins,
            "spread": self.spread,
            "correlation": self.correlation,
            "known": self.known.astype(np.uint8),
            "columns": self.columns.astype(np.int64),
            "phase": np.array([self.phase], np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], where: str = "") -> Self:
        """The climate that `arrays` wrote; `where` names the file in errors."""
        needed = ("harmonics", "bins", "spread", "correlation", "known", "columns", "phase")
        absent = [name for name in needed if name not in arrays]
        if absent:
            raise DataError(f"a climatology without {', '.join(absent)}", where=where)
        climate = cls(
            harmonics=np.asarray(arrays["harmonics"], np.float32),
            bins=np.asarray(arrays["bins"], np.float32),
            spread=np.asarray(arrays["spread"], np.float32),
            correlation=np.asarray(arrays["correlation"], np.float32),
            known=np.asarray(arrays["known"]).astype(bool),
            columns=np.asarray(arrays["columns"], np.int64),
            phase=float(np.append(arrays["phase"], np.nan)[0]),
        )
        climate._check(where)
        return climate

    def _check(self, where: str) -> None:
        cells = self.spread.shape
        parts = {"harmonics": self.harmonics, "bins": self.bins, "correlation": self.correlation}
        wrong = [name for name, part in parts.items() if part.shape[1:] != cells or not part.shape or not len(part)]
        if self.known.shape != cells:
            wrong.append("known")
        if self.columns.shape != self.harmonics.shape[:1] or not np.isin(self.columns, np.arange(COLUMNS)).all():
            wrong.append("columns")
        if wrong:
            raise DataError(f"a climatology whose {', '.join(wrong)} do not fit its cells {cells}", where=where)
        numbers = all(np.isfinite(part).all() for part in (*parts.values(), self.spread))
        if not numbers or not np.isfinite(self.phase) or not (self.spread > 0).all():
            raise DataError("a climatology with numbers that are not finite, or a spread of 0", where=where)
