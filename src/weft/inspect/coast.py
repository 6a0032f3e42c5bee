"""The outlines of land, for maps: lines in degrees from Natural Earth (1:110m, public domain), a little smoothed.

coast.txt has a line of tenths of degrees for each outline: its first x,y, then the steps from point to point.
"""

from functools import cache
from importlib.resources import files

import numpy as np


@cache
def outlines() -> tuple[np.ndarray, ...]:
    """The outlines (points, 2) of longitude and latitude, from -180 to 180 and from -90 to 90."""
    text = (files("weft.inspect") / "coast.txt").read_text("ascii")
    steps = (np.array([pair.split(",") for pair in line.split()], np.int32) for line in text.splitlines())
    return tuple(one.cumsum(0) / 10 for one in steps)


def within(west: float, east: float, south: float, north: float) -> list[np.ndarray]:
    """The parts of outlines near a region, in its own longitudes: those from 0 to 360 where it counts so."""
    found = []
    for line in outlines():
        for turn in (-360.0, 0.0, 360.0):
            x, y = line[:, 0] + turn, line[:, 1]
            near = (x >= west - 5) & (x <= east + 5) & (y >= south - 5) & (y <= north + 5)
            edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(int)))
            for start, stop in edges.reshape(-1, 2):
                part = slice(max(start - 1, 0), stop + 1)
                found.append(np.stack([x[part], y[part]], 1))
    return [one for one in found if len(one) > 1]
