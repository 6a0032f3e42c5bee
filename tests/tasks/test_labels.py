"""Labels without a modality: from a model's values alone to answers and measures, for classes and for numbers."""

import numpy as np
import pytest
import torch
from helpers.drawings import as_for_users, size

from weft.errors import ConfigError, DataError
from weft.objectives import Classify, Number
from weft.tasks.labels import labelling as labels
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.numbers import NumberCodec

NAMES = ("bad", "fine", "good")
VALUES = torch.tensor([[4.0, 0.0, 0.0], [0.0, 0.0, 9.0], [0.0, 2.0, 0.0], [0.0, 6.0, 0.0]])
TRUTH = ["bad", "fine", "fine", "good"]


def classes(known: dict | None = None) -> ClassCodec:
    codec = labels.learned("classes", NAMES, TRUTH, known or {})
    assert isinstance(codec, ClassCodec)
    return codec


def numbers(written: list[str], known: dict | None = None) -> NumberCodec:
    codec = labels.learned("numbers", (), written, known or {})
    assert isinstance(codec, NumberCodec)
    return codec


def test_classes_are_told_with_their_probabilities_the_likeliest_first():
    first, second, *_ = labels.predictions(classes(), VALUES, ["a", "b", "c", "d"], top=2)
    assert first["input"] == "a" and first["label"] == "bad" and list(second["probabilities"])[0] == "good"
    assert len(first["probabilities"]) == 2
    assert labels.in_a_line(first) == f"bad {VALUES[0].softmax(0)[0]:.2f}\ta"
    with pytest.raises(ConfigError, match="at least 0"):
        labels.TopLabels(top=-1)


def test_numbers_are_told_in_the_users_unit():
    codec = numbers(["10", "20", "30"])
    (one,) = labels.predictions(codec, torch.tensor([[1.0]]), ["a"])
    assert one == {"input": "a", "value": pytest.approx(20 + np.std([10, 20, 30]), abs=1e-5)}
    assert labels.in_a_line({"input": "a", "value": 2.5}) == "2.5\ta"


def test_the_surest_mistakes_come_first_by_their_names():
    found = labels.measured(classes(), VALUES, TRUTH, ["a", "b", "c", "d"], called="picture")
    assert [one["picture"] for one in found.more["mistakes"]] == ["b", "d"]
    assert found.more["mistakes"][0]["label"] == "fine" and found.more["mistakes"][0]["said"] == "good"
    assert found.examples == 4 and found.metrics["accuracy"] == 0.5
    with as_for_users():
        pictures = found.pictures()
    assert set(pictures) == {"confusion.png", "calibration.png"}
    assert min(size(picture)[0] for picture in pictures.values()) > 100
    assert [one.row for one in labels.surest_mistakes(classes(), VALUES, TRUTH, most=1)] == [1]


def test_numbers_are_measured_in_the_users_unit_and_have_no_mistakes():
    codec, truth = numbers(["10", "20", "30"]), ["10", "20", "30"]
    exact = torch.from_numpy(codec.encode(truth)).float()[:, None]
    found = labels.measured(codec, exact + 1 / codec.config.spread, truth, truth, called="text")
    assert found.metrics["mae"] == pytest.approx(1.0, abs=1e-4) and found.metrics["pearson"] == pytest.approx(1.0)
    assert not found.pictures() and labels.surest_mistakes(codec, exact, truth, most=3) == []


def test_labels_that_were_never_learned_are_refused_by_name():
    with pytest.raises(DataError, match="1 of 4 .* meh"):
        labels.measured(classes(), VALUES, [*TRUTH[:3], "meh"], TRUTH, called="text")


def test_numbers_keep_the_scale_of_the_run_to_start_from_and_classes_are_those_of_the_data():
    before = numbers(["10", "20", "30"])
    assert numbers(["1", "2"], {"label": before}) is before
    assert numbers(["1", "2"], {"label": classes()}).config.mean == 1.5
    assert classes({"label": before}).names == NAMES and classes({"label": classes()}).same(classes())


def test_the_objective_follows_from_the_codec_and_rare_classes_may_count_more():
    targets = classes().encode(["bad", "fine", "fine", "fine", "good", "good"])
    assert labels.objective(numbers(["1", "2"])) == Number.Config()
    assert labels.objective(classes(), smoothing=0.1) == Classify.Config(smoothing=0.1)
    assert labels.objective(classes(), balance=targets).weights == (2.0, 2 / 3, 1.0)
