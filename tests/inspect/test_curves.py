"""Curves: every line has its name, a logarithm spaces what was measured, bands lie around their lines."""

import re

import numpy as np
import pytest
from helpers.drawings import pixels, size, texts

from weft.errors import DataError
from weft.inspect.curves import lines, loss_curve

SERIES = {"from scratch": [(1, 0.2), (10, 0.5), (100, 0.7)], "$fine-tuned$": [(100, 0.9), (1, 0.4), (10, 0.8)]}
AXES = {"x": "pictures a class", "y": "accuracy"}


def places(svg: bytes, color: str) -> list[tuple[float, float]]:
    """The points of the line of a colour."""
    path = re.search(rf'<path d="([^"]+)"[^>]*stroke: {color}; stroke-width: 1.6', svg.decode())
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (\S+) (\S+)", path[1])]


def test_lines_and_axes_have_their_names():
    found = texts(lines(SERIES, **AXES, title="A title", format="svg"))
    assert {"A title", "from scratch", "$fine-tuned$", "pictures a class", "accuracy"} <= set(found)


def test_a_logarithm_spaces_the_places_evenly_and_names_them():
    svg = lines(SERIES, **AXES, log=True, format="svg")
    steps = np.diff([x for x, _ in places(svg, "#1f5fa8")])
    assert np.isclose(steps[0], steps[1]) and {"1", "10", "100"} <= set(texts(svg))
    plain = np.diff([x for x, _ in places(lines(SERIES, **AXES, format="svg"), "#1f5fa8")])
    assert np.isclose(plain[1], 10 * plain[0], rtol=0.01)


def test_points_are_joined_in_the_order_of_x():
    xs = [x for x, _ in places(lines(SERIES, **AXES, format="svg"), "#d1495b")]
    assert xs == sorted(xs)


def test_a_band_is_drawn_around_its_line():
    bands = {"from scratch": [(x, y - 0.1, y + 0.1) for x, y in SERIES["from scratch"]]}
    plain, banded = (lines(SERIES, **AXES, bands=b, format="svg").decode() for b in (None, bands))
    assert "opacity: 0.14" in banded and "opacity: 0.14" not in plain


def test_nothing_measured_can_be_drawn():
    assert min(size(lines({}, **AXES))) > 100 and min(size(lines({"a": []}, **AXES))) > 100
    assert min(size(lines({"a": [(1, 0.5)]}, **AXES, log=True))) > 100
    assert min(size(loss_curve([]))) > 100


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="not there: other"):
        lines(SERIES, **AXES, bands={"other": [(1, 0, 1)]})
    with pytest.raises(DataError, match="above 0"):
        lines({"a": [(0, 1)]}, **AXES, log=True)


def test_the_loss_is_drawn_in_training_and_held_out():
    metrics = [{"step": n, "loss": 3 / (n + 1)} for n in range(100)] + [{"step": 50, "held_out": 0.5}]
    picture = pixels(loss_curve(metrics, unit="character", title="a run"))
    for color in ((0x1F, 0x5F, 0xA8), (0xD1, 0x49, 0x5B)):
        assert (picture == color).all(-1).sum() > 20
    assert not (pixels(loss_curve(metrics[:-1])) == (0xD1, 0x49, 0x5B)).all(-1).any()
