"""Sizing: more time, a faster machine or more data never give a smaller model, and every size can be built.

A guess of the machine's speed is put right by timing a few steps; how long they take is stated here, not measured.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.amounts import count
from weft.domains.registry import card_named
from weft.domains.texts.dataset.running import RunningText
from weft.domains.texts.language_model import LanguageModel
from weft.domains.texts.recipe import language as sizing
from weft.domains.texts.settings import TextTraining
from weft.models.backbone import context_of
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.runs.start import Asked
from weft.runs.training import planned_lines
from weft.tasks.planning import plan
from weft.tasks.request import Request
from weft.tasks.sizing import Sizing
from weft.training.progress import Progress
from weft.training.run import size_of
from weft.training.schedule import Budget

SECONDS = [6 * 2**n for n in range(16)]  # from six seconds to two days


@pytest.mark.parametrize("vocab", [64, 257, 2048, 32768])
def test_more_time_never_gives_a_smaller_model(vocab: int) -> None:
    sizes = [sizing.for_budget(Sizing(s, 3e10), vocab, 10**8).size for s in SECONDS]
    weights = [sizing.trunk_weights(size) for size in sizes]
    assert all(a <= b for a, b in pairwise(weights)) and weights[0] < weights[-1]


def test_a_faster_machine_never_gives_a_smaller_model() -> None:
    weights = [sizing.trunk_weights(sizing.for_budget(Sizing(300, 3e7 * 4**n), 64, 10**8).size) for n in range(12)]
    assert all(a <= b for a, b in pairwise(weights)) and weights[0] < weights[-1]


@pytest.mark.parametrize("data_tokens", [1, 100, 10**4, 10**6, 10**9])
def test_whatever_the_data_the_numbers_can_be_used(data_tokens: int) -> None:
    for seconds in SECONDS:
        sized = sizing.for_budget(Sizing(seconds, 3e10), 64, data_tokens)
        assert sized.batch >= 1 and 0 <= sized.dropout < 1 and sized.tokens > 0
        sized.size.check()


def test_data_that_is_read_many_times_over_wants_no_less_dropout() -> None:
    dropouts = [sizing.for_budget(Sizing(600, 3e10), 64, 10**n).dropout for n in range(9, 2, -1)]
    assert all(a <= b for a, b in pairwise(dropouts)) and dropouts[0] < dropouts[-1]


@pytest.mark.parametrize("model", sorted(LANGUAGE_MODELS))
def test_every_rung_of_the_ladder_can_be_built(model: str) -> None:
    sizes = [size_of(LANGUAGE_MODELS[model](size, vocab=64), training=True) for size in sizing.LADDER]
    assert all(a < b for a, b in pairwise(sizes))


# The choice by the machine's speed

CPU = torch.device("cpu")
RATE = 1e11  # of products


class Timed:
    """A machine whose training steps reach `rate`; a plan is made for it, and the trials are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str, rate: float):
        self.rate, self.trials, self.data = rate, 0, text
        monkeypatch.setattr("weft.tasks.sizing.product_rate", lambda device, dtype: RATE)
        monkeypatch.setattr("weft.tasks.planning.undisturbed_step_seconds", self.step_seconds)

    def step_seconds(self, work: Any, device: torch.device, share: float = 1.0) -> float:
        """By the recipe's own count of operations."""
        self.trials += 1
        context = context_of(work.model)
        size = Size(dim=work.model.dim, depth=len(work.model.trunk.all_blocks()), heads=1, context=context)
        tokens = len(work.source.train) * work.training.batch / work.source.per_epoch
        return sizing.step_operations(size, work.model.embed.vocab) * tokens / self.rate

    def plan(self, budget: Budget, preset: str | None = None, **settings: Any) -> Any:
        settings = {"precision": "fp32", "tokenizer": "characters", **settings}
        request = Request((self.data,), None, preset, budget, None, settings, CPU)
        return plan(LanguageModel(), request, RunningText().read(request.sources, None, TextTraining()))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    (tmp_path / "book.txt").write_text("".join(f"{n} times {n} is {n * n}\n" for n in range(400)))
    return lambda rate: Timed(monkeypatch, str(tmp_path / "book.txt"), rate)


@pytest.mark.parametrize(("times", "moved"), [(4.0, 1), (64.0, 1), (1.0, 0), (0.25, -1), (1 / 64, -1)])
def test_a_guess_that_is_far_off_is_put_right_by_one_rung(machine: Any, times: float, moved: int) -> None:
    found = machine(times * sizing.RECIPE.efficiency * RATE)
    made = found.plan(Budget(minutes=5.0))
    first = sizing.for_budget(Sizing(300.0, sizing.RECIPE.efficiency * RATE), 64, 10_000).size
    said, rung = made.work.record["sizing"], sizing.LADDER.index(first) + moved
    assert found.trials == 1 and made.work.model.dim == sizing.LADDER[rung].dim
    assert (said["moved"], said["rung"], said["of"]) == (moved, rung + 1, len(sizing.LADDER))
    assert said["timed"] and said["product_rate"] == RATE and said["rate"] == pytest.approx(found.rate, rel=1e-3)
    words = {1: ", one up from the first guess", 0: "", -1: ", one down from the first guess"}[moved]
    expected = f"for 5 min at {count(found.rate)}FLOP/s: size {rung + 1} of {len(sizing.LADDER)}{words}"
    assert made.lines["sized"] == expected


def test_what_goes_with_a_size_follows_the_measured_speed(machine: Any) -> None:
    slow, fast = (machine(times * sizing.RECIPE.efficiency * RATE).plan(Budget(minutes=0.5)) for times in (1e-3, 1e3))
    assert slow.work.training.dropout < fast.work.training.dropout  # which reads the text more often


@pytest.mark.parametrize(
    ("budget", "more"),
    [
        (Budget(steps=100), {}),
        (Budget(epochs=2.0), {}),
        (Budget(minutes=0.4), {}),
        (Budget(minutes=5.0), {"preset": "tiny"}),
        (Budget(minutes=5.0), {"dim": 64}),
        (Budget(minutes=5.0), {"depth": 2}),
    ],
    ids=str,
)
def test_nothing_is_timed_where_it_would_decide_nothing(machine: Any, budget: Budget, more: dict[str, Any]) -> None:
    found = machine(1.0)
    made = found.plan(budget, **more)
    assert found.trials == 0 and not made.work.record.get("sizing", {}).get("timed")
    assert ("sized" in made.lines) == (budget.minutes is not None and "preset" not in more)


def test_a_check_of_data_times_no_step(machine: Any) -> None:
    found = machine(1.0)
    asked = Asked((found.data,), None, None, None, Budget(minutes=5.0), None, None, {"precision": "fp32"})
    data = RunningText().read((found.data,), None, TextTraining())
    said = planned_lines(asked, card_named("language-model"), data, Progress(quiet=True))
    assert found.trials == 0 and said["sized"].startswith(
        f"for 5 min at about {count(sizing.RECIPE.efficiency * RATE)}FLOP/s, not timed"
    )
