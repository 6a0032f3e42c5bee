"""Fields completed without learning: between known cells, and between two times."""

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid
from weft.errors import WeftError


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


def between_times(before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """The field at `share` (0 to 1) of the time from one to another, linearly; where one is missing, the other."""
    mixed = (1 - share) * before + share * after
    return np.where(np.isnan(before), after, np.where(np.isnan(after), before, mixed)).astype(before.dtype)
