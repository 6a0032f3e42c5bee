"""A process that is much slower than the others is named, once, and nothing else changes."""

import time

import pytest

from weft.errors import Interrupted
from weft.training import slowness
from weft.training.slowness import WATCHED_STEPS, Slowness
from weft.training.world import World


class Others(World):
    """The world of a process whose others take these seconds in every step."""

    def __init__(self, rank: int, *seconds: float):
        super().__init__(rank, len(seconds))
        self.seconds, self.meetings = seconds, 0

    def add(self, *numbers: float) -> list[float]:
        self.meetings += 1
        return [own or other for own, other in zip(numbers, self.seconds, strict=True)]


def said(world: Others, seconds: float, steps: int) -> list[str]:
    watch = Slowness(world)
    return [line for line in (watch.note(seconds) for _ in range(steps)) if line]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_every_process_names_the_slow_one_once(rank: int) -> None:
    every = (0.1, 0.11, 1.0)
    (line,) = said(Others(rank, *every), every[rank], 5 * WATCHED_STEPS)
    assert line.startswith(
        "process 2 of 3 is slow, and the others wait for it: it computes 1 s in a step, the others 0.1"
    )


@pytest.mark.parametrize("every", [(0.1, 0.2), (0.001, 0.04), (0.3, 0.3, 0.29)])
def test_small_differences_are_not_worth_a_word(every: tuple[float, ...]) -> None:
    assert said(Others(0, *every), every[0], 5 * WATCHED_STEPS) == []


def test_one_odd_step_makes_no_process_slow_and_meetings_are_rare() -> None:
    world = Others(1, 0.1, 0.0)
    watch = Slowness(world)
    assert [watch.note(9.0 if step == 7 else 0.1) for step in range(2 * WATCHED_STEPS)] == [""] * (2 * WATCHED_STEPS)
    assert world.meetings == 2


def test_a_process_alone_compares_with_nobody() -> None:
    assert slowness.Slowness(World()).note(100.0) == ""


def test_time_in_meetings_counts_as_waiting_even_where_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    world = World(0, 2)
    with world.together():
        now[0] += 2.0
    with pytest.raises(Interrupted), world.together():
        now[0] += 0.5
        raise RuntimeError("gone")
    assert world.waited == 2.5
