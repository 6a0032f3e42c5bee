"""Timing on a noisy machine: contestants take turns, and peak memory is taken in a fresh process. Knows no model."""

import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

Call = Callable[[], object]
Clock = Callable[[], float]
Tell = Callable[[int, str, float], None]  # the round, the contestant, and its seconds


@dataclass(frozen=True)
class Timing:
    """Seconds of one call, measured once a round."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The round least disturbed by others."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The usual round."""
        return statistics.median(self.seconds)


def race(
    contestants: Mapping[str, Call],
    *,
    rounds: int = 5,
    least: float = 0.5,
    clock: Clock = time.perf_counter,
    tell: Tell | None = None,
) -> dict[str, Timing]:
    """Time calls in rounds, A B C, B C A, ...: a slow minute of the machine then falls on all of them alike.

    Each contestant is called once before the clock starts, and in each round for at least `least` seconds; `tell` hears
    of each. `time.process_time` as the clock counts the processor's time alone, where others use the machine.
    """
    for call in contestants.values():
        call()
    names, seconds = list(contestants), {name: [] for name in contestants}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            seconds[name].append(per_call(contestants[name], least, clock))
            if tell is not None:
                tell(turn + 1, name, seconds[name][-1])
    return {name: Timing(tuple(found)) for name, found in seconds.items()}


def per_call(call: Call, least: float, clock: Clock = time.perf_counter) -> float:
    """Mean seconds of a call, over at least one call and `least` seconds."""
    calls, start = 0, clock()
    while True:
        call()
        calls += 1
        spent = clock() - start
        if spent >= least:
            return spent / calls


def peak_memory(make: Callable[..., Call], *arguments: object) -> float:
    """MiB that one call of `make(*arguments)` takes above what was in use before it.

    A fresh process has no freed memory to hand out again, so that nothing is hidden.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_peak, make, arguments).result()


def _peak(make: Callable[..., Call], arguments: tuple[object, ...]) -> float:
    call = make(*arguments)
    before = _resident("VmRSS")
    call()
    return (_resident("VmHWM") - before) / 1024


def _resident(field: str) -> int:
    """KiB of memory in use, now (VmRSS) or at most so far (VmHWM); Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
