"""A picture that ships with weft: a woven disc on a sky of rings, drawn from formulas, fine threads on wide shades.

Refuses to know files and models.
"""

import numpy as np

from weft.domains.places.reading.grids import picture_places
from weft.domains.places.reading.rows import FoundPlaces

SIDE = 256
FINE = 3  # points along a side of a pixel, averaged, so that edges are smooth
THREADS = 28  # across the disc, each way
SPOKES, RINGS = 24, 9
SKY, DUSK = (232, 226, 210), (58, 92, 140)
WARP = ((196, 62, 54), (236, 170, 60), (242, 233, 208), (52, 116, 110))
WEFT = ((38, 50, 92), (238, 226, 196), (128, 44, 84))
SHADOW = 0.55  # brightness where a thread dives below another


def sample_tapestry() -> np.ndarray:
    """The picture, (Y, X, 3) in bytes: the same every time."""
    grid = (np.arange(SIDE * FINE) + 0.5) / (SIDE * FINE) * 2 - 1
    y, x = np.meshgrid(grid, grid, indexing="ij")
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = radius < 0.68 + 0.05 * np.cos(8 * angle)
    colours = np.where(inside[..., None], _cloth(x, y), _sky(radius, angle))
    pixels = colours.reshape(SIDE, FINE, SIDE, FINE, 3).mean((1, 3))
    return np.clip(pixels.round(), 0, 255).astype(np.uint8)


def _sky(radius: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rings and spokes that fade into each other."""
    waves = np.cos(2 * np.pi * RINGS * radius) * np.cos(SPOKES * angle + 6 * radius)
    share = (0.5 + 0.5 * np.tanh(3 * waves))[..., None]
    return share * np.array(SKY) + (1 - share) * np.array(DUSK)


def _cloth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Twill: the warp runs down, the weft across, and each dives below two of the other, one step on in every row."""
    column, row = (np.floor((axis + 1) / 2 * THREADS).astype(int) for axis in (x, y))
    above = (column + row) % 4 < 2
    warp = np.array(WARP)[column // 2 % len(WARP)]
    weft = np.array(WEFT)[row // 3 % len(WEFT)]
    across = np.where(above, x, y)
    place = (across + 1) / 2 * THREADS % 1 - 0.5  # over the width of the thread on top
    light = SHADOW + (1 - SHADOW) * np.cos(np.pi * place)
    return np.where(above[..., None], warp, weft) * light[..., None]


def woven_picture() -> FoundPlaces:
    """A picture of our own of 256 x 256 pixels, with fine threads and wide shades."""
    return picture_places((sample_tapestry(), None), "weft's tapestry")
