"""Parsers: every tree is well formed, by symbols, by text or by gaps; words are those of the sentence."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.stops import stopped_in
from helpers.trials import DATA

import weft
from weft.domains.texts.codec.text import TextCodec
from weft.domains.trees.encoded import apart
from weft.errors import ConfigError, DataError, Interrupted

TREES = DATA / "trees.mrg"
TINY: dict[str, Any] = {
    "dim": 8, "depth": 1, "heads": 1, "steps": 3, "tokens": 128, "precision": "fp32", "tokenizer": "characters",
    "baselines": False, "quiet": True,
}  # fmt: skip
SENTENCES = ["The dog sees a house .", "She", "of of of of of of , of of of"]


def train(out: Path, **more: Any) -> weft.Run:
    return weft.train(TREES, task="parse", out=out, **{**TINY, **more})


@pytest.mark.parametrize("model", ["next-word", "gaps", "swift"])
def test_an_untrained_model_writes_nothing_but_trees(model: str, tmp_path: Path) -> None:
    run = train(tmp_path / "run", model=model, steps=1)
    for sentence, one in zip(SENTENCES, run.predict(SENTENCES), strict=True):
        assert one["well_formed"] and one["text"].count("XX") == len(sentence.split())
    assert run.evaluate()["metrics"]["well_formed"] == 1.0
    check_looks(run, SENTENCES[0])
    if model != "gaps":
        (cut,) = run.predict(SENTENCES[:1], max_tokens=4)
        assert not cut["well_formed"] and cut["text"].count("XX") == 6


def test_an_evaluation_tokenizes_each_sentence_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, ids = train(tmp_path / "run", model="next-word", steps=1), TextCodec.ids
    counts: Counter[str] = Counter()

    def counted(self: TextCodec, texts: Iterable[str]) -> list[np.ndarray]:
        counts.update(texts := list(texts))
        return ids(self, texts)

    monkeypatch.setattr(TextCodec, "ids", counted)
    run.evaluate()
    assert set(counts.values()) == {1}


def check_looks(run: weft.Run, sentence: str) -> None:
    """The tree that is looked at is the one that is predicted, or the one that is given; both have a probability."""
    (one,), view = run.predict([sentence]), run.look(sentence)
    (said, chance), shown = view.answer.said[0], view.to_json()
    assert shown["text"] == one["text"] == said and 0 < chance <= 1
    assert shown["source"] == sentence and len(shown["weights"]) == len(shown["target_words"])
    assert run.look(sentence, target=one["text"]).answer.said[0][1] == pytest.approx(chance, rel=1e-3)
    with pytest.raises(DataError, match="expected a tree over the words"):
        run.look(sentence, target="(S (NN no))")


@pytest.mark.slow
def test_a_tagger_of_gaps_that_was_stopped_and_resumed_is_one_that_never_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(tmp_path / "whole", model="gaps", dropout=0.1)
    with stopped_in(1, monkeypatch), pytest.raises(Interrupted):
        train(tmp_path / "parts", model="gaps", dropout=0.1)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    for key, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[key]), key
    with pytest.raises(ConfigError, match="the one best tree"):
        whole.predict("She", best=2)


def test_a_form_that_the_model_does_not_learn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="learns trees as symbols, not as text"):
        train(tmp_path / "run", form="text")


def test_marks_are_set_apart_from_words_where_nobody_did_it() -> None:
    assert apart("The U.S. team, he said, won.") == "The U.S. team , he said , won ."
    assert apart("The U.S. team won .") == "The U.S. team won ."
    assert apart(" Who won?  ") == "Who won ?"
