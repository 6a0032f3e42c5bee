"""Dropout drawn by sample against torch's own: a training step of a language model, forward and backward.

    python bench/dropout.py                  gpt, width 256, 4 blocks, 8 lines of 128 tokens, dropout 0.1, in fp32
    python bench/dropout.py --model swift --width 96

Four ways take turns, and the fastest step of each counts: without dropout, by torch's generator, by sample in native
code, and by sample in torch's operations, as GPUs compute it.
"""

import argparse
import time
from contextlib import nullcontext
from unittest.mock import patch

import torch

from weft.batches.windows import windows
from weft.core import draws
from weft.core.draws import Chance, opened
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken

WAYS = ("none", "torch", "sample", "sample, plain")


def seconds(model: Stream, ids: torch.Tensor, way: str) -> float:
    """Seconds of a step."""
    keys = draws.hashed(torch.tensor([[1, 2]], dtype=torch.int32), 2 * len(ids)).view(-1, 2)
    chance = Chance(lambda rows, device: keys) if way.startswith("sample") else None
    objective = NextToken.Config().build()
    model.train(way != "none").zero_grad()
    without = patch.object(
        draws.native_training, "dropped", lambda x, key, limit, scale, plain: plain(x, key, limit, scale)
    )
    with opened(chance), without if way == "sample, plain" else nullcontext():
        began = time.perf_counter()
        objective(model, windows(ids)).total.backward()
        return time.perf_counter() - began


def main() -> None:
    """All ways, by turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("width", 256), ("depth", 4), ("rows", 8), ("tokens", 128), ("steps", 40)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--model", default="gpt", choices=list(LANGUAGE_MODELS))
    given = parser.parse_args()
    torch.manual_seed(0)
    size = Size(dim=given.width, depth=given.depth, heads=4, context=given.tokens)
    model = LANGUAGE_MODELS[given.model](size, vocab=256, dropout=0.1).build()
    ids = torch.randint(0, 256, (given.rows, given.tokens + 1))
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(given.steps):
        for way in WAYS:
            best[way] = min(best[way], seconds(model, ids, way))
    for way, one in best.items():
        print(f"{way:<14} {one * 1e3:8.2f} ms  {one / best['torch'] - 1:+.1%}")


if __name__ == "__main__":
    main()
