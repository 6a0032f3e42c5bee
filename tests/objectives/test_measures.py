"""Measures: what they say by definition, what other libraries say, and intervals that hold what they should."""

import numpy as np
import pytest

from weft.domains.texts.measures import tag_measures
from weft.objectives.measures.calibration import reliability
from weft.objectives.measures.classes import class_measures, confusion_counts, wilson
from weft.objectives.measures.numbers import number_measures
from weft.objectives.measures.resampling import bootstrap

NAMES = ["a", "b", "c"]


def drawn(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.ones(classes), count), generator.integers(0, classes, count)


# Classes


def test_measures_are_what_they_say():
    shares = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    metrics, more = class_measures(shares, np.array([0, 1, 2, 2]), NAMES)
    assert metrics["accuracy"] == 0.75 and more["recall"] == {"a": 1.0, "b": 1.0, "c": 0.5}
    assert more["precision"] == {"a": 1.0, "b": 0.5, "c": 1.0} and "top5" not in metrics
    assert metrics["loss"] == pytest.approx(-np.log([0.7, 0.5, 0.3, 0.4]).mean())
    assert class_measures(shares, np.array([0, 1, 0, 0]), NAMES)[1]["absent"] == ["c"]


def test_f1_and_its_mean_are_those_of_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    shares, truth = drawn(200, 7)
    metrics, more = class_measures(shares, truth, list("abcdefg"))
    answers = shares.argmax(1)
    assert metrics["macro_f1"] == pytest.approx(sk.f1_score(truth, answers, average="macro"))
    assert list(more["f1"].values()) == pytest.approx(list(sk.f1_score(truth, answers, average=None)))
    assert list(more["precision"].values()) == pytest.approx(list(sk.precision_score(truth, answers, average=None)))
    assert metrics["top5"] == pytest.approx(sk.top_k_accuracy_score(truth, shares, k=5))
    assert np.array_equal(confusion_counts(answers, truth, 7), sk.confusion_matrix(truth, answers))


def test_always_answering_the_commonest_class_has_a_low_mean_f1():
    shares = np.tile([0.9, 0.05, 0.05], (100, 1))
    metrics, _ = class_measures(shares, np.array([0] * 90 + [1] * 10), NAMES)
    assert metrics["accuracy"] == 0.9 and metrics["macro_f1"] < 0.5


def test_an_interval_holds_the_share_and_narrows_with_more():
    few, many = wilson(8, 10), wilson(800, 1000)
    assert few[0] < many[0] < 0.8 < many[1] < few[1]
    assert wilson(10, 10)[1] == pytest.approx(1.0) and wilson(0, 10)[0] == pytest.approx(0.0)


# Calibration


def test_a_model_that_means_what_it_says_has_no_calibration_error():
    sure = np.repeat([0.55, 0.75, 0.95], 100)
    right = np.concatenate([np.arange(100) < n for n in (55, 75, 95)])
    shares = np.stack([sure, 1 - sure], 1)
    found = reliability(shares, np.where(right, 0, 1))
    assert found.error == pytest.approx(0.0) and found.counts.tolist() == [0, 0, 0, 0, 0, 100, 0, 100, 0, 100]


def test_a_model_that_is_too_sure_is_wrong_by_the_difference():
    shares = np.tile([1.0, 0.0], (10, 1))
    found = reliability(shares, np.array([0] * 6 + [1] * 4))
    assert found.error == pytest.approx(0.4) and found.counts[-1] == 10 and found.accuracy[-1] == 0.6


# Numbers


def test_measures_of_numbers_are_those_of_other_libraries():
    sk, stats = pytest.importorskip("sklearn.metrics"), pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(0)
    truth = generator.normal(size=200).round(1)
    said = truth + generator.normal(size=200).round(1)
    metrics, more = number_measures(said, truth)
    assert metrics["rmse"] == pytest.approx(sk.root_mean_squared_error(truth, said))
    assert metrics["mae"] == pytest.approx(sk.mean_absolute_error(truth, said))
    assert metrics["r2"] == pytest.approx(sk.r2_score(truth, said))
    assert metrics["pearson"] == pytest.approx(stats.pearsonr(said, truth).statistic)
    assert metrics["spearman"] == pytest.approx(stats.spearmanr(said, truth).statistic)
    assert all(low < metrics[name] < high for name, (low, high) in more["intervals"].items())
    assert number_measures(said, truth) == (metrics, more), "the same resamples each time"


def test_what_is_not_defined_is_nan_and_has_no_interval():
    metrics, more = number_measures(np.ones(5), np.ones(5))
    assert np.isnan(metrics["r2"]) and np.isnan(metrics["pearson"]) and metrics["rmse"] == 0
    assert set(more["intervals"]) == {"rmse", "mae"}


def test_resampling_finds_the_interval_of_a_mean():
    values = np.random.default_rng(1).normal(size=400)
    ((low, high),) = bootstrap(400, lambda rows: {"mean": values[rows].mean()}).values()
    half = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - half, abs=0.02) and high == pytest.approx(
        values.mean() + half, abs=0.02
    )


# Tags

TRUTH = [["B-P", "I-P", "O", "B-L"], ["O", "B-P"], ["O", "O"]]


def test_entities_count_when_both_ends_and_the_kind_are_right():
    found = [["B-P", "I-P", "O", "B-P"], ["O", "B-P"], ["B-L", "O"]]
    metrics, more = tag_measures(found, TRUTH, spans=True)
    assert metrics["tag_accuracy"] == 6 / 8
    assert metrics["precision"] == 2 / 4 and metrics["recall"] == 2 / 3 and metrics["f1"] == pytest.approx(4 / 7)
    assert more["f1"] == {"P": pytest.approx(4 / 5), "L": 0.0} and more["entities"] == 3
    low, high = more["intervals"]["f1"]
    assert low <= metrics["f1"] <= high


def test_half_an_entity_is_none():
    found = [["B-P", "O", "O", "B-L"], ["O", "B-P"], ["O", "O"]]
    metrics, _ = tag_measures(found, TRUTH, spans=True)
    assert metrics["f1"] == pytest.approx(2 * 2 / 6)


def test_plain_tags_have_an_accuracy_and_an_f1_each():
    metrics, more = tag_measures([["N", "V"], ["N", "N"]], [["N", "V"], ["N", "V"]], spans=False)
    assert metrics == {"tag_accuracy": 0.75}
    assert more["f1"] == {"N": pytest.approx(0.8), "V": pytest.approx(2 / 3)}


def test_nothing_there_and_nothing_found_is_zero_not_an_error():
    metrics, _ = tag_measures([["O"]], [["O"]], spans=True)
    assert metrics == {"tag_accuracy": 1.0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
