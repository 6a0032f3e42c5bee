"""A run by minutes keeps to its time, by a clock that moves only when a test says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.commands import lines
from helpers.stops import stopped_in

from weft.batches.windows import TextWindows
from weft.errors import Interrupted
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.training import checkpoint, loop, pace, run, trial
from weft.training.claim import claim
from weft.training.job import State
from weft.training.pace import Pace
from weft.training.progress import Progress
from weft.training.run import Outcome, perform
from weft.training.schedule import Budget, Horizon
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.work import Work
from weft.training.world import World

VOCAB, CONTEXT, BATCH = 11, 8, 4
SIZE = Size(dim=16, depth=1, heads=2, context=CONTEXT)

AT_THE_END = 2  # the weights that are kept are scored, and fresh ones beside them


class Hours:
    """The time of a test: each step and each held-out window takes as long as it says."""

    def __init__(self, step: float, window: float = 0.0):
        self.now, self.step, self.window = 0.0, step, window
        self.windows = 0  # held-out windows scored so far


class SlowText(TextWindows):
    """A text whose batches take time, in training and held out."""

    def __init__(self, hours: Hours):
        ids = np.random.default_rng(0).integers(0, VOCAB, 3000, dtype=np.uint16)
        super().__init__(ids, ids[:1000], context=CONTEXT, fingerprint="text", seed=0)
        self.hours = hours

    def batch(self, indices: np.ndarray) -> Any:
        self.hours.now += self.hours.step
        return super().batch(indices)

    def held_out(self, *, most: int | None = None) -> Iterator[Any]:
        for windows in super().held_out(most=most):
            self.hours.now += self.hours.window * len(windows)
            self.hours.windows += len(windows)
            yield windows


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Trains a tiny model by a budget, by the clock of `hours`; `guess` is what a step is first measured to take."""

    def trained(place: Path, hours: Hours, budget: Budget, *, guess: float = 1.0, resume: bool = False, **settings: Any
                ) -> Outcome:  # fmt: skip
        class Told(loop.Clock):
            def __init__(self, before: float):
                self.before, self.start = before, hours.now

            def now(self) -> float:
                return self.before + hours.now - self.start

        monkeypatch.setattr(loop, "Clock", Told)
        monkeypatch.setattr(run, "step_seconds", lambda *_, **more: guess)
        training = Training(
            **{
                "precision": "fp32",
                "optimizer": "adamw",
                "batch": BATCH,
                "warmup": 2,
                "checkpoint_every": 10**6,
                **settings,
            }
        )
        work = Work(LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB), NextToken.Config(), SlowText(hours), training, budget)
        with claim(work, place, resume=resume, world=World()) as claimed:
            return perform(
                work, claimed, resume=resume, progress=Progress(quiet=True), stop=StopRequest(), world=World()
            )

    return trained


@pytest.mark.parametrize("guess", [0.1, 5.0, 60.0])
def test_a_run_of_slow_steps_ends_with_the_first_step_past_its_time(tmp_path: Path, go: Any, guess: float) -> None:
    ended = go(tmp_path / "run", Hours(step=5.0), Budget(minutes=1), guess=guess)
    assert ended.steps == 12 and ended.seconds == 60


def test_steps_longer_than_the_whole_run_end_it_after_one(tmp_path: Path, go: Any) -> None:
    assert go(tmp_path / "run", Hours(step=100.0), Budget(minutes=1)).steps == 1


@pytest.mark.parametrize(("minutes", "steps"), [(10, 30), (1, 12)])
def test_a_run_by_minutes_ends_after_the_most_epochs_with_a_rate_of_zero(
    tmp_path: Path, go: Any, minutes: float, steps: int
) -> None:
    hours = Hours(step=5.0)
    most = 30 * BATCH / SlowText(hours).per_epoch
    ended = go(tmp_path / "run", hours, Budget(minutes=minutes), guess=3.0, most_epochs=most)
    rates = [line["lr"] for line in lines(tmp_path / "run")]
    assert ended.steps == steps and rates[-1] < 0.1 * max(rates)


def test_the_rate_falls_to_zero_with_slow_steps_too(tmp_path: Path, go: Any) -> None:
    go(tmp_path / "run", Hours(step=5.0), Budget(minutes=5), guess=0.5)
    rates = [line["lr"] for line in lines(tmp_path / "run")]
    assert rates[4:] == sorted(rates[4:], reverse=True) and 0 < rates[-1] < 0.1 * max(rates)


@pytest.mark.parametrize("window", [0.001, 0.02, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("every", [None, 3])
def test_evaluations_take_a_tenth_of_the_time_at_most(
    tmp_path: Path, go: Any, window: float, every: int | None
) -> None:
    hours = Hours(step=4.0, window=window)
    ended = go(tmp_path / "run", hours, Budget(minutes=10), evaluate_every=every, guess=4.0)
    last = checkpoint.latest(tmp_path / "run").state()
    looks = [line["step"] for line in lines(tmp_path / "run") if "held_out" in line]
    assert 592 <= ended.seconds <= 604 + last["look_cost"]
    assert last["look_seconds"] <= 0.1 * 600 + 8 * window
    assert looks and looks[-1] > ended.steps / 2, "looks are spread over the run"


def test_evaluations_that_take_little_are_all_made_and_score_all_samples(tmp_path: Path, go: Any) -> None:
    hours = Hours(step=4.0, window=0.001)
    go(tmp_path / "run", hours, Budget(minutes=10), guess=4.0)
    looks = [line for line in lines(tmp_path / "run") if "held_out" in line]
    assert len(looks) == 9 and hours.windows == pace.LEAST_PROBE + 9 * pace.PROBE + AT_THE_END * pace.PROBE


def test_slow_evaluations_score_fewer_samples_before_they_become_rarer(tmp_path: Path, go: Any) -> None:
    go(tmp_path / "run", Hours(step=4.0, window=0.3), Budget(minutes=10), guess=4.0)
    assert checkpoint.latest(tmp_path / "run").state()["probe"] == 20  # 0.3 s each: a hundredth of ten minutes
    assert len([line for line in lines(tmp_path / "run") if "held_out" in line]) >= 8


def test_the_end_counts_the_evaluations_that_are_yet_to_come(tmp_path: Path, go: Any) -> None:
    """At one window a second, looks take 8 s of each 80: the first end that is fitted is already near the last."""
    go(tmp_path / "run", Hours(step=1.0, window=1.0), Budget(minutes=10), evaluate_every=80, guess=1.0)
    noted = lines(tmp_path / "run")
    rates = [line["lr"] for line in noted]
    assert rates[-1] < 0.01 * max(rates)
    falls = -np.diff(rates[200:])
    assert falls.max() < 1.2 * np.median(falls), "the rate falls evenly"


@pytest.mark.parametrize("stop", [4, 7, 11])
def test_a_resumed_run_keeps_to_its_time_and_its_decisions(
    tmp_path: Path, go: Any, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    settings = {"budget": Budget(minutes=1), "evaluate_every": 3}
    whole = go(tmp_path / "whole", Hours(step=4.0, window=0.05), **settings)
    with pytest.raises(Interrupted), stopped_in(stop, monkeypatch):
        go(tmp_path / "run", Hours(step=4.0, window=0.05), **settings)
    ended = go(tmp_path / "run", Hours(step=4.0, window=0.05), resume=True, **settings)
    assert ended.steps == whole.steps and ended.seconds == pytest.approx(whole.seconds)
    assert all(torch.equal(ended.weights[name], whole.weights[name]) for name in whole.weights)


def test_a_run_resumed_past_its_time_ends_at_once(tmp_path: Path, go: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a run stands that was stopped when its end still moved on for ever."""
    with pytest.raises(Interrupted), stopped_in(5, monkeypatch), monkeypatch.context() as patch:
        patch.setattr(pace.Pace, "fit_end", lambda self: None)
        go(tmp_path / "run", Hours(step=60.0), Budget(minutes=1), guess=0.1)
    assert checkpoint.latest(tmp_path / "run").state()["horizon"]["end"] == 600
    ended = go(tmp_path / "run", Hours(step=60.0), Budget(minutes=1), resume=True)
    assert ended.steps == 6


def test_a_run_by_steps_looks_as_often_as_it_is_told(tmp_path: Path, go: Any) -> None:
    hours = Hours(step=1.0, window=10.0)
    assert go(tmp_path / "run", hours, Budget(steps=20), evaluate_every=2).steps == 20
    assert [line["step"] for line in lines(tmp_path / "run") if "held_out" in line] == list(range(2, 20, 2))
    assert hours.windows == (9 + AT_THE_END) * pace.PROBE


def test_measuring_the_steps_of_a_short_run_stops_where_they_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = Hours(step=20.0)
    monkeypatch.setattr(trial.time, "perf_counter", lambda: hours.now)
    config = LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB)
    for minutes, steps in ((1, 1), (5, 2), (60, 7)):
        hours.now = 0.0
        work = Work(config, NextToken.Config(), SlowText(hours), Training(precision="fp32", batch=BATCH),
                    Budget(minutes=minutes))  # fmt: skip
        assert trial.step_seconds(work, torch.device("cpu")) == 20 and hours.now == 20 * steps


@pytest.mark.parametrize(("seconds", "samples", "most"), [(None, 10**6, None), (10.0, 8, None), (10.0, 20, None),
                                                        (10.0, 21, None), (20.0, 200, None), (20.0, 201, 200),
                                                        (0.001, 500, pace.PROBE)])  # fmt: skip
def test_a_last_evaluation_scores_what_its_time_allows(seconds: float | None, samples: int, most: int | None) -> None:
    hours = Hours(step=0.0)

    def score(few: int) -> None:
        hours.now += 0.1 * few

    assert pace.scored_within(seconds, samples, score, lambda: hours.now) == most
    assert hours.now == (0 if seconds is None or samples <= 8 else pytest.approx(0.8))


@pytest.mark.parametrize(
    ("seconds", "expected"), [(None, 40 * 2.0 + 3 * 7.0), (1000.0, 40 * 2.0 + 3 * 7.0), (100.0, 40 * 2.0)]
)
def test_the_time_left_counts_the_evaluations_to_come(seconds: float | None, expected: float):
    state = State(step=60, seconds=90.0, horizon=Horizon(end=100), evaluate_every=10, look_cost=7.0, look_seconds=10.0)
    assert Pace(seconds, state).left(2.0) == expected, "none at the last step, and no more than there is time for"
