"""Races of models: equal shares, the best one gets the rest, and what is measured later judges nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.cli.app import run as command
from weft.domains.graphs.cards import SETS
from weft.domains.graphs.dataset.data import LabelledNodes
from weft.domains.graphs.dataset.dividing import FEWEST_JUDGES, rehearsal
from weft.domains.graphs.labels import SetLabels
from weft.domains.registry import card_named
from weft.errors import ConfigError, WeftError
from weft.tasks.race import affordable, ordered, race, share_of, some_rows_apart
from weft.training.schedule import Budget
from weft.training.score import HeldOutScore

FEW = {"dim": 8, "depth": 2, "heads": 2, "precision": "fp32", "quiet": True, "baselines": False}


def clock(*times: float):
    """A clock that says these seconds, one after the other."""
    return iter(times).__next__


def test_the_best_score_wins_and_takes_what_is_left():
    scores = {"a": HeldOutScore(0.5, 0.3, 10), "b": HeldOutScore(0.9, 0.2, 10), "c": HeldOutScore(0.4, 0.3, 10)}
    given: dict[str, Budget] = {}

    def score(name: str, budget: Budget) -> HeldOutScore:
        given[name] = budget
        return scores[name]

    found = race(("a", "b", "c"), Budget(steps=300), score, clock(0.0))
    assert set(given.values()) == {Budget(steps=40)} and found.left == Budget(steps=180)
    assert found.winner == "b" and list(found.scores) == ["b", "c", "a"], "fewer errors, then a lower loss"
    assert "b 80.0%, c 70.0%, a 70.0%" in found.in_words() and "40 steps each" in found.in_words()
    assert list(ordered({"x": scores["a"], "y": scores["a"]})) == ["x", "y"], "of equal ones the first"


def test_a_race_by_minutes_costs_what_it_took_and_at_most_half():
    same = HeldOutScore(1.0)
    quick = race(("a", "b"), Budget(minutes=1.0), lambda name, each: same, clock(0.0, 30.0 - 6.0))
    slow = race(("a", "b"), Budget(minutes=1.0), lambda name, each: same, clock(0.0, 50.0))
    assert quick.each == Budget(minutes=0.2) and quick.left.minutes == pytest.approx(0.6)
    assert slow.left == Budget(minutes=0.5)


def test_a_model_that_is_refused_loses_and_if_all_are_the_first_reason_is_given():
    def score(name: str, budget: Budget) -> HeldOutScore:
        if name != "c":
            raise ConfigError(f"{name} needs more memory")
        return HeldOutScore(1.0)

    found = race(("a", "c"), Budget(steps=200), score, clock(0.0))
    assert found.winner == "c" and found.failed == {"a": "a needs more memory"} and "not tried: a" in found.in_words()
    with pytest.raises(WeftError, match="a needs more memory"):
        race(("a", "b"), Budget(steps=200), score, clock(0.0))


def test_short_budgets_have_no_race():
    assert affordable(Budget(steps=200), 4) and not affordable(Budget(steps=199), 4)
    assert affordable(Budget(minutes=0.5), 4) and not affordable(Budget(minutes=0.3), 4)
    assert affordable(Budget(epochs=200.0), 4) and not affordable(Budget(epochs=20.0), 4)
    assert share_of(Budget(epochs=5.0), 0.5) == Budget(epochs=2.5)


def circles(folder: Path, *, parts: bool) -> Path:
    """A graph of two groups of 200 nodes that know each other, with or without named parts."""
    chance = np.random.default_rng(0)
    side = np.arange(400) // 200
    edges = [(i, int(j)) for i in range(400) for j in chance.choice(np.flatnonzero(side == side[i]), 2) if i != j]
    named = {"train": np.arange(0, 400, 4), "val": np.arange(1, 400, 4), "test": np.arange(2, 400, 4)} if parts else {}
    x = chance.normal(size=(400, 3)) + 0.2 * side[:, None]
    path = folder / f"circles-{parts}.npz"
    np.savez(path, edges=np.array(edges), x=x, labels=np.array(["left", "right"])[side], **named)
    return path


def test_nodes_that_are_measured_judge_no_race(tmp_path: Path):
    card = card_named("graph")
    for parts in (True, False):
        data = card.reader.read((str(circles(tmp_path, parts=parts)),), None, card.training())
        tried = rehearsal(data)
        assert (
            tried is not None and isinstance(tried.held_out, LabelledNodes) and isinstance(data.held_out, LabelledNodes)
        )
        (judges,), (learned,) = tried.held_out.masks, tried.train.masks
        measured = data.held_out.others[0] if parts else data.held_out.masks[0]
        assert judges.sum() >= FEWEST_JUDGES and not (judges & measured).any() and not (learned & measured).any()
        assert not (judges & learned).any()
    few = replace(data, train=LabelledNodes(data.train.graphs, [np.arange(400) < 100]))
    assert rehearsal(few) is None, "twenty labels would choose by chance"


def test_a_graph_is_trained_by_the_model_that_did_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    data, out = circles(tmp_path, parts=True), tmp_path / "run"
    settings = [
        word for name, value in FEW.items() if name != "quiet" for word in ("--set", f"{name}={str(value).lower()}")
    ]
    words = ["train", str(data), "--steps", "200", "--out", str(out), *settings]
    assert command(words) == 0
    printed, run = capsys.readouterr().err, weft.load(out)
    raced = run.config["race"]
    assert set(raced["scores"]) == {"gcn", "appnp", "gat", "graph-transformer"}
    assert run.config["model_name"] == next(iter(raced["scores"])) and run.config["budget"]["steps"] == 120
    assert "chosen" in printed and raced["said"] in " ".join(printed.split())
    assert raced["said"] in (out / "README.md").read_text()
    assert command([*words, "--resume"]) == 0, "the words that the run began with"
    capsys.readouterr()
    named = weft.train(data, model="gat", out=tmp_path / "named", steps=2, **FEW)
    assert "race" not in named.config


def test_any_task_may_race_on_a_fifth_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SetLabels, "card", replace(SETS, races=("transformer", "deepsets")))
    run = weft.train(task="sets", steps=100, out=tmp_path / "run", **FEW)
    assert set(run.config["race"]["scores"]) == {"transformer", "deepsets"}
    data = SETS.reader.read((), None, SETS.training())
    tried = some_rows_apart(data)
    assert tried is not None and len(tried.held_out) == len(data.train) // 5
    assert len(tried.train) + len(tried.held_out) == len(data.train)
