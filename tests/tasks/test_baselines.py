"""Plain methods beside a run: tallies over the same resamples, the verdict, what is said and what is left out."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from helpers.trials import EVERY, train

import weft
from weft.cli.app import run as command
from weft.cli.measured import evaluation
from weft.errors import ConfigError
from weft.objectives.measures.tallies import Tally, resampled
from weft.tasks.baselines import Baseline, advice, compared, most_rows


def shares(right: int, of: int = 200, shift: int = 0) -> Tally:
    return Tally.shares("accuracy", np.roll(np.arange(of) < right, shift))


def test_a_tally_is_the_measure_of_its_rows() -> None:
    errors = np.array([1.0, -2.0, 3.0])
    assert Tally.errors("rmse", errors).value == pytest.approx(np.sqrt(14 / 3)) and shares(50).value == 0.25
    f1 = Tally("f1", np.array([[2.0, 3.0], [0.0, 1.0]]))
    assert f1.value == 0.5


def test_resamples_are_the_same_for_all_tallies() -> None:
    one, same, other = resampled([shares(90), shares(90), Tally.shares("accuracy", np.arange(200) >= 90)])
    assert np.array_equal(one, same) and np.allclose(one + other, 1) and len(np.unique(one)) > 10


@pytest.mark.parametrize(
    ("model", "plain", "verdict"), [(180, 120, "ahead"), (100, 103, "level"), (120, 180, "behind")]
)
def test_the_verdict_goes_by_the_interval_of_the_difference(model: int, plain: int, verdict: str) -> None:
    found = compared(shares(model), [Baseline("plain", "a rule", shares(plain, shift=7))], "more data helps", [])
    won = found["comparison"]
    assert won["verdict"] == verdict and won["gain"] == pytest.approx((model - plain) / 200)
    assert won["interval"][0] <= won["gain"] <= won["interval"][1]
    assert ("more data helps" in won["sentence"]) == (verdict != "ahead") and "a rule" in won["sentence"]
    assert found["baselines"]["plain"]["accuracy"] == plain / 200
    low, high = found["baseline_intervals"]["plain"]["accuracy"]
    assert low < plain / 200 < high


def test_lower_errors_win_and_the_best_plain_method_is_compared() -> None:
    rows = np.random.default_rng(0).normal(size=300)
    plain = [Baseline(name, name, Tally.errors("rmse", rows * by)) for name, by in (("worse", 3.0), ("better", 1.0))]
    won = compared(Tally.errors("rmse", rows * 2), plain, "", [])["comparison"]
    assert (won["baseline"], won["verdict"]) == ("better", "behind") and won["gain"] < 0
    assert compared(Tally.errors("rmse", rows / 2), plain, "", [])["comparison"]["verdict"] == "ahead"


def test_sentences_agree_with_plural_names_and_say_which_measure_is_higher() -> None:
    def said(model: Tally, plain: Tally) -> str:
        return compared(model, [Baseline("plain", "nearest pictures", plain)], "more data helps", [])["comparison"][
            "sentence"
        ]

    assert said(shares(180), shares(120)).startswith("the model is better than nearest pictures: accuracy by 0.3 [")
    assert said(shares(120), shares(180)).startswith("the model is worse than nearest pictures: accuracy by 0.3 [")
    level = said(shares(100), shares(103, shift=7))
    assert level.startswith("the model is neither clearly better nor clearly worse than nearest pictures: ")
    assert " its accuracy is 0.015 lower, in 95 % of resamples from 0." in level and "higher: more data" in level
    assert " its accuracy is equal, in 95 % of resamples from equal to equal: " in said(shares(100), shares(100))
    rows = np.random.default_rng(0).normal(size=200)
    level = said(Tally.errors("rmse", rows), Tally.errors("rmse", np.roll(rows, 1) * 0.999))
    assert " its rmse is 0.000" in level and " higher, in 95 % of resamples from " in level


@pytest.mark.parametrize(
    ("counted", "of", "said"),
    [
        ("example", 9, "the same 9 examples:"),
        ("example", 7, "the same 7 examples, in 9 parts:"),
        ("document", 1, "the same 1 document, in 9 windows:"),
    ],
)
def test_what_is_counted_has_one_noun_each(counted: str, of: int, said: str) -> None:
    rows = replace(shares(9, 9), counted="window" if counted == "document" else "example")
    found = compared(rows, [Baseline("plain", "a rule", rows)], "", [])
    report = {"data": "held out", "examples": of, "counted": counted, "metrics": {}, **found}
    lines = list(evaluation(report))
    assert f"  over {of} {counted}{'s' * (of > 1)}" in lines and f"plain methods, accuracy on {said}" in lines


def test_few_examples_decide_nothing() -> None:
    won = compared(shares(9, 9), [Baseline("plain", "a rule", shares(0, 9))], "", [])["comparison"]
    assert won["verdict"] == "level" and "9 held-out examples are too few" in won["sentence"]


def test_advice_goes_by_the_data_and_the_start() -> None:
    assert "--from" in advice(800, begun=False, starts_from=True) and "800" in advice(
        800, begun=False, starts_from=True
    )
    assert "--from" not in advice(800, begun=True, starts_from=True)
    assert "longer" in advice(50_000, begun=False, starts_from=True)


def test_a_short_run_fits_plain_methods_on_fewer_rows() -> None:
    assert most_rows(None) == 20_000 and most_rows(1.0) == 4_000 and most_rows(0.01) == 500


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    data, out = EVERY["classify-text"].data, tmp_path_factory.mktemp("plain") / "run"
    return train("classify-text", data, out=out, baselines=True)


def test_a_screen_and_a_card_say_which_won(run: weft.Run, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = run.report["comparison"]["sentence"]
    assert command(["evaluate", str(run.folder)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert sentence in printed and "tf-idf" in printed and "precision recall f1" in printed
    assert "true class, found" in printed and "confusion.png" in printed
    card = (run.folder / "README.md").read_text()
    assert f"{sentence[1:]}." in card and "| tf-idf |" in card and "| majority |" in card


def test_plain_methods_can_be_left_out(run: weft.Run, tmp_path: Path) -> None:
    found = run.evaluate(baselines=False)
    assert "baselines" not in found and "comparison" not in found
    less = train("classify-text", EVERY["classify-text"].data, out=tmp_path / "run", baselines="false")
    assert "baselines" not in less.report and less.config["training"] == run.config["training"]
    with pytest.raises(ConfigError, match="true or false"):
        run.evaluate(baselines="perhaps")


def test_without_scikit_learn_the_plainest_stay_and_a_remark_names_the_extra(
    run: weft.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sklearn", "sklearn.feature_extraction.text", "sklearn.linear_model"):
        monkeypatch.setitem(sys.modules, name, None)
    found = run.evaluate()
    assert set(found["baselines"]) == {"majority"} and "weft[baselines]" in found["baseline_remarks"][0]


def test_other_data_is_measured_beside_methods_fitted_on_the_training_rows(run: weft.Run, tmp_path: Path) -> None:
    (source,) = EVERY["classify-text"].data
    lines = source.read_text().splitlines()
    other = tmp_path / f"other{source.suffix}"
    other.write_text("\n".join(lines[:12]) + "\n")
    found = run.evaluate(other)
    assert found["comparison"]["examples"] == found["examples"] and set(found["baselines"]) == {"majority", "tf-idf"}


def test_data_that_is_gone_is_said_and_the_commonest_answer_stays(tmp_path: Path) -> None:
    (source,) = EVERY["classify-text"].data
    moved = tmp_path / source.name
    moved.write_bytes(source.read_bytes())
    gone = train("classify-text", [moved], out=tmp_path / "run")
    found = moved.rename(tmp_path / f"elsewhere{source.suffix}")
    report = gone.evaluate(found)
    assert "gone or has changed" in report["baseline_remarks"][0]
    labels = [line.split("\t")[1] for line in found.read_text().splitlines()[1:]]
    share = labels.count(gone.config["data"]["usual"]) / len(labels)
    assert report["baselines"] == {"majority": {"accuracy": pytest.approx(share), "macro_f1": ANY}}
    json.dumps(report)
