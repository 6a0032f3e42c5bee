"""A run as a function of columns: pickled, with bad rows, as rows of a table are answered."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import WeftError

RUN = Path(__file__).parents[1] / "fixtures" / "finished" / "classify-text"
BATCH = {"id": np.arange(3), "text": np.array(["the dog", "", "the cat"], object)}


def test_columns_come_back_with_answers_in_another_process() -> None:
    predictor = weft.Predictor(RUN)
    expected = weft.load(RUN).predict(["the dog", "the cat"])
    for one in (predictor, pickle.loads(pickle.dumps(predictor))):
        found = one(BATCH)
        assert list(found) == ["id", "text", "label", "probability", "error"]
        assert found["id"].tolist() == [0, 1, 2] and found["label"].tolist() == [
            expected[0]["label"], None, expected[1]["label"],
        ]  # fmt: skip
        assert found["error"][0] is None and "row 2: no text in this row" in found["error"][1]
    assert len(pickle.dumps(predictor)) < 1000  # of the run its name alone


def test_vectors_of_columns() -> None:
    found = weft.Predictor(RUN, use="embed", text_column="text")(BATCH)
    assert list(found) == ["id", "text", "vector", "error"]
    assert np.isnan(found["vector"][1]).all() and np.allclose(found["vector"][2], weft.load(RUN).embed("the cat")[0])


def test_batches_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(WeftError, match="different lengths"):
        weft.Predictor(RUN)({"id": [1], "text": ["a", "b"]})
    with pytest.raises(WeftError, match="no column 'words'"):
        weft.Predictor(RUN, text_column="words")({"text": ["a", "b"]})
