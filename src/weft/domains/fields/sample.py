"""An atmosphere that ships with weft: waves travel round a globe, winds follow them. The truth is known at any time.

    z = zonal mean (latitude, season) + sum over waves of amplitude(t) * shape(latitude) * cos(m * longitude - phase(t))
    u = -(g / f) dz/dy,  v = (g / f) dz/dx      the geostrophic winds; 1 / f is bounded near the equator

Each wave has its own speed and an amplitude that varies slowly. What is measured has weak noise, and, with gaps, lacks
the cells between the swaths of a satellite. `python -m weft.domains.fields.sample FILE.nc` writes it.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, Fields, Times

SEED, STEPS, STEP = 1686, 1500, 0.5  # fields, and days between two: a little more than two years
ROWS, COLUMNS = 24, 48
YEAR = 365.0  # days: a calendar without leap years
ORIGIN = "2001-01-01"
GRAVITY, RADIUS, TURN = 9.81, 6.371e6, 7.292e-5  # m s-2, m, radians a second
EQUATOR = 0.4 * TURN  # keeps 1 / f bounded near the equator
NOISE = {"z": 3.0, "u": 0.3, "v": 0.3}  # spread of what is measured about the truth
SWATHS, SWATH_MISSING, ORBIT_DRIFT = 6, 0.2, 37.0  # swaths round the globe, share between them, degrees a day
LAYERS = (
    FieldLayer("z", None, "m", "height of a pressure surface"),
    FieldLayer("u", None, "m s-1", "eastward wind"),
    FieldLayer("v", None, "m s-1", "northward wind"),
)


@dataclass(frozen=True)
class Wave:
    """One wave: how often it goes round a circle of latitude, where it is strongest, how large and fast it is."""

    number: int
    latitude: float  # degrees
    width: float
    height: float  # metres
    speed: float  # degrees of longitude a day, eastward
    period: float  # days in which its amplitude rises and falls

    def shape(self, latitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its share at each latitude (radians), and the derivative."""
        middle, width = np.radians(self.latitude), np.radians(self.width)
        away = (latitude - middle) / width
        shape = np.cos(latitude) ** 2 * np.exp(-(away**2)) / np.cos(middle) ** 2
        return shape, shape * (-2 * np.tan(latitude) - 2 * away / width)


WAVES = (
    Wave(1, 60, 22, 90, -2.0, 61.0),
    Wave(2, 55, 20, 80, 3.5, 47.0),
    Wave(3, 50, 16, 70, 7.0, 29.0),
    Wave(5, 45, 13, 60, 11.0, 17.0),
    Wave(6, 42, 12, 45, 13.5, 13.0),
    Wave(1, -62, 22, 70, -3.0, 53.0),
    Wave(3, -52, 16, 75, 8.5, 31.0),
    Wave(4, -48, 14, 70, 11.5, 19.0),
    Wave(6, -45, 12, 55, 14.5, 15.0),
    Wave(2, 8, 14, 18, -5.0, 41.0),
)


class SampleFields(Fields):
    """The sample as it was measured. `truth` gives what it was."""

    layers = LAYERS

    def __init__(self, *, gaps: bool = True, steps: int = STEPS):
        """With `gaps`, cells between the swaths of a satellite are missing."""
        self.grid = _grid()
        days = np.arange(steps) * STEP
        self.times = Times(days, days / YEAR % 1, days % 1, _labels(days), STEP, ((0, steps),))
        measured = self.truth(days)
        measured += np.random.default_rng(SEED).standard_normal(measured.shape, np.float32) * _column(NOISE)
        if gaps:
            measured[np.broadcast_to(_unseen(self.grid, days)[:, None], measured.shape)] = np.nan
        self.measured = measured

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.measured[start:stop].copy()

    def truth(self, days: np.ndarray) -> np.ndarray:
        """The fields (n V Y X) at any times in days from the first, between measurements too, without noise or gaps."""
        latitude, longitude = np.radians(self.grid.y), np.radians(self.grid.x)
        parts, slopes, turns = _patterns(latitude, longitude)
        waves, cells = _states(np.asarray(days, np.float64)), (len(days), *self.grid.shape)
        mean, slope = _zonal_mean(latitude, np.asarray(days) / YEAR)
        z, north, east = ((waves @ pattern).reshape(cells) for pattern in (parts, slopes, turns))
        force = 2 * TURN * np.sin(latitude)
        balance = (GRAVITY / RADIUS * force / (force**2 + EQUATOR**2))[:, None]
        u = -balance * (north + slope[:, :, None])
        v = balance * east / np.cos(latitude)[:, None]
        return np.stack([z + mean[:, :, None], u, v], axis=1).astype(np.float32)


def _grid() -> FieldGrid:
    return FieldGrid(
        90 - 180 / ROWS * (np.arange(ROWS) + 0.5), -180 + 360 / COLUMNS * np.arange(COLUMNS), "sphere", wraps=True
    )


def _labels(days: np.ndarray) -> tuple[str, ...]:
    """Dates in a calendar without leap years."""
    lengths = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    dates = [f"{month:02d}-{day:02d}" for month, length in enumerate(lengths, 1) for day in range(1, length + 1)]
    year = int(ORIGIN[:4])
    return tuple(f"{year + int(d // 365):04d}-{dates[int(d % 365)]}T{int(d % 1 * 24):02d}:00" for d in days)


def _column(by_layer: dict[str, float]) -> np.ndarray:
    return np.array([by_layer[layer.variable] for layer in LAYERS], np.float32)[:, None, None]


def _states(days: np.ndarray) -> np.ndarray:
    """The cosine and sine of each wave at some times (n 2W), times its amplitude."""
    columns = []
    for index, wave in enumerate(WAVES):
        amplitude = wave.height * (1 + 0.5 * np.sin(2 * np.pi * days / wave.period + index))
        wobble = 0.4 * np.sin(2 * np.pi * days / (1.7 * wave.period) + 2 * index)  # of the phase, in radians
        phase = np.radians(wave.speed * wave.number) * days + wobble + 1.3 * index
        columns += [amplitude * np.cos(phase), amplitude * np.sin(phase)]
    return np.stack(columns, axis=1)


def _patterns(latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each wave's cosine and sine on the grid (2W YX), and their derivatives to the north and to the east."""
    value, north, east = [], [], []
    for wave in WAVES:
        shape, slope = wave.shape(latitude)
        angle = wave.number * longitude
        for turned, derived in ((np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))):
            value.append(np.outer(shape, turned).ravel())
            north.append(np.outer(slope, turned).ravel())
            east.append(np.outer(shape, wave.number * derived).ravel())
    return np.array(value), np.array(north), np.array(east)


def _zonal_mean(latitude: np.ndarray, years: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean along each circle of latitude (n Y), lower towards the winter pole; and its slope to the north."""
    season = np.cos(2 * np.pi * (years - 0.05))[:, None]  # 1 in the northern winter
    sine, cosine = np.sin(latitude)[None], np.cos(latitude)[None]
    mean = 5800 - 700 * sine**2 - 90 * season * sine**3
    return mean, (-1400 * sine - 270 * season * sine**2) * cosine


def _unseen(grid: FieldGrid, days: np.ndarray) -> np.ndarray:
    """Which cells (n Y X) lie between the swaths of a satellite whose path is inclined and drifts westward."""
    along = grid.x[None, None] + 0.4 * grid.y[None, :, None] + ORBIT_DRIFT * days[:, None, None]
    return along * SWATHS / 360 % 1 < SWATH_MISSING


def main(name: str) -> None:
    """Write the sample to a file."""
    from weft.domains.fields.reading.writing import FieldsToWrite, write_fields

    fields = SampleFields()
    write_fields(
        Path(name), fields, FieldsToWrite(fields.measured, fields.times.days, made="an atmosphere that ships with weft")
    )


if __name__ == "__main__":
    main(sys.argv[1])
