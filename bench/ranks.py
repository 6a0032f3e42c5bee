"""Training in two processes of one thread against one process of two threads: tokens a second, on one machine.

    python bench/ranks.py                        dim 256, 4 layers, context 256, batch 16, in fp32
    python bench/ranks.py --dim 128 --steps 30 --rounds 1

Both train the same model on the sample text, by turns, replicating weights and sharing them. The median step of each
run counts, without the first five; of several rounds the fastest.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 5  # first steps, which are slow
WAYS = {"one process, two threads": (), "two processes, replicate": ("parallel=replicate",),
        "two processes, shard": ("parallel=shard",)}  # fmt: skip


def free_port() -> str:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def rate(given: argparse.Namespace, more: tuple[str, ...], out: Path) -> float:
    """Tokens a second of the median step of one training."""
    size = 2 if more else 1
    settings = {"dim": given.dim, "depth": given.depth, "heads": given.dim // 64, "context": given.context,
                "batch": given.batch, "precision": "fp32", "evaluate_every": 10**6, "baselines": "false"}  # fmt: skip
    words = [f"--set={one}" for one in (*(f"{k}={v}" for k, v in settings.items()), *more)]
    command = [sys.executable, "-m", "weft", "train", "--task", "language-model", "--model", "llama",
               "--steps", str(given.steps), "--out", str(out), *words]  # fmt: skip
    common = {**os.environ, "OMP_NUM_THREADS": str(3 - size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    ranks = [{"WORLD_SIZE": str(size), "RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)} for rank in range(size)]
    jobs = [
        subprocess.Popen(
            command, env={**common, **(rank if size > 1 else {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for rank in ranks
    ]
    if any(job.wait() for job in jobs):
        sys.exit(f"a training failed: {' '.join(command)}")
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    seconds = [b["seconds"] - a["seconds"] for a, b in zip(lines[SKIPPED:], lines[SKIPPED + 1 :], strict=False)]
    return float(lines[-1]["count"]) / statistics.median(seconds)


def main() -> None:
    """All ways by turns; prints the fastest of each and how it compares with one process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("dim", 256), ("depth", 4), ("context", 256), ("batch", 16), ("steps", 20), ("rounds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(given.rounds):
            for way, more in WAYS.items():
                out = Path(folder) / f"{turn}-{len(found)}-{way.split()[-1]}"
                found[way] = max(found.get(way, 0.0), rate(given, more, out))
    alone = next(iter(found.values()))
    for way, tokens in found.items():
        print(f"{way:<28} {tokens:>10,.0f} tokens/s   {tokens / alone:.2f}")


if __name__ == "__main__":
    main()
