"""Training steps of small `swift` language models: these sources against other sources of weft, and the losses of both.

    python bench/steps.py --against ../other/src

starts one process for each, which take turns round by round on as many threads as OMP_NUM_THREADS says, or one. Only
the processor's time counts, so that others may use the machine too. On one thread both use the same core: cores of a
shared machine may differ by a third.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from report import Table, arguments, hand_in

HERE = Path(__file__).resolve().parent
SIZES = {"4x160": (160, 4, 5, 128, 16), "5x256": (256, 5, 8, 256, 8)}  # width, layers, heads, context, batch
VOCAB = 65
RATES = {"lr": 3e-2, "matrix_lr": 1.0, "table_decay": 0.25}
WARM_UP = 2  # rounds that do not count
LAST = 5  # rounds whose losses are shown


def work(size: str, seed: int, text: str) -> None:
    """Make as many steps as each line of the input says, and answer with their processor time and mean loss."""
    import numpy as np
    import torch
    from fitting import fit_step

    from weft.batches.windows import TextWindows
    from weft.models.zoo import LANGUAGE_MODELS, Size
    from weft.objectives import NextToken
    from weft.training.settings import Training

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dim, depth, heads, context, batch = SIZES[size]
    if text:
        letters = sorted(set(found := Path(text).read_text(encoding="utf-8")))[:VOCAB]
        places = {letter: i for i, letter in enumerate(letters)}
        ids = np.array([places.get(one, 0) for one in found], dtype=np.uint16)
    else:
        ids = np.random.default_rng(0).integers(VOCAB, size=200_000).astype(np.uint16)
    torch.manual_seed(seed)
    model = LANGUAGE_MODELS["swift"](Size(dim=dim, depth=depth, heads=heads, context=context), vocab=VOCAB).build()
    source = TextWindows(ids, ids[:1000], context=context, fingerprint="bench", seed=seed)
    training = Training(**RATES, batch=batch, precision="fp32", seed=seed)
    step = fit_step(model, NextToken.Config().build(), source, training)
    for line in sys.stdin:
        began = time.process_time()
        losses = [step()["loss"] for _ in range(int(line))]
        print(time.process_time() - began, statistics.fmean(losses), flush=True)


class Worker:
    """A process that trains with the sources in a folder."""

    def __init__(self, sources: Path, *given: str):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "steps.py"), "--work", *given],
            env={**os.environ, "PYTHONPATH": str(sources)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def steps(self, number: int) -> tuple[float, float]:
        """Processor milliseconds of a step, and the mean loss, over some steps."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(number, file=self.process.stdin, flush=True)
        seconds, loss = map(float, self.process.stdout.readline().split())
        return 1000 * seconds / number, loss

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def raced(size: str, given: Any) -> list[list[Any]]:
    """The lines of one size: milliseconds of a step, the speed relative to the other sources, and the last losses."""
    sources = {"these sources": HERE.parent / "src", "other sources": given.against}
    options = ("--size", size, "--seed", str(given.seed), "--text", given.text)
    workers = {name: Worker(folder, *options) for name, folder in sources.items() if folder}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in workers}
    for turn in range((2 if given.quick else given.rounds) + WARM_UP):
        for name in list(workers)[:: 1 if turn % 2 else -1]:
            found[name].append(workers[name].steps(given.each))
    for worker in workers.values():
        worker.close()
    times = {name: [ms for ms, _ in rounds[WARM_UP:]] for name, rounds in found.items()}
    other = times[list(workers)[-1]]
    lines: list[list[Any]] = []
    for name, ms in times.items():
        ratios = [min(other) / min(ms), statistics.median(other) / statistics.median(ms)]
        loss = statistics.fmean(loss for _, loss in found[name][-LAST:])
        lines.append([size, name, min(ms), statistics.median(ms), *ratios, f"{loss:.4f}"])
    return lines


def measure(given: Any) -> list[Table]:
    """Both sizes, or the one that is asked for."""
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    if threads == "1" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = [line for size in ([given.size] if given.size else SIZES) for line in raced(size, given)]
    columns = ["layers x width", "sources", "ms a step, best", "median", "others = 1, best", "median", "last losses"]
    return [Table(f"A training step of swift in fp32, threads: {threads}", columns, lines, "Processor time.")]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="the src folder of the other sources")
    parser.add_argument("--size", choices=SIZES, help="one size; by default both")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--each", type=int, default=1, help="steps in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", default="", metavar="FILE", help="a text to learn from; by default random letters")
    parser.add_argument("--work", action="store_true", help="be one of the two processes")
    given = parser.parse_args()
    if given.work:
        work(given.size, given.seed, given.text)
    else:
        hand_in(measure(given), given.json)
