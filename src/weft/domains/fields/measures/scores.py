"""How good forecasts of fields are: rmse, anomaly correlation, CRPS, bias and spread over skill, weighted by area.

Values that are NaN are unknown and left out. FieldScores takes one field after the other and keeps a few sums of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weft.objectives.measures.resampling import bootstrap

MEASURES = ("rmse", "bias", "acc", "crps", "spread_skill")


def normal_crps(truth: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The continuous ranked probability score of normal distributions, in closed form (Gneiting et al., 2005).

    s · (z (2 Φ(z) - 1) + 2 φ(z) - 1/√π) with z = (truth - mean) / s; where the spread is 0, the absolute error.
    """
    error = np.asarray(truth, np.float64) - mean
    sure = np.asarray(spread) == 0
    z = error / np.where(sure, 1, spread)
    erf = torch.erf(torch.as_tensor(z / np.sqrt(2))).numpy()  # 2 Φ(z) - 1
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.where(sure, np.abs(error), spread * (z * erf + 2 * density - 1 / np.sqrt(np.pi)))


def ensemble_crps(truth: np.ndarray, members: np.ndarray, fair: bool = True) -> np.ndarray:
    """The CRPS of an ensemble (members first): mean |x - y| - ½ mean |x - x'|.

    The fair estimator divides the second mean by n (n - 1), so that it does not depend on the number n of members
    (Ferro, 2014); otherwise it is by n², the score of the members as a step function. One member: the absolute error.
    """
    members = np.sort(np.asarray(members, np.float64), 0)
    count = len(members)
    place = (2 * np.arange(1, count + 1) - count - 1).reshape(-1, *[1] * (members.ndim - 1))
    between = 2 * (place * members).sum(0)  # the sum of |x - x'| over all ordered pairs
    pairs = max(count * (count - 1), 1) if fair else count**2
    return np.asarray(np.abs(members - truth).mean(0) - between / (2 * pairs))


def anomaly_correlation(forecast: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> float:
    """The correlation of two fields of anomalies over their cells, centred and weighted; NaN where one is constant."""
    total = weights.sum()
    if not total > 0:
        return float("nan")
    forecast = forecast - (weights * forecast).sum() / total
    truth = truth - (weights * truth).sum() / total
    size = np.sqrt((weights * forecast**2).sum() * (weights * truth**2).sum())
    return float((weights * forecast * truth).sum() / size) if size > 0 else float("nan")


@dataclass(frozen=True)
class Forecast:
    """A forecast of one field (V Y X): its mean, and the spread of a normal distribution or the members, where known.

    `members` (n V Y X) are fields; `mean` is then their mean.
    """

    mean: np.ndarray
    spread: np.ndarray | None = None
    members: np.ndarray | None = None

    @property
    def variance(self) -> np.ndarray | None:
        """Of the distribution; of members with the factor (n + 1) / n that a finite ensemble needs (Fortin, 2014)."""
        if self.members is not None and len(self.members) > 1:
            count = len(self.members)
            return self.members.var(0, ddof=1, dtype=np.float64) * (count + 1) / count
        return None if self.spread is None else np.square(self.spread, dtype=np.float64)

    def crps(self, truth: np.ndarray) -> np.ndarray:
        """The score of each cell; of a forecast without a distribution, its absolute error."""
        if self.members is not None:
            return ensemble_crps(truth, self.members)
        if self.spread is not None:
            return normal_crps(truth, self.mean, self.spread)
        return np.abs(truth - self.mean)


class FieldScores:
    """Scores of many forecasts by lead and layer; each field leaves sums by layer behind, so memory stays small.

    Means are over all cells of all starts, weighted by area; the anomaly correlation is the mean over starts of that
    of the map. `weights` are those of the rows (`Grid.weights`).
    """

    def __init__(self, weights: np.ndarray, layers: Sequence[str]):
        self.weights, self.layers = np.asarray(weights, np.float64), tuple(layers)
        self.sums: dict[int, dict[int, np.ndarray]] = {}  # lead -> start -> (layer, sum)
        self.by_row: dict[int, np.ndarray] = {}  # lead -> (2, layer, row): area and squared errors of all starts

    def add(
        self,
        lead: int,
        start: int,
        truth: np.ndarray,
        forecast: Forecast,
        *,
        climatology: np.ndarray | None = None,
        only: np.ndarray | None = None,
    ) -> None:
        """Count one forecast of the field `truth` (V Y X), made at time `start` for `lead` steps later.

        Only cells where `only` is True count, where it is given. Without a climatology there is no anomaly correlation.
        """
        truth = np.asarray(truth, np.float64)
        counted = np.isfinite(truth) & np.isfinite(forecast.mean)
        if only is not None:
            counted &= only
        weights = np.where(counted, self.weights[:, None], 0.0)
        error = np.where(counted, forecast.mean - truth, 0.0)
        variance, nothing = forecast.variance, np.full(len(truth), np.nan)
        crps = np.where(counted, forecast.crps(truth), 0.0)
        row = [
            weights.sum((1, 2)),
            (weights * error**2).sum((1, 2)),
            (weights * error).sum((1, 2)),
            (weights * crps).sum((1, 2)),
            nothing if variance is None else (weights * np.where(counted, variance, 0.0)).sum((1, 2)),
            nothing if climatology is None else self._correlations(truth, forecast.mean, climatology, weights),
        ]
        self.sums.setdefault(lead, {})[start] = np.stack(row, -1)
        along = np.stack([weights.sum(2), (weights * error**2).sum(2)])
        self.by_row[lead] = along + self.by_row.get(lead, 0.0)

    @staticmethod
    def _correlations(truth: np.ndarray, mean: np.ndarray, usual: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counted = weights > 0
        anomalies = [np.where(counted, values - usual, 0.0) for values in (mean, truth)]
        return np.array([anomaly_correlation(a, b, w) for a, b, w in zip(*anomalies, weights, strict=True)])

    @property
    def leads(self) -> list[int]:
        """The leads with a forecast, in order."""
        return sorted(self.sums)

    def starts(self, lead: int) -> list[int]:
        """The starts of the forecasts with this lead, in order."""
        return sorted(self.sums.get(lead, {}))

    def stacked(self, lead: int, starts: Sequence[int] | None = None) -> np.ndarray:
        """The sums of one lead (start, layer, sum), for `measures_of`."""
        rows = self.sums.get(lead, {})
        return np.stack([rows[start] for start in (self.starts(lead) if starts is None else starts)])

    def of(self, lead: int, scale: np.ndarray | None = None) -> dict[str, float]:
        """The measures at one lead over all layers together, each layer's errors divided by its `scale`."""
        return {name: float(value) for name, value in measures_of(self.stacked(lead), scale).items()}

    def rmse_of_rows(self, lead: int, rows: np.ndarray, scale: np.ndarray) -> float:
        """The rmse at one lead over the rows of the grid where `rows` is True; NaN where nothing is known."""
        area, squares = self.by_row[lead][:, :, rows].sum(2)
        return float(np.sqrt((squares / scale**2).sum() / area.sum())) if area.sum() > 0 else float("nan")

    def table(self) -> dict[int, dict[str, dict[str, float]]]:
        """The measures by lead and layer, in the units of the layers."""
        return {
            lead: {
                layer: {n: float(v) for n, v in measures_of(self.stacked(lead)[:, [i]]).items()}
                for i, layer in enumerate(self.layers)
            }
            for lead in self.leads
        }

    def intervals(self, lead: int, scale: np.ndarray | None = None) -> dict[str, list[float]]:
        """The middle 95 % of each measure over resamples of the starts."""
        rows = self.stacked(lead)
        return bootstrap(len(rows), lambda chosen: measures_of(rows[chosen], scale))

    def ratio(self, other: "FieldScores", lead: int, scale: np.ndarray | None = None) -> tuple[float, list[float]]:
        """The rmse divided by another's, at the starts that both have, with its interval; below 1 is better."""
        both = sorted(set(self.starts(lead)) & set(other.starts(lead)))
        if not both:
            return float("nan"), []
        mine, theirs = self.stacked(lead, both), other.stacked(lead, both)

        def ratio(chosen: np.ndarray) -> dict[str, float]:
            against = measures_of(theirs[chosen], scale)["rmse"]
            return {"ratio": measures_of(mine[chosen], scale)["rmse"] / against if against > 0 else float("nan")}

        return ratio(np.arange(len(both)))["ratio"], bootstrap(len(both), ratio).get("ratio", [])


def measures_of(rows: np.ndarray, scale: np.ndarray | None = None) -> dict[str, float]:
    """Measures from sums (start, layer, sum); NaN where there is nothing to measure."""
    scale = np.ones(rows.shape[1]) if scale is None else np.asarray(scale, np.float64)
    area, squares, errors, crps, variance = np.moveaxis(rows[..., :5].sum(0), -1, 0)
    total = area.sum()
    if not total > 0:
        return dict.fromkeys(MEASURES, float("nan"))
    rmse = np.sqrt((squares / scale**2).sum() / total)
    spread = np.sqrt((variance / scale**2).sum() / total)
    correlations = rows[..., 5][np.isfinite(rows[..., 5])]
    return {
        "rmse": rmse,
        "bias": (errors / scale).sum() / total,
        "acc": correlations.mean() if len(correlations) else float("nan"),
        "crps": (crps / scale).sum() / total,
        "spread_skill": spread / rmse if rmse > 0 else float("nan"),
    }
