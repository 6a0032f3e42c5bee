"""How fast training steps are on each rung of a ladder, and how steady the choice of a rung is beside a busy neighbour.

    python bench/rates.py rungs --task language-model --task translate
    python bench/rates.py neighbour --times 20 --minutes 1 --minutes 5 --minutes 20

`rungs` times steps of every size of a task's ladder, on the sample that ships for it: operations a second by the
recipe's own count, and their share of the rate of bare products (the recipe's `efficiency`). `neighbour` plans again
and again while another process works in bursts of random length: how often is the rung another one than on the quiet
machine? By the median of five products, by the fastest product within a quarter of a second, and with timed steps. With
`--slower 8` the neighbour is simulated: the clock is the CPU time of this process, and bursts make all take eight times
as long. Not part of `run.py`.
"""

import argparse
import multiprocessing
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from report import Table, hand_in

from weft.domains.registry import card_named
from weft.tasks.planning import plan
from weft.tasks.request import Request
from weft.tasks.settings.limits import with_settings
from weft.tasks.sizing import Rung, Sizing
from weft.training import precision
from weft.training.precision import pick_device, product_rate
from weft.training.schedule import Budget
from weft.training.trial import undisturbed_step_seconds

LONGEST_BURST = 1.0  # seconds


def planner(task: str, minutes: float, source: Sequence[str] = (), **settings: Any) -> Any:
    """A function that plans a run of some minutes, on data that is read once."""
    card = card_named(task)
    data = card.reader.read(tuple(source), None, with_settings(card.training(), settings))
    request = Request(tuple(source), None, None, Budget(minutes=minutes), None, settings, pick_device())
    return lambda timing: plan(card.task, request, data, timing=timing).work


@contextmanager
def rung_fixed(index: int) -> Iterator[list[Rung]]:
    """Every choice is this rung of the ladder, as far as it has so many; yields the rungs that were taken."""
    taken: list[Rung] = []

    def choose(self: Sizing, ladder: Any, cost: Any, amount: float, rule: Any) -> Any:
        place = min(index, len(ladder) - 1)
        self.rung = Rung(place, len(ladder), cost(ladder[place]) * amount)
        taken.append(self.rung)
        return ladder[place]

    with mock.patch.object(Sizing, "choose", choose):
        yield taken


def rungs(task: str, most: int, seconds: float, source: Sequence[str], settings: dict[str, Any]) -> Table:
    """The speed of steps on the rungs of the ladder of a task, `most` of them."""
    device, rows, index, of = pick_device(), [], 0, 1
    planned, products = planner(task, 5.0, source, **settings), product_rate(pick_device(), torch.float32)
    while index < min(of, most):
        with rung_fixed(index) as taken:
            work = planned(False)
        of, batch, samples = taken[-1].of, work.training.batch, work.source.per_epoch
        step = undisturbed_step_seconds(work, device, seconds)
        rate = taken[-1].round_operations * batch / samples / step
        size = f"{work.training.dim} wide, {work.training.depth} layers"
        rows.append([index + 1, size, 1000 * step, rate / 1e9, rate / products])
        print(*rows[-1], file=sys.stderr, flush=True)
        index += 1
    title = f"Steps of {task}: {torch.get_num_threads()} threads, products {products / 1e9:.0f} GFLOP/s in fp32"
    return Table(title, ["rung", "size", "ms a step", "GFLOP/s", "of products"], rows)


def median_of_five(device: torch.device, dtype: torch.dtype, size: int = 512) -> float:
    """The rate of products by the median of four, after one that is not counted."""
    x, w = (torch.ones(n, size, device=device, dtype=dtype) for n in (2 * size, size))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        torch.nn.functional.linear(x, w)
        times.append(time.perf_counter() - start)
    return 4 * size**3 / statistics.median(times[1:])


def busy(seed: int) -> None:
    """Works and sleeps by turns, each for a random time, without end."""
    chance = random.Random(seed)
    torch.set_num_threads(1)
    x = torch.ones(512, 512)
    while True:
        end = time.monotonic() + chance.uniform(0.0, LONGEST_BURST)
        while time.monotonic() < end:
            x @ x
        time.sleep(chance.uniform(0.0, LONGEST_BURST))


@contextmanager
def neighbours(number: int) -> Iterator[None]:
    """Processes that work in bursts meanwhile."""
    start = multiprocessing.get_context("spawn")
    others = [start.Process(target=busy, args=(seed,), daemon=True) for seed in range(number)]
    for other in others:
        other.start()
    time.sleep(2.0 if others else 0.0)
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


class BurstClock:
    """The wall clock beside a neighbour, from the CPU time of this process: in bursts it runs `slower` times as fast.

    For a machine that others use as well, where neither a quiet moment nor a burst of known length is to be had.
    """

    def __init__(self, seed: int, slower: float):
        self.chance, self.slower = random.Random(seed), slower
        self.computed = self.wall = 0.0  # where the present stretch began
        self.began, self.busy = time.process_time(), self.chance.random() < 0.5
        self.length = self.chance.uniform(0.0, LONGEST_BURST)  # of the stretch, in seconds of the wall clock

    def __call__(self) -> float:
        """Seconds since the clock was made."""
        while True:
            factor = self.slower if self.busy else 1.0
            passed = factor * (time.process_time() - self.began - self.computed)
            if passed < self.length:
                return self.wall + passed
            self.computed, self.wall = self.computed + self.length / factor, self.wall + self.length
            self.busy, self.length = not self.busy, self.chance.uniform(0.0, LONGEST_BURST)


@contextmanager
def simulated(seed: int, slower: float) -> Iterator[None]:
    """Plans measure by such a clock meanwhile."""
    with mock.patch.object(time, "perf_counter", BurstClock(seed, slower)):
        yield


def chosen(planned: Any, way: str) -> tuple[int, float]:
    """The rung of a plan made in one of three ways, and the rate of products that was measured."""
    precision.product_rate.cache_clear()
    measure = median_of_five if way == "median" else precision.product_rate
    with mock.patch("weft.tasks.sizing.product_rate", measure):
        said = planned(way == "timed").record["sizing"]
    return said["rung"], said["product_rate"]


def steadiness(planned: Any, way: str, given: argparse.Namespace) -> list[Any]:
    """Rungs beside a neighbour, against the rung that is chosen most often without."""
    usual = statistics.mode(chosen(planned, way)[0] for _ in range(5))
    found = []
    with neighbours(0 if given.slower else given.neighbours):
        for number in range(given.times):
            with simulated(number, given.slower) if given.slower else nullcontext():
                found.append(chosen(planned, way))
    spread = max(rate for _, rate in found) / min(rate for _, rate in found)
    counts = ", ".join(f"{rung}: {number}" for rung, number in sorted(Counter(rung for rung, _ in found).items()))
    return [usual, sum(rung != usual for rung, _ in found), counts, spread]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rungs", "neighbour"))
    parser.add_argument("--task", action="append", help="for rungs: all of these")
    parser.add_argument("--source", action="append", default=[], help="other data than the sample")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for rungs: a setting")
    parser.add_argument("--seconds", type=float, default=1.5, help="for rungs: the time of a trial")
    parser.add_argument("--rungs", type=int, default=100, help="for rungs: how many rungs of a ladder")
    parser.add_argument(
        "--cpu-time", action="store_true", help="for rungs: of this process, on a machine that others use"
    )
    parser.add_argument("--minutes", type=float, action="append", help="for neighbour: budgets to plan for")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--neighbours", type=int, default=1, help="processes that work in bursts")
    parser.add_argument(
        "--slower", type=float, help="instead of them, a clock by which bursts make all take this many times as long"
    )
    given = parser.parse_args()
    if given.what == "rungs":
        named = dict(one.split("=", 1) for one in given.set)
        if given.cpu_time:
            torch.set_num_threads(1)
            time.perf_counter = time.process_time
        for task in given.task or ["language-model"]:
            hand_in([rungs(task, given.rungs, given.seconds, given.source, {"precision": "fp32", **named})], None)
    else:
        head = ["minutes", "way", "usual rung", f"other rungs in {given.times}", "rungs", "products, fastest / slowest"]
        rows: list[list[Any]] = []
        if given.slower:
            torch.set_num_threads(1)
            time.perf_counter = time.process_time
        for minutes in given.minutes or [5.0]:
            planned = planner("language-model", minutes, given.source, precision="fp32", tokenizer="characters")
            for way in ("median", "best", "timed"):
                rows.append([minutes, way, *steadiness(planned, way, given)])
                print(*rows[-1], file=sys.stderr, flush=True)
        hand_in([Table("Plans beside a neighbour that works in bursts", head, rows)], None)
