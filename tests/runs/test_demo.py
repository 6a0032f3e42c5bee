"""What the demo promises: unseen sentences exactly right, and attention that finds the grammar's own alignment."""

from pathlib import Path

import numpy as np
import pytest

from weft.inspect.alignment import alignment_error_rate, links
from weft.runs.demo import demo


def test_the_alignment_error_rate_is_that_of_the_definition() -> None:
    gold = [frozenset({(0, 0), (1, 2), (2, 1)}), frozenset({(0, 0), (0, 1)})]
    assert alignment_error_rate(gold, gold) == 0
    assert alignment_error_rate([frozenset(), frozenset()], gold) == 1
    found = [frozenset({(0, 0), (1, 1), (2, 1)}), frozenset({(0, 0)})]  # 3 of 4 are right, 3 of 5 are found
    assert alignment_error_rate(found, gold) == pytest.approx(1 - 2 * 3 / (4 + 5))


def test_each_target_word_is_joined_to_what_was_read_most() -> None:
    assert links(np.array([[0.1, 0.9], [0.6, 0.4]])) == {(1, 0), (0, 1)}
    assert links(np.zeros((2, 0))) == frozenset()


@pytest.mark.slow
def test_a_minute_teaches_the_phrasebook_and_its_alignment(tmp_path: Path) -> None:
    report = demo(minutes=1.0, out=tmp_path / "run")
    assert report["metrics"]["exact"] >= 0.95
    assert report["alignment_error_rate"] <= 0.15
    assert Path(report["picture"]).read_bytes().startswith(b"\x89PNG")
