"""Gaps filled without a model: interpolation, DINEOF and the climatology, on the same hidden blocks."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.measures.baselines import new_scores
from weft.domains.fields.measures.dineof import dineof
from weft.domains.fields.measures.scores import FieldScores, Forecast
from weft.domains.fields.reading.climatology import blocks
from weft.domains.fields.reading.gaps import hidden_at
from weft.domains.fields.reading.grid import FieldGrid, Fields, FieldSpan
from weft.errors import WeftError
from weft.modalities.climate import Climate


def between_cells(field: np.ndarray, grid: FieldGrid) -> np.ndarray:
    """A field (V Y X) whose NaN are interpolated linearly on triangles between the known cells of their layer.

    Around the globe where the grid wraps. Outside the known cells the nearest one is taken; a layer without any stays
    NaN. Meant for anomalies: what is interpolated should not depend on the place. Layers with the same gaps share their
    triangles.
    """
    filled, masks = field.copy(), np.isfinite(field)
    left = [layer for layer, known in enumerate(masks) if known.any() and not known.all()]
    while left:
        known = masks[left[0]]
        alike = [layer for layer in left if (masks[layer] == known).all()]
        found = _triangulated(known, field[alike][:, known], grid)
        for layer, values in zip(alike, found, strict=True):
            filled[layer][~known] = values
        left = [layer for layer in left if layer not in alike]
    return filled


def _triangulated(known: np.ndarray, values: np.ndarray, grid: FieldGrid) -> np.ndarray:
    """Values (V, unknown cells) from those of the known cells (V, known cells)."""
    try:
        from scipy.interpolate import LinearNDInterpolator
        from scipy.spatial import QhullError, cKDTree
    except ImportError:
        fix = "pip install 'weft[weather]'"
        raise WeftError("SciPy is not installed, needed to interpolate fields", fix=fix) from None
    # Cells count as squares: a step along either axis is one.
    points, asked, wide = np.argwhere(known).astype(np.float64), np.argwhere(~known), grid.shape[1]
    given = values.T.astype(np.float64)
    if grid.wraps:
        turned = [points + np.array([0, turn]) for turn in (-wide, 0, wide)]
        near = [np.abs(some[:, 1] - (wide - 1) / 2) < 0.75 * wide for some in turned]  # a quarter more on both sides
        points = np.concatenate([some[close] for some, close in zip(turned, near, strict=True)])
        given = np.concatenate([given[close] for close in near])
    try:
        found = LinearNDInterpolator(points, given)(asked)
    except QhullError:  # too few cells for a triangle, or all in one line
        found = np.full((len(asked), len(values)), np.nan)
    outside = np.isnan(found).any(1)
    if outside.any():
        found[outside] = given[cKDTree(points).query(asked[outside])[1]]
    return found.T


MOST_VALUES = 4_000_000  # of the matrix that DINEOF decomposes; training times are thinned out to fit
MOST_TIMES = 120  # to train DINEOF on
MOST_GAP_FIELDS = 24  # that are measured, spread evenly
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


def gap_fields(stretch: FieldSpan, most: int = MOST_GAP_FIELDS, seed: int = 0) -> list[GapField]:
    """Fields of the stretch, spread evenly, with 30 % of their known cells hidden in blocks of 8 × 8."""
    places = np.linspace(stretch.start, stretch.stop - 1, min(most, len(stretch)))
    found = []
    for time in places.round().astype(int).tolist():
        truth = stretch.fields.read(time, time + 1)[0]
        found.append(GapField(time, truth, hidden_at(truth, time, seed=seed)))
    return found


def gap_baselines(
    stretch: FieldSpan,
    climate: Climate,
    gaps: Sequence[GapField],
    train: FieldSpan | None = None,
    progress: Progress | None = None,
) -> dict[str, FieldScores]:
    """Scores of hidden cells: `climatology`, `interpolation` where SciPy is, `dineof` with training fields."""
    fields = stretch.fields
    usual = np.stack([usual_at(climate, fields, gap.time) for gap in gaps])
    shown = np.stack([gap.shown for gap in gaps])
    filled = {"climatology": usual}
    if importlib.util.find_spec("scipy") is not None:  # without it the model is measured beside the others
        filled["interpolation"] = usual + np.stack([between_cells(field, fields.grid) for field in shown - usual])
    if train is not None and len(train):
        filled["dineof"] = dineof_filled(train, shown, progress)
    scores = {name: new_scores(stretch) for name in filled}
    for row, gap in enumerate(gaps):
        for name, fields_found in filled.items():
            found = np.where(np.isnan(fields_found[row]), usual[row], fields_found[row])
            scores[name].add(FILLED, gap.time, gap.truth, Forecast(found), climatology=usual[row], only=gap.hidden)
    return scores


def usual_at(climate: Climate, fields: Fields, time: int) -> np.ndarray:
    """The climatology (V Y X) at the time of a field."""
    return climate.mean(fields.times.season[time], fields.times.hour[time])


def dineof_filled(train: FieldSpan, shown: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """Fields with gaps (n V Y X), filled together with the training fields.

    Layers are decomposed together, each divided by its spread; cells count by their area. Training times are thinned
    out evenly where they are too many.
    """
    grid, cells = train.fields.grid, int(np.prod(shown.shape[1:]))
    room = min(max(MOST_VALUES // cells - len(shown), 1), MOST_TIMES)
    every = max(-(-len(train) // room), 1)
    past = [
        field
        for start, values in blocks(train.fields, train.start, train.stop)
        for row, field in enumerate(values)
        if (start + row - train.start) % every == 0
    ]
    matrix = np.concatenate([np.stack(past), shown]).astype(np.float64)
    known = np.isfinite(matrix)
    means = np.where(known, matrix, 0).sum(0) / np.maximum(known.sum(0), 1)
    squares = np.where(known, matrix - means, 0) ** 2
    spread = np.sqrt(squares.sum((0, 2, 3)) / np.maximum(known.sum((0, 2, 3)), 1))[:, None, None]
    spread = np.where(spread > 0, spread, 1.0)
    weights = np.broadcast_to(grid.weights[:, None], shown.shape[1:]).reshape(-1)
    found = dineof((matrix / spread).reshape(len(matrix), -1), weights=weights, progress=progress)
    return found.values[len(past) :].reshape(shown.shape) * spread
