"""Recall of pictures by texts and of texts by pictures, with several and with equal captions."""

import numpy as np
import pytest

from weft.objectives.measures.retrieval import FIRST, retrieved


def directions(*degrees: float) -> np.ndarray:
    angles = np.radians(np.array(degrees))
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def test_recall_counts_queries_whose_answer_is_among_the_first() -> None:
    pictures, texts = directions(0, 30, 60, 90), directions(1, 58, 31, 89)
    found = retrieved(pictures, texts, ["a", "b", "c", "d"], [0, 1, 2, 3]).measures()
    assert found["recall_at_1"] == found["to_text_recall_at_1"] == 0.5
    assert {found[f"recall_at_{k}"] for k in FIRST[1:]} == {1.0}


def test_each_caption_is_a_query_and_any_caption_of_a_picture_answers_it() -> None:
    pictures, texts = directions(0, 90), directions(2, 89, 91)
    found = retrieved(pictures, texts, ["a", "also a", "b"], [0, 0, 1]).measures()
    assert found["recall_at_1"] == pytest.approx(2 / 3)  # "also a" lies beside the other picture
    assert found["to_text_recall_at_1"] == 0.5  # of 89 and 91 degrees, equally far from 90, the wrong one comes first
    nearer = retrieved(pictures, directions(2, 50, 91), ["a", "also a", "b"], [0, 0, 1]).measures()
    assert nearer["to_text_recall_at_1"] == 1.0


def test_equal_captions_of_several_pictures_are_answers_for_all_of_them() -> None:
    pictures, texts = directions(0, 10, 90), directions(9, 1, 90)
    told_apart = retrieved(pictures, texts, ["a", "b", "c"], [0, 1, 2]).measures()
    equal = retrieved(pictures, texts, ["A ring", "a  ring", "c"], [0, 1, 2]).measures()
    assert told_apart["recall_at_1"] == pytest.approx(1 / 3) and equal["recall_at_1"] == 1.0
    assert equal["to_text_recall_at_1"] == 1.0


def test_a_model_that_sees_no_difference_finds_nothing() -> None:
    same = directions(*[45] * 8)
    found = retrieved(same, same, list("abcdefgh"), list(range(8))).measures()
    assert found["recall_at_1"] == found["recall_at_5"] == 0.0


def test_many_queries_are_compared_in_parts_alike() -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(600, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = retrieved(vectors, vectors, [str(i) for i in range(600)], list(range(600))).measures()
    assert found["recall_at_1"] == found["to_text_recall_at_1"] == 1.0


def test_chance_counts_the_pictures_that_answer_a_text():
    vectors = directions(0, 40, 80, 120)
    found = retrieved(vectors, vectors, ["a ring", "A ring", "c", "d"], [0, 1, 2, 3])
    assert found.chance().tolist() == [0.5, 0.5, 0.25, 0.25]
