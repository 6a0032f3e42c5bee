"""Timing a few steps: what disturbs the machine now and then does not count, and the run to come stays as it is."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny import VOCAB

from weft.batches.windows import TextWindows
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.training import precision, trial
from weft.training.claim import claim
from weft.training.progress import Progress
from weft.training.run import perform
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.work import Work
from weft.training.world import World

CPU = torch.device("cpu")


def work_of(budget: Budget) -> Work:
    ids = np.random.default_rng(0).integers(0, VOCAB, 400)
    source = TextWindows(ids[:300], ids[300:], context=8, fingerprint="some", seed=0)
    config = LANGUAGE_MODELS["gpt"](Size(dim=16, depth=1, heads=2, context=8), vocab=VOCAB, dropout=0.2)
    return Work(config, NextToken.Config(), source, Training(precision="fp32", batch=4), budget)


def weights_of(place: Path, work: Work) -> dict[str, torch.Tensor]:
    with claim(work, place, resume=False, world=World()) as folder:
        ended = perform(work, folder, resume=False, progress=Progress(quiet=True), stop=StopRequest(), world=World())
    return dict(ended.weights)


def told(monkeypatch: pytest.MonkeyPatch, seconds: Iterator[float]) -> list[float]:
    """Steps that take some seconds, of which no one is made; returns those that were asked for."""
    asked: list[float] = []

    def steps(work: Work, device: torch.device, share: float) -> Iterator[float]:
        for one in seconds:
            asked.append(one)
            yield one

    monkeypatch.setattr(trial, "trial_steps", steps)
    return asked


def test_the_weights_of_a_run_are_the_same_after_a_trial_as_without(tmp_path: Path) -> None:
    plain = weights_of(tmp_path / "plain", work_of(Budget(steps=5)))
    work, before = work_of(Budget(steps=5)), torch.get_rng_state()
    trial.undisturbed_step_seconds(work, CPU, seconds=0.0)
    assert torch.equal(torch.get_rng_state(), before)
    tried = weights_of(tmp_path / "tried", work)
    assert tried.keys() == plain.keys() and all(torch.equal(tried[name], plain[name]) for name in plain)


def test_steps_that_were_disturbed_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, (0.1 if step % 3 == 0 else 0.4 for step in count()))
    assert trial.undisturbed_step_seconds(work_of(Budget(minutes=5)), CPU) == 0.1


def test_one_step_that_is_quick_by_chance_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, (0.01 if step == 5 else 0.1 for step in count()))
    assert trial.undisturbed_step_seconds(work_of(Budget(minutes=5)), CPU) == 0.1


@pytest.mark.parametrize(("step", "minutes", "steps"), [(0.125, 5, 19), (5.0, 5, 6), (5.0, 0.5, 1), (100.0, 5, 1)])
def test_a_trial_takes_a_moment_and_a_tenth_of_the_run_at_most(
    monkeypatch: pytest.MonkeyPatch, step: float, minutes: float, steps: int
) -> None:
    asked = told(monkeypatch, (step for _ in count()))
    assert trial.undisturbed_step_seconds(work_of(Budget(minutes=minutes)), CPU) == step and len(asked) == steps


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has products take stated seconds: a function of the time so far and the number format."""

    def stated(seconds: Any) -> None:
        now = [0.0]

        def linear(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            now[0] += seconds(now[0], x.dtype)
            return x

        monkeypatch.setattr(precision.time, "perf_counter", lambda: now[0])
        monkeypatch.setattr(torch.nn.functional, "linear", linear)
        for one in (precision.product_rate, precision.bf16_speedup):
            one.cache_clear()

    yield stated
    monkeypatch.undo()
    for one in (precision.product_rate, precision.bf16_speedup):
        one.cache_clear()


def test_the_rate_of_products_is_that_of_the_quiet_moments(product: Any) -> None:
    product(lambda now, dtype: 0.04 if now < 0.2 else 0.005)
    assert precision.product_rate(CPU, torch.float32, 64) == pytest.approx(4 * 64**3 / 0.005)


@pytest.mark.parametrize(("share", "chosen"), [(0.5, torch.bfloat16), (0.9, torch.float32)])
def test_the_number_format_is_the_same_whenever_the_machine_is_busy(
    product: Any, share: float, chosen: torch.dtype
) -> None:
    for quiet in (0.0, 0.1, 10.0):  # seconds from which on nothing disturbs
        product(
            lambda now, dtype, quiet=quiet: (
                0.005 * (8 if now < quiet else 1) * (share if dtype is torch.bfloat16 else 1)
            )
        )
        assert precision.pick_precision("auto", CPU) is chosen
