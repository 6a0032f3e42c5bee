"""The atmosphere that ships: its truth is known at any time, winds follow from heights, measurements are close."""

from types import SimpleNamespace

import numpy as np
import pytest

from weft.domains.fields.dataset import GriddedFields
from weft.domains.fields.sample import COLUMNS, RADIUS, ROWS, SampleFields


@pytest.fixture(scope="module")
def sample() -> SampleFields:
    return SampleFields(steps=200)


def test_what_is_measured_is_the_truth_with_weak_noise_and_gaps(sample: SampleFields) -> None:
    truth, measured = sample.truth(sample.times.days), sample.read(0, 200)
    assert measured.shape == (200, 3, ROWS, COLUMNS) and measured.dtype == np.float32
    seen = ~np.isnan(measured)
    assert 0.7 < seen.mean() < 0.9
    for layer in range(3):
        away, anomaly = (measured - truth)[:, layer], truth[:, layer] - truth[:, layer].mean(0)
        assert np.nanstd(away) < 0.1 * anomaly.std()
    assert not np.isnan(SampleFields(gaps=False, steps=20).measured).any()


def test_winds_follow_from_the_heights(sample: SampleFields) -> None:
    z, u, v = sample.truth(np.array([3.7]))[0].astype(np.float64)
    latitude, step = np.radians(sample.grid.y), np.radians(360 / COLUMNS)
    slope = (np.roll(z, -1, 1) - np.roll(z, 1, 1)) / (2 * step * RADIUS * np.cos(latitude)[:, None])
    rows = np.abs(sample.grid.y) < 70
    for row in np.flatnonzero(rows & (np.abs(sample.grid.y) > 20)):
        assert abs(np.corrcoef(v[row], slope[row])[0, 1]) > 0.99
    assert np.abs(u).max() < 80


def test_the_truth_is_continuous_and_moves(sample: SampleFields) -> None:
    days = np.array([10.0, 10.01, 13.0])
    first, soon, later = sample.truth(days)
    assert np.abs(soon - first).max() < 0.05 * np.abs(later - first).max()


def test_the_sample_is_the_same_every_time_and_needs_no_file() -> None:
    asked = SimpleNamespace(variables=None)
    data = GriddedFields().read([], None, asked)
    assert len(data.train) == 1200 and len(data.held_out) == 300
    one, two = SampleFields(steps=10), SampleFields(steps=10)
    np.testing.assert_array_equal(one.read(0, 10), two.read(0, 10))
