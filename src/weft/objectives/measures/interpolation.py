"""Fields completed without learning: between known cells, and between two times."""

import numpy as np

from weft.data.grids.grid import Grid
from weft.errors import WeftError


def between_cells(field: np.ndarray, grid: Grid) -> np.ndarray:
    """A field (V Y X) whose NaN are interpolated linearly on triangles between its known cells, layer by layer.

    Around the globe where the grid wraps. Outside the known cells the nearest one is taken; a layer without any stays
    NaN. Meant for anomalies: what is interpolated should not depend on the place.
    """
    return np.stack([_layer_between_cells(layer, grid) for layer in field])


def _layer_between_cells(layer: np.ndarray, grid: Grid) -> np.ndarray:
    known = np.isfinite(layer)
    if known.all() or not known.any():
        return layer.copy()
    try:
        from scipy.interpolate import LinearNDInterpolator
        from scipy.spatial import QhullError, cKDTree
    except ImportError:
        raise WeftError(
            "SciPy is not installed, needed to interpolate fields", fix="pip install 'weft[weather]'"
        ) from None
    # Cells count as squares: steps along both axes are the same for a triangle.
    y, x = np.meshgrid(*(np.arange(size, dtype=np.float64) for size in grid.shape), indexing="ij")
    wide = grid.shape[1]
    points, values = np.stack([y[known], x[known]], -1), layer[known].astype(np.float64)
    if grid.wraps:
        moved = [points + (0, turn) for turn in (-wide, 0, wide)]
        near = [np.abs(some[:, 1] - (wide - 1) / 2) < 0.75 * wide for some in moved]  # a quarter more on both sides
        points = np.concatenate([some[close] for some, close in zip(moved, near, strict=True)])
        values = np.concatenate([values[close] for close in near])
    asked = np.stack([y[~known], x[~known]], -1)
    try:
        found = LinearNDInterpolator(points, values)(asked)
    except QhullError:  # too few cells for a triangle, or all in one line
        found = np.full(len(asked), np.nan)
    outside = np.isnan(found)
    if outside.any():
        found[outside] = values[cKDTree(points).query(asked[outside])[1]]
    filled = layer.copy()
    filled[~known] = found
    return filled


def along_rows(field: np.ndarray, grid: Grid) -> np.ndarray:
    """A field (V Y X) whose NaN are interpolated linearly along their rows; rows without a known cell stay NaN."""
    filled, places = field.copy(), np.arange(grid.shape[1], dtype=np.float64)
    for row in filled.reshape(-1, grid.shape[1]):
        known = np.isfinite(row)
        if known.any() and not known.all():
            period = grid.shape[1] if grid.wraps else None
            row[~known] = np.interp(places[~known], places[known], row[known], period=period)
    return filled


def between_times(before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """The field at `share` (0 to 1) of the time from one to another, linearly; where one is missing, the other."""
    mixed = (1 - share) * before + share * after
    return np.where(np.isnan(before), after, np.where(np.isnan(after), before, mixed)).astype(before.dtype)
