"""Answers from a list: labels, blanks and continuations; what is not in the model's reach is refused by name."""

import sys
from pathlib import Path

import pytest
import torch
from helpers.tiny import encoder_model

from weft.domains.texts.blanks import candidates
from weft.domains.texts.language_model import Continuing
from weft.errors import ConfigError, WeftError
from weft.generate.choices import Choices
from weft.modalities import tokenizer_making
from weft.modalities.framing import frame_blanks
from weft.tasks.labels import labelling as labels
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.numbers import NumberCodec

TEXT = "the cat sat on the mat the cat the mat " * 20
CLASSES = ClassCodec(ClassCodec.Config(names=("red", "green", "blue")), read=str.encode)


def test_of_chosen_labels_the_probabilities_add_up_to_one() -> None:
    values = torch.tensor([[5.0, 1.0, 2.0]])
    (one,) = labels.predictions(CLASSES, values, ["a"], choices=("green", "blue", "green"))
    assert one["label"] == "blue" and set(one["probabilities"]) == {"green", "blue"}
    assert sum(one["probabilities"].values()) == pytest.approx(1.0)


def test_labels_that_do_not_exist_cannot_be_chosen() -> None:
    with pytest.raises(ConfigError, match="no label 'gren'") as error:
        labels.predictions(CLASSES, torch.zeros(1, 3), ["a"], choices=("gren",))
    assert "green" in str(error.value)
    with pytest.raises(ConfigError, match="labels are numbers"):
        labels.predictions(NumberCodec(NumberCodec.Config(), read=str.encode), torch.zeros(1, 1), ["a"], choices=("1",))


def test_a_blank_is_filled_by_one_of_the_words() -> None:
    tokenizer = tokenizer_making.train("bpe", [TEXT], 300, mask=True)
    model = encoder_model("swift", "fill", vocab=tokenizer.size, dtype=torch.float32)
    ids, places = frame_blanks(tokenizer, "the ___ sat", 12)
    ((best,),) = candidates(model, tokenizer, [(ids, places)], 5, ("mat", "cat"))
    assert {one["token"].strip() for one in best} == {"mat", "cat"}
    assert sum(one["probability"] for one in best) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(WeftError, match="'elephant' is not one token"):
        candidates(model, tokenizer, [(ids, places)], 5, ("mat", "elephant"))


def test_a_pattern_without_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(WeftError, match="llguidance is not installed") as error:
        Continuing(pattern="a").rule(tokenizer_making.train("bytes", [TEXT]))
    assert error.value.fix == "pip install 'weft[grammar]'"


def test_a_continuation_is_under_one_rule_at_most(tmp_path: Path) -> None:
    tokenizer = tokenizer_making.train("bytes", [TEXT])
    assert Continuing().rule(tokenizer) is None
    rule = Continuing(choices=("yes", "no")).rule(tokenizer)
    assert isinstance(rule, Choices) and set(rule.allowed(())) == {ord("y"), ord("n")}
    with pytest.raises(ConfigError, match="choices and pattern"):
        Continuing(choices=("yes",), pattern="a").check()
    with pytest.raises(ConfigError, match="no such file"):
        Continuing(schema=str(tmp_path / "none.json")).rule(tokenizer)
