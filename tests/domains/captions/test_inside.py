"""The share of attention inside the region of a word, beside the region's share of the picture."""

import numpy as np
import pytest

from weft.domains.captions.views.inside import covered, words_inside
from weft.files.pictures.regions import Region


def test_a_patch_counts_by_the_share_of_it_that_is_inside() -> None:
    assert covered([(0.0, 0.0, 0.5, 0.25)], 2, 2).tolist() == [0.5, 0.0, 0.0, 0.0]
    assert covered([(0.25, 0.25, 0.75, 0.75)], 2, 2).tolist() == [0.25] * 4
    boxes = [(0.1, 0.2, 0.4, 0.9), (0.5, 0.0, 0.8, 0.3)]
    area = sum((bottom - top) * (right - left) for top, left, bottom, right in boxes)
    assert covered(boxes, 7, 5).mean() == pytest.approx(area)


def test_attention_spread_evenly_is_inside_as_far_as_the_region_reaches() -> None:
    regions = [Region(2, 5, (0.0, 0.0, 0.5, 0.5)), Region(2, 5, (0.5, 0.5, 1.0, 1.0))]
    weights = np.full((3, 16), 0.05)  # a part of the attention is elsewhere
    assert words_inside(weights, [(0, 1), (1, 5), None], regions, (4, 4)) == [pytest.approx((0.5, 0.5))]


def test_the_tokens_of_a_word_count_and_no_others() -> None:
    weights = np.zeros((3, 4))
    weights[0, 3] = weights[1, 0] = weights[2, 1] = 1.0
    spans = [(0, 2), (2, 4), (4, 6)]
    region = Region(3, 6, (0.0, 0.0, 0.5, 0.5))  # the first patch of four
    assert words_inside(weights, spans, [region], (2, 2)) == [(0.5, 0.25)]
    assert words_inside(weights, spans, [Region(8, 9, region.box)], (2, 2)) == []


def test_patches_that_look_at_a_corner_of_their_squares_are_inside_there() -> None:
    upper = [(0.0, 0.0, 0.25, 0.25)]
    assert covered(upper, 4, 4).reshape(4, 4)[:2, :2].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert covered(upper, 4, 4, middle=0.0).reshape(4, 4)[:2, :2].tolist() == [[0.25, 0.25], [0.25, 0.25]]
    regions, weights = [Region(0, 1, (0.25, 0.25, 0.5, 0.5))], np.eye(16)[[10]]  # the third patch of the third row
    assert words_inside(weights, [(0, 1)], regions, (4, 4))[0][0] == 0.0
    assert words_inside(weights, [(0, 1)], regions, (4, 4), middle=0.0)[0][0] == 0.25
