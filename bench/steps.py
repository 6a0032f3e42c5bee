"""Training steps of small `swift` language models: these sources against other sources of weft, and the losses of both.

`python bench/steps.py --against ../other/src` starts one process for each, which take turns step by step on one thread.
Only the processor's time counts, so that others may use the machine too.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = {"4x160": (160, 4, 5, 128, 16), "5x256": (256, 5, 8, 256, 8)}  # width, layers, heads, context, batch
VOCAB = 65


def work(size: str, seed: int, text: str) -> None:
    """Make as many steps as each line of the input says, and answer with their processor time and last loss."""
    from contextlib import nullcontext

    import numpy as np
    import torch
    from fitting import fit_step

    from weft.data.windows import TextWindows
    from weft.models.zoo import LANGUAGE_MODELS, Size
    from weft.objectives import NextToken
    from weft.training.settings import Training

    try:
        from weft.training.memory import kept_memory
    except ImportError:  # sources from before there was such a thing
        kept_memory = nullcontext
    torch.set_num_threads(1)
    dim, depth, heads, context, batch = SIZES[size]
    if text:
        letters = sorted(set(Path(text).read_text(encoding="utf-8")))[:VOCAB]
        places = {letter: i for i, letter in enumerate(letters)}
        ids = np.array([places.get(one, 0) for one in Path(text).read_text(encoding="utf-8")], dtype=np.uint16)
    else:
        ids = np.random.default_rng(0).integers(VOCAB, size=200_000).astype(np.uint16)
    torch.manual_seed(seed)
    model = LANGUAGE_MODELS["swift"](Size(dim=dim, depth=depth, heads=heads, context=context), vocab=VOCAB).build()
    source = TextWindows(ids, ids[:1000], context=context, fingerprint="bench", seed=seed)
    rates = {"lr": 3e-2, "matrix_lr": 1.0, "table_decay": 0.25}
    step = fit_step(
        model, NextToken.Config().build(), source, Training(**rates, batch=batch, precision="fp32", seed=seed)
    )
    with kept_memory():
        for line in sys.stdin:
            began = time.process_time()
            losses = [step()["loss"] for _ in range(int(line))]
            print(time.process_time() - began, statistics.fmean(losses), flush=True)


class Worker:
    """A process that trains with the sources in a folder."""

    def __init__(self, sources: Path, *given: str):
        environment = {**os.environ, "PYTHONPATH": str(sources), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "steps.py"), "--work", *given],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def steps(self, number: int) -> tuple[float, float]:
        """Processor seconds of one of so many steps, and their mean loss."""
        print(number, file=self.process.stdin, flush=True)
        seconds, loss = map(float, self.process.stdout.readline().split())
        return seconds / number, loss


def main() -> None:
    """Race the sources, and show the loss of the last steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the src folder of the other sources")
    parser.add_argument("--size", choices=SIZES, default="4x160")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--each", type=int, default=1, help="steps in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", default="", help="a text file; by default random letters")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.size, given.seed, given.text)
        return
    sources = {"these": HERE.parent / "src", "others": given.against}
    options = ("--size", given.size, "--seed", str(given.seed), "--text", given.text)
    workers = {name: Worker(folder, *options) for name, folder in sources.items() if folder}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in workers}
    for turn in range(given.rounds + 2):  # the first two rounds warm up
        for name in list(workers)[:: 1 if turn % 2 else -1]:
            found[name].append(workers[name].steps(given.each))
    for name, rounds in found.items():
        times = [seconds * 1e3 for seconds, _ in rounds[2:]]
        last = statistics.fmean(loss for _, loss in rounds[-5:])
        print(f"{name:8} best {min(times):.1f} ms, median {statistics.median(times):.1f} ms, last losses {last:.4f}")
    if given.against:
        mine, other = ([seconds for seconds, _ in found[name][2:]] for name in ("these", "others"))
        medians = statistics.median(other) / statistics.median(mine)
        print(f"ratio: best {min(other) / min(mine):.3f}, median {medians:.3f}")


if __name__ == "__main__":
    main()
