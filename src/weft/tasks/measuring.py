"""Held-out data measured within a time: all of it where it fits, else a part that is spread evenly over it."""

import time
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from weft.tasks.request import Json
from weft.training.pace import FINAL_SHARE, scored_within
from weft.training.progress import Progress, counter

T = TypeVar("T")
H = TypeVar("H")
PROBED_ROWS = 64  # rows whose measuring is timed; no fewer are measured


def final_seconds(config: Json) -> float | None:
    """The time for the last evaluation of a run by minutes; None, without limit, in other runs."""
    minutes = config["budget"]["minutes"]
    return None if minutes is None else FINAL_SHARE * 60 * minutes


def windows_in_time(
    windows: int,
    score: Callable[[int | None, Callable[[int], None] | None], T],
    progress: Progress,
    seconds: float | None,
) -> tuple[T, dict[str, str]]:
    """What `score` gives for windows of a text, and a note where there was no time for all of them.

    `score(most, count)` scores `most` windows, spread evenly over the text, or all; `count` hears how many are done.
    """
    most = scored_within(seconds, windows, lambda few: score(few, None))
    found = score(most, counter(progress, most or windows, "windows"))
    progress.stop()
    return found, {} if most is None else {"part": in_part(most, windows, "windows")}


def rows_in_time(
    held_out: H,
    seconds: float | None,
    measure: Callable[[H], object],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[H, dict[str, str]]:
    """As many held-out rows as can be measured in some seconds, spread evenly, and a note where they are not all."""
    if seconds is None or not isinstance(held_out, Sized) or len(held_out) <= PROBED_ROWS:
        return held_out, {}
    began = clock()
    measure(spread(held_out, PROBED_ROWS))
    each = max(clock() - began, 1e-9) / PROBED_ROWS
    fit = max(PROBED_ROWS, int(seconds / each))
    if fit >= len(held_out):
        return held_out, {}
    return spread(held_out, fit), {"part": in_part(fit, len(held_out), "examples")}


@contextmanager
def counted(progress: Progress | None, total: int, word: str) -> Iterator[Callable[[int], None]]:
    """A listener that is given the number of things done at once, and shows how many of all are done."""
    if progress is None:
        yield lambda more: None
        return
    count, done = counter(progress, total, word), 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        count(done)

    try:
        yield add
    finally:
        progress.stop()


def spread(rows: H, count: int) -> H:
    """Some rows, spread evenly over all."""
    assert isinstance(rows, Sized)
    chosen = np.linspace(0, len(rows) - 1, count).round().astype(int).tolist()
    return [rows[i] for i in chosen] if isinstance(rows, Sequence) else rows.take(chosen)  # type: ignore[attr-defined, return-value]


def in_part(measured: int, all: int, things: str) -> str:
    """A note on held-out data of which not all was measured."""
    return f"{measured:,} of {all:,} held-out {things} were measured, spread evenly, to keep to the time"
