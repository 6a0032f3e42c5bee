"""The confusion of classes: right answers blue, mistakes brown, for two classes or a hundred."""

import numpy as np
import pytest
from helpers.drawings import images, size, texts

from weft.errors import ConfigError, DataError
from weft.inspect.confusion import confusion

COUNTS = np.array([[90, 10, 0], [5, 195, 0], [0, 30, 20]])
CLASSES = ["cat", "dog", "$frog$"]


def blue(cell: np.ndarray) -> int:
    return int(cell[2]) - int(cell[0])


def named(size: int) -> list[str]:
    return [f"kind {n}" for n in range(size)]


def test_rows_are_true_and_columns_are_found():
    (cells,) = images(confusion(COUNTS, CLASSES, format="svg"))
    found = np.array([[blue(cells[i, j]) for j in range(3)] for i in range(3)])
    assert (np.diagonal(found) > 50).all()
    assert found[2, 1] < found[0, 1] < found[1, 0] < 0, "the browner, the larger the share of the row"
    assert found[0, 2] == found[1, 2] == found[2, 0] == 0


def test_every_class_has_its_names_and_its_recall():
    found = texts(confusion(COUNTS, CLASSES, format="svg", title="Mistakes"))
    assert all(found.count(name) == 2 for name in CLASSES) and "Mistakes" in found
    assert {"90%", "98%", "40%"} <= set(found)
    assert any("305 of 350 are right, 87.1%; brown is darkest at 60% of a class" in text for text in found)


def test_precision_is_the_share_of_what_was_found_as_a_class():
    found = texts(confusion(np.array([[8, 2], [0, 10]]), ["a", "b"], format="svg"))
    assert {"recall", "precision", "80%", "83%"} <= set(found), "8 of 10, 10 of 12"


def test_few_classes_have_numbers_and_many_have_words():
    few, many = (np.eye(size, dtype=int) * 7 for size in (20, 21))
    few[3, 4] = many[3, 4] = 3
    numbered, told = (texts(confusion(each, named(len(each)), format="svg")) for each in (few, many))
    assert numbered.count("7") == 20 and numbered.count("3") == 1
    assert told.count("7") == 0 and "kind 3 taken for kind 4 3×" in told


def test_a_class_that_is_not_there_is_said_to_be_absent():
    counts = COUNTS.copy()
    counts[2] = 0
    assert "none there" in texts(confusion(counts, CLASSES, format="svg"))


def test_no_mistakes_and_no_examples_can_be_drawn():
    perfect = texts(confusion(np.eye(2) * 5, ["a", "b"], format="svg"))
    assert "10 of 10 are right, 100.0%" in perfect
    assert any("0 of 0" in text for text in texts(confusion(np.zeros((2, 2)), ["a", "b"], format="svg")))


@pytest.mark.parametrize("count", [1, 2, 47, 110])
def test_any_number_of_classes_fits(count: int):
    width, height = size(confusion(np.eye(count, dtype=int) + 1, named(count)))
    assert 100 < height < 3000 and 100 < width < 3000


def test_names_in_any_script_are_drawn_and_long_ones_cut(recwarn):
    found = texts(confusion(COUNTS, ["猫", "<b>&", "x" * 60], format="svg"))
    assert {"猫", "<b>&", "x" * 23 + "…"} <= set(found) and not recwarn.list


@pytest.mark.parametrize("counts", [COUNTS[:2], COUNTS * -1, COUNTS * np.nan])
def test_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(DataError, match="confusion"):
        confusion(counts, CLASSES)


def test_an_unknown_format_is_refused():
    with pytest.raises(ConfigError, match="png, svg or pdf"):
        confusion(COUNTS, CLASSES, format="gif")
