"""What a model of fields is measured against: persistence, climatology, damped anomalies, a linear inverse model.

`launches` says which forecasts are scored, so that a model and all baselines answer for the same fields.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.measures.linear_inverse import LinearInverse
from weft.domains.fields.measures.scores import FieldScores, Forecast
from weft.domains.fields.reading.climatology import pieces
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, FieldSpan, Times
from weft.modalities.climate import Climate

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Launch:
    """A forecast from the field at time `start`, scored at the leads from `first` to `last` steps."""

    start: int
    first: int
    last: int

    @property
    def leads(self) -> range:
        """The leads that are scored."""
        return range(self.first, self.last + 1)


def launches(stretch: FieldSpan, leads: int, history: int = 1, most: int | None = None) -> list[Launch]:
    """All forecasts that reach a field of the stretch within `leads` steps; at most `most` of them, spread evenly.

    A forecast starts before the stretch where its first fields are reached from there, so that every lead is scored on
    the same fields; what is scored lies within the stretch. No forecast crosses a gap in time, and each has `history`
    fields to start from.
    """
    found = []
    for first, last in pieces(stretch.fields.times, 0, stretch.stop):
        for start in range(max(first + history - 1, stretch.start - leads), last - 1):
            launch = Launch(start, max(1, stretch.start - start), min(leads, last - 1 - start))
            if launch.leads:
                found.append(launch)
    if most is not None and len(found) > most:
        found = [found[i] for i in np.linspace(0, len(found) - 1, most).round().astype(int)]
    return found


def baselines_at(climate: Climate, times: Times, field: np.ndarray, start: int, lead: int) -> dict[str, Forecast]:
    """What the baselines expect `lead` steps after the field (V Y X) of time `start`.

    climatology: the mean by waves of year and day. monthly: the mean of the part of the year. persistence: the field.
    damped: its anomaly, shrunk by the correlation of each cell at this lead. Where the field is unknown, persistence
    and damped are the climatology, so that all are scored on the same cells.
    """
    now, then = ((times.season[at], times.hour[at]) for at in (start, start + lead))
    usual, spread = climate.mean(*then), climate.spread
    kept = np.sqrt(1 - climate.correlation_at(lead) ** 2)
    missing = np.isnan(field)
    damped = climate.damped(field, lead, now, then)
    return {
        "persistence": Forecast(np.where(missing, usual, field)),
        "climatology": Forecast(usual, spread),
        "monthly": Forecast(climate.monthly_mean(times.season[start + lead]), spread),
        "damped": Forecast(np.where(missing, usual, damped), spread * np.where(missing, 1, kept)),
    }


def forecast_baselines(
    stretch: FieldSpan,
    climate: Climate,
    chosen: Sequence[Launch],
    *,
    recent: Climate | None = None,
    train: FieldSpan | None = None,
    progress: Progress | None = None,
) -> dict[str, FieldScores]:
    """The scores of all baselines by name, for the launches chosen.

    `recent`: damped anomalies from a climate in which the last years count most, where there is one. `linear`: a linear
    inverse model of the anomalies from that climate, where there are fields to train it on.
    """
    fields = stretch.fields
    scores: dict[str, FieldScores] = {}
    leads = sorted({lead for launch in chosen for lead in launch.leads})
    linear = None if train is None else LinearInverse.of(train, recent or climate, leads)
    for done, launch in enumerate(chosen, 1):
        field = fields.read(launch.start, launch.start + 1)[0]
        for lead, truth, usual in reached(stretch, climate, launch):
            found = baselines_at(climate, fields.times, field, launch.start, lead)
            if recent is not None and recent is not climate:
                found["recent"] = baselines_at(recent, fields.times, field, launch.start, lead)["damped"]
            if linear is not None and lead in linear.moved:
                found["linear"] = linear.forecast(fields.times, field, launch.start, lead)
            for name, forecast in found.items():
                scores.setdefault(name, new_scores(stretch)).add(lead, launch.start, truth, forecast, climatology=usual)
        if progress is not None:
            progress(done, len(chosen))
    return scores


def reached(stretch: FieldSpan, climate: Climate, launch: Launch) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each lead that a launch is scored at, with the true field and the climatology (V Y X)."""
    fields = stretch.fields
    truths = fields.read(launch.start + launch.first, launch.start + launch.last + 1)
    for lead, truth in zip(launch.leads, truths, strict=True):
        at = launch.start + lead
        yield lead, truth, climate.mean(fields.times.season[at], fields.times.hour[at])


def new_scores(stretch: FieldSpan) -> FieldScores:
    """Scores for the layers and the grid of some fields, still empty."""
    return FieldScores(stretch.fields.grid.weights, [layer.name for layer in stretch.fields.layers])


def scale_of(layers: Sequence[FieldLayer], grid: FieldGrid, climate: Climate) -> np.ndarray:
    """What the errors of each layer are divided by before they are added up (V).

    1 where all layers have one unit, so that a sum is in this unit; else the usual spread of its anomalies.
    """
    if len({layer.units for layer in layers}) == 1:
        return np.ones(len(layers))
    weights = np.where(climate.known, grid.weights[:, None], 0.0)
    area = weights.sum((1, 2))
    usual = np.sqrt((weights * climate.spread.astype(np.float64) ** 2).sum((1, 2)) / np.maximum(area, 1e-12))
    return np.where(area > 0, usual, 1.0)
