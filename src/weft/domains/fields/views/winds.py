"""Winds: whether a layer is the eastward or northward part of one, and arrows on a map."""

import re
from typing import Any

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.inspect.figures import INK

_SPELLED = r"\d*{0}\d*m?|{0}_?(wnd|wind|as|a|o|grd|comp\w*|vel\w*)|(wnd|wind|water|vel)_?{0}"
_EAST = re.compile(rf"^({_SPELLED.format('u')})$|eastward|zonal|\bu[ -]component", re.IGNORECASE)
_NORTH = re.compile(rf"^({_SPELLED.format('v')})$|northward|meridional|\bv[ -]component", re.IGNORECASE)
ARROW_INCHES = 0.22  # between the feet of two arrows


def is_wind_part(layer: FieldLayer) -> bool:
    """Whether a layer is one part of a wind, so that its sign is a direction."""
    return _says(_EAST, layer) or _says(_NORTH, layer)


def _says(pattern: re.Pattern[str], layer: FieldLayer) -> bool:
    return any(pattern.search(words) for words in (layer.variable, layer.title))


def draw_arrows(axis: Any, east: np.ndarray, north: np.ndarray, grid: FieldGrid, size: tuple[float, float]) -> None:
    """Arrows over a map of `size` inches (width, height), spaced evenly; the longest just reach their neighbours."""
    rows, columns = (_spread(count, inches) for count, inches in zip(grid.shape, (size[1], size[0]), strict=True))
    u, v = (part[np.ix_(rows, columns)] for part in (east, north))
    speed = np.hypot(u, v)
    known = speed[np.isfinite(speed)]
    strong = float(np.quantile(known, 0.9)) if known.size else 0.0
    if strong <= 0:
        return
    shorter = strong / np.maximum(speed, strong)  # outliers would cover their neighbours
    apart = min(size[0] / len(columns), size[1] / len(rows))
    axis.quiver(
        grid.x[columns], grid.y[rows], u * shorter, v * shorter, angles="uv", units="inches", scale_units="inches",
        scale=strong / (0.95 * apart), width=0.015, headwidth=3.6, headlength=4.2, headaxislength=3.8, minlength=0.5,
        color=INK, edgecolor="white", linewidth=0.45, pivot="mid",
    )  # fmt: skip


def _spread(count: int, inches: float) -> np.ndarray:
    """Which of `count` cells in a row carry an arrow."""
    arrows = int(np.clip(inches / ARROW_INCHES, 1, count))
    return ((np.arange(arrows) + 0.5) * count / arrows).astype(int)
