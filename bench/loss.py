"""The loss of a large vocabulary: whole logits against chunks of tokens. Memory and time, forward and backward.

    python bench/loss.py                     128,000 classes, 4,096 tokens, width 512, in fp32
    python bench/loss.py --bf16 --vocab 50257 --tokens 2048 --width 768
    python bench/loss.py --quick

Each way runs in a process of its own. `memory` is the peak of its steps above what is there anyway: the weights, the
content, and the gradients of both. Times take turns between both ways; the fastest step of each counts.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from weft.core.heads import PerToken
from weft.objectives.token_loss import CHUNK_LOGITS, token_loss

STATUS = Path("/proc/self/status")


def kilobytes(name: str) -> int:
    """A line of what Linux says of this process."""
    return int(next(line for line in STATUS.read_text().splitlines() if line.startswith(name)).split()[1])


def step(head: PerToken, x: Tensor, targets: Tensor, chunk: int | None) -> float:
    """Seconds of one loss with its gradients, which are dropped."""
    x.grad = head.out.weight.grad = None
    began = time.perf_counter()
    token_loss(head, x, targets, chunk=chunk).total.backward()
    return time.perf_counter() - began


def measured(given: argparse.Namespace) -> dict[str, float]:
    """Peak memory of two steps above weights, content and gradients, and the fastest of all."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if given.bf16 else torch.float32
    head = PerToken.Config().build(dim=given.width, size=given.vocab).to(dtype)
    x = torch.randn(given.tokens, given.width).to(dtype).requires_grad_()
    targets = torch.randint(0, given.vocab, (given.tokens,))
    chunk = max(1, CHUNK_LOGITS // given.vocab) if given.way == "chunks" else None
    held = head.out.weight.nbytes + x.nbytes
    before = kilobytes("VmRSS") * 1024
    times = [step(head, x, targets, chunk) for _ in range(given.steps)]
    peak = kilobytes("VmHWM") * 1024 - before - held
    return {"memory": peak / 1e9, "seconds": min(times)}


def main() -> None:
    """Both ways, each in a process of its own, by turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("vocab", 128_000), ("tokens", 4096), ("width", 512), ("steps", 2), ("rounds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--way", choices=("whole", "chunks"))
    given = parser.parse_args()
    if given.quick:
        given.vocab, given.tokens, given.width, given.steps, given.rounds = 8000, 512, 64, 1, 1
    if given.way:
        print(json.dumps(measured(given)))
        return
    words = [f"--{name}={getattr(given, name)}" for name in ("vocab", "tokens", "width", "steps")]
    words += ["--bf16"] if given.bf16 else []
    found: dict[str, list[dict[str, float]]] = {"whole": [], "chunks": []}
    for _ in range(given.rounds):
        for way, results in found.items():
            command = [sys.executable, __file__, *words, "--way", way]
            results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    for way, results in found.items():
        best = {key: min(one[key] for one in results) for key in ("memory", "seconds")}
        print(f"{way:7} {best['memory']:6.2f} GB {best['seconds']:7.2f} s")


if __name__ == "__main__":
    main()
