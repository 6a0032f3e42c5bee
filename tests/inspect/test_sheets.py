"""Sheets of pictures: each keeps its aspect and stands over its caption."""

import numpy as np
import pytest
from helpers.drawings import images, pixels, size, texts

from weft.errors import ConfigError, DataError
from weft.inspect.figures import fitted, resized
from weft.inspect.sheets import contact_sheet, reconstructions, veiled


def picture(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


MIXED = [picture(40, 80), picture(80, 40), picture(28, 28, 1), picture(28, 28)[..., 0], picture(1, 30)]


def test_pictures_of_all_shapes_keep_their_aspect_and_order():
    found = images(contact_sheet(MIXED, [""] * 5, format="svg"))
    assert len(found) == 5
    for shown, given in zip(found, MIXED, strict=True):
        assert abs(shown.shape[1] / shown.shape[0] / (given.shape[1] / given.shape[0]) - 1) < 0.05
    assert np.array_equal(found[2], resized(MIXED[2], *found[2].shape[:2]))


def test_every_caption_is_written_in_lines_that_fit():
    long = "cat, 0.97 sure it is a dog " * 9
    found = texts(contact_sheet(MIXED[:4], ["9, 1.00 sure it is a 4", long, "x" * 60, "猫 $x$ <b>"], format="svg"))
    assert found[:2] == ["9, 1.00 sure", "it is a 4"], "lines are about equally long"
    assert found[5].endswith("…") and found[-1] == "猫 $x$ <b>" and max(map(len, found)) <= 22
    assert "".join(found[6:-1]) == "x" * 60


def test_columns_set_the_width_and_the_rest_goes_below():
    wide, narrow = (size(contact_sheet([MIXED[2]] * 6, ["a"] * 6, columns=n)) for n in (6, 2))
    assert wide[0] > 2 * narrow[0] and narrow[1] > 2 * wide[1]


def test_a_sheet_without_pictures_says_so():
    assert texts(contact_sheet([], [], title="Mistakes", format="svg")) == ["Mistakes", "there are no pictures to show"]


def test_rows_belong_together_under_their_heads():
    rows = [(picture(8, 8, seed=n), picture(16, 16, seed=n), picture(40, 60, seed=n)) for n in range(2)]
    svg = reconstructions(rows, ["picture", "shown", "made"], title="A title", format="svg")
    assert texts(svg) == ["A title", "picture", "shown", "made"]
    for shown, given in zip(images(svg), [each for row in rows for each in row], strict=True):
        assert np.array_equal(shown, resized(given, *shown.shape[:2]))


def test_many_rows_stand_in_two_blocks():
    rows = [(picture(8, 8), picture(8, 8))] * 8
    assert texts(reconstructions(rows, ["a", "b"], format="svg")) == ["a", "b", "a", "b"]
    width, height = size(reconstructions(rows, ["a", "b"]))
    assert width > 0.9 * height


@pytest.mark.parametrize("side", [(8, 8), (30, 44)])
def test_hidden_patches_are_light_grey_and_shown_ones_untouched(side):
    given, seen = picture(*side), np.array([[True, False], [False, True]])
    found = veiled(given, seen)
    high, wide = side[0] // 2, side[1] // 2
    assert np.array_equal(found[:high, :wide], given[:high, :wide])
    assert np.array_equal(found[high:, wide:], given[high:, wide:])
    assert len(np.unique(found[:high, wide:])) == 1 and found[0, -1, 0] > 200
    assert np.array_equal(veiled(given, np.ones((2, 2), bool)), given)


def test_small_pictures_keep_their_pixels_and_large_ones_are_smooth():
    small, large = picture(8, 8), picture(100, 100)
    assert np.array_equal(resized(small, 80, 80)[5::10, 5::10], small)
    assert (
        np.abs(np.diff(resized(large, 400, 400).astype(int), axis=0)).max() < np.abs(np.diff(large.astype(int))).max()
    )
    assert fitted(picture(10, 40), 2, 2) == (2, 0.5) and fitted(picture(40, 10), 2, 2) == (0.5, 2)


def test_what_is_drawn_is_the_picture():
    red = np.zeros((50, 50, 3), np.uint8)
    red[..., 0] = 255
    shown = pixels(contact_sheet([red], ["red"]))
    assert ((shown == (255, 0, 0)).all(-1)).sum() > 150**2


def test_drawing_twice_gives_the_same_bytes():
    assert contact_sheet(MIXED, ["a"] * 5) == contact_sheet(MIXED, ["a"] * 5)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(DataError, match="a caption for each of 5"):
        contact_sheet(MIXED, ["a"])
    with pytest.raises(ConfigError, match="columns"):
        contact_sheet(MIXED, ["a"] * 5, columns=0)
    with pytest.raises(DataError, match="rows of 2 pictures, found \\[1\\]"):
        reconstructions([(MIXED[0],)], ["a", "b"])
    with pytest.raises(DataError, match="0 to 255"):
        contact_sheet([MIXED[0] / 255], ["a"])
