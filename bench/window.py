"""Attention in a window of 512 tokens, forward and backward: time and memory should grow in a line with the length.

8 heads of 64, one row, fp32, through weft's `attend`, which picks the kernel. Dense causal attention beside it for
scale.
"""

import torch
from race import Call, peak_memory, race
from report import Table, arguments, hand_in

from weft.core import Scope, Window
from weft.core.kernels import attend
from weft.tokens import Tokens

HEADS, HEAD_DIM = 8, 64
RULES = {"window": (Window(radius=511),), "dense": ()}  # a query reads itself and 511 before it
LENGTHS = (4096, 8192, 16384)


def attention(kind: str, length: int) -> Call:
    """One pass forward and backward; what may be read is worked out anew, as in every pass of a model."""
    generator = torch.Generator().manual_seed(0)
    q, k, v, slope = (torch.randn(1, HEADS, length, HEAD_DIM, generator=generator) for _ in range(4))
    inputs = [t.requires_grad_() for t in (q, k, v)]

    def call() -> None:
        tokens = Tokens.line(torch.empty(1, length, 0))
        scope = Scope(tokens, tokens, ranked=True)
        out = attend(*inputs, scope, rules=RULES[kind], factor=HEAD_DIM**-0.5)
        torch.autograd.grad(out, inputs, slope)

    return call


def measure(*, quick: bool = False) -> list[Table]:
    """Time and memory by length."""
    lengths, rounds = ((2048, 4096), 1) if quick else (LENGTHS, 3)
    pairs = [(kind, length) for length in lengths for kind in RULES]
    timings = race({f"{kind} {length}": attention(kind, length) for kind, length in pairs}, rounds=rounds, least=0.0)
    memory = {f"{kind} {length}": peak_memory(attention, kind, length) for kind, length in pairs}
    lines = []
    for length in lengths:
        names = [f"{kind} {length}" for kind in RULES]
        numbers = [(1e3 * timings[n].best, 1e3 * timings[n].median, memory[n]) for n in names]
        lines.append([length, *(number for three in numbers for number in three)])
    ratios: list[object] = [f"{lengths[-1]} over {lengths[0]}"]
    ratios += [last / first for first, last in zip(lines[0][1:], lines[-1][1:], strict=True)]
    columns = ["tokens", *(c for kind in RULES for c in (f"{kind} ms, best", "median", "peak MiB"))]
    return [Table("Window attention, forward and backward", columns, [*lines, ratios])]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick), given.json)
