"""What was learned: filters by their principal components, positions by how alike their codes are."""

from collections.abc import Callable

import numpy as np
import pytest
from helpers.drawings import images, pixels, size, texts

from weft.domains.pictures.views.learned import _by_distance, _similarity, components, draw, filters, similarity
from weft.errors import ConfigError, DataError
from weft.inspect.figures import Sheet, sheet

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.normal(size=(20, 48))
PATCH = (4, 4, 3)


def part(draw_on: Callable[[Sheet, float, np.ndarray], object], given: np.ndarray) -> bytes:
    """One part of the picture of positions, as SVG."""
    with sheet("svg") as on:
        draw_on(on, 0.0, given)
        return on.bytes()


def codes(rows: int, columns: int, width: int = 8) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(rows, columns, width))


def test_components_rebuild_the_filters():
    found, shares = components(WEIGHTS, PATCH, 48)
    flat = found.reshape(len(found), -1)
    centred = WEIGHTS - WEIGHTS.mean(0)
    assert np.allclose(centred @ flat.T @ flat, centred) and np.allclose(flat @ flat.T, np.eye(len(flat)))
    assert np.isclose(shares.sum(), 1) and (np.diff(shares) <= 0).all()
    assert len(found) == 19, "20 centred filters have a rank of 19"


def test_a_component_is_the_filter_that_the_others_are_made_of():
    pattern = RANDOM.normal(size=(4, 4, 3))
    weights = np.outer(RANDOM.normal(size=30), pattern.ravel()) + 3
    (found,), (share,) = components(weights, PATCH, 28)
    assert np.isclose(share, 1) and np.isclose(abs((found * pattern).sum()), np.linalg.norm(pattern))
    assert found.ravel()[np.abs(found).argmax()] > 0


def test_shares_are_of_all_variance_not_of_the_shown():
    assert np.allclose(components(WEIGHTS, PATCH, 3)[1], components(WEIGHTS, PATCH, 48)[1][:3])


def test_filters_are_drawn_in_their_colours_with_their_shares():
    flat = np.zeros((2, 4, 4, 3))
    flat[0, :2, :, 0] = 1  # the upper half is red, or not
    svg = filters(flat.reshape(2, 48), PATCH, format="svg")
    (picture,) = images(svg)
    top, bottom = picture[: len(picture) // 2], picture[-(len(picture) // 2) :]
    assert (top == (255, 128, 128)).all() and (bottom == 128).all() and "100.0%" in texts(svg)


@pytest.mark.parametrize("patch", [(4, 4, 3), (4, 12, 1), (12, 4, 1), (1, 16, 3)])
def test_patches_of_any_shape_can_be_drawn(patch):
    assert components(WEIGHTS, patch, 9)[0].shape == (9, *patch)
    assert len(images(filters(WEIGHTS, patch, count=9, format="svg"))) == 9


def test_similar_is_what_points_the_same_way():
    found = similarity(np.array([[[1.0, 0], [0, 5]], [[-2, 0], [3, 3]]]))
    assert np.allclose(found[0, 0], [[1, 0], [-1, 0.5**0.5]])
    assert np.allclose(found, found.transpose(2, 3, 0, 1))
    assert np.isfinite(similarity(np.zeros((2, 2, 3)))).all()


def test_each_map_stands_where_its_patch_does():
    """Codes that have nothing in common: each map has one dark cell, the patch itself."""
    mosaic = images(part(_similarity, np.eye(6).reshape(2, 3, 6)))[0].sum(-1)
    seam, cell = 2, 8
    high, wide = 2 * cell + seam, 3 * cell + seam
    assert mosaic.shape == (2 * high - seam, 3 * wide - seam)
    for row in range(2):
        for column in range(3):
            dark = np.argwhere(mosaic[row * high :, column * wide :][: 2 * cell, : 3 * cell] < 300)
            assert {(int(y) // cell, int(x) // cell) for y, x in dark} == {(row, column)}


def test_of_a_large_grid_some_patches_are_shown_and_that_is_said():
    said = " ".join(texts(part(_similarity, codes(20, 16))))
    assert "14 × 14 of them" in said
    assert "of them" not in " ".join(texts(part(_similarity, codes(14, 14))))


def test_the_scale_is_that_of_different_patches():
    faint = codes(4, 4, 4000)
    others = similarity(faint)[~np.eye(16, dtype=bool).reshape(4, 4, 4, 4)]
    found = texts(part(_similarity, faint))
    assert f"{max(np.abs(others).max(), 0.05):.2g}" in found and "1" not in found
    assert f"{others.min():.2g}" not in found
    alike = texts(part(_similarity, np.abs(codes(4, 4)) + 9))
    assert not any(text.startswith(("-", "−")) for text in alike), "nothing is below 0, so the scale is not"


def test_codes_that_fade_with_distance_make_a_falling_line():
    places = np.stack(np.meshgrid(np.arange(6), np.arange(9), indexing="ij"), -1) / 8
    svg = part(_by_distance, np.concatenate([np.cos(places), np.sin(places)], -1))
    assert {"all patches", "same row", "same column", "distance in patches"} <= set(texts(svg))
    single = texts(part(_by_distance, codes(1, 4)))
    assert "same row" in single and "same column" not in single


def test_filters_and_positions_stand_in_one_picture():
    found = texts(draw(WEIGHTS, PATCH, codes(3, 4), count=5, format="svg"))
    headings = [text for text in found if text.startswith(("filters of", "similarity of"))]
    assert [heading.split()[0] for heading in headings] == ["filters", "similarity", "similarity"]
    alone = draw(codes=codes(3, 4))
    assert size(alone)[1] < size(draw(WEIGHTS, PATCH, codes(3, 4), count=5))[1] and pixels(alone).min() < 100


@pytest.mark.parametrize("rows, columns", [(1, 1), (1, 9), (9, 1), (30, 2)])
def test_grids_of_any_shape_can_be_drawn(rows, columns):
    assert min(size(draw(codes=codes(rows, columns)))) > 100


def test_drawing_twice_gives_the_same_bytes():
    assert draw(WEIGHTS, PATCH, codes(3, 3), count=3) == draw(WEIGHTS, PATCH, codes(3, 3), count=3)


@pytest.mark.parametrize("weights, patch", [(WEIGHTS, (4, 4, 1)), (WEIGHTS[0], PATCH), (WEIGHTS, (4, 6, 2))])
def test_weights_that_are_no_filters_of_the_patch_are_refused(weights, patch):
    with pytest.raises(DataError, match="filters: expected"):
        filters(weights, patch)


def test_nothing_to_draw_is_refused():
    with pytest.raises(ConfigError, match="nothing to draw"):
        draw()
    with pytest.raises(ConfigError, match="patch"):
        draw(WEIGHTS)
    with pytest.raises(ConfigError, match="1 or more"):
        filters(WEIGHTS, PATCH, count=0)
    with pytest.raises(DataError, match="finite codes"):
        draw(codes=np.full((2, 2, 3), np.nan))
