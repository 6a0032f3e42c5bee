"""Texts with any number of labels: read in every form, trained, measured, predicted, and given to other tools."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.commands import TINY_SETTINGS

import weft
from weft.domains.recognising import judge, surest
from weft.domains.texts.reading.labelled import read_labelled
from weft.errors import ConfigError, DataError, WeftError
from weft.files.labels import joined, parted
from weft.files.survey import Survey
from weft.objectives import Several
from weft.objectives.measures.several import macro_f1, several_measures, several_tally
from weft.runs import exporting
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.labels.labelling import weights_of_yes
from weft.tasks.labels.several import SeveralCodec

WORDS = {"sport": "goal", "money": "bank", "food": "soup"}


def rows(count: int = 60) -> list[tuple[str, list[str]]]:
    """Texts that name what they are about, of none to three things."""
    draw, found = random.Random(1), []
    for number in range(count):
        labels = [label for label in WORDS if draw.random() < 0.4]
        found.append((f"number {number} has {' and '.join(WORDS[one] for one in labels) or 'nothing'} in it", labels))
    return found


def lists(path: Path) -> Path:
    path.write_text("\n".join(json.dumps({"text": text, "labels": labels}) for text, labels in rows()))
    return path


def table(path: Path, header: tuple[str, ...], cells: Callable[[list[str]], list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *((text, *cells(labels)) for text, labels in rows())])
    return path


def flags(path: Path) -> Path:
    return table(path, ("comment_text", *WORDS), lambda some: [str(int(name in some)) for name in WORDS])


FORMS: list[tuple[str, Callable[[Path], Path]]] = [
    ("lists.jsonl", lists),
    ("semicolons.csv", lambda path: table(path, ("text", "tags"), lambda some: [";".join(some)])),
    ("bars.csv", lambda path: table(path, ("text", "labels"), lambda some: [" | ".join(some)])),
    ("flags.csv", flags),
]


@pytest.mark.parametrize(("name", "write"), FORMS, ids=[name for name, _ in FORMS])
def test_every_form_is_recognised_and_gives_the_same_labels(
    tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path / name)
    survey = Survey([path])
    taken = surest(survey, judge(survey))
    assert taken is not None and taken.card.name == "classify-text" and "any number of labels" in taken.why
    found = read_labelled(path)
    assert found.kind == "several" and found.classes == tuple(sorted(WORDS))
    assert [(row.text, sorted(row.labels)) for row in found.rows] == [(text, sorted(some)) for text, some in rows()]
    assert "texts without one" in found.report()[0]


def test_lists_of_one_are_classes_unless_a_user_says_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"{i} words", "label": ["a" if i % 2 else "b"]}) for i in range(20)))
    assert read_labelled(path).kind == "classes" and read_labelled(path, kind="several").kind == "several"


def test_a_sign_in_a_text_of_a_class_parts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    path.write_text("text,label\n" + "".join(f"text {i},{'a' if i % 2 else 'b'}\n" for i in range(40)) + "more,c;d\n")
    assert read_labelled(path).kind == "classes"


@pytest.mark.parametrize("cell", ["2", "yes"])
def test_a_column_of_labels_holds_0_and_1(tmp_path: Path, cell: str) -> None:
    path = flags(tmp_path / "flags.csv")
    path.write_text(path.read_text() + f"the last,{cell},0,1\n")
    with pytest.raises(DataError, match="expected 0 or 1 in the column 'sport'"):
        read_labelled(path, label="sport,money,food")


def test_rare_labels_can_be_left_out(tmp_path: Path) -> None:
    path = lists(tmp_path / "lists.jsonl")
    path.write_text(path.read_text() + "\n" + json.dumps({"text": "a text", "labels": ["rare", "food"]}))
    assert "rare" in read_labelled(path).classes
    found = read_labelled(path, fewest=2)
    assert "rare" not in found.classes and found.rows[-1].labels == ["food"]


def test_labels_are_joined_and_parted() -> None:
    assert parted(joined(["b", "a", "b"])) == ["b", "a"] and parted(joined([])) == [] and parted("a") == ["a"]


# Numbers


def codec(**more: Any) -> SeveralCodec:
    return SeveralCodec(SeveralCodec.Config(names=("a", "b", "c"), **more))


def test_the_codec_goes_there_and_back() -> None:
    labels = [joined(["a", "c"]), joined([]), joined(["b"])]
    targets = codec().encode(labels)
    assert targets.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    found = codec().decode(torch.from_numpy(8 * targets - 4))
    assert [joined(sorted(one["labels"])) for one in found] == labels
    with pytest.raises(DataError, match="not learned: d"):
        codec().encode([joined(["d"])])
    assert codec(threshold=0.99).decode(torch.full((1, 3), 4.0))[0]["labels"] == []


class _Given:
    def __init__(self, values: torch.Tensor):
        self.values = values

    def raw(self) -> torch.Tensor:
        return self.values


@pytest.mark.parametrize("training", [True, False])
def test_the_loss_is_the_mean_over_labels_of_binary_cross_entropies(training: bool) -> None:
    from weft.batches.samples import Numbers, Samples

    logits, truth = torch.tensor([[2.0, -1.0], [0.5, 3.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    model = torch.nn.Identity().train(training)
    loss = Several.Config(smoothing=0.2).build()(model, Samples(_Given(logits), Numbers(truth)))  # type: ignore[arg-type]
    wanted = truth * 0.8 + 0.1 if training else truth
    p = logits.sigmoid()
    each = -(wanted * p.log() + (1 - wanted) * (1 - p).log()).mean(1)
    assert float(loss.total) == pytest.approx(float(each.sum()), rel=1e-5) and loss.count == 2
    assert loss.wrong == (None if training else 1)


def test_measures_are_those_of_the_counts() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(0)
    truth, shares = draw.random((50, 4)) < 0.3, draw.random((50, 4))
    given = shares > 0.5
    found, more = several_measures(shares, given, truth, ["a", "b", "c", "d"])
    for average in ("micro", "macro"):
        assert found[f"{average}_f1"] == pytest.approx(metrics.f1_score(truth, given, average=average))
    assert found["exact"] == pytest.approx(metrics.accuracy_score(truth, given))
    assert more["f1"]["a"] == pytest.approx(metrics.f1_score(truth[:, 0], given[:, 0]))
    low, high = more["intervals"]["micro_f1"]
    assert low < found["micro_f1"] < high and more["intervals"]["f1 a"][0] <= more["f1"]["a"]
    assert several_tally(given, truth).value == found["micro_f1"] and macro_f1(truth, truth) == 1


def test_a_yes_to_a_rare_label_counts_for_more() -> None:
    assert weights_of_yes(np.array([[1, 1], [0, 1], [0, 1], [0, 0]])) == (3.0, 1.0)


def test_plain_methods_answer_with_several_labels() -> None:
    known, truth = ([joined(some) for _, some in rows(40)], [joined(some) for _, some in rows(40)])
    names = SeveralCodec(SeveralCodec.Config(names=tuple(WORDS)))
    target = LabelTarget(names, known, truth)
    assert target.varied and 0 < target.usual().tally.value < 1
    assert target.scored("x", "x", names.encode(truth)).tally.value == 1


# Runs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    folder = tmp_path_factory.mktemp("several")
    data = flags(folder / "flags.csv")
    size = {name: value for name, value in TINY_SETTINGS.items() if name != "tokenizer"}
    return weft.train(data, out=folder / "run", model="bert", steps=40, lr=3e-3, vocab=300, quiet=True, **size)


def test_a_run_is_measured_by_label_beside_plain_methods(run: weft.Run) -> None:
    report = run.evaluate(baselines=True)
    assert {"micro_f1", "macro_f1", "exact", "loss"} <= report["metrics"].keys()
    assert {"majority", "tf-idf"} <= report["baselines"].keys()
    assert set(report["recall"]) <= set(WORDS)
    again = run.evaluate(run.folder.parent / "flags.csv", baselines=False)
    assert again["examples"] == 60


def test_all_labels_above_the_threshold_are_given(run: weft.Run) -> None:
    (all_,) = run.predict("a goal in the bank", threshold=0)
    assert set(all_["labels"]) == set(WORDS) == set(all_["probabilities"])
    (some,) = run.predict("a goal in the bank", choices="sport,food", threshold=0)
    assert set(some["probabilities"]) == {"sport", "food"}
    (cells,) = run.task.cells(all_)
    assert cells["labels"].count(";") == 2 and cells["p(food)"] == all_["probabilities"]["food"]


@pytest.mark.slow
def test_the_other_library_gives_the_same_labels(run: weft.Run, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert run.export(tmp_path / "out")["same_answers"] > 0


def test_it_goes_to_the_other_library_and_comes_back(
    run: weft.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.0)
    run.export(tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification" and set(config["label2id"]) == set(WORDS)
    texts = [text for text, _ in rows(5)]
    again = weft.load(tmp_path / "out")
    for one, other in zip(run.predict(texts), again.predict(texts), strict=True):
        assert one["labels"] == other["labels"]
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)
    data = run.folder.parent / "flags.csv"
    more = weft.train(data, from_=tmp_path / "out", out=tmp_path / "more", steps=1, quiet=True, baselines=False)
    assert "Several" in json.dumps(more.config["objective"])


def test_a_threshold_is_of_several_labels_alone(tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    path.write_text("text,label\n" + "".join(f"a text {i},{'a' if i % 2 else 'b'}\n" for i in range(20)))
    size = {name: value for name, value in TINY_SETTINGS.items() if name != "tokenizer"}
    run = weft.train(path, out=tmp_path / "run", steps=1, vocab=300, quiet=True, **size)
    with pytest.raises(ConfigError, match="gives one answer"):
        run.predict("a text", threshold=0.3)
    with pytest.raises((ConfigError, WeftError)):
        codec(threshold=1.5)
