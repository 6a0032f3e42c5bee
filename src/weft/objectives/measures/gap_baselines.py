"""Gaps filled without a model: interpolated anomalies, DINEOF and the climatology, on the same hidden blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.data.grids.climatology import blocks as blocks_of_fields
from weft.data.grids.gaps import blocks, hidden_at
from weft.data.grids.grid import Fields, Stretch
from weft.modalities.climate import Climate
from weft.objectives.measures.dineof import dineof
from weft.objectives.measures.field_baselines import new_scores
from weft.objectives.measures.field_scores import FieldScores, Forecast
from weft.objectives.measures.interpolation import between_cells

MOST_VALUES = 20_000_000  # of the matrix that DINEOF decomposes, in float64; training times are thinned out to this
ASIDE_SHARE = 0.05  # of the known cells of fields with gaps, hidden in blocks too to choose the number of modes
FILLED = 0  # the lead under which filled gaps are scored

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class GapField:
    """A field with hidden cells: its time, its true values (V Y X), and the cells (Y X) that are hidden."""

    time: int
    truth: np.ndarray
    hidden: np.ndarray

    @property
    def shown(self) -> np.ndarray:
        """The values that are left, NaN elsewhere."""
        return np.where(self.hidden, np.float32(np.nan), self.truth)


def gap_fields(stretch: Stretch, most: int = 60, seed: int = 0) -> list[GapField]:
    """Fields of the stretch, spread evenly, with 30 % of their known cells hidden in blocks of 8 × 8."""
    count = min(most, len(stretch))
    chosen = np.unique(np.linspace(stretch.start, stretch.stop - 1, count).round().astype(int)) if count else []
    found = []
    for time in chosen:
        truth = stretch.fields.read(int(time), int(time) + 1)[0]
        found.append(GapField(int(time), truth, hidden_at(truth, int(time), seed=seed)))
    return found


def gap_baselines(
    stretch: Stretch,
    climate: Climate,
    gaps: Sequence[GapField],
    train: Stretch | None = None,
    progress: Progress | None = None,
) -> dict[str, FieldScores]:
    """The scores of hidden cells: `interpolation`, `climatology`, and `dineof` where there are fields to train on."""
    fields = stretch.fields
    shown = np.stack([anomalies_at(climate, fields, gap.time, gap.shown) for gap in gaps])
    filled = {
        "interpolation": np.stack([between_cells(field, fields.grid) for field in shown]),
        "climatology": np.zeros_like(shown),
    }
    if train is not None and len(train):
        filled["dineof"] = dineof_filled(climate, train, shown, progress)
    scores = {name: new_scores(stretch) for name in filled}
    for row, gap in enumerate(gaps):
        usual = climate.mean(fields.times.season[gap.time], fields.times.hour[gap.time])
        for name, found in filled.items():
            forecast = Forecast(usual + np.nan_to_num(found[row]))  # unknown anomalies are 0
            scores[name].add(FILLED, gap.time, gap.truth, forecast, climatology=usual, only=gap.hidden)
    return scores


def anomalies_at(climate: Climate, fields: Fields, time: int, values: np.ndarray) -> np.ndarray:
    """The anomalies (V Y X) of a field at a time."""
    return values - climate.mean(fields.times.season[time], fields.times.hour[time])


def dineof_filled(climate: Climate, train: Stretch, shown: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """Anomalies with gaps (n V Y X), filled together with those of the training fields.

    Layers are decomposed together, each divided by its usual spread; cells count by their area. Training times are
    thinned out evenly where the matrix would be too large.
    """
    grid, cells = train.fields.grid, int(np.prod(shown.shape[1:]))
    room = max(MOST_VALUES // cells - len(shown), 1)
    every = max(-(-len(train) // room), 1)
    past = [
        anomalies_at(climate, train.fields, start + row, field)
        for start, values in blocks_of_fields(train.fields, train.start, train.stop)
        for row, field in enumerate(values)
        if (start + row - train.start) % every == 0
    ]
    usual = np.sqrt((climate.spread.astype(np.float64) ** 2).mean((1, 2)))[:, None, None]
    matrix = np.concatenate([np.stack(past), shown]) / usual
    aside = np.zeros(matrix.shape, bool)
    for row, field in enumerate(shown, len(past)):
        aside[row] = blocks(np.isfinite(field).any(0), np.random.default_rng([1, row]), ASIDE_SHARE)
    weights = np.broadcast_to(grid.weights[:, None], shown.shape[1:]).reshape(-1)
    found = dineof(
        matrix.reshape(len(matrix), -1), weights=weights, aside=aside.reshape(len(matrix), -1), progress=progress
    )
    return found.values[len(past) :].reshape(shown.shape) * usual
