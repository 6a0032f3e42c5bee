"""The reliability diagram: numbers of every bin, red where a model is too sure, green where it is not sure enough."""

import numpy as np
import pytest
from helpers.drawings import pixels, size, texts

from weft.errors import DataError
from weft.inspect.calibration import calibration
from weft.objectives.measures.calibration import Reliability

COUNTS = np.array([0, 0, 0, 0, 4, 40, 60, 200, 500, 12_345])
MIDDLE = (np.arange(10) + 0.5) / 10


def made(shift: float) -> Reliability:
    return Reliability(COUNTS, np.where(COUNTS, MIDDLE, 0.0), np.where(COUNTS, np.clip(MIDDLE + shift, 0, 1), 0.0))


def reddish(picture: bytes) -> int:
    found = pixels(picture).astype(int)
    return int(((found[..., 0] > found[..., 1] + 60) & (found[..., 0] > found[..., 2] + 60)).sum())


def greenish(picture: bytes) -> int:
    found = pixels(picture).astype(int)
    return int(((found[..., 1] > found[..., 0] + 40) & (found[..., 1] > found[..., 2] + 20)).sum())


def test_too_sure_is_red_and_not_sure_enough_green():
    sure, unsure, exact = (calibration(made(shift)) for shift in (-0.2, 0.2, 0.0))
    assert reddish(sure) > 2 * reddish(exact) and greenish(sure) == greenish(exact)
    assert greenish(unsure) > 2 * greenish(exact) and reddish(unsure) == reddish(exact)


def test_error_counts_and_title_are_told():
    found = texts(calibration(made(-0.2), format="svg", title="Sureness"))
    assert "Sureness" in found and "expected calibration error 20.0% over 13,149 answers" in found
    assert {"4", "40", "12k", "how sure the model was"} <= set(found) and "0" not in found


@pytest.mark.parametrize("bins", [1, 10, 15, 50])
def test_any_number_of_bins_fits(bins: int):
    even = np.full(bins, 20)
    width, height = size(calibration(Reliability(even, np.linspace(0, 1, bins), np.linspace(0, 1, bins))))
    assert 300 < width < 1500 and 300 < height < 1500


def test_no_answers_at_all_are_refused():
    with pytest.raises(DataError, match="calibration"):
        calibration(Reliability(np.zeros(3), np.zeros(3), np.zeros(3)))
